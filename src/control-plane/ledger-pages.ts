/**
 * Pages over what a ledger lists by id. Promises: as `pagination.ts`; a cursor belongs to one list;
 * a page costs two calls of the object at most, since the object gives {@link pageSizeMax} rows.
 * Called by the ledger's resource files.
 */
import { pageSizeMax } from '../base/limits';
import { ledgerIdCharsMax } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { FromLedger } from '../ports/ledger';
import { invalid } from './body';
import { fromLedger } from './ledger-refusals';
import type { Call } from './operation';
import { decodedCursor, limitAsked } from './pagination';

/** What callers name holds, records and credits: printable, without a space. */
export const ledgerId = new RegExp(`^[\\x21-\\x7e]{1,${ledgerIdCharsMax}}$`);

/** How one list is read and shown. */
export interface LedgerList<R, W> {
  /** Stands in the cursor, so that one of another list is refused. */
  readonly name: string;
  readonly read: (after: string | null) => FromLedger<readonly R[]>;
  readonly idOf: (row: R) => string;
  readonly toWire: (row: R) => W;
}

/** Answers one page. Refuses with `validation.error` on `limit` or `cursor`. */
export async function listedFromLedger<R, W>(
  call: Call,
  list: LedgerList<R, W>,
): Promise<Result<{ data: W[]; next_cursor: string | null }, Refusal>> {
  const limit = limitAsked(call.facts.query);
  if (!limit.ok) return limit;
  const after = afterAsked(call, list.name);
  if (!after.ok) return after;
  const rows = await rowsBehind(list, after.value, limit.value + 1);
  if (!rows.ok) return rows;
  const shown = rows.value.slice(0, limit.value);
  const last = rows.value.length > limit.value ? shown.at(-1) : undefined;
  const next = last === undefined ? null : btoa(`${list.name}:${list.idOf(last)}`);
  return ok({ data: shown.map(list.toWire), next_cursor: next });
}

function afterAsked({ facts }: Call, name: string): Result<string | null, Refusal> {
  const cursor = facts.query.get('cursor');
  if (cursor === undefined) return ok(null);
  const [of, after = ''] = decodedCursor(cursor)?.split(/:(.*)/s) ?? [];
  if (of === name && ledgerId.test(after)) return ok(after);
  return err(invalid({ path: 'cursor', message: 'is not a cursor of this list' }));
}

/** At most `count` rows: a second call only when the first was full and is not enough. */
async function rowsBehind<R>(
  { read, idOf }: Pick<LedgerList<R, unknown>, 'read' | 'idOf'>,
  after: string | null,
  count: number,
): Promise<Result<readonly R[], Refusal>> {
  const first = await fromLedger(read(after));
  if (!first.ok || first.value.length < pageSizeMax || first.value.length >= count) return first;
  const last = first.value.at(-1);
  const second = await fromLedger(read(last === undefined ? after : idOf(last)));
  return second.ok ? ok([...first.value, ...second.value].slice(0, count)) : second;
}
