/** The reporting copy of calls, read only. Called by `store.ts`. */
import { and, desc, eq } from 'drizzle-orm';
import type { CallReads } from '../../../ports/store';
import { calls } from '../schema';
import { before, behind, type Db, one, stored } from './statements';

const columns = {
  id: calls.id,
  tenantId: calls.tenantId,
  keyId: calls.keyId,
  principalId: calls.principalId,
  upstreamId: calls.upstreamId,
  surface: calls.surface,
  method: calls.method,
  host: calls.host,
  path: calls.path,
  outcome: calls.outcome,
  status: calls.status,
  code: calls.code,
  blame: calls.blame,
  startedAtMs: calls.startedAt,
  latencyMs: calls.latencyMs,
  requestBytes: calls.requestBytes,
  responseBytes: calls.responseBytes,
  evidence: calls.evidence,
  tier: calls.tier,
  catalogId: calls.catalogId,
  costMicros: calls.costMicros,
  holdId: calls.holdId,
  account: calls.account,
  signal: calls.signal,
  servedVia: calls.servedVia,
};

/** The calls of one database. */
export function callStore(db: Db): CallReads {
  const ofTenant = (tenantId: string) => eq(calls.tenantId, tenantId);
  return {
    get(tenantId, id) {
      const which = and(ofTenant(tenantId), eq(calls.id, id));
      return one(db.select(columns).from(calls).where(which).get());
    },
    list(tenantId, page) {
      const scope = and(ofTenant(tenantId), behind(calls.id, page));
      return stored(
        db.select(columns).from(calls).where(scope).orderBy(calls.id).limit(page.limit),
      );
    },
    newest(tenantId, page) {
      const scope = and(ofTenant(tenantId), before(calls.id, page));
      return stored(
        db.select(columns).from(calls).where(scope).orderBy(desc(calls.id)).limit(page.limit),
      );
    },
  };
}
