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

/** The rows of one page that a query asks for. Refuses with `validation.error` on `limit`. */
export function limitAsked(query: ReadonlyMap<string, string>): Result<number, Refusal> {
  const limitText = query.get('limit') ?? String(pageSizeDefault);
  const limit = /^[1-9][0-9]{0,2}$/.test(limitText) ? Number(limitText) : 0;
  if (limit >= 1 && limit <= pageSizeMax) return ok(limit);
  const message = `must be a whole number from 1 to ${pageSizeMax}`;
  return err(invalid({ path: 'limit', message }));
}

/** What the rows of a list are named by: typed ids, or the shape of another kind of id. */
type RowIds = IdPrefix | RegExp;

/** The page that a query asks for. Refuses with `validation.error` on `limit` or `cursor`. */
export function pageAsked(query: ReadonlyMap<string, string>, ids: RowIds): Result<Page, Refusal> {
  const limit = limitAsked(query);
  if (!limit.ok) return limit;
  const cursor = query.get('cursor');
  if (cursor === undefined) return ok({ after: null, limit: limit.value });
  const after = decodedCursor(cursor);
  const isOurs = (id: string): boolean => (typeof ids === 'string' ? isId(ids, id) : ids.test(id));
  if (after !== null && isOurs(after)) return ok({ after, limit: limit.value });
  return err(invalid({ path: 'cursor', message: 'is not a cursor of this list' }));
}

/**
 * Answers one page: asks the store for one row more than the page holds, to know whether another
 * page follows.
 */
export async function listed<R extends { readonly id: string }, W>(
  call: Call,
  ids: RowIds,
  read: (page: Page) => Stored<readonly R[]>,
  toWire: (row: R) => W,
): Promise<Result<{ data: W[]; next_cursor: string | null }, Refusal>> {
  const page = pageAsked(call.facts.query, ids);
  if (!page.ok) return page;
  const { after, limit } = page.value;
  const rows = await read({ after, limit: limit + 1 });
  if (!rows.ok) return rows;
  const shown = rows.value.slice(0, limit);
  const last = rows.value.length > limit ? shown.at(-1) : undefined;
  return ok({ data: shown.map(toWire), next_cursor: last === undefined ? null : btoa(last.id) });
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
