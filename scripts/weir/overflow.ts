/**
 * Commands of the operator on overflow: its routes, what they cost, the sync and the verification. Promises: a verification goes on, part by
 * part, until every route was visited; its exit code is 1 when our key or our balance was refused, when every attempt was lost to an
 * aggregator's side, or when nothing was attempted; a route that failed is a result. Read by `commands.ts`.
 */
import type { RunEntry } from '../../src/domain/overflow/verdict.ts';
import { resolveSrcModules } from '../lib/src-modules.ts';
import type { Client, Row } from './client.ts';
import { number, plain, time, usd } from './columns.ts';
import {
  amount,
  type Command,
  field,
  type Output,
  operatorOnly,
  rowsIn,
  shownList,
} from './command.ts';
import { Fault } from './fault.ts';
import { dollars, microsOf } from './money.ts';
import { type Column, table } from './render.ts';

resolveSrcModules();
const { alarmOf } = await import('../../src/domain/overflow/verdict.ts');

/** `npm run weir -- overflow routes` */
export const overflowRoutes: Command = {
  ...operatorOnly,
  name: 'overflow routes',
  isList: true,
  summary: 'Routes through aggregators, and why those are off that are (operator)',
  examples: ['npm run weir -- overflow routes --all'],
  async run(client, { limit }) {
    const found = await client.list('/overflow/routes', {}, limit);
    return shownList(found, routeColumns, 'No route yet: npm run weir -- overflow sync --live');
  },
};

const routeColumns: readonly Column<Row>[] = [
  plain('ENDPOINT', 'endpoint'),
  plain('VIA', 'aggregator'),
  { head: 'STATE', cell: (row) => (row.enabled === true ? 'on' : field(row, 'disabled_reason')) },
  usd('USD', 'price_micros'),
  plain('PER', 'unit'),
  number('RATIO', 'ratio'),
  time('VERIFIED', 'last_verified_at'),
  plain('FAILURE', 'failure'),
];

/** `npm run weir -- overflow spend` */
const overflowSpend: Command = {
  ...operatorOnly,
  name: 'overflow spend',
  summary: 'What each aggregator cost a day, and the budget (operator)',
  examples: ['npm run weir -- overflow spend --json'],
  async run(client) {
    const spend = await client.get('/overflow/spend');
    const budget = `Mode ${field(spend, 'mode')}, ${dollars(amount(spend, 'budget_micros'))} USD a day and aggregator.`;
    const parts = rowsIn(spend, 'data').map(aggregatorText);
    return { kind: 'shown', document: spend, text: [budget, ...parts].join('\n\n') };
  },
};

function aggregatorText(row: Row): string {
  const name = field(row, 'aggregator');
  const key = row.has_key === true ? '' : ' (no key)';
  if (row.days === null) return `${name}${key}: its budget does not answer.`;
  return `${name}${key}\n${table(rowsIn(row, 'days'), dayColumns, 'Nothing yet.')}`;
}

const dayColumns: readonly Column<Row>[] = [
  plain('DAY', 'day'),
  usd('SPENT', 'spent_micros'),
  usd('UNKNOWN', 'reserved_micros'),
  number('CALLS', 'calls'),
];

/** `npm run weir -- overflow sync` */
export const overflowSync: Command = {
  ...operatorOnly,
  name: 'overflow sync',
  summary: 'Derive every route again (operator)',
  options: [{ name: 'live', help: "read the aggregators' catalogs first" }],
  examples: ['npm run weir -- overflow sync --live'],
  async run(client, { isSet }): Promise<Output> {
    const run = await client.job('/overflow/sync', { live: isSet('live') });
    if (run.outcome === 'skipped') throw new Fault(atWork, 'failed');
    return { kind: 'shown', document: run, text: syncText(run) };
  },
};

const atWork = 'A sync or a verification is at work. Try again when it has ended.';

