/**
 * Commands that look at a ledger: balance, holds, entries, ledger audit. Read by `commands.ts`.
 */

import type { Row } from './client.ts';
import { number, plain, time, usd } from './columns.ts';
import {
  amount,
  type Command,
  defaults,
  field,
  type Output,
  rowsIn,
  shownList,
  tags,
} from './command.ts';
import { dollars } from './money.ts';
import { type Column, pairs, table } from './render.ts';

/** `npm run weir -- balance` */
export const balance: Command = {
  ...defaults,
  name: 'balance',
  summary: 'What is available, held and spent, and the limits in force',
  examples: ['npm run weir -- balance', 'npm run weir -- balance --tenant ten_… --json'],
  async run(client) {
    const row = await client.get('/ledger');
    return { kind: 'shown', document: row, text: balanceText(row) };
  },
};

function balanceText(row: Row): string {
  const of = (name: string): string => `${dollars(amount(row, name))} USD`;
  const cap = row.daily_cap_micros === null ? '' : ` of ${of('daily_cap_micros')}`;
  const limits = row.limits as Row;
  const debt = amount(row, 'debt_micros');
  const lines: [string, string][] = [
    ['ledger', field(row, 'ledger_tenant_id')],
    ['available', of('available_micros')],
    ['held', `${of('held_micros')} (${field(row, 'open_holds')} open holds)`],
    ['settled', of('settled_micros')],
    ['granted', of('granted_micros')],
    ['topped up', of('topped_up_micros')],
    ['settled today', `${of('settled_today_micros')}${cap}`],
    ...(debt === 0 ? [] : [['owed', of('debt_micros')] as [string, string]]),
  ];
  const blocks = rowsIn(row, 'blocks');
  const warning =
    limits.in_force === true
      ? ''
      : '\n\nThe stored limits are not in force: repeat the PUT of the tenant (without limits: with a cap first).';
  const credits = blocks.length === 0 ? '' : `\n\n${blocksText(blocks)}`;
  return `${pairs(lines)}${credits}${budgetsText(row)}${warning}`;
}

const blocksText = (blocks: readonly Row[]): string =>
  table(
    blocks,
    [
      plain('CREDIT', 'id'),
      plain('KIND', 'kind'),
      usd('GRANTED', 'granted_micros'),
      usd('LEFT', 'remaining_micros'),
      usd('HELD', 'held_micros'),
    ],
    '',
  );

function budgetsText(row: Row): string {
  const budgets = rowsIn(row, 'budgets');
  if (budgets.length === 0) return '';
  const columns: Column<Row>[] = [
    plain('BUDGET', 'dimension'),
    plain('WINDOW', 'window'),
    usd('SPEND', 'spend_max_micros'),
    number('CALLS', 'calls_max'),
    { head: 'RULES', right: true, cell: (budget) => String(rowsIn(budget, 'values').length) },
  ];
  return `\n\n${table(budgets, columns, '')}`;
}

/** `npm run weir -- holds` */
export const holds: Command = {
  ...defaults,
  name: 'holds',
  isList: true,
  summary: 'Open holds: money reserved for calls that have not ended',
  examples: ['npm run weir -- holds', 'npm run weir -- holds --all --json'],
  async run(client, { limit }) {
    const columns: Column<Row>[] = [
      plain('HOLD', 'id'),
      usd('USD', 'amount_micros'),
      time('PLACED', 'placed_at'),
      time('LEASE UNTIL', 'lease_until'),
      plain('KEY', 'key_id'),
      { head: 'TAGS', cell: tags },
    ];
    const found = await client.list('/ledger/holds', {}, limit);
    return shownList(found, columns, 'No hold is open.');
  },
};

/** `npm run weir -- entries` */
export const entries: Command = {
  ...defaults,
  name: 'entries',
  isList: true,
  summary: 'The log of the ledger, oldest first; --csv for a spreadsheet',
  options: [
    { name: 'after', value: 'SEQ', help: 'only rows behind this one' },
    { name: 'csv', help: 'all rows as CSV' },
  ],
  examples: [
    'npm run weir -- entries --after 120',
    'npm run -s weir -- entries --csv > entries.csv',
  ],
  async run(client, { limit, option, isSet }) {
    const query = { after: option('after') };
    if (isSet('csv')) {
      const pages = client.csv('/ledger/entries', { ...query, format: 'csv' });
      return { kind: 'stream', parts: oneHeader(pages) };
    }
    const pager = { cursor: 'after', next: 'next_after' };
    const found = await client.list('/ledger/entries', query, limit, pager);
    return shownList(found, entryColumns, 'No entry yet.');
  },
};

/** Columns of the log. */
export const entryColumns: readonly Column<Row>[] = [
  number('SEQ', 'seq'),
  time('AT', 'at'),
  plain('WHAT', 'kind'),
  plain('ID', 'id'),
  usd('USD', 'micros'),
  usd('HELD', 'held_micros'),
  { head: 'NOTE', cell: (row) => [field(row, 'note'), tags(row)].filter(Boolean).join(' ') },
];

/** Every page has its header line; one is enough. */
async function* oneHeader(pages: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const page of pages) {
    yield isFirst ? page : page.slice(page.indexOf('\r\n') + 2);
    isFirst = false;
  }
}

/** `npm run weir -- ledger audit` */
export const audit: Command = {
  ...defaults,
  name: 'ledger audit',
  summary: 'Replay the log and compare it with the books; exit 1 when they differ',
  examples: ['npm run weir -- ledger audit --tenant ten_…'],
  async run(client): Promise<Output> {
    let row = await client.get('/ledger/audit');
    while (row.outcome === 'more') row = await client.get('/ledger/audit');
    const fault = auditFault(row);
    if (fault !== null) return { kind: 'alarm', document: row, text: fault };
    return { kind: 'shown', document: row, text: auditText(row) };
  },
};

function auditFault(row: Row): string | null {
  if (row.outcome !== 'clean') return `Fault at row ${field(row, 'seq')}: ${field(row, 'what')}.`;
  const copy = row.copy as Row;
  return copy.outcome === 'fault' ? `Fault in the copy in D1: ${field(copy, 'what')}.` : null;
}

function auditText(row: Row): string {
  const [fromSeq, seq] = [amount(row, 'from_seq'), amount(row, 'seq')];
  const copy = row.copy as Row;
  const rest = copy.outcome === 'partial' ? ' It is longer: this was only its beginning.' : '';
  const copied = `The copy in D1 agrees up to row ${amount(copy, 'seq')}.${rest}`;
  if (seq === 0) return 'Clean: an empty ledger.';
  return `Clean: rows ${fromSeq + 1} to ${seq} give exactly these books. ${copied}`;
}
