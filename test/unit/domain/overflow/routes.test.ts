/** Which routes are on, with one reason for each that is off, and what a sync makes of what is stored. */
import { describe, expect, it } from 'vitest';
import {
  overflowFreeMicrosMax,
  overflowRatioMax,
  overflowVerifiedMsMax,
} from '../../../../src/base/limits-capacity';
import {
  derive,
  ourPrice,
  type RouteCandidate,
  type RouteFacts,
  type RouteRow,
  ratioMilli,
  routeEstimate,
  routeNo,
  type SyncFacts,
} from '../../../../src/domain/overflow/routes';
import type { Cost } from '../../../../src/domain/pricing/price';
import { endpoint } from '../catalog/rows';
import { rule } from '../tasks/rows';

const nowMs = Date.UTC(2030, 0, 31);
const perCall = (priceMicros: number): Cost => ({
  kind: 'per_call',
  prices: [{ when: [], priceMicros }],
});
const perResult = (micros: number, max = 10): Cost => ({
  kind: 'per_result',
  prices: [{ when: [], perMillionMicros: 1_000_000 * micros }],
  results: 'items[*]',
  reserve: { kind: 'request', in: 'query', at: 'limit', default: 1, max },
});
const quotaRows: Cost = {
  kind: 'quota_rows',
  prices: [{ when: [], perMillionMicros: 1_000_000_000 }],
  page: null,
  entities: null,
  rows: null,
};
const usage: Cost = { kind: 'usage', meters: [], prices: [], ends: [] };

const candidate = (parts: Partial<RouteCandidate> = {}): RouteCandidate => ({
  endpointId: 'vendor.search',
  aggregator: 'orthogonal',
  vendor: 'vendor-there',
  operation: '/v1/search',
  priceMicros: 2_000,
  unit: 'call',
  singleResult: false,
  ...parts,
});
const facts = (parts: Partial<RouteFacts> = {}): RouteFacts => ({
  candidate: candidate(),
  endpoint: endpoint({ cost: perCall(1_000) }),
  policyAllows: true,
  hasKey: true,
  lastVerifiedAtMs: nowMs,
  failure: null,
  nowMs,
  ...parts,
});
const priced = (cost: Cost, there: Partial<RouteCandidate>): Partial<RouteFacts> => ({
  endpoint: endpoint({ cost }),
  candidate: candidate(there),
});

describe('a route is on', () => {
  it.each<[string, Partial<RouteFacts>]>([
    ['that is verified, allowed and priced alike', {}],
    ['at exactly four times our price', priced(perCall(1_000), { priceMicros: 4_000 })],
    ['cheaper than we are', priced(perCall(1_000), { priceMicros: 1 })],
    ['of a price per result on both sides', priced(perResult(1_000), { unit: 'result' })],
    [
      'per result for one result at most',
      priced(perCall(1_000), { unit: 'result', singleResult: true }),
    ],
    ['per call for a row of one result', priced(perResult(1_000, 1), {})],
    ['of a free row at one cent', priced({ kind: 'free' }, { priceMicros: overflowFreeMicrosMax })],
    ['of a row that costs nothing', priced(perCall(0), { priceMicros: overflowFreeMicrosMax })],
    ['verified seven days ago', { lastVerifiedAtMs: nowMs - overflowVerifiedMsMax }],
    ['with HEAD', { endpoint: endpoint({ cost: perCall(1_000), method: 'HEAD' }) }],
    ['with POST', { endpoint: endpoint({ cost: perCall(1_000), method: 'POST' }) }],
  ])('%s', (_, parts) => {
    expect(routeNo(facts(parts))).toBeNull();
  });
});

describe('a route is off', () => {
  const cost = perCall(1_000);
  it.each<[string, Partial<RouteFacts>]>([
    ['endpoint_gone', { endpoint: null }],
    [
      'retired',
      {
        endpoint: endpoint({
          cost,
          tombstone: { status: 'retired', note: 'x', supersededBy: null },
        }),
      },
    ],
    ['not_platform', { endpoint: endpoint({ cost, platformAuth: null }) }],
    ['not_platform', { endpoint: endpoint({ cost: { kind: 'free' }, platformAuth: 'anonymous' }) }],
    ['method', { endpoint: endpoint({ cost, method: 'PUT' }) }],
    ['method', { endpoint: endpoint({ cost, method: 'DELETE' }) }],
    ['task', { endpoint: endpoint({ cost, task: rule }) }],
    ['task', { endpoint: endpoint({ cost: { kind: 'free' }, taskId: 'id' }) }],
    ['policy', { policyAllows: false }],
    ['no_key', { hasKey: false }],
    ['no_price', priced(cost, { priceMicros: null })],
    ['our_price_unknown', priced(usage, {})],
    ['our_price_unknown', priced({ kind: 'per_call', prices: [] }, {})],
    ['unit', priced(perResult(1_000), {})],
    ['unit', priced(quotaRows, {})],
    ['unit', priced(cost, { unit: 'result' })],
    ['unit', priced({ kind: 'free' }, { unit: 'result', priceMicros: 1 })],
    ['free_price', priced({ kind: 'free' }, { priceMicros: overflowFreeMicrosMax + 1 })],
    ['ratio', priced(cost, { priceMicros: 4_001 })],
    ['ratio', priced(perCall(1_000_000), { priceMicros: 56_000_000 })],
    ['verification_failed', { failure: 'shape' }],
    ['not_verified', { lastVerifiedAtMs: null }],
    ['verification_old', { lastVerifiedAtMs: nowMs - overflowVerifiedMsMax - 1 }],
  ])('%s', (reason, parts) => {
    expect(routeNo(facts(parts))).toBe(reason);
  });

  it('and the dearest of a table is judged by its cheapest row', () => {
    const table: Cost = {
      kind: 'per_call',
      prices: [
        { when: [{ in: 'query', at: 'q', oneOf: ['x'] }], priceMicros: 10_000 },
        { when: [], priceMicros: 100 },
      ],
    };
    expect(routeNo(facts(priced(table, { priceMicros: 2_000 })))).toBe('ratio');
  });
});

