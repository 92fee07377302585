/**
 * What a hold did to the books: `npm run weir -- hold HOLD`, and the entries that `call` shows. Promises: changes nothing; a hold's id says
 * when it was made and the log is in order of time, so its entries are found in a bounded number of requests, however long the log is.
 * Read by `commands.ts`.
 */
import { entryColumns } from './books.ts';
import type { Client, Row } from './client.ts';
import { amount, type Command, defaults, field, rowsIn, tags, when } from './command.ts';
import { Fault } from './fault.ts';
import { dollars } from './money.ts';
import { pairs, table } from './render.ts';

/** How far the clocks of isolate and ledger may differ, milliseconds. */
const skewMs = 5_000;
/** Pages of entries that are read behind a hold's beginning: 5,000 rows at most. */
const entryPagesMax = 50;
/** Rows of the log in one page at most: nearer than that it is read anyway. */
const pageRows = 100;

/** `npm run weir -- hold HOLD` */
export const hold: Command = {
  ...defaults,
  name: 'hold',
  words: 'HOLD',
  wordsMin: 1,
  wordsMax: 1,
  summary: 'One hold: whose it is, what became of it, its entries',
  examples: ['npm run weir -- hold hld_… --tenant ten_…'],
  async run(client, { words }) {
    const id = words[0] ?? '';
    if (madeAtMs(id) === null)
      throw new Fault('A hold is named by its id (hld_…): npm run weir -- holds.', 'usage');
    const entries = await entriesOfHold(client, id);
    const [placed] = entries;
    if (placed === undefined) throw new Fault(`The ledger has no entry of ${id}.`, 'failed');
    const lines: [string, string][] = [
      ['hold', id],
      ['held', `${dollars(amount(placed, 'micros'))} USD`],
      ['placed', when(placed, 'at')],
      ['key', field(placed, 'key_id')],
      ['tags', tags(placed)],
      ['now', endOf(entries)],
    ];
    const text = `${pairs(lines)}\n\n${table(entries, entryColumns, '')}`;
    return { kind: 'shown', document: { id, entries }, text };
  },
};

/** What became of it, in words. */
export function endOf(entries: readonly Row[]): string {
  const end = entries.findLast(isEnd);
  if (end === undefined)
    return 'open: its call is still answered, or a task holds it (see holds, tasks --pending)';
  const charged = end.micros === null ? '' : `${dollars(amount(end, 'micros'))} USD charged`;
  switch (end.kind) {
    case 'expire':
      return 'expired: nobody saw the end of its call; nothing charged (see reviews)';
    case 'release':
      return `released: nothing charged (${field(end, 'note') || 'no reason given'})`;
    case 'late_settle':
      return `settled after its end: ${charged}`;
    default:
      return `settled: ${charged}`;
  }
}

const isEnd = ({ kind }: Row): boolean =>
  kind === 'settle' || kind === 'release' || kind === 'expire' || kind === 'late_settle';

/** From its place to its end, or as far as is looked. Throws what the client throws. */
export async function entriesOfHold(client: Client, id: string): Promise<readonly Row[]> {
  const found: Row[] = [];
  let after: number | null = await seqBefore(client, (madeAtMs(id) ?? 0) - skewMs);
  for (let page = 0; page < entryPagesMax && after !== null; page += 1) {
    const answer: Row = await client.get('/ledger/entries', { after });
    found.push(...rowsIn(answer, 'data').filter((entry) => entry.id === id));
    // What expired may still be settled, within a day.
    const hasEnded = found.some((entry) => isEnd(entry) && entry.kind !== 'expire');
    const { next_after: next } = answer;
    after = typeof next === 'number' && !hasEnded ? next : null;
  }
  return found;
}

/** A row of the log from before `ms`, near it: rows are in the order of time, so halving finds it. */
async function seqBefore(client: Client, ms: number): Promise<number> {
  let [low, high] = [0, amount(await client.get('/ledger'), 'seq')];
  while (high - low > pageRows) {
    const middle = Math.floor((low + high) / 2);
    const [first] = rowsIn(await client.get('/ledger/entries', { after: middle - 1 }), 'data');
    if (first !== undefined && Date.parse(field(first, 'at')) < ms) low = middle;
    else high = middle;
  }
  return low;
}

/** When an id was made, epoch milliseconds: the first ten letters of a ULID. `null`: it is no id of a hold. */
export function madeAtMs(id: string): number | null {
  const [, time] = /^hld_([0-7][0-9A-HJKMNP-TV-Z]{9})[0-9A-HJKMNP-TV-Z]{16}$/.exec(id) ?? [];
  if (time === undefined) return null;
  return [...time].reduce((ms, letter) => 32 * ms + letters.indexOf(letter), 0);
}

const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
