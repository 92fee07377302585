/**
 * Storage: the part of an object's SQLite that we use, and its rows read back. `ctx.storage` fits it as it is, and
 * so does a few lines around `node:sqlite`, so that the model proof runs the same statements.
 * Promises of whoever implements it: `transactionSync` is all or nothing. Statement texts are
 * constant: the runtime caches what it prepared by text.
 */
import { assert } from '../src/base/assert';

/** What SQLite keeps in a column of ours. */
export type SqlValue = string | number | null | ArrayBuffer;
/** A row by the names of its columns. */
export type SqlRow = Record<string, SqlValue>;

/** Runs one statement; parameters are bound in their order. */
export interface ObjectSql {
  exec(sql: string, ...params: SqlValue[]): { toArray(): SqlRow[] };
}

/** The database of one object. */
export interface ObjectStorage {
  readonly sql: ObjectSql;
  transactionSync<T>(work: () => T): T;
}

/** A column that is an amount, a time or a count; asserted safe after the read. */
export function integer(row: SqlRow | undefined, column: string): number {
  const value = row?.[column];
  assert(typeof value === 'number' && Number.isSafeInteger(value), `${column} is no safe integer`);
  return value;
}

/** The same for a column that may be null. */
export const integerOrNull = (row: SqlRow, column: string): number | null =>
  row[column] === null ? null : integer(row, column);

/** A column of text; asserted after the read. */
export function text(row: SqlRow | undefined, column: string): string {
  const value = row?.[column];
  assert(typeof value === 'string', `${column} is no text`);
  return value;
}

/** The same for a column that may be null. */
export const textOrNull = (row: SqlRow, column: string): string | null =>
  row[column] === null ? null : text(row, column);

/** A column of bytes; `null` stays. */
export function bytesOrNull(row: SqlRow, column: string): Uint8Array | null {
  const value = row[column];
  if (value === null) return null;
  assert(value instanceof ArrayBuffer, `${column} is no bytes`);
  return new Uint8Array(value);
}

/** A slice of a list: what is behind `after`, at most `limit` of it. */
export interface Slice {
  readonly after: string | null;
  readonly limit: number;
}