describe('prices', () => {
  it.each([
    [1_000, 4_000, 4_000],
    [1_000, 4_001, 4_001],
    [3, 1, 334],
    [1, 0, 0],
  ])('of %d here and %d there are %d thousandths, rounded up', (here, there, milli) => {
    expect(ratioMilli({ priceMicros: there }, ourPrice(perCall(here)))).toBe(milli);
    expect(overflowRatioMax).toBe(4);
  });

  it('are held by the call, or by the results that it may give', () => {
    const many = { priceMicros: 5, singleResult: false };
    expect(routeEstimate({ ...many, unit: 'call' }, 10)).toBe(5);
    expect(routeEstimate({ ...many, unit: 'result' }, 10)).toBe(50);
    expect(routeEstimate({ ...many, unit: 'result' }, 0)).toBe(5);
    expect(routeEstimate({ ...many, unit: 'result', singleResult: true }, 10)).toBe(5);
  });
});

const stored = (parts: Partial<RouteRow> = {}): RouteRow => ({
  ...candidate(),
  ratioMilli: 2_000,
  lastVerifiedAtMs: nowMs,
  failure: null,
  enabled: true,
  disabledReason: null,
  ...parts,
});
const sync = (parts: Partial<SyncFacts>): SyncFacts => ({
  current: [],
  found: [],
  read: new Set(['orthogonal']),
  endpointOf: () => endpoint({ cost: perCall(1_000) }),
  policyAllows: () => true,
  hasKey: () => true,
  nowMs,
  ...parts,
});

describe('a sync', () => {
  it('adds what is new, unverified and off', () => {
    expect(derive(sync({ found: [candidate()] })).changed).toEqual([
      stored({ lastVerifiedAtMs: null, enabled: false, disabledReason: 'not_verified' }),
    ]);
  });

  it('changes nothing where nothing changed', () => {
    const { rows, changed } = derive(sync({ current: [stored()], found: [candidate()] }));
    expect(rows).toEqual([stored()]);
    expect(changed).toEqual([]);
  });

  it('turns off what its catalog no longer has, and keeps it off without a catalog', () => {
    const missing = stored({ enabled: false, disabledReason: 'missing_from_sync' });
    expect(derive(sync({ current: [stored()] })).rows).toEqual([missing]);
    expect(derive(sync({ current: [missing], read: new Set() })).changed).toEqual([]);
  });

  it('leaves rows of an aggregator whose catalog was not read as they are', () => {
    const other = stored({ aggregator: 'monid' });
    expect(derive(sync({ current: [other] })).changed).toEqual([]);
  });

  it('turns a route on again that was stamped, and takes the new price', () => {
    const old = stored({ enabled: false, disabledReason: 'verification_old' });
    const found = [candidate({ priceMicros: 3_000 })];
    expect(derive(sync({ current: [old], found })).changed).toEqual([
      stored({ priceMicros: 3_000, ratioMilli: 3_000 }),
    ]);
  });

  it('keeps off what failed its verification until it is stamped', () => {
    const row = stored({ failure: 'shape', enabled: false, disabledReason: 'verification_failed' });
    expect(derive(sync({ current: [row], read: new Set() })).changed).toEqual([]);
    const lifted = { ...row, failure: null };
    expect(derive(sync({ current: [lifted], read: new Set() })).changed).toEqual([stored()]);
  });

  it.each<Partial<RouteCandidate>>([{ vendor: 'other' }, { operation: '/v2/search' }])(
    'takes the stamp from a route that is spelled %j now',
    (parts) => {
      const { changed } = derive(sync({ current: [stored()], found: [candidate(parts)] }));
      expect(changed).toEqual([
        stored({
          ...parts,
          lastVerifiedAtMs: null,
          enabled: false,
          disabledReason: 'not_verified',
        }),
      ]);
    },
  );

  it('turns off what decayed, without a catalog', () => {
    const row = stored({ lastVerifiedAtMs: nowMs - overflowVerifiedMsMax - 1 });
    expect(derive(sync({ current: [row], read: new Set() })).changed).toEqual([
      { ...row, enabled: false, disabledReason: 'verification_old' },
    ]);
  });
});
