/** Hit and miss: one rule for telemetry and settlement. */
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../../src/domain/capacity/outcome';
import { charge, isBillable } from '../../../../src/domain/pricing/charge';
import { estimate } from '../../../../src/domain/pricing/estimate';
import { usageOf, usagePlan } from '../../../../src/domain/pricing/meters';
import type { Cost } from '../../../../src/domain/pricing/price';
import { asking, perCall, settled } from '../pricing/prices';

const perSuccess: Cost = { ...perCall(5), kind: 'per_success' };
const perResult: Cost = {
  kind: 'per_result',
  results: 'data[*]',
  prices: [{ when: [], perMillionMicros: 1_000_000_000 }],
  reserve: { kind: 'fixed', units: 10 },
};
const rows: Cost = {
  kind: 'quota_rows',
  page: null,
  entities: null,
  rows: 'total',
  prices: [{ when: [], perMillionMicros: 1_000_000_000 }],
};

describe('outcomeOf', () => {
  it.each<[string, Cost, number, unknown, string]>([
    ['a 2xx', perCall(5), 200, { data: [] }, 'hit'],
    ['a 2xx that nobody read', perResult, 200, undefined, 'hit'],
    ['a 204', perCall(5), 204, undefined, 'miss'],
    ['a 204 of a price per success', perSuccess, 204, undefined, 'miss'],
    ['results', perResult, 200, { data: [1] }, 'hit'],
    ['no results', perResult, 200, { data: [] }, 'miss'],
    ['an answer without its list', perResult, 200, { other: 1 }, 'hit'],
    ['a list that is null', perResult, 200, { data: null }, 'hit'],
    ['a count of zero', rows, 200, { total: 0 }, 'miss'],
    ['a count that is no number', rows, 200, { total: 'many' }, 'hit'],
    ['a redirect', perCall(5), 302, undefined, 'error'],
    ['a 404 with results', perResult, 404, { data: [1] }, 'error'],
    ['a 500', perCall(5), 500, undefined, 'error'],
  ])('%s', (_, cost, status, json, expected) => {
    const usage = json === undefined ? null : usageOf(json, usagePlan(cost, settled()));
    expect(outcomeOf(status, usage)).toBe(expected);
  });

  it('agrees with settlement: a price per success bills what has content, one per result a hit', () => {
    for (const status of [200, 201, 202, 204, 206, 302, 404, 500]) {
      const outcome = outcomeOf(status, null);
      expect([status, isBillable('per_success', status, false)]).toEqual([
        status,
        outcome === 'hit',
      ]);
    }
    for (const data of [[], [1], [1, 2]]) {
      const settlement = settled();
      const known = estimate(perResult, settlement, { ...asking(), ceilingMicros: 1_000_000 });
      if (known.kind !== 'known') throw new Error(known.kind);
      const usage = usageOf({ data }, usagePlan(perResult, settlement));
      const facts = { status: 200, header: () => null, usage, heldMicros: 60 };
      const { micros } = charge({ price: known.price, settlement, ...facts });
      const outcome = outcomeOf(200, usage);
      expect([data.length, micros > 0]).toEqual([data.length, outcome === 'hit']);
    }
  });
});
