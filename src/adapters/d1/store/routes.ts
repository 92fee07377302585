/**
 * Routes in D1, with one slot row per method of an enabled route. Promises: two enabled routes of
 * one upstream never share path, priority and method; the slots' primary key decides, not a look
 * before the write. Called by `store.ts`.
 */
import { and, count, eq, sql } from 'drizzle-orm';
import { ok } from '../../../base/result';
import type { RouteRecord, RouteStore } from '../../../ports/store';
import { routeSlots, routes } from '../schema';
import { behind, changed, type Db, done, one, raise, stored } from './statements';

/** The routes of one database. */
export function routeStore(db: Db): RouteStore {
  const its = (tenantId: string, id: string) =>
    and(eq(routes.tenantId, tenantId), eq(routes.id, id));
  return {
    get: (tenantId, id) => one(db.select().from(routes).where(its(tenantId, id)).get()),
    list(tenantId, page, upstreamId) {
      const of = upstreamId === null ? undefined : eq(routes.upstreamId, upstreamId);
      const scope = and(eq(routes.tenantId, tenantId), of, behind(routes.id, page));
      return stored(db.select().from(routes).where(scope).orderBy(routes.id).limit(page.limit));
    },
    insert(row) {
      const write = db.insert(routes).values(row);
      return done(db.batch([write, slotRows(db, row), raise(db, row.tenantId)]));
    },
    replace(row) {
      const { id, tenantId, upstreamId, createdAt, ...written } = row;
      const write = db
        .update(routes)
        .set(written)
        .where(its(tenantId, id))
        .returning({ id: routes.id });
      const old = db
        .delete(routeSlots)
        .where(and(eq(routeSlots.tenantId, tenantId), eq(routeSlots.routeId, id)));
      return changed(db.batch([write, old, slotRows(db, row), raise(db, tenantId)]));
    },
    remove(tenantId, id) {
      const write = db.delete(routes).where(its(tenantId, id)).returning({ id: routes.id });
      return changed(db.batch([write, raise(db, tenantId)]));
    },
    async count(tenantId, upstreamId) {
      const scope = and(eq(routes.tenantId, tenantId), eq(routes.upstreamId, upstreamId));
      const row = await stored(db.select({ total: count() }).from(routes).where(scope).get());
      return row.ok ? ok(row.value?.total ?? 0) : row;
    },
  };
}

/** The columns are the table's, in its order. */
const slotRows = (db: Db, row: RouteRecord) =>
  db.insert(routeSlots).select(sql`
    select ${row.upstreamId}, value, ${row.priority}, ${row.path}, ${row.tenantId}, ${row.id}
    from json_each(${JSON.stringify(row.enabled ? row.methods : [])})`);
