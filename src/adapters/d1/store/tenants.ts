/**
 * Tenants in D1. Promises: the tree is walked by its own rows, at most {@link tenantDepthMax}
 * levels; a parent never changes, so no cycle can be written. Called by `store.ts`.
 */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { tenantDepthMax } from '../../../base/limits';
import { ok } from '../../../base/result';
import type { TenantRecord, TenantStore } from '../../../ports/store';
import { tenantDataKeys, tenants } from '../schema';
import { behind, changed, type Db, done, knowCounting, one, raise, stored } from './statements';

const columns = {
  id: tenants.id,
  parentId: tenants.parentId,
  name: tenants.name,
  depth: tenants.depth,
  homeRegion: tenants.homeRegion,
  ledgerTenantId: tenants.ledgerTenantId,
  platformOverflow: tenants.platformOverflow,
  dailyCapMicros: tenants.dailyCapMicros,
  budgets: tenants.budgets,
  ledgerConfigVersion: tenants.ledgerConfigVersion,
  createdAt: tenants.createdAt,
  updatedAt: tenants.updatedAt,
};

/** The tenants of one database. */
export function tenantStore(db: Db): TenantStore {
  const childOf = (parentId: string | null) =>
    parentId === null ? isNull(tenants.parentId) : eq(tenants.parentId, parentId);
  return {
    async chain(tenantId) {
      const rows = await stored(db.all<{ id: string }>(chainOf(tenantId)));
      return rows.ok ? ok(rows.value.map((row) => row.id)) : rows;
    },
    get: (tenantId) => one(db.select(columns).from(tenants).where(eq(tenants.id, tenantId)).get()),
    children: (parentId, page) =>
      stored(
        db
          .select(columns)
          .from(tenants)
          .where(and(childOf(parentId), behind(tenants.id, page)))
          .orderBy(tenants.id)
          .limit(page.limit),
      ),
    insert: (row) => done(db.insert(tenants).values(row)),
    replace: (row) => {
      const counting = knowCounting(db, row.id, row.updatedAt);
      return changed(db.batch([replaced(db, row), raise(db, row.id), counting]));
    },
    raiseLimits: (tenantId, atLeast) => one(raisedLimits(db, tenantId, atLeast)),
    remove: (tenantId) => removed(db, tenantId),
  };
}

const chainOf = (tenantId: string) => sql`
  with recursive chain(id, parent_id, level) as (
    select id, parent_id, 1 from tenants where id = ${tenantId}
    union all
    select t.id, t.parent_id, c.level + 1 from tenants t join chain c on t.id = c.parent_id
    where c.level < ${tenantDepthMax}
  ) select id from chain order by level`;

const replaced = (db: Db, row: TenantRecord) =>
  db
    .update(tenants)
    .set({
      name: row.name,
      homeRegion: row.homeRegion,
      ledgerTenantId: row.ledgerTenantId,
      platformOverflow: row.platformOverflow,
      dailyCapMicros: row.dailyCapMicros,
      budgets: row.budgets,
      updatedAt: row.updatedAt,
    })
    .where(eq(tenants.id, row.id))
    .returning({ id: tenants.id });

/** One statement, so that the version and the limits that it is given for are one state. */
const raisedLimits = (db: Db, tenantId: string, atLeast: number) =>
  db
    .update(tenants)
    .set({ ledgerConfigVersion: sql`max(${tenants.ledgerConfigVersion}, ${atLeast}) + 1` })
    .where(eq(tenants.id, tenantId))
    .returning({
      version: tenants.ledgerConfigVersion,
      dailyCapMicros: tenants.dailyCapMicros,
      budgets: tenants.budgets,
    })
    .get();

/**
 * The data keys go with the tenant: a child or a resource breaks a reference and takes the whole
 * batch back.
 */
async function removed(db: Db, tenantId: string) {
  const keys = db.delete(tenantDataKeys).where(eq(tenantDataKeys.tenantId, tenantId));
  const tenant = db.delete(tenants).where(eq(tenants.id, tenantId)).returning({ id: tenants.id });
  const work = db.batch([keys, tenant]);
  return changed(
    work.then(([, gone]) => [gone] as const),
    'resources',
  );
}
