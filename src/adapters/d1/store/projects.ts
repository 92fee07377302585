/**
 * Projects in D1. Promises: a project that an upstream names is not deleted (`resource.conflict`).
 * Called by `store.ts`.
 */
import { and, eq } from 'drizzle-orm';
import { ok } from '../../../base/result';
import type { ProjectStore } from '../../../ports/store';
import { projects } from '../schema';
import { among, behind, changed, type Db, done, one, raise, stored } from './statements';

/** The projects of one database. */
export function projectStore(db: Db): ProjectStore {
  const its = (tenantId: string, id: string) =>
    and(eq(projects.tenantId, tenantId), eq(projects.id, id));
  return {
    get: (tenantId, id) => one(db.select().from(projects).where(its(tenantId, id)).get()),
    list: (tenantId, page) =>
      stored(
        db
          .select()
          .from(projects)
          .where(and(eq(projects.tenantId, tenantId), behind(projects.id, page)))
          .orderBy(projects.id)
          .limit(page.limit),
      ),
    insert: (row) => done(db.batch([db.insert(projects).values(row), raise(db, row.tenantId)])),
    replace(row) {
      const write = db
        .update(projects)
        .set({ name: row.name, updatedAt: row.updatedAt })
        .where(its(row.tenantId, row.id))
        .returning({ id: projects.id });
      return changed(db.batch([write, raise(db, row.tenantId)]));
    },
    remove(tenantId, id) {
      const write = db.delete(projects).where(its(tenantId, id)).returning({ id: projects.id });
      return changed(db.batch([write, raise(db, tenantId)]), 'upstreams');
    },
    async existing(tenantId, ids) {
      const rows = await stored(
        db
          .select({ id: projects.id })
          .from(projects)
          .where(and(eq(projects.tenantId, tenantId), among(projects.id, ids))),
      );
      return rows.ok ? ok(rows.value.map((row) => row.id)) : rows;
    },
  };
}
