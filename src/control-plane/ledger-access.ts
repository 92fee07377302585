/**
 * Whose ledger a request is about, and whether the actor may see it. Promises: a key sees a ledger
 * only when the ledger's tenant is the key's own or below it; a tenant that an ancestor pays for
 * does not see the ancestor's books, nor what its siblings spend. Called by the ledger's resource
 * files.
 */
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { Ledger, LedgerAddress } from '../ports/ledger';
import type { TenantRecord } from '../ports/store';
import type { Call } from './operation';

/** A ledger, where it is, and the tenant that it belongs to. */
export interface Books {
  readonly ledger: Ledger;
  readonly address: LedgerAddress;
  readonly owner: TenantRecord;
}

/**
 * The ledger that pays for the tenant that is acted in. Refuses with `authz.forbidden` when it
 * belongs to somebody above the actor.
 */
export async function books(call: Call): Promise<Result<Books, Refusal>> {
  const { tenants } = call.services.store;
  const tenant = await tenants.get(call.tenantId);
  if (!tenant.ok) return tenant;
  const { ledgerTenantId } = tenant.value;
  if (!isWithinReach(call, ledgerTenantId)) {
    return err({ code: 'authz.forbidden', needs: 'a key of the ledger tenant' });
  }
  const owner =
    ledgerTenantId === tenant.value.id ? tenant : await tenants.get(tenant.value.ledgerTenantId);
  return owner.ok ? ok(booksOf(call, owner.value)) : owner;
}

/** The ledger of one tenant. */
export function booksOf(call: Call, owner: TenantRecord): Books {
  const address = { ledgerTenantId: owner.id, homeRegion: owner.homeRegion };
  return { ledger: call.services.ledgers.of(address), address, owner };
}

function isWithinReach({ facts }: Call, ledgerTenantId: string): boolean {
  if (facts.actor.kind === 'operator') return true;
  const at = facts.chain.indexOf(ledgerTenantId);
  return at >= 0 && at <= facts.chain.indexOf(facts.actor.key.tenantId);
}
