/** Which bodies a price depends on: every place where a cost can read the request. */
import { expect, it } from 'vitest';
import type { Cost } from '../../../../src/domain/pricing/price';
import { type PricedBy, pricedBy } from '../../../../src/domain/pricing/price-reads';
import { meter, perCall } from './prices';

const inBody = { in: 'body', at: 'model', oneOf: ['dear'] } as const;
const inQuery = { ...inBody, in: 'query' } as const;
const asked = { default: 1, max: 9 };
const rows = { kind: 'quota_rows', prices: [], page: null, entities: null, rows: null } as const;
const perResult = { kind: 'per_result', prices: [], results: 'data[*]' } as const;

const usage = (reserve: Extract<Cost, { kind: 'usage' }>['meters'][number]['reserve']): Cost => ({
  kind: 'usage',
  meters: [meter('out', ['usage.out'], { reserve })],
  prices: [],
  ends: [],
});

it.each<[string, Cost, PricedBy]>([
  ['free', { kind: 'free' }, 'nothing'],
  ['one price for all', perCall(70), 'nothing'],
  [
    'a price by a member',
    { kind: 'per_success', prices: [{ when: [inBody], priceMicros: 1 }] },
    'members',
  ],
  [
    'a price by a query value',
    { kind: 'per_call', prices: [{ when: [inQuery], priceMicros: 1 }] },
    'nothing',
  ],
  [
    'results that a member asks for',
    { ...perResult, reserve: { kind: 'request', in: 'body', at: 'n', ...asked } },
    'members',
  ],
  [
    'results that the query asks for',
    { ...perResult, reserve: { kind: 'request', in: 'query', at: 'n', ...asked } },
    'nothing',
  ],
  ['a fixed number of results', { ...perResult, reserve: { kind: 'fixed', units: 3 } }, 'nothing'],
  ['rows of a default page', rows, 'nothing'],
  ['rows for each entity of a list', { ...rows, entities: 'ids' }, 'members'],
  ['rows of a page in the body', { ...rows, page: { in: 'body', at: 'n', ...asked } }, 'members'],
  ['rows of a page in the query', { ...rows, page: { in: 'query', at: 'n', ...asked } }, 'nothing'],
  ['usage by length', usage([{ kind: 'body_bytes', bytesPerUnit: 3 }]), 'bytes'],
  [
    'usage by length and by a member',
    usage([
      { kind: 'body_bytes', bytesPerUnit: 3 },
      { kind: 'request', in: 'body', at: 'n', ...asked },
    ]),
    'members',
  ],
  ['usage that is not reserved', usage([]), 'nothing'],
])('%s', (_, cost, by) => {
  expect(pricedBy(cost)).toBe(by);
});
