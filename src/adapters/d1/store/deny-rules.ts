/** Deny rules in D1. Called by `store.ts`. */
import { and, eq } from 'drizzle-orm';
import type { DenyRuleStore } from '../../../ports/store';
import { denyRules } from '../schema';
import { behind, changed, type Db, insertBelow, madeRoom, one, raise, stored } from './statements';

/** The deny rules of one database. */
export function denyRuleStore(db: Db): DenyRuleStore {
  const ofTenant = (tenantId: string) => eq(denyRules.tenantId, tenantId);
  const its = (tenantId: string, id: string) => and(ofTenant(tenantId), eq(denyRules.id, id));
  return {
    get: (tenantId, id) => one(db.select().from(denyRules).where(its(tenantId, id)).get()),
    list(tenantId, page) {
      const scope = and(ofTenant(tenantId), behind(denyRules.id, page));
      return stored(
        db.select().from(denyRules).where(scope).orderBy(denyRules.id).limit(page.limit),
      );
    },
    insertBelow(row, max) {
      const write = insertBelow(db, denyRules, row, { scope: ofTenant(row.tenantId), max });
      return madeRoom(db.batch([write, raise(db, row.tenantId)]));
    },
    replace(row) {
      const { id, tenantId, createdAt, ...written } = row;
      const write = db
        .update(denyRules)
        .set(written)
        .where(its(tenantId, id))
        .returning({ id: denyRules.id });
      return changed(db.batch([write, raise(db, tenantId)]));
    },
    remove(tenantId, id) {
      const write = db.delete(denyRules).where(its(tenantId, id)).returning({ id: denyRules.id });
      return changed(db.batch([write, raise(db, tenantId)]));
    },
  };
}
