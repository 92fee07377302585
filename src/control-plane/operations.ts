/**
 * Every operation of the management API. Read by `api.ts` (the router), `openapi.ts` (the document)
 * and the tests that walk it.
 */
import { callOperations } from './calls';
import { capacityOperations } from './capacity';
import { capacitySweepOperations } from './capacity-sweep';
import { catalogOperations } from './catalog';
import { denyRuleOperations } from './deny-rules';
import { idempotencyOperations } from './idempotency';
import { keyOperations } from './keys';
import { ledgerOperations } from './ledger';
import { creditOperations } from './ledger-credits';
import { reviewOperations } from './ledger-reviews';
import { taskOperations } from './ledger-tasks';
import type { Operation } from './operation';
import { overflowOperations } from './overflow';
import { principalOperations } from './principals';
import { projectOperations } from './projects';
import { routeOperations } from './routes';
import { secretOperations } from './secrets';
import { taskPollOperations } from './task-polls';
import { tenantOperations } from './tenants';
import { upstreamOperations } from './upstreams';
import { vaultOperations } from './vault';

/** The table. */
export const operations: readonly Operation[] = [
  ...tenantOperations,
  ...projectOperations,
  ...principalOperations,
  ...keyOperations,
  ...secretOperations,
  ...upstreamOperations,
  ...routeOperations,
  ...denyRuleOperations,
  ...callOperations,
  ...catalogOperations,
  ...capacityOperations,
  ...capacitySweepOperations,
  ...overflowOperations,
  ...ledgerOperations,
  ...creditOperations,
  ...reviewOperations,
  ...taskOperations,
  ...taskPollOperations,
  ...idempotencyOperations,
  ...vaultOperations,
];
