/**
 * Upstreams in D1, with one row per endpoint beside them. Promises: both are written in one
 * transaction; deleting an upstream deletes its routes and endpoint rows. Called by `store.ts`.
 */
import { and, eq, or, sql } from 'drizzle-orm';
import { ok } from '../../../base/result';
import type { UpstreamRecord, UpstreamStore } from '../../../ports/store';
import { upstreamHosts, upstreams } from '../schema';
import { among, behind, changed, type Db, done, one, raise, stored } from './statements';

/** The upstreams of one database. */
export function upstreamStore(db: Db): UpstreamStore {
  const its = (tenantId: string, id: string) =>
    and(eq(upstreams.tenantId, tenantId), eq(upstreams.id, id));
  return {
    get: (tenantId, id) => one(db.select().from(upstreams).where(its(tenantId, id)).get()),
    list: (tenantId, page) =>
      stored(
        db
          .select()
          .from(upstreams)
          .where(and(eq(upstreams.tenantId, tenantId), behind(upstreams.id, page)))
          .orderBy(upstreams.id)
          .limit(page.limit),
      ),
    insert(row) {
      const write = db.insert(upstreams).values(row);
      return done(db.batch([write, hostRows(db, row), raise(db, row.tenantId)]));
    },
    replace(row) {
      const { id, tenantId, createdAt, ...written } = row;
      const write = db
        .update(upstreams)
        .set(written)
        .where(its(tenantId, id))
        .returning({ id: upstreams.id });
      const old = db
        .delete(upstreamHosts)
        .where(and(eq(upstreamHosts.tenantId, tenantId), eq(upstreamHosts.upstreamId, id)));
      return changed(db.batch([write, old, hostRows(db, row), raise(db, tenantId)]));
    },
    remove(tenantId, id) {
      const write = db.delete(upstreams).where(its(tenantId, id)).returning({ id: upstreams.id });
      return changed(db.batch([write, raise(db, tenantId)]));
    },
    async visibleIds(chain, ids) {
      const own = eq(upstreams.tenantId, chain[0] ?? '');
      const shown = and(
        among(upstreams.tenantId, chain),
        or(own, eq(upstreams.visibility, 'descendants')),
      );
      const rows = await stored(
        db
          .select({ id: upstreams.id })
          .from(upstreams)
          .where(and(shown, among(upstreams.id, ids))),
      );
      return rows.ok ? ok(rows.value.map((row) => row.id)) : rows;
    },
  };
}

/**
 * A pool may have more endpoints than D1 binds parameters: they go as one JSON text. The columns
 * are the table's, in its order.
 */
const hostRows = (db: Db, row: UpstreamRecord) =>
  db.insert(upstreamHosts).select(sql`
    select ${row.tenantId}, json_extract(value, '$.host'), json_extract(value, '$.port'), ${row.id}
    from json_each(${JSON.stringify(row.endpoints)})`);
