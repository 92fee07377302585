import { describe, expect, it } from 'vitest';
import { metersMax, priceRowsMax } from '../../../../src/base/limits-money';
import type { Cost, ReportedCharge, Settlement } from '../../../../src/domain/pricing/price';
import { priceFaults } from '../../../../src/domain/pricing/price-faults';
import { chatCost, messagesCost, meter, perCall, settled } from './prices';

const row = { when: [], perMillionMicros: 1 };
const perResult = (more: object): Cost => ({
  kind: 'per_result',
  prices: [row],
  results: 'data[*]',
  reserve: { kind: 'fixed', units: 1 },
  ...more,
});
const quota = (more: object): Cost => ({
  kind: 'quota_rows',
  prices: [row],
  page: null,
  entities: null,
  rows: null,
  ...more,
});
const tier = { units: 1, meters: ['input'], perMillionMicros: { output: 1 } };
const usage = (more: object): Cost => ({ ...messagesCost, ...more });
const output = (more: object): Cost =>
  usage({
    meters: [meter('output', ['o'], { reserve: [{ kind: 'fixed', units: 1 }], ...more })],
    prices: [{ when: [], perMillionMicros: { output: 1 } }],
  });
const reported = (more: Partial<ReportedCharge>): Settlement =>
  settled({ reported: { in: 'body', at: 'c', perMillionMicros: 1, times: null, ...more } });
const calls = (...whens: object[][]): Cost =>
  JSON.parse(
    JSON.stringify({
      kind: 'per_call',
      prices: whens.map((when) => ({ when, priceMicros: 1 })),
    }),
  );

