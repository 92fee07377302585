/**
 * `npm run weir -- call CALL`: one finished call, why it ended so, and what it did to the books. Promises: changes nothing; a text of the
 * vendor's comes as the gateway masked it. Read by `commands.ts`.
 */
import { resolveSrcModules } from '../lib/src-modules.ts';
import { entryColumns } from './books.ts';
import type { Client, Row } from './client.ts';
import { amount, type Command, defaults, field, when } from './command.ts';
import { Fault } from './fault.ts';
import { endOf, entriesOfHold } from './hold.ts';
import { dollars } from './money.ts';
import { pairs, table } from './render.ts';

resolveSrcModules();
const { refusalTable } = await import('../../src/http/refusal-table.ts');

/** `npm run weir -- call CALL` */
export const call: Command = {
  ...defaults,
  name: 'call',
  words: 'CALL',
  wordsMin: 1,
  wordsMax: 1,
  summary: 'One finished call: why it ended so, what it cost, the entries of its hold',
  examples: ['npm run weir -- call call_… --tenant ten_…'],
  async run(client, { words }) {
    const id = words[0] ?? '';
    if (!id.startsWith('call_')) throw new Fault(noCallId, 'usage');
    const row = await client.get(`/calls/${encodeURIComponent(id)}`);
    const entries = row.hold_id === null ? [] : await entriesSeen(client, field(row, 'hold_id'));
    const text = [pairs(linesOf(row, entries)), ...entriesText(entries)].join('\n\n');
    return { kind: 'shown', document: { ...row, entries }, text };
  },
};

const noCallId =
  'A call is named by its id (call_…): X-Weir-Call-Id of its answer, or npm run weir -- calls.';

type Line = readonly [name: string, value: string];

function linesOf(row: Row, entries: readonly Row[] | null): readonly Line[] {
  return [
    ['call', field(row, 'id')],
    ['began', `${when(row, 'started_at')}, took ${field(row, 'latency_ms')} ms`],
    ['key', `${field(row, 'key_id')} of ${field(row, 'principal_id')}`],
    ['target', `${field(row, 'method')} ${field(row, 'host')}${field(row, 'path')}`],
    ...(row.tier === null ? [] : [['catalog', catalogText(row)] as const]),
    ['ended', endText(row)],
    ['charged', row.cost_micros === null ? '' : `${dollars(amount(row, 'cost_micros'))} USD`],
    ...(row.hold_id === null ? [] : [['hold', holdText(entries)] as const]),
    ...(row.evidence === null ? [] : [['answer', field(row, 'evidence')] as const]),
  ];
}

const tiers: Readonly<Record<string, string>> = {
  1: 'an upstream of the tenant',
  2: 'a secret of the tenant',
  3: 'no credential',
  4: 'account of the operator',
};

function catalogText(row: Row): string {
  const via = row.served_via ?? row.account ?? '';
  const tier = `${tiers[field(row, 'tier')] ?? field(row, 'tier')} ${String(via)}`.trim();
  return [field(row, 'catalog_id'), tier].filter(Boolean).join(', ');
}

/** How it ended, what our code means and who can mend it. */
function endText(row: Row): string {
  const [code, blame] = [field(row, 'code'), field(row, 'blame')];
  const end = `${field(row, 'outcome')} ${field(row, 'status')}`;
  if (code === '') return end;
  const title = Object.hasOwn(refusalTable, code)
    ? `: ${refusalTable[code as keyof typeof refusalTable].title}`
    : '';
  return `${end}, ${code}${title} (blame: ${blame || 'nobody'})`;
}

function holdText(entries: readonly Row[] | null): string {
  if (entries === null) return 'on the ledger of a tenant above, which pays';
  return entries.length === 0 ? 'the log has no entry of it' : endOf(entries);
}

const entriesText = (entries: readonly Row[] | null): readonly string[] =>
  entries === null || entries.length === 0 ? [] : [table(entries, entryColumns, '')];

/** The entries of its hold; null where the key may not see them. */
async function entriesSeen(client: Client, holdId: string): Promise<readonly Row[] | null> {
  try {
    return await entriesOfHold(client, holdId);
  } catch (fault) {
    if (fault instanceof Fault && fault.kind === 'refused') return null;
    throw fault;
  }
}
