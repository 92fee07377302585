/**
 * Entries of a ledger's log, as JSON and as CSV. Promises: in order, without a gap and without a
 * repeat, from the first row on: what the object has given away and forgotten is read from D1's
 * copy; a hole that neither can fill is a fault, never a shorter list. A cell never begins a
 * formula in a spreadsheet. Read by `ledger.ts`.
 */
import * as z from 'zod/mini';
import { assert } from '../base/assert';
import { pageSizeMax } from '../base/limits';
import { ledgerEntriesPageMax } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import { entriesOf, type LedgerEntry } from '../domain/ledger/entries';
import type { Refusal } from '../domain/refusal';
import { invalid } from './body';
import { time, timeText } from './fields';
import { type Books, books } from './ledger-access';
import { fromLedger } from './ledger-refusals';
import { tagsAnswer, tagsWire } from './ledger-tags';
import { answering, type Call, type CsvPage, type Operation } from './operation';

/** One change of the books. */
const entryAnswer = z.object({
  seq: z.int(),
  index: z.int().check(z.describe('Position among the changes of one row.')),
  at: time,
  kind: z.enum([
    'grant',
    'top_up',
    'place',
    'renew',
    'settle',
    'release',
    'expire',
    'late_settle',
    'configure',
    'grace',
  ]),
  id: z.nullable(z.string()).check(z.describe('Of the hold, grant or top-up.')),
  micros: z.nullable(z.int()).check(z.describe('What was credited, placed or charged.')),
  held_micros: z.nullable(z.int()).check(z.describe('The hold that it ended.')),
  key_id: z.nullable(z.string()),
  tags: tagsAnswer,
  note: z.nullable(z.string()).check(z.describe('Kind of a credit, reason of a release.')),
});

type EntryWire = z.output<typeof entryAnswer>;

const pageAnswer = z.object({
  data: z.array(entryAnswer),
  next_after: z.nullable(z.int()).check(z.describe('The `after` of the next page.')),
});

/** `GET /ledger/entries`. */
export const entryOperation: Operation = answering({
  method: 'GET',
  path: '/ledger/entries',
  permission: 'call:read',
  summary: 'List the entries of the log, oldest first; CSV with format=csv or Accept: text/csv',
  query: {
    after: {
      integer: true,
      description: 'Only rows behind this seq; 0 (default): from the first.',
    },
    format: { description: 'json (default) or csv; a CSV page names the next one in Link.' },
  },
  answer: pageAnswer,
  handle: page,
  csv: csvPage,
});

async function page(call: Call): Promise<Result<z.output<typeof pageAnswer>, Refusal>> {
  const format = call.facts.query.get('format') ?? 'json';
  if (format !== 'json' && format !== 'csv') {
    return err(invalid({ path: 'format', message: 'must be one of json, csv' }));
  }
  const after = afterAsked(call.facts.query.get('after') ?? '0');
  if (!after.ok) return after;
  const found = await books(call);
  if (!found.ok) return found;
  const read = await rowsBehind(call, found.value, after.value);
  return read.ok ? ok(cut(read.value)) : read;
}

async function csvPage(call: Call): Promise<Result<CsvPage, Refusal>> {
  const read = await page(call);
  if (!read.ok) return read;
  const { data, next_after: after } = read.value;
  const next = after === null ? null : { name: 'after', value: String(after) };
  return ok({ text: csvText(data), next });
}

function afterAsked(given: string): Result<number, Refusal> {
  const after = /^(?:0|[1-9][0-9]{0,15})$/.test(given) ? Number(given) : Number.NaN;
  if (Number.isSafeInteger(after)) return ok(after);
  return err(invalid({ path: 'after', message: 'must be the seq of an entry' }));
}

/** Entries of the next rows, and whether there are rows behind them. A full read cannot say. */
interface Rows {
  readonly entries: readonly LedgerEntry[];
  readonly behind: 'nothing' | 'more' | 'unknown';
}

/**
 * The object first: a row leaves it only when D1 has it, so what it lacks is there. In the other
 * order a row could move between the two reads.
 */
async function rowsBehind(
  call: Call,
  { ledger, owner }: Books,
  after: number,
): Promise<Result<Rows, Refusal>> {
  const own = await fromLedger(ledger.entries(after));
  if (!own.ok) return own;
  const first = own.value[0]?.seq;
  if (first === after + 1) {
    const isFull = rowsOf(own.value) >= pageSizeMax;
    return ok({ entries: own.value, behind: isFull ? 'unknown' : 'nothing' });
  }
  const copied = await call.services.store.ledgerLog.rows(owner.id, after, pageSizeMax);
  if (!copied.ok) return copied;
  const oldest = copied.value[0]?.seq;
  assert(oldest === after + 1 || (oldest ?? first) === undefined, 'the log has a gap');
  const entries = copied.value.flatMap(entriesOf);
  if (first !== undefined) return ok({ entries, behind: 'more' });
  return ok({ entries, behind: copied.value.length >= pageSizeMax ? 'unknown' : 'nothing' });
}

const rowsOf = (entries: readonly LedgerEntry[]): number =>
  new Set(entries.map((entry) => entry.seq)).size;

/**
 * Whole rows, as many as fit. A full read gives up its last row, so that there is always one behind
 * the page that says it goes on.
 */
function cut({ entries, behind }: Rows): z.output<typeof pageAnswer> {
  const newest = entries.at(-1)?.seq ?? 0;
  const kept = behind === 'unknown' ? entries.filter((entry) => entry.seq < newest) : entries;
  const beyond = kept[ledgerEntriesPageMax];
  const firstSeq = kept[0]?.seq ?? 0;
  const until =
    beyond === undefined || beyond.seq === firstSeq ? Number.POSITIVE_INFINITY : beyond.seq;
  const shown = kept.filter((entry) => entry.seq < until);
  const goesOn = behind === 'more' || shown.length < entries.length;
  return { data: shown.map(entryWire), next_after: goesOn ? (shown.at(-1)?.seq ?? null) : null };
}

const entryWire = (entry: LedgerEntry): EntryWire => ({
  seq: entry.seq,
  index: entry.index,
  at: timeText(entry.atMs),
  kind: entry.kind,
  id: entry.id,
  micros: entry.micros,
  held_micros: entry.heldMicros,
  key_id: entry.keyId,
  tags: tagsWire(entry.tags),
  note: entry.note,
});

const columns = [
  'seq',
  'index',
  'at',
  'kind',
  'id',
  'micros',
  'held_micros',
  'key_id',
  'tags',
  'note',
] as const;

/** RFC 4180: a header line, CRLF, quotes doubled. */
export const csvText = (rows: readonly EntryWire[]): string =>
  [columns.join(','), ...rows.map(csvLine)].map((line) => `${line}\r\n`).join('');

const csvLine = (row: EntryWire): string => columns.map((name) => csvCell(row[name])).join(',');

/** The attack: a tag such as `=HYPERLINK(…)` that a spreadsheet would run. */
function csvCell(value: EntryWire[(typeof columns)[number]]): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
