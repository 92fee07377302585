/**
 * Data keys in D1, and the secrets that they seal, for rotation. Promises: every write compares
 * what it replaces, so a rotation never undoes a write that came between. `wrappedBefore` alone
 * reads across tenants: it is the operator's. Called by `store.ts`.
 */
import { and, count, desc, eq, lt, notExists, notInArray } from 'drizzle-orm';
import { err, ok } from '../../../base/result';
import type { DataKeyStore, Resealed, Rewrapped } from '../../../ports/store';
import { secrets, tenantDataKeys } from '../schema';
import { type Db, done, raise, stored } from './statements';

const wrapping = {
  tenantId: tenantDataKeys.tenantId,
  version: tenantDataKeys.version,
  masterVersion: tenantDataKeys.masterVersion,
  wrapped: tenantDataKeys.wrapped,
};

/** The data keys of one database. */
export function dataKeyStore(db: Db): DataKeyStore {
  const ofTenant = (tenantId: string) => eq(tenantDataKeys.tenantId, tenantId);
  return {
    async newest(tenantId) {
      const newest = desc(tenantDataKeys.version);
      const rows = db.select(wrapping).from(tenantDataKeys).where(ofTenant(tenantId));
      const row = await stored(rows.orderBy(newest).limit(1).get());
      return row.ok ? ok(row.value ?? null) : row;
    },
    add(key, nowMs) {
      const row = { ...key, createdAt: nowMs };
      return done(db.insert(tenantDataKeys).values(row).onConflictDoNothing());
    },
    async wrappedBefore({ newestMasterVersion, masterVersions }, limit) {
      const older = lt(tenantDataKeys.masterVersion, newestMasterVersion);
      const first = db.select(wrapping).from(tenantDataKeys).where(older);
      // Rows whose master key is lost stay for ever: in front they would keep the others out of every step.
      const isLost = notInArray(tenantDataKeys.masterVersion, [...masterVersions]);
      const ordered = first
        .orderBy(isLost, tenantDataKeys.tenantId, tenantDataKeys.version)
        .limit(limit);
      const all = db.select({ total: count() }).from(tenantDataKeys).where(older);
      const ran = await stored(db.batch([ordered, all]));
      return ran.ok ? ok({ rows: ran.value[0], total: ran.value[1][0]?.total ?? 0 }) : ran;
    },
    async rewrap(changes) {
      const [first, ...rest] = changes.map((change) => rewrapped(db, change));
      return first === undefined ? ok(undefined) : done(db.batch([first, ...rest]));
    },
    sealedBefore: (tenantId, version, limit) => sealedBefore(db, tenantId, version, limit),
    async reseal(tenantId, changes) {
      const writes = changes.map((change) => resealed(db, tenantId, change));
      return writes.length === 0 ? ok(undefined) : done(db.batch([raise(db, tenantId), ...writes]));
    },
    retire(tenantId, version) {
      const sealing = db
        .select({ id: secrets.id })
        .from(secrets)
        .where(
          and(eq(secrets.tenantId, tenantId), eq(secrets.dataKeyVersion, tenantDataKeys.version)),
        );
      const unused = and(lt(tenantDataKeys.version, version), notExists(sealing));
      return done(db.delete(tenantDataKeys).where(and(ofTenant(tenantId), unused)));
    },
  };
}

/**
 * The new wrapping opens the same key, so no isolate has to hear of it: the version is not raised.
 */
const rewrapped = (db: Db, { before, after }: Rewrapped) =>
  db
    .update(tenantDataKeys)
    .set({ masterVersion: after.masterVersion, wrapped: after.wrapped })
    .where(
      and(
        eq(tenantDataKeys.tenantId, before.tenantId),
        eq(tenantDataKeys.version, before.version),
        eq(tenantDataKeys.masterVersion, before.masterVersion),
      ),
    );

const resealed = (db: Db, tenantId: string, { before, after }: Resealed) =>
  db
    .update(secrets)
    .set({ sealed: after.sealed, dataKeyVersion: after.dataKeyVersion })
    .where(
      and(
        eq(secrets.tenantId, tenantId),
        eq(secrets.id, before.id),
        eq(secrets.dataKeyVersion, before.dataKeyVersion),
        eq(secrets.sealed, before.sealed),
      ),
    );

/**
 * Two reads, joined here: in a batch D1 answers rows by column name, and both tables have the same
 * names.
 */
const sealedBefore: (
  db: Db,
  ...args: Parameters<DataKeyStore['sealedBefore']>
) => ReturnType<DataKeyStore['sealedBefore']> = async (db, tenantId, version, limit) => {
  const older = and(eq(secrets.tenantId, tenantId), lt(secrets.dataKeyVersion, version));
  const first = db.select().from(secrets).where(older).orderBy(secrets.id).limit(limit);
  const all = db.select({ total: count() }).from(secrets).where(older);
  const keys = db
    .select(wrapping)
    .from(tenantDataKeys)
    .where(eq(tenantDataKeys.tenantId, tenantId));
  const ran = await stored(db.batch([first, all, keys]));
  if (!ran.ok) return err(ran.error);
  const byVersion = new Map(ran.value[2].map((key) => [key.version, key]));
  const rows = ran.value[0].flatMap((row) => {
    const key = byVersion.get(row.dataKeyVersion);
    if (key === undefined) return [];
    const { id, sealed, dataKeyVersion } = row;
    const { masterVersion, wrapped: wrappedDataKey } = key;
    return [{ id, tenantId, sealed, dataKeyVersion, masterVersion, wrappedDataKey }];
  });
  return ok({ rows, total: ran.value[1][0]?.total ?? 0 });
};
