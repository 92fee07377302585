/**
 * Routes in D1, with one slot row per method of an enabled route. Promises: two enabled routes of
 * one upstream never share path, priority and method; the slots' primary key decides, not a look
 * before the write. Called by `store.ts`.
 */
import { and, eq, sql } from 'drizzle-orm';
import type { RouteRecord, RouteStore } from '../../../ports/store';
import { routeSlots, routes } from '../schema';
import { behind, changed, type Db, insertBelow, madeRoom, one, raise, stored } from './statements';

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
    insertBelow(row, max) {
      const { tenantId, upstreamId } = row;
      const scope = sql`${eq(routes.tenantId, tenantId)} and ${eq(routes.upstreamId, upstreamId)}`;
      const write = insertBelow(db, routes, row, { scope, max });
      return madeRoom(db.batch([write, slotRows(db, row), raise(db, tenantId)]));
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
  };
}

/** The columns are the table's, in its order. A route that is not there has no slots. */
const slotRows = (db: Db, row: RouteRecord) =>
  db.insert(routeSlots).select(sql`
    select ${row.upstreamId}, value, ${row.priority}, ${row.path}, ${row.tenantId}, ${row.id}
    from json_each(${JSON.stringify(row.enabled ? row.methods : [])})
    where exists (select 1 from ${routes} where ${routes.id} = ${row.id})`);
