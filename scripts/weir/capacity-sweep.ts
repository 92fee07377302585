/**
 * Commands that read what is left on the operator's vendor accounts: now (capacity sweep), or as it was read (capacity snapshots).
 * Promises: a vendor that does not say is a row, and the exit code stays 0; it is 1 when a named account is not there, a reading was not
 * stored, or another sweep is at work. Read by `commands.ts`.
 */

import type { Row } from './client.ts';
import { number, plain, time, usd } from './columns.ts';
import { type Command, field, type Output, operatorOnly, rowsIn, shownList } from './command.ts';
import { Fault } from './fault.ts';
import { type Column, table } from './render.ts';

/** `npm run weir -- capacity sweep` */
export const capacitySweep: Command = {
  ...operatorOnly,
  name: 'capacity sweep',
  summary: 'Read what is left on our vendor accounts now (operator)',
  options: [{ name: 'only', value: 'A,B', help: 'only these providers' }],
  examples: [
    'npm run weir -- capacity sweep',
    'npm run weir -- capacity sweep --only openrouter,overflow:monid --json',
  ],
  async run(client, { option }): Promise<Output> {
    const only =
      option('only')
        ?.split(',')
        .map((name) => name.trim()) ?? null;
    const run = await client.job('/capacity/sweep', { only });
    if (run.outcome === 'skipped')
      throw new Fault('Another sweep is at work. Try again when it has ended.', 'failed');
    const wrong = [
      ...told(run, 'not_found', 'No account of that name has a credential'),
      ...told(run, 'unwritten', 'Read, but not stored'),
    ];
    const text = [
      table(rowsIn(run, 'data'), readingColumns, 'No vendor account has a credential.'),
      ...wrong,
      ...told(run, 'unpublished', 'Read, but the road was not told'),
      ...told(run, 'unknown', 'Not classified (docs/operations.md)'),
      ...told(run, 'unused_accounts', 'In PLATFORM_ACCOUNTS, but no call can use it'),
    ].join('\n');
    return { kind: wrong.length > 0 ? 'alarm' : 'shown', document: run, text };
  },
};

/** One sentence about the names of a list; nothing when it is empty. */
function told(run: Row, list: string, sentence: string): readonly string[] {
  const names = run[list];
  if (!Array.isArray(names) || names.length === 0) return [];
  return [`${sentence}: ${names.map(String).join(', ')}.`];
}

/** `npm run weir -- capacity snapshots` */
export const capacitySnapshots: Command = {
  ...operatorOnly,
  name: 'capacity snapshots',
  isList: true,
  summary: 'Readings of our vendor accounts beside what was spent, newest first (operator)',
  options: [{ name: 'provider', value: 'NAME', help: 'only of this provider' }],
  examples: ['npm run weir -- capacity snapshots --provider openrouter --limit 24'],
  async run(client, { option, limit }) {
    const query = { provider: option('provider') };
    const found = await client.list('/capacity/snapshots', query, limit);
    return shownList(found, snapshotColumns, 'No sweep has run yet.');
  },
};

const readingColumns: readonly Column<Row>[] = [
  {
    head: 'ACCOUNT',
    cell: (row) => {
      const [provider, account] = [field(row, 'provider'), field(row, 'account')];
      return account === 'primary' ? provider : `${provider}#${account}`;
    },
  },
  plain('STATE', 'state'),
  number('LEFT', 'remaining'),
  number('OF', 'total'),
  plain('UNIT', 'unit'),
  plain('SURE', 'confidence'),
  time('RESETS', 'resets_at'),
  plain('FROM', 'source'),
  { head: 'NOTE', cell: noteOf },
];

/** Why there is no figure; a vendor without a meter must not look like a broken key. */
function noteOf(row: Row): string {
  switch (row.source) {
    case 'dashboard':
      return 'publishes no meter: see its dashboard';
    case 'unknown':
      return 'no balance call is known';
    default:
      return field(row, 'error') || field(row, 'note');
  }
}

const snapshotColumns: readonly Column<Row>[] = [
  time('READ', 'observed_at'),
  ...readingColumns,
  usd('LEFT USD', 'remaining_micros'),
  usd('SPENT THAT DAY USD', 'spent_micros'),
];
