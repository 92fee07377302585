/**
 * Pages over what a ledger lists by id. Promises: as `pagination.ts`; a cursor belongs to one list;
 * a page costs two calls of the object at most, since the object gives {@link pageSizeMax} rows.
 * Called by the ledger's resource files.
 */
import { pageSizeMax } from '../base/limits';
import { ledgerIdCharsMax } from '../base/limits-money';
import { ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { FromLedger, Ledger } from '../ports/ledger';
import type { Page } from '../ports/store';
import { books } from './ledger-access';
import { fromLedger } from './ledger-refusals';
import type { Call } from './operation';
import { type PageWire, paged } from './pagination';

/** What callers name holds, records and credits: printable, without a space. */
export const ledgerId = new RegExp(`^[\\x21-\\x7e]{1,${ledgerIdCharsMax}}$`);

/** How one list is read and shown. */
export interface LedgerList<R, W> {
  /** Stands in the cursor, so that one of another list is refused. */
  readonly name: string;
  readonly read: (ledger: Ledger, after: string | null) => FromLedger<readonly R[]>;
  readonly idOf: (row: R) => string;
  readonly toWire: (row: R) => W;
}

/** Answers one page of the ledger that pays for the tenant that is acted in. */
export async function listedFromLedger<R, W>(
  call: Call,
  { name, read, idOf, toWire }: LedgerList<R, W>,
): Promise<Result<PageWire<W>, Refusal>> {
  const found = await books(call);
  if (!found.ok) return found;
  const { ledger } = found.value;
  const prefix = `${name}:`;
  return paged(call, {
    names: { test: (text) => text.startsWith(prefix) && ledgerId.test(text.slice(prefix.length)) },
    read: ({ after, limit }) =>
      rowsBehind((id) => read(ledger, id), idOf, {
        after: after?.slice(prefix.length) ?? null,
        limit,
      }),
    nameOf: (row) => prefix + idOf(row),
    toWire,
  });
}

/** A second call only when the first was full and is not enough. */
async function rowsBehind<R>(
  read: (after: string | null) => FromLedger<readonly R[]>,
  idOf: (row: R) => string,
  { after, limit }: Page,
): Promise<Result<readonly R[], Refusal>> {
  const first = await fromLedger(read(after));
  if (!first.ok || first.value.length < pageSizeMax || first.value.length >= limit) return first;
  const last = first.value.at(-1);
  const second = await fromLedger(read(last === undefined ? after : idOf(last)));
  return second.ok ? ok([...first.value, ...second.value].slice(0, limit)) : second;
}
