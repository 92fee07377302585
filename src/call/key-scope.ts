/**
 * The scope of a call's idempotency key: what the ledger's record (06) and the vendor's key (07) are made for must be the same.
 */
import { idempotencyScope } from '../domain/idempotency/idempotency-key';
import type { IdentifiedCall } from './call';

/** Principal and primary tag (decisions section 5). */
export const keyScopeOf = ({ key, tags, tenant }: IdentifiedCall): string =>
  idempotencyScope({
    principalId: key.principalId,
    tags,
    primaryDimension: tenant.primaryDimension,
  });