describe('priceFaults', () => {
  it.each<[string, Cost, Settlement]>([
    ['free', { kind: 'free' }, settled()],
    ['a flat price', perCall(0), settled()],
    ['chat usage', chatCost, settled()],
    ['message usage', messagesCost, settled()],
    ['results', perResult({}), settled()],
    ['quota rows', quota({ rows: 'rows[*]', entities: 'ids' }), settled()],
    ['an observed price', { kind: 'per_call', prices: [] }, { ...reported({}), reserveMicros: 5 }],
    ['a page', quota({ page: { in: 'query', at: 'n', default: null, max: 9 } }), settled()],
    ['a query name that is no path', calls([{ in: 'query', at: 'a[', oneOf: ['1'] }]), settled()],
    ['usage of a flat hold', output({ reserve: [] }), settled({ reserveMicros: 5 })],
    [
      'rates of nothing',
      usage({ prices: [{ when: [], perMillionMicros: { output: 0 } }] }),
      settled(),
    ],
    [
      'as many rows as a table has',
      calls(
        ...Array.from({ length: priceRowsMax }, () => [{ in: 'query', at: 'a', oneOf: ['1'] }]),
      ),
      settled(),
    ],
    [
      'a factor that is always the same',
      perResult({ reserve: { kind: 'request', in: 'query', at: 'n', default: 3, max: 3 } }),
      settled(),
    ],
    ['a multiplier of one', perCall(1), reported({ times: { at: 'pages', min: 1, max: 1 } })],
    ['a header', perCall(1), reported({ in: 'header', at: 'x-cost' })],
    ['a multiplier', perCall(1), reported({ times: { at: 'pages', min: 0.5, max: 9 } })],
  ])('finds none in %s', (_name, cost, settlement) => {
    expect(priceFaults(cost, settlement)).toEqual([]);
  });

  const selector = { in: 'query', at: 'a', oneOf: ['1'] };

  it.each<[Cost, Settlement, string, string]>([
    [{ kind: 'per_call', prices: [] }, settled(), 'cost.prices', 'no_rows'],
    [perCall(-1), settled(), 'cost.prices.0', 'amount'],
    [perCall(1.5), settled(), 'cost.prices.0', 'amount'],
    [perCall(1_000_000_000_001), settled(), 'cost.prices.0', 'amount'],
    [calls([], [selector]), settled(), 'cost.prices.0.when', 'unreachable_row'],
    [calls([{ ...selector, oneOf: [] }]), settled(), 'cost.prices.0.when.0', 'no_rows'],
    [calls([{ ...selector, at: '' }]), settled(), 'cost.prices.0.when.0', 'path'],
    [calls([{ ...selector, in: 'body', at: 'a[*]' }]), settled(), 'cost.prices.0.when.0', 'path'],
    [calls(...Array.from({ length: 65 }, () => [selector])), settled(), 'cost.prices', 'too_many'],
    [perResult({ results: 'data[' }), settled(), 'cost.results', 'path'],
    [perResult({ reserve: { kind: 'fixed', units: 0 } }), settled(), 'cost.reserve', 'not_whole'],
    [
      perResult({ reserve: { kind: 'request', in: 'query', at: 'n', default: 9, max: 3 } }),
      settled(),
      'cost.reserve',
      'bounds',
    ],
    [
      perResult({ prices: [{ when: [], perMillionMicros: 0.5 }] }),
      settled(),
      'cost.prices.0',
      'amount',
    ],
    [quota({ rows: '' }), settled(), 'cost.rows', 'path'],
    [quota({ entities: 'a..b' }), settled(), 'cost.entities', 'path'],
    [
      quota({ page: { in: 'query', at: 'n', default: 0, max: null } }),
      settled(),
      'cost.page',
      'not_whole',
    ],
    [
      quota({ page: { in: 'query', at: 'n', default: null, max: 1.5 } }),
      settled(),
      'cost.page',
      'not_whole',
    ],
    [
      quota({ page: { in: 'body', at: 'n[*]', default: null, max: null } }),
      settled(),
      'cost.page',
      'path',
    ],
    [
      usage({ prices: [{ when: [], perMillionMicros: { output: -1 } }] }),
      settled(),
      'cost.prices.0.perMillionMicros.output',
      'amount',
    ],
    [{ kind: 'per_call', prices: [] }, reported({}), 'cost.prices', 'no_rows'],
    [{ kind: 'per_call', prices: [] }, settled({ reserveMicros: 5 }), 'cost.prices', 'no_rows'],
    [
      usage({ meters: Array.from({ length: metersMax + 1 }, (_, i) => meter(`m${i}`, ['o'])) }),
      settled(),
      'cost.meters',
      'too_many',
    ],
    [output({ name: 'out put' }), settled(), 'cost.meters.0.name', 'meter_name'],
    ...[{ at: 'a[*]' }, { default: 0 }, { default: 1.5 }, { max: Number.POSITIVE_INFINITY }].map(
      (more): [Cost, Settlement, string, string] => [
        output({
          reserve: [{ kind: 'request', in: 'body', at: 'n', default: 1, max: 3, ...more }],
        }),
        settled(),
        'cost.meters.0.reserve',
        'at' in more ? 'path' : 'bounds',
      ],
    ),
    [
      output({ reserve: [{ kind: 'body_bytes', bytesPerUnit: Number.POSITIVE_INFINITY }] }),
      settled(),
      'cost.meters.0.reserve',
      'bounds',
    ],
    ...[
      { min: 2, max: 1 },
      { min: 1, max: Number.POSITIVE_INFINITY },
    ].map((more): [Cost, Settlement, string, string] => [
      perCall(1),
      reported({ times: { at: 'n', ...more } }),
      'settlement.reported.times',
      'bounds',
    ]),
    [output({ name: 'Out' }), settled(), 'cost.meters.0.name', 'meter_name'],
    [output({ name: ':reported' }), settled(), 'cost.meters.0.name', 'meter_name'],
    [output({ paths: [] }), settled(), 'cost.meters.0.paths', 'path'],
    [output({ paths: ['a', '.b'] }), settled(), 'cost.meters.0.paths', 'path'],
    [output({ includes: ['other'] }), settled(), 'cost.meters.0.includes', 'unknown_meter'],
    [output({ includes: ['output'] }), settled(), 'cost.meters.0.includes', 'unknown_meter'],
    [output({ reserve: [] }), settled(), 'cost.meters', 'no_reserve'],
    [
      output({ reserve: [{ kind: 'body_bytes', bytesPerUnit: 0 }] }),
      settled(),
      'cost.meters.0.reserve',
      'bounds',
    ],
    [
      usage({ prices: [{ when: [], perMillionMicros: { outptu: 1 } }] }),
      settled(),
      'cost.prices.0.perMillionMicros.outptu',
      'unknown_meter',
    ],
    ...(
      [
        [{ perMillionMicros: { outptu: 1 } }, '.perMillionMicros.outptu', 'unknown_meter'],
        [{ perMillionMicros: { output: 1.5 } }, '.perMillionMicros.output', 'amount'],
        [{ units: 0 }, '', 'not_whole'],
        [{ meters: ['inptu'] }, '.meters', 'unknown_meter'],
        [{ meters: ['input', 'input'] }, '.meters', 'meter_name'],
      ] as const
    ).map(([wrong, at, reason]): [Cost, Settlement, string, string] => [
      usage({ prices: [{ when: [], perMillionMicros: {}, above: { ...tier, ...wrong } }] }),
      settled(),
      `cost.prices.0.above${at}`,
      reason,
    ]),
    [
      usage({ meters: [...messagesCost.meters, ...messagesCost.meters] }),
      settled(),
      'cost.meters',
      'meter_name',
    ],
    [perCall(1), settled({ failed: ['a..b'] }), 'settlement.failed', 'path'],
    [perCall(1), settled({ fallbackMicros: -1 }), 'settlement.fallbackMicros', 'amount'],
    [perCall(1), settled({ reserveMicros: 0.5 }), 'settlement.reserveMicros', 'amount'],
    // Nothing set aside: whoever has no money could call, and be charged.
    [perCall(1), settled({ reserveMicros: 0 }), 'settlement.reserveMicros', 'amount'],
    [perCall(1), reported({ at: '' }), 'settlement.reported.at', 'path'],
    [perCall(1), reported({ in: 'header', at: 'x cost' }), 'settlement.reported.at', 'header_name'],
    [perCall(1), reported({ perMillionMicros: -1 }), 'settlement.reported', 'amount'],
    [
      perCall(1),
      reported({ times: { at: 'n', min: 0, max: 1 } }),
      'settlement.reported.times',
      'bounds',
    ],
    [
      perCall(1),
      reported({ times: { at: '[', min: 1, max: 1 } }),
      'settlement.reported.times.at',
      'path',
    ],
  ])('%#: names the fault at its place', (cost, settlement, at, reason) => {
    expect(priceFaults(cost, settlement)).toContainEqual({ at, reason });
  });
});
