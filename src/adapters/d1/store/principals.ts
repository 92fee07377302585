/**
 * Principals in D1. Promises: deleting one deletes its keys in the same transaction, so no key
 * outlives its owner. Called by `store.ts`.
 */
import { and, eq } from 'drizzle-orm';
import type { Collection, PrincipalRecord } from '../../../ports/store';
import { accessKeys, principals } from '../schema';
import { behind, changed, type Db, done, one, raise, stored } from './statements';

/** The principals of one database. */
export function principalStore(db: Db): Collection<PrincipalRecord> {
  const its = (tenantId: string, id: string) =>
    and(eq(principals.tenantId, tenantId), eq(principals.id, id));
  return {
    get: (tenantId, id) => one(db.select().from(principals).where(its(tenantId, id)).get()),
    list: (tenantId, page) =>
      stored(
        db
          .select()
          .from(principals)
          .where(and(eq(principals.tenantId, tenantId), behind(principals.id, page)))
          .orderBy(principals.id)
          .limit(page.limit),
      ),
    insert: (row) => done(db.batch([db.insert(principals).values(row), raise(db, row.tenantId)])),
    replace(row) {
      const { name, role, enabled, updatedAt } = row;
      const write = db
        .update(principals)
        .set({ name, role, enabled, updatedAt })
        .where(its(row.tenantId, row.id))
        .returning({ id: principals.id });
      return changed(db.batch([write, raise(db, row.tenantId)]));
    },
    remove(tenantId, id) {
      const keys = db
        .delete(accessKeys)
        .where(and(eq(accessKeys.tenantId, tenantId), eq(accessKeys.principalId, id)));
      const write = db.delete(principals).where(its(tenantId, id)).returning({ id: principals.id });
      const work = db.batch([keys, write, raise(db, tenantId)]);
      return changed(work.then(([, gone]) => [gone] as const));
    },
  };
}