function syncText(run: Row): string {
  const catalogs = rowsIn(run, 'catalogs').map((row) =>
    row.outcome === 'read'
      ? `${field(row, 'aggregator')}: ${field(row, 'offers')} offers, ${field(row, 'matched')} of them ours, ${field(row, 'left_out')} not readable.`
      : `${field(row, 'aggregator')}: not read (${field(row, 'outcome')}); its rows stay.`,
  );
  const counts = `${field(run, 'rows')} routes, ${field(run, 'enabled')} on, ${field(run, 'changed')} changed.`;
  const off = Object.entries(run.off as Row).map(([reason, n]) => `${String(n)} ${reason}`);
  return [...catalogs, counts, ...(off.length === 0 ? [] : [`Off: ${off.join(', ')}.`])].join('\n');
}

/** `npm run weir -- overflow verify` */
export const overflowVerify: Command = {
  ...operatorOnly,
  name: 'overflow verify',
  summary: 'Call each route once, there and here, and compare; spends money (operator)',
  options: [
    { name: 'all', help: 'also routes that were never verified' },
    { name: 'max-usd', value: 'USD', help: 'the dearest route that is paid for (0.02)' },
  ],
  examples: [
    'npm run weir -- overflow verify',
    'npm run weir -- overflow verify --all --max-usd 0.05',
  ],
  async run(client, { isSet, option }): Promise<Output> {
    const maxMicros = microsOf(option('max-usd') ?? '0.02');
    if (maxMicros === null) throw new Fault('--max-usd is in dollars, such as 0.02.', 'usage');
    const { rows, sync } = await visitedRoutes(client, {
      all: isSet('all'),
      max_micros: maxMicros,
    });
    const alarm = alarmOf(rows.flatMap(entryOf));
    const document = { data: rows, alarm, sync };
    const text = [
      table(rows, verdictColumns, 'No route to verify.'),
      summary(rows),
      ...syncLines(sync),
    ];
    if (alarm === null) return { kind: 'shown', document, text: text.join('\n') };
    return { kind: 'alarm', document, text: [...text, alarmTexts[alarm]].join('\n') };
  },
};

/** Every part; another job that begins in between ends it. */
async function visitedRoutes(
  client: Client,
  body: Row,
): Promise<{ readonly rows: readonly Row[]; readonly sync: Row | null }> {
  const rows: Row[] = [];
  let cursor: unknown = null;
  for (;;) {
    const run: Row = await client.job('/overflow/verify', { ...body, cursor });
    if (run.outcome === 'skipped') throw new Fault(atWork, 'failed');
    rows.push(...rowsIn(run, 'data'));
    cursor = run.next_cursor;
    if (cursor === null) return { rows, sync: (run.sync ?? null) as Row | null };
  }
}

/** An attempt; none for a route that was skipped. */
function entryOf(row: Row): readonly RunEntry[] {
  const { verdict, failure } = row;
  return verdict === null ? [] : [{ verdict, failure } as RunEntry];
}

const verdictColumns: readonly Column<Row>[] = [
  plain('ENDPOINT', 'endpoint'),
  plain('VIA', 'aggregator'),
  { head: 'VERDICT', cell: (row) => field(row, 'verdict') || 'skipped' },
  plain('REASON', 'reason'),
  { head: 'STAMPED', cell: (row) => (row.stamped === true ? 'yes' : '') },
  usd('USD', 'cost_micros'),
];

function summary(rows: readonly Row[]): string {
  const count = (verdict: string | null): number =>
    rows.filter((row) => row.verdict === verdict).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('aggregator')} aggregator errors, ${count('inconclusive')} inconclusive, ${count(null)} skipped.`;
}

const syncLines = (sync: Row | null): readonly string[] => (sync === null ? [] : [syncText(sync)]);

const alarmTexts: Readonly<Record<NonNullable<ReturnType<typeof alarmOf>>, string>> = {
  our_key: 'An aggregator refused our key.',
  our_balance: 'Our balance at an aggregator is out.',
  all_lost: "Every attempt was lost to an aggregator's side.",
  nothing_attempted: 'Nothing was attempted.',
};

/** In the order of the help. */
export const overflowCommands: readonly Command[] = [
  overflowRoutes,
  overflowSpend,
  overflowSync,
  overflowVerify,
];
