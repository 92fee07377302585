/** D1Store: every collection of the management API over one database. Made by `wiring.ts`. */
import { drizzle } from 'drizzle-orm/d1';
import type { Store } from '../../../ports/store';
import { catalogStore } from '../catalog-store';
import { callStore } from './calls';
import { dataKeyStore } from './data-keys';
import { denyRuleStore } from './deny-rules';
import { keyStore } from './keys';
import { ledgerLogStore } from './ledger-log';
import { principalStore } from './principals';
import { projectStore } from './projects';
import { routeStore } from './routes';
import { secretStore } from './secrets';
import { tenantStore } from './tenants';
import { upstreamStore } from './upstreams';

/** The store over `d1`; keeps no state of its own. */
export function d1Store(d1: D1Database): Store {
  const db = drizzle(d1);
  return {
    tenants: tenantStore(db),
    projects: projectStore(db),
    principals: principalStore(db),
    keys: keyStore(db),
    secrets: secretStore(db),
    dataKeys: dataKeyStore(db),
    upstreams: upstreamStore(db),
    routes: routeStore(db),
    denyRules: denyRuleStore(db),
    calls: callStore(db),
    ledgerLog: ledgerLogStore(d1),
    catalog: catalogStore(db),
  };
}
