/**
 * Every operation of the management API. Read by `api.ts` (the router), `openapi.ts` (the document)
 * and the tests that walk it.
 */
import { callOperations } from './calls';
import { denyRuleOperations } from './deny-rules';
import { keyOperations } from './keys';
import type { Operation } from './operation';
import { principalOperations } from './principals';
import { projectOperations } from './projects';
import { routeOperations } from './routes';
import { secretOperations } from './secrets';
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
  ...vaultOperations,
];
