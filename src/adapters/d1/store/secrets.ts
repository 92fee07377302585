/**
 * Secrets in D1. Promises: the sealed value is written here and never read back by this store; a
 * secret that an upstream of its tenant is bound to is not deleted. Called by `store.ts`.
 */
import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import { err } from '../../../base/result';
import type { SecretStore, Stored } from '../../../ports/store';
import { secrets, upstreams } from '../schema';
import { among, behind, changed, type Db, done, one, raise, stored } from './statements';

const columns = {
  id: secrets.id,
  tenantId: secrets.tenantId,
  name: secrets.name,
  visibility: secrets.visibility,
  createdAt: secrets.createdAt,
  updatedAt: secrets.updatedAt,
};

const its = (tenantId: string, id: string) =>
  and(eq(secrets.tenantId, tenantId), eq(secrets.id, id));

/** The secrets of one database. */
export function secretStore(db: Db): SecretStore {
  const visible = (chain: readonly string[], which: SQL) =>
    stored(
      db
        .select(columns)
        .from(secrets)
        .where(
          and(
            among(secrets.tenantId, chain),
            or(eq(secrets.tenantId, chain[0] ?? ''), eq(secrets.visibility, 'descendants')),
            which,
          ),
        ),
    );
  return {
    get: (tenantId, id) => one(db.select(columns).from(secrets).where(its(tenantId, id)).get()),
    list(tenantId, page) {
      const scope = and(eq(secrets.tenantId, tenantId), behind(secrets.id, page));
      const rows = db.select(columns).from(secrets).where(scope);
      return stored(rows.orderBy(secrets.id).limit(page.limit));
    },
    insert(row, value) {
      const write = db.insert(secrets).values({ ...row, ...value });
      return done(db.batch([write, raise(db, row.tenantId)]));
    },
    replace(row, value) {
      const { name, visibility, updatedAt } = row;
      const write = db
        .update(secrets)
        .set({ name, visibility, updatedAt, ...value })
        .where(its(row.tenantId, row.id))
        .returning({ id: secrets.id });
      return changed(db.batch([write, raise(db, row.tenantId)]));
    },
    remove: (tenantId, id) => removed(db, tenantId, id),
    visible: (chain, names) => visible(chain, among(secrets.name, names)),
    visibleIds: (chain, ids) => visible(chain, among(secrets.id, ids)),
  };
}

async function removed(db: Db, tenantId: string, id: string): Stored<void> {
  const bound = sql`select 1 from ${upstreams}, json_each(${upstreams.bindings}) b
    where ${upstreams.tenantId} = ${tenantId} and json_extract(b.value, '$.source.secretId') = ${id}`;
  const write = db
    .delete(secrets)
    .where(and(its(tenantId, id), sql`not exists (${bound})`))
    .returning({ id: secrets.id });
  const found = db.select({ id: secrets.id }).from(secrets).where(its(tenantId, id));
  const ran = await stored(db.batch([found, write, raise(db, tenantId)]));
  if (!ran.ok) return ran;
  const [was, gone] = ran.value;
  if (was.length > 0 && gone.length === 0) {
    return err({ code: 'resource.conflict', field: 'bindings' });
  }
  return changed(Promise.resolve([gone] as const));
}
