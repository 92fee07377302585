/**
 * Commands that look around: tenants, calls, catalog search. Read by `commands.ts`.
 */

import type { Row } from './client.ts';
import { number, plain, time, usd } from './columns.ts';
import { type Command, defaults, field, shownList } from './command.ts';
import type { Column } from './render.ts';

/** `npm run weir -- tenants` */
export const tenants: Command = {
  ...defaults,
  name: 'tenants',
  prefers: 'operator',
  inTenant: false,
  isList: true,
  summary: 'Tenants below yours; the roots for the operator',
  examples: ['npm run weir -- tenants', 'npm run weir -- tenants --tenant ten_…'],
  async run(client, { limit }) {
    const found = await client.list('/tenants', {}, limit);
    return shownList(found, tenantColumns, 'No tenant here.');
  },
};

const tenantColumns: readonly Column<Row>[] = [
  plain('TENANT', 'id'),
  plain('NAME', 'name'),
  plain('PAID BY', 'ledger_tenant_id'),
  plain('REGION', 'home_region'),
  usd('DAILY CAP', 'daily_cap_micros'),
];

/** `npm run weir -- calls` */
export const calls: Command = {
  ...defaults,
  name: 'calls',
  isList: true,
  summary: 'Finished calls, newest first',
  examples: ['npm run weir -- calls --all', 'npm run weir -- calls --json'],
  async run(client, { limit }) {
    const found = await client.list('/calls', { order: 'newest' }, limit);
    return shownList(found, callColumns, 'No call yet.');
  },
};

const callColumns: readonly Column<Row>[] = [
  plain('CALL', 'id'),
  time('AT', 'started_at'),
  plain('METHOD', 'method'),
  { head: 'TARGET', cell: (row) => `${field(row, 'host')}${field(row, 'path')}` },
  plain('OUTCOME', 'outcome'),
  number('STATUS', 'status'),
  number('MS', 'latency_ms'),
  usd('USD', 'cost_micros'),
  plain('REFUSED', 'code'),
];

/** `npm run weir -- catalog search WORD…` */
export const catalogSearch: Command = {
  ...defaults,
  name: 'catalog search',
  words: '[WORD…]',
  wordsMax: 16,
  inTenant: false,
  isList: true,
  summary: 'Priced vendor operations',
  options: [
    { name: 'provider', value: 'NAME', help: 'only of this provider' },
    { name: 'capability', value: 'NAME', help: 'only of this capability' },
  ],
  examples: [
    'npm run weir -- catalog search chat',
    'npm run weir -- catalog search --provider openai',
  ],
  async run(client, { words, option, limit }) {
    const q = words.length === 0 ? undefined : words.join(' ');
    const query = { q, provider: option('provider'), capability: option('capability') };
    const found = await client.list('/catalog', query, limit);
    return shownList(found, catalogColumns, 'Nothing in the catalog matches.');
  },
};

const catalogColumns: readonly Column<Row>[] = [
  plain('ID', 'id'),
  plain('CAPABILITY', 'capability'),
  { head: 'CALL', cell: (row) => `${field(row, 'method')} ${field(row, 'path')}` },
  plain('COST', 'cost'),
  plain('ACCESS', 'access'),
  plain('STATUS', 'status'),
  plain('SUMMARY', 'summary'),
];
