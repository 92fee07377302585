/**
 * What the D1 stores share: the version raise, the cursor condition, and the one translation of
 * D1's errors. Promises: an error of the store becomes a refusal; only names of our own columns
 * come out of its text. Must never: let a text of the database reach a caller. Called by the stores
 * of D1.
 */
import { eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { AssertionError } from '../../../base/assert';
import { configRetryMs } from '../../../base/limits';
import { err, ok } from '../../../base/result';
import type { Refusal } from '../../../domain/refusal';
import type { Page, Stored } from '../../../ports/store';
import { report } from '../../telemetry/report';
import { accessKeys, tenants } from '../schema';
import { ledgers } from '../schema-ledger';

export type Db = DrizzleD1Database<Record<string, never>>;

/** D1's own time, epoch milliseconds. */
const nowInD1 = sql`cast(unixepoch('subsec') * 1000 as integer)`;

/** Columns that stand last in a unique index, and the wire field that they are. */
const uniqueFields: Readonly<Record<string, string>> = {
  name: 'name',
  alias: 'alias',
  path: 'path',
};

/**
 * Raises the tenant's `config_version`; goes into the same batch as the write that it announces. At
 * least to the time, milliseconds: a database that was set back must not count up to a version
 * again under which isolates hold other rows, such as a key that has been revoked once more.
 */
export const raise = (db: Db, tenantId: string) =>
  db
    .update(tenants)
    .set({ configVersion: sql`max(${tenants.configVersion} + 1, ${nowInD1})` })
    .where(eq(tenants.id, tenantId));

/**
 * Makes the ledger that pays for a tenant known to the journal job when a key of the tenant has a
 * call cap: its calls are logged there, money or not, and a log that nobody copies is never cut.
 * Goes into the same batch as the write.
 */
export const knowCounting = (db: Db, tenantId: string, nowMs: number) =>
  db
    .insert(ledgers)
    .select(
      // Every column of the table, in its order: drizzle names them all.
      sql`select payer.id, payer.home_region, 0, 0, null, ${nowMs}
        from ${tenants} as own join ${tenants} as payer on payer.id = own.ledger_tenant_id
        where own.id = ${tenantId} and exists (select 1 from ${accessKeys} as capped
          where capped.tenant_id = own.id and capped.daily_call_cap is not null)`,
    )
    .onConflictDoNothing();

/**
 * Inserts a row while fewer than `max` rows are in `scope`, and returns whether it did: counted and written by one statement, so that
 * requests at the same time do not pass the limit together.
 */
export const insertBelow = <T extends SQLiteTable>(
  db: Db,
  table: T,
  row: T['$inferSelect'],
  { scope, max }: { readonly scope: SQL; readonly max: number },
) => {
  const given: Readonly<Record<string, unknown>> = row;
  // Every column of the table, in its order: drizzle names them all.
  const values = Object.entries(getTableColumns(table)).map(([key, column]) =>
    sql.param(given[key], column),
  );
  return db
    .insert(table)
    .select(
      sql`select ${sql.join(values, sql`, `)}
        where (select count(*) from ${table} where ${scope}) < ${max}`,
    )
    .returning({ made: sql`1` });
};

/** The rows behind a cursor. */
export const behind = (id: SQLiteColumn, page: Page): SQL | undefined =>
  page.after === null ? undefined : sql`${id} > ${page.after}`;

/** The same of a list that runs backwards. */
export const before = (id: SQLiteColumn, page: Page): SQL | undefined =>
  page.after === null ? undefined : sql`${id} < ${page.after}`;

/** Membership in a list of any length as one bound parameter (D1 binds 100 at most). */
export const among = (column: SQLiteColumn, values: readonly string[]): SQL =>
  sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;

/**
 * Runs a statement. A broken unique rule is `resource.conflict` with its field; a broken reference
 * too when `heldBy` names the field that holds it; everything else that the database says is
 * `config.unavailable`, and a line in the log; a bug of ours is thrown on.
 */
export async function stored<T>(work: PromiseLike<T>, heldBy?: string): Stored<T> {
  try {
    return ok(await work);
  } catch (error) {
    const root = innermost(error);
    if (root instanceof AssertionError || root instanceof TypeError) throw error;
    const message = root instanceof Error ? root.message : '';
    const refusal = refusalOf(message, heldBy);
    if (refusal.code === 'config.unavailable') report('store.fault', { message });
    return err(refusal);
  }
}

/** One row; `resource.not_found` when there is none. */
export async function one<T>(work: PromiseLike<T | undefined>): Stored<T> {
  const row = await stored(work);
  if (!row.ok) return row;
  return row.value === undefined ? err({ code: 'resource.not_found' }) : ok(row.value);
}

/** A batch whose result is not needed. */
export async function done(work: PromiseLike<unknown>, heldBy?: string): Stored<void> {
  const ran = await stored(work, heldBy);
  return ran.ok ? ok(undefined) : ran;
}

/**
 * A batch whose first statement returns the rows that it changed; `resource.not_found` when there
 * is none.
 */
export async function changed(
  work: PromiseLike<readonly [readonly unknown[], ...unknown[]]>,
  heldBy?: string,
): Stored<void> {
  const ran = await stored(work, heldBy);
  if (!ran.ok) return ran;
  return ran.value[0].length === 0 ? err({ code: 'resource.not_found' }) : ok(undefined);
}

/** A batch whose first statement is {@link insertBelow}: whether it found room. */
export async function madeRoom(
  work: PromiseLike<readonly [readonly unknown[], ...unknown[]]>,
): Stored<boolean> {
  const ran = await stored(work);
  return ran.ok ? ok(ran.value[0].length > 0) : ran;
}

/**
 * drizzle's own message repeats the parameters, which a caller chose; only the database's message
 * is read.
 */
function innermost(error: unknown): unknown {
  let at = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  return at;
}

function refusalOf(message: string, heldBy: string | undefined): Refusal {
  const columns = /UNIQUE constraint failed: ([a-z0-9_., ]+)/.exec(message)?.[1];
  if (columns !== undefined) {
    const last = columns.slice(columns.lastIndexOf('.') + 1).trim();
    return { code: 'resource.conflict', field: uniqueFields[last] ?? 'id' };
  }
  if (heldBy !== undefined && message.includes('FOREIGN KEY constraint failed')) {
    return { code: 'resource.conflict', field: heldBy };
  }
  return { code: 'config.unavailable', retryAfterMs: configRetryMs };
}
