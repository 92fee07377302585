/**
 * Commands for what nobody saw the end of: reviews (expired holds) and idempotency records. Read by
 * `commands.ts`.
 */

import { byCursor, type Row } from './client.ts';
import { number, plain, time, usd } from './columns.ts';
import { amount, type Command, defaults, shownList } from './command.ts';
import { Fault } from './fault.ts';
import { dollars, microsOf } from './money.ts';
import type { Column } from './render.ts';

/** `npm run weir -- reviews` */
export const reviews: Command = {
  ...defaults,
  name: 'reviews',
  isList: true,
  summary: 'Holds that expired without a settlement; their money was given back',
  options: [{ name: 'open', help: 'only those that nobody has closed' }],
  examples: ['npm run weir -- reviews --open', 'npm run weir -- reviews --all --json'],
  async run(client, { limit, isSet }) {
    const isWanted = (row: Row): boolean => !isSet('open') || row.closed_at === null;
    const found = await client.list('/ledger/reviews', {}, limit, { ...byCursor, isWanted });
    return shownList(found, reviewColumns, 'Nothing to review.');
  },
};

const reviewColumns: readonly Column<Row>[] = [
  plain('HOLD', 'id'),
  usd('USD', 'micros'),
  time('EXPIRED', 'expired_at'),
  time('CLOSED', 'closed_at'),
  plain('BY', 'closed_by'),
];

/** `npm run weir -- reviews close HOLD` */
export const closeReview: Command = {
  ...defaults,
  name: 'reviews close',
  words: 'HOLD',
  wordsMin: 1,
  wordsMax: 1,
  prefers: 'operator',
  summary: 'Close a review: somebody has looked at it (operator)',
  examples: ['npm run weir -- reviews close hld_… --tenant ten_…'],
  async run(client, { words }) {
    const id = words[0] ?? '';
    const row = await client.post(`/ledger/reviews/${encodeURIComponent(id)}/close`);
    return { kind: 'shown', document: row, text: `Closed the review of ${id}.` };
  },
};

/** `npm run weir -- idempotency` */
export const records: Command = {
  ...defaults,
  name: 'idempotency',
  isList: true,
  summary: 'Idempotency keys in use, and those whose outcome nobody saw',
  options: [{ name: 'unknown', help: 'only those that wait for a decision' }],
  examples: ['npm run weir -- idempotency --unknown'],
  async run(client, { limit, isSet }) {
    const isWanted = (row: Row): boolean => !isSet('unknown') || row.state === 'unknown';
    const found = await client.list('/idempotency', {}, limit, { ...byCursor, isWanted });
    const empty = isSet('unknown')
      ? 'No key waits for a decision.'
      : 'No idempotency key is in use.';
    return shownList(found, recordColumns, empty);
  },
};

const recordColumns: readonly Column<Row>[] = [
  plain('RECORD', 'id'),
  plain('STATE', 'state'),
  plain('KEY', 'key'),
  plain('SCOPE', 'scope'),
  time('CLAIMED', 'claimed_at'),
  number('STATUS', 'status'),
  usd('USD', 'cost_micros'),
];

/** `npm run weir -- idempotency resolve RECORD settle|free` */
export const resolveRecord: Command = {
  ...defaults,
  name: 'idempotency resolve',
  words: 'RECORD settle|free',
  wordsMin: 2,
  wordsMax: 2,
  summary: 'Decide a record: it was executed (settle), or it was not (free)',
  options: [
    {
      name: 'charge',
      value: 'USD',
      help: 'charge this instead of the hold (operator, settle only)',
    },
  ],
  examples: [
    'npm run weir -- idempotency resolve idm_… settle',
    'npm run weir -- idempotency resolve idm_… free',
  ],
  async run(client, { words, option }) {
    const [id = '', resolution = ''] = words;
    if (resolution !== 'settle' && resolution !== 'free')
      throw new Fault('Say settle (it was executed) or free (it was not).', 'usage');
    const body = { resolution, charge_micros: chargeOf(option('charge')) };
    const row = await client.post(`/idempotency/${encodeURIComponent(id)}/resolve`, body);
    const charged = dollars(amount(row, 'charged_micros'));
    const end = resolution === 'free' ? 'Its key may be used again.' : 'Its key stays used.';
    return { kind: 'shown', document: row, text: `Charged ${charged} USD for ${id}. ${end}` };
  },
};

function chargeOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const micros = microsOf(text);
  if (micros === null) throw new Fault('--charge is in dollars, such as 0.25.', 'usage');
  return micros;
}
