/**
 * Pagination: `?limit=` and an opaque `?cursor=`; rows ordered by id. Promises: a page holds at
 * most {@link pageSizeMax} rows; `next_cursor` is null on the last page and only there. Called by
 * the lists.
 */
import * as z from 'zod/mini';
import { type IdPrefix, isId } from '../base/ids';
import { cursorCharsMax, pageSizeDefault, pageSizeMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { Page, Stored } from '../ports/store';
import { invalid } from './body';
import type { Call, QueryField } from './operation';

/** The query parameters of every list. */
export const pageQuery: Readonly<Record<string, QueryField>> = {
  limit: { integer: true, description: `Rows of one page, 1 to ${pageSizeMax}.` },
  cursor: { description: 'The next_cursor of the page before.' },
};

/** The answer of a list. */
export const pageOf = <S extends z.ZodMiniType>(row: S) =>
  z.object({ data: z.array(row), next_cursor: z.nullable(z.string()) });

/** What the rows of a list are named by: typed ids, or the shape of another kind of name. */
type RowNames = IdPrefix | Pick<RegExp, 'test'>;

/** How a list is read and shown. */
export interface List<R, W> {
  readonly names: RowNames;
  /** The rows behind `after`, at most `limit`, in the order of the list. */
  readonly read: (page: Page) => Stored<readonly R[]>;
  /** What names a row, so that a cursor can. */
  readonly nameOf: (row: R) => string;
  readonly toWire: (row: R) => W;
}

/** One page on the wire. */
export interface PageWire<W> {
  readonly data: W[];
  readonly next_cursor: string | null;
}

/**
 * Answers one page: asks for one row more than the page holds, to know whether another page follows. Refuses with `validation.error` on
 * `limit` or `cursor`.
 */
export async function paged<R, W>(
  call: Call,
  { names, read, nameOf, toWire }: List<R, W>,
): Promise<Result<PageWire<W>, Refusal>> {
  const { query } = call.facts;
  const limit = limitAsked(query.get('limit'));
  if (!limit.ok) return limit;
  const after = cursorAsked(query.get('cursor') ?? null, names);
  if (!after.ok) return after;
  const rows = await read({ after: after.value, limit: limit.value + 1 });
  if (!rows.ok) return rows;
  const shown = rows.value.slice(0, limit.value);
  const last = rows.value.length > limit.value ? shown.at(-1) : undefined;
  return ok({
    data: shown.map(toWire),
    next_cursor: last === undefined ? null : cursorOf(nameOf(last)),
  });
}

/** {@link paged} over rows that are named by their id. */
export const listed = <R extends { readonly id: string }, W>(
  call: Call,
  names: RowNames,
  read: (page: Page) => Stored<readonly R[]>,
  toWire: (row: R) => W,
): Promise<Result<PageWire<W>, Refusal>> =>
  paged(call, { names, read, nameOf: ({ id }) => id, toWire });

function limitAsked(asked: string | undefined): Result<number, Refusal> {
  const limitText = asked ?? String(pageSizeDefault);
  const limit = /^[1-9][0-9]{0,2}$/.test(limitText) ? Number(limitText) : 0;
  if (limit >= 1 && limit <= pageSizeMax) return ok(limit);
  const message = `must be a whole number from 1 to ${pageSizeMax}`;
  return err(invalid({ path: 'limit', message }));
}

/** The opaque cursor of the row that is named. */
export const cursorOf = (name: string): string => btoa(name);

/** The row that a cursor names; null without one. Refuses with `validation.error` on `cursor`. */
export function cursorAsked(
  cursor: string | null,
  names: RowNames,
): Result<string | null, Refusal> {
  if (cursor === null) return ok(null);
  const name = decodedCursor(cursor);
  const isOurs =
    name !== null && (typeof names === 'string' ? isId(names, name) : names.test(name));
  return isOurs
    ? ok(name)
    : err(invalid({ path: 'cursor', message: 'is not a cursor of this list' }));
}

/** What an opaque cursor holds; `null` when it is none of ours. */
export function decodedCursor(cursor: string): string | null {
  if (cursor.length > cursorCharsMax) return null;
  try {
    return atob(cursor);
  } catch {
    return null;
  }
}
