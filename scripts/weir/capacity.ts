/**
 * Commands for the operator's vendor accounts: capacity (the list), capacity explain, capacity
 * reset. Promises: an account that is out is told, never an exit code: looking is not failing. Read
 * by `commands.ts`; the sweep's and the classifier's commands are beside this file.
 */

import type { Row } from './client.ts';
import { plain } from './columns.ts';
import {
  amount,
  type Command,
  field,
  operatorOnly,
  plainWord,
  rowsIn,
  shownList,
  when,
} from './command.ts';
import { Fault } from './fault.ts';
import type { Column } from './render.ts';

/** `npm run weir -- capacity` */
const list: Command = {
  ...operatorOnly,
  name: 'capacity',
  words: '[list]',
  wordsMax: 1,
  isList: true,
  summary: 'How your vendor accounts stand: locks, balances, who may probe next (operator)',
  examples: ['npm run weir -- capacity', 'npm run weir -- capacity list --all --json'],
  async run(client, { words, limit }) {
    if (words[0] !== undefined && words[0] !== 'list')
      throw new Fault(
        `There is no such capacity command${plainWord(words[0])}; npm run weir -- --help has them.`,
        'usage',
      );
    const found = await client.list('/capacity', {}, limit);
    return shownList(found, columns, 'No provider of the catalog has an account here.');
  },
};

const columns: readonly Column<Row>[] = [
  plain('PROVIDER', 'provider'),
  plain('STATE', 'state'),
  { head: 'ACCOUNTS', cell: (row) => texts(row.accounts).join(' ') },
  { head: 'OUT', cell: outOf },
  {
    head: 'UNTIL',
    cell: (row) => soonest([...rowsIn(row, 'locks'), ...rowsIn(row, 'marks')], 'until'),
  },
  { head: 'NEXT PROBE', cell: (row) => soonest(rowsIn(row, 'locks'), 'next_probe_at') },
  { head: 'LEFT', right: true, cell: left },
  { head: 'READ', cell: (row) => (isRow(row.snapshot) ? when(row.snapshot, 'observed_at') : '') },
];

/** Keys of the locks and marks, and the reading. */
function outOf(row: Row): string {
  const keys = [...rowsIn(row, 'locks'), ...rowsIn(row, 'marks')].map(
    (one) => field(one, 'key') || 'all',
  );
  return [...keys, ...(row.state === 'exhausted' ? ['reading'] : [])].join(' ');
}

/** The first of these times; empty where there is none. */
function soonest(rows: readonly Row[], name: string): string {
  const [first] = [...rows].sort((a, b) => (field(a, name) < field(b, name) ? -1 : 1));
  return first === undefined ? '' : when(first, name);
}

/** What the vendor last said is left; a collector that failed says why instead. */
function left({ snapshot }: Row): string {
  if (!isRow(snapshot)) return '';
  if (snapshot.error !== null) return `(${field(snapshot, 'error')})`;
  return [field(snapshot, 'remaining'), field(snapshot, 'unit')].filter(Boolean).join(' ');
}

/** `npm run weir -- capacity explain PROVIDER` */
const explain: Command = {
  ...operatorOnly,
  name: 'capacity explain',
  words: 'PROVIDER',
  wordsMin: 1,
  wordsMax: 1,
  summary: 'Why a call is refused now, since when, until when, and who may probe next (operator)',
  options: [
    { name: 'endpoint', value: 'ID', help: 'of this row of the catalog; default: any paid call' },
    { name: 'account', value: 'LABEL', help: 'on this account; default: all of them' },
  ],
  examples: [
    'npm run weir -- capacity explain openai',
    'npm run weir -- capacity explain hunter --endpoint hunter.email-finder --account backup',
  ],
  async run(client, { words, option }) {
    const query = { endpoint: option('endpoint'), account: option('account') };
    const row = await client.get(`${at(words)}/explain`, query);
    return { kind: 'shown', document: row, text: field(row, 'summary') };
  },
};

/** `npm run weir -- capacity reset PROVIDER` */
const reset: Command = {
  ...operatorOnly,
  name: 'capacity reset',
  words: 'PROVIDER',
  wordsMin: 1,
  wordsMax: 1,
  summary: 'Clear the locks, strikes, marks and the reading of a provider (operator)',
  options: [
    { name: 'key', value: 'K', help: 'only this key of the list; `reading` is the reading' },
  ],
  examples: [
    'npm run weir -- capacity reset openai',
    'npm run weir -- capacity reset hunter --key hunter.email-finder',
  ],
  async run(client, { words, option }) {
    const key = option('key');
    const row = await client.post(`${at(words)}/reset`, key === undefined ? {} : { key });
    const items = rowsIn(row, 'items').map((one) => `${field(one, 'what')} ${field(one, 'key')}`);
    const text =
      amount(row, 'cleared') === 0
        ? 'There was nothing to clear.'
        : `Cleared ${amount(row, 'cleared')}: ${items.join(', ')}.`;
    return { kind: 'shown', document: row, text };
  },
};

const at = ([provider = '']: readonly string[]): string =>
  `/capacity/${encodeURIComponent(provider)}`;

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null;

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

/** In the order of the help. */
export const capacityCommands: readonly Command[] = [list, explain, reset];
