/**
 * Access keys in D1. Must never: store, return or log a token; what is kept is its SHA-256. Called
 * by `store.ts`.
 */
import { and, eq, sql } from 'drizzle-orm';
import type { KeyStore } from '../../../ports/store';
import { tokenHash } from '../../vault/token-check';
import { accessKeys } from '../schema';
import { behind, changed, type Db, done, knowCounting, one, raise, stored } from './statements';

const columns = {
  id: accessKeys.id,
  tenantId: accessKeys.tenantId,
  principalId: accessKeys.principalId,
  name: accessKeys.name,
  hint: accessKeys.hint,
  permissions: accessKeys.permissions,
  upstreamAccess: accessKeys.upstreamAccess,
  projectAccess: accessKeys.projectAccess,
  dailyCallCap: accessKeys.dailyCallCap,
  expiresAt: accessKeys.expiresAt,
  revokedAt: accessKeys.revokedAt,
  createdAt: accessKeys.createdAt,
  updatedAt: accessKeys.updatedAt,
};

/** The access keys of one database. */
export function keyStore(db: Db): KeyStore {
  const its = (tenantId: string, id: string) =>
    and(eq(accessKeys.tenantId, tenantId), eq(accessKeys.id, id));
  return {
    get: (tenantId, id) => one(db.select(columns).from(accessKeys).where(its(tenantId, id)).get()),
    list(tenantId, page, principalId) {
      const owner = principalId === null ? undefined : eq(accessKeys.principalId, principalId);
      const scope = and(eq(accessKeys.tenantId, tenantId), owner, behind(accessKeys.id, page));
      const rows = db.select(columns).from(accessKeys).where(scope);
      return stored(rows.orderBy(accessKeys.id).limit(page.limit));
    },
    async insert(row, token) {
      const write = db.insert(accessKeys).values({ ...row, sha256: await tokenHash(token) });
      const counting = knowCounting(db, row.tenantId, row.createdAt);
      return done(db.batch([write, raise(db, row.tenantId), counting]));
    },
    replace(row) {
      const { name, permissions, upstreamAccess, projectAccess } = row;
      const { dailyCallCap, expiresAt, updatedAt } = row;
      const lists = { permissions, upstreamAccess, projectAccess };
      const write = db
        .update(accessKeys)
        .set({ name, ...lists, dailyCallCap, expiresAt, updatedAt })
        .where(its(row.tenantId, row.id))
        .returning({ id: accessKeys.id });
      const counting = knowCounting(db, row.tenantId, updatedAt);
      return changed(db.batch([write, raise(db, row.tenantId), counting]));
    },
    revoke(tenantId, id, nowMs) {
      const revokedAt = sql`coalesce(${accessKeys.revokedAt}, ${nowMs})`;
      const write = db
        .update(accessKeys)
        .set({ revokedAt, updatedAt: nowMs })
        .where(its(tenantId, id))
        .returning({ id: accessKeys.id });
      return changed(db.batch([write, raise(db, tenantId)]));
    },
    remove(tenantId, id) {
      const write = db.delete(accessKeys).where(its(tenantId, id)).returning({ id: accessKeys.id });
      return changed(db.batch([write, raise(db, tenantId)]));
    },
  };
}
