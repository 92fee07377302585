/**
 * Commands for access keys: which there are, and an end for one that leaked. Promises: no token is an argument or shown: a key is found by the
 * first characters of its token, which the list has. Read by `commands.ts`.
 */
import { byCursor, type Row } from './client.ts';
import { type Command, defaults, field, shownList, when } from './command.ts';
import { Fault } from './fault.ts';
import type { Column } from './render.ts';

/** `npm run weir -- keys` */
export const keys: Command = {
  ...defaults,
  name: 'keys',
  isList: true,
  summary: 'Access keys of the tenant, by the first characters of their tokens',
  options: [{ name: 'hint', value: 'wk_…', help: 'only the one that begins so (8 characters)' }],
  examples: ['npm run weir -- keys --tenant ten_…', 'npm run weir -- keys --hint wk_1AbCd'],
  async run(client, { limit, option }) {
    const hint = option('hint');
    if (hint !== undefined && !/^wk_[0-9A-Za-z_-]{5}$/.test(hint)) throw new Fault(noHint, 'usage');
    const isWanted = (row: Row): boolean => hint === undefined || row.hint === hint;
    const found = await client.list('/keys', {}, limit, { ...byCursor, isWanted });
    return shownList(found, columns, 'No such key here.');
  },
};

const noHint = '--hint wants the first eight characters of the token, and no more of it.';

const columns: readonly Column<Row>[] = [
  { head: 'KEY', cell: (row) => field(row, 'id') },
  { head: 'HINT', cell: (row) => field(row, 'hint') },
  { head: 'NAME', cell: (row) => field(row, 'name') },
  { head: 'PRINCIPAL', cell: (row) => field(row, 'principal_id') },
  { head: 'CALLS A DAY', right: true, cell: (row) => field(row, 'daily_call_cap') },
  { head: 'MADE', cell: (row) => when(row, 'created_at') },
  { head: 'EXPIRES', cell: (row) => when(row, 'expires_at') },
  { head: 'REVOKED', cell: (row) => when(row, 'revoked_at') },
];

/** `npm run weir -- keys revoke KEY` */
export const revokeKey: Command = {
  ...defaults,
  name: 'keys revoke',
  words: 'KEY',
  wordsMin: 1,
  wordsMax: 1,
  summary: 'End an access key for good, everywhere within CONFIG_TTL_S',
  examples: ['npm run weir -- keys revoke key_… --tenant ten_…'],
  async run(client, { words }) {
    const id = words[0] ?? '';
    if (!id.startsWith('key_')) throw new Fault(noKeyId, 'usage');
    const row = await client.post(`/keys/${encodeURIComponent(id)}/revoke`);
    const text = `Revoked ${id} (${field(row, 'hint')}…) at ${when(row, 'revoked_at')}.`;
    return { kind: 'shown', document: row, text };
  },
};

const noKeyId = 'A key is named by its id (key_…), as npm run weir -- keys shows it.';
