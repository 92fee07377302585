import { describe, expect, it } from 'vitest';
import {
  type AnswerFacts,
  abandonedCharge,
  charge,
  isBillable,
} from '../../../../src/domain/pricing/charge';
import { estimate, type FrozenPrice } from '../../../../src/domain/pricing/estimate';
import { usageOf, usagePlan } from '../../../../src/domain/pricing/meters';
import type { Cost, Settlement } from '../../../../src/domain/pricing/price';
import type { RequestFacts } from '../../../../src/domain/pricing/request-facts';
import { asking, chatCost, messagesCost, perCall, settled } from './prices';

const usd = 1_000_000_000_000;
const inBody = (more: object = {}) =>
  settled({
    fallbackMicros: 77,
    reported: { in: 'body', at: 'cost', perMillionMicros: usd, times: null, ...more },
  });

const failing = settled({ failed: ['error'] });

interface Given {
  readonly cost: Cost;
  readonly settlement?: Settlement;
  readonly facts?: RequestFacts;
  readonly status?: number;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly heldMicros?: number;
}

function frozen({ cost, settlement = settled(), facts = asking() }: Given): FrozenPrice {
  const known = estimate(cost, settlement, { ...facts, ceilingMicros: 1_000_000_000 });
  if (known.kind !== 'known') throw new Error(known.kind);
  return known.price;
}

function answer(given: Given): AnswerFacts {
  const { cost, settlement = settled(), status = 200, json, headers = {} } = given;
  return {
    price: frozen(given),
    settlement,
    status,
    header: (name) => headers[name] ?? null,
    usage: json === undefined ? null : usageOf(json, usagePlan(cost, settlement)),
    heldMicros: given.heldMicros ?? 60,
  };
}

const charged = (given: Given) => {
  const { micros, source } = charge(answer(given));
  return [micros, source];
};

describe('isBillable', () => {
  it.each([
    [200, true, true, true],
    [202, true, true, true],
    [204, true, true, false],
    [302, false, false, false],
    [304, false, false, false],
    [399, false, false, false],
    [500, false, false, false],
    [503, false, false, false],
    [101, false, false, false],
  ])('%d', (status, isPerCall, isUsage, isPerSuccess) => {
    for (const isReported of [true, false]) {
      expect(isBillable('per_call', status, isReported)).toBe(isPerCall);
      expect(isBillable('usage', status, isReported)).toBe(isUsage);
      expect(isBillable('per_success', status, isReported)).toBe(isPerSuccess);
    }
  });

  it.each([400, 404, 409, 410, 422, 451, 499])(
    '%d only per call, and only when the vendor says that it charged',
    (status) => {
      expect(isBillable('per_call', status, true)).toBe(true);
      expect(isBillable('per_call', status, false)).toBe(false);
      for (const kind of ['per_success', 'per_result', 'quota_rows', 'usage'] as const) {
        expect(isBillable(kind, status, true)).toBe(false);
      }
    },
  );

  it.each([401, 402, 403, 405, 407, 408, 429])('%d never', (status) => {
    expect(isBillable('per_call', status, true)).toBe(false);
  });
});

describe('charge', () => {
  it.each([
    [perCall(5), 200, [5, 'table']],
    [perCall(5), 204, [5, 'table']],
    [perCall(5), 500, [0, 'not_billable']],
    [perCall(5), 404, [0, 'not_billable']],
    [{ ...perCall(5), kind: 'per_success' as const }, 200, [5, 'table']],
    [{ ...perCall(5), kind: 'per_success' as const }, 204, [0, 'not_billable']],
    [{ kind: 'free' as const }, 200, [0, 'table']],
  ])('by table: %j at %d', (cost, status, expected) => {
    expect(charged({ cost, status })).toEqual(expected);
  });

  it.each([
    [0.00003, [30, 'reported']],
    [0, [0, 'reported']],
    ['0.0000255', [26, 'reported']],
    [1e-9, [1, 'reported']],
    [-1, [77, 'fallback']],
    ['free', [77, 'fallback']],
    [null, [77, 'fallback']],
    [{}, [77, 'fallback']],
    [true, [77, 'fallback']],
    [1e300, [77, 'fallback']],
  ])('the vendor reports %j', (cost, expected) => {
    expect(charged({ cost: perCall(5), settlement: inBody(), json: { cost } })).toEqual(expected);
  });

  it.each([
    ['as many as the lower price allows', 1_000, 2_500 + 100],
    ['one more', 1_001, 5_005 + 150],
  ])('all of a long call has the prices of long ones: %s', (_, input, micros) => {
    const above = {
      ...{ units: 1_000, meters: ['input'] },
      perMillionMicros: { input: 5_000_000, cached: 2_500_000, output: 15_000_000 },
    };
    const [big] = chatCost.prices;
    const cost: Cost = { ...chatCost, prices: big === undefined ? [] : [{ ...big, above }] };
    const json = { usage: { prompt_tokens: input, completion_tokens: 10 } };
    const facts = asking({ body: { model: 'big' } });
    expect(charged({ cost, facts, json })).toEqual([micros, 'usage']);
  });

  it('no report, or no JSON, costs the fallback; without one, what was held', () => {
    expect(charged({ cost: perCall(5), settlement: inBody(), json: {} })).toEqual([77, 'fallback']);
    expect(charged({ cost: perCall(5), settlement: inBody() })).toEqual([77, 'fallback']);
    const settlement = { ...inBody(), fallbackMicros: null };
    expect(charged({ cost: perCall(5), settlement })).toEqual([60, 'fallback']);
  });

  it('a miss that the vendor charges for is charged, one that it does not is not', () => {
    const miss = { cost: perCall(5), settlement: inBody(), status: 404 };
    expect(charged({ ...miss, json: { cost: 0.00001 } })).toEqual([10, 'reported']);
    expect(charged({ ...miss, json: {} })).toEqual([0, 'not_billable']);
    expect(charged({ ...miss, json: { cost: 'x' } })).toEqual([0, 'not_billable']);
  });

  it('C064: a charge above the hold is booked whole', () => {
    const settlement = inBody();
    const json = { cost: 0.000025 };
    expect(charged({ cost: perCall(10), settlement, json, heldMicros: 10 })).toEqual([
      25,
      'reported',
    ]);
  });

  it('reads a header, and the sum of a charge per entry', () => {
    const reported = { in: 'header', at: 'x-cost', perMillionMicros: usd, times: null } as const;
    const settlement = settled({ reported, fallbackMicros: 77 });
    const given = { cost: perCall(5), settlement };
    expect(charged({ ...given, headers: { 'x-cost': ' 0.00002 ' } })).toEqual([20, 'reported']);
    expect(charged({ ...given, headers: { 'x-cost': '0.1, 0.2' } })).toEqual([77, 'fallback']);
    expect(charged(given)).toEqual([77, 'fallback']);
    const each = { cost: perCall(5), settlement: inBody({ at: 'data[*].c' }) };
    const data = [{ c: 0.00001 }, { c: 0.00002 }];
    expect(charged({ ...each, json: { data } })).toEqual([30, 'reported']);
    expect(charged({ ...each, json: { data: [] } })).toEqual([0, 'reported']);
    expect(charged({ ...each, json: { data: [{ c: 1 }, { c: 'x' }] } })).toEqual([77, 'fallback']);
  });

  it.each([
    [3, [60, 'reported']],
    [2.5, [50, 'reported']],
    [0.5, [10, 'reported']],
    [10, [200, 'reported']],
    [0.49, [77, 'fallback']],
    [10.01, [77, 'fallback']],
    [0, [77, 'fallback']],
    [-3, [77, 'fallback']],
    ['x', [77, 'fallback']],
    [undefined, [77, 'fallback']],
  ])('a multiplier of %j within 0.5 and 10', (pages, expected) => {
    const settlement = inBody({ times: { at: 'pages', min: 0.5, max: 10 } });
    const json = { cost: 0.00002, pages };
    expect(charged({ cost: perCall(5), settlement, json })).toEqual(expected);
  });

  it('a multiplier of zero makes nothing free, whatever its bounds', () => {
    const settlement = inBody({ times: { at: 'pages', min: 0, max: 10 } });
    const json = { cost: 0.00002, pages: 0 };
    expect(charged({ cost: perCall(5), settlement, json })).toEqual([77, 'fallback']);
  });

  const big = { cost: chatCost, facts: asking({ body: { model: 'big' } }) };

  it.each([
    [{ prompt_tokens: 1_000, completion_tokens: 10 }, [2_600, 'usage']],
    [
      {
        prompt_tokens: 1_000,
        completion_tokens: 0,
        prompt_tokens_details: { cached_tokens: 400 },
      },
      [2_000, 'usage'],
    ],
    [{ prompt_tokens: 0, completion_tokens: 0 }, [0, 'usage']],
    [{ prompt_tokens: 1, completion_tokens: 0 }, [3, 'usage']],
    [{ prompt_tokens: 1_000 }, [60, 'fallback']],
    [{ prompt_tokens: 1_000, completion_tokens: -1 }, [60, 'fallback']],
    [{ prompt_tokens: 1_000, completion_tokens: null }, [60, 'fallback']],
    [{}, [60, 'fallback']],
  ])('usage %j', (usage, expected) => {
    expect(charged({ ...big, json: { usage } })).toEqual(expected);
  });

  it('cached input never costs less than nothing', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 0,
      prompt_tokens_details: { cached_tokens: 40 },
    };
    expect(charged({ ...big, json: { usage } })).toEqual([50, 'usage']);
  });

  it('reported beats usage, and a stream with unread events costs the fallback at least', () => {
    const json = { cost: 0.000001, usage: { prompt_tokens: 100, completion_tokens: 0 } };
    expect(charged({ ...big, settlement: inBody(), json })).toEqual([1, 'reported']);
    const facts = answer({ ...big, json, settlement: settled({ fallbackMicros: 900 }) });
    const partial = { seen: facts.usage?.seen ?? new Map(), isPartial: true };
    expect(charge({ ...facts, usage: partial })).toEqual({ micros: 900, source: 'fallback' });
    const cheap = settled({ fallbackMicros: 9 });
    expect(charge({ ...facts, settlement: cheap, usage: partial }).micros).toBe(250);
  });

  it.each([
    [{ error: { message: 'Overloaded' } }, [0, 'vendor_failed']],
    [{ error: 'busy', usage: {} }, [0, 'vendor_failed']],
    [{ error: 0 }, [0, 'vendor_failed']],
    [{ error: null }, [60, 'fallback']],
    [{ error: {}, usage: { prompt_tokens: 100 } }, [250, 'usage']],
    [{ error: {}, usage: { prompt_tokens: 100, completion_tokens: 10 } }, [350, 'usage']],
  ])('an answer that says that the vendor failed costs what was metered: %j', (json, expected) => {
    expect(charged({ ...big, settlement: failing, json })).toEqual(expected);
  });

  it.each([
    [{ error: {} }, [0, 'vendor_failed']],
    [{ error: {}, cost: 0.000002 }, [2, 'reported']],
    [{ error: null }, [77, 'fallback']],
  ])('whatever its price, unless the vendor says that it charged: %j', (json, expected) => {
    const settlement = { ...inBody(), failed: ['error'] };
    expect(charged({ cost: perCall(5), settlement, json })).toEqual(expected);
    const perSuccess: Cost = { ...perCall(5), kind: 'per_success' };
    expect(charged({ cost: perSuccess, settlement, json })).toEqual(expected);
  });

  it('a failure beside events that nobody read costs the fallback at least', () => {
    const facts = answer({ ...big, settlement: failing, json: { error: {} } });
    const partial = { seen: facts.usage?.seen ?? new Map(), isPartial: true };
    expect(charge({ ...facts, usage: partial })).toEqual({ micros: 60, source: 'fallback' });
  });

  const perResult: Cost = {
    kind: 'per_result',
    prices: [{ when: [], perMillionMicros: 2_500_000 }],
    results: 'data[*]',
    reserve: { kind: 'fixed', units: 10 },
  };

  it.each([
    [{ data: [1, 2, 3] }, [8, 'table']],
    [{ data: [] }, [0, 'table']],
    [{ data: {} }, [60, 'fallback']],
    [{}, [60, 'fallback']],
    [undefined, [60, 'fallback']],
  ])('per result %j', (json, expected) => {
    expect(charged({ cost: perResult, json })).toEqual(expected);
  });

  it('quota rows cost what was asked, or what the answer counts', () => {
    const cost: Cost = {
      kind: 'quota_rows',
      prices: [{ when: [], perMillionMicros: 2_000_000 }],
      page: { in: 'query', at: 'size', default: null, max: null },
      entities: null,
      rows: null,
    };
    const facts = asking({ query: 'size=9' });
    expect(charged({ cost, facts, json: { rows: [] } })).toEqual([18, 'table']);
    expect(charged({ cost: { ...cost, rows: 'rows[*]' }, facts, json: { rows: [1] } })).toEqual([
      2,
      'table',
    ]);
  });

  const usage = { input_tokens: 1_000, output_tokens: 10 };

  it.each<[Cost]>([
    [{ kind: 'per_call', prices: [] }],
    [{ kind: 'per_success', prices: [] }],
    [{ ...perResult, prices: [] }],
    [{ kind: 'quota_rows', prices: [], page: null, entities: null, rows: null }],
    [{ ...messagesCost, prices: [] }],
  ])(
    'an unknown price under a ceiling settles at the fallback, or at what was held: %j',
    (cost) => {
      const json = { data: [1, 2], usage };
      expect(charged({ cost, json })).toEqual([60, 'fallback']);
      const settlement = settled({ fallbackMicros: 12 });
      expect(charged({ cost, json, settlement })).toEqual([12, 'fallback']);
    },
  );

  it('a meter without a rate costs nothing, the others what they cost', () => {
    const prices = [{ when: [], perMillionMicros: { output: 15_000_000 } }];
    expect(charged({ cost: { ...messagesCost, prices }, json: { usage } })).toEqual([150, 'usage']);
  });
});

describe('abandonedCharge', () => {
  it.each([
    [{ error: {} }, [0, 'vendor_failed']],
    [{ error: {}, usage: { prompt_tokens: 4 } }, [10, 'usage']],
    [{ error: null }, [60, 'fallback']],
  ])('of a vendor that said that it failed is what was metered: %j', (json, expected) => {
    const facts = asking({ body: { model: 'big' } });
    expect(left({ cost: chatCost, settlement: failing, facts, json })).toEqual(expected);
  });

  const left = (given: Given & { unseenStatus?: boolean }) => {
    const facts = answer(given);
    const status = given.unseenStatus === true ? null : facts.status;
    const { micros, source } = abandonedCharge({ ...facts, status });
    return [micros, source];
  };
  const messages = { cost: messagesCost, settlement: settled({ fallbackMicros: 100 }) };
  const soFar = (input: number) => ({ message: { usage: { input_tokens: input } } });

  it.each([
    ['nothing seen', undefined, [100, 'fallback']],
    ['less than the fallback', soFar(10), [100, 'fallback']],
    ['more than the fallback', soFar(50), [150, 'usage']],
    ['more than the hold', soFar(500), [200, 'usage']],
  ])('is never free and never above the hold: %s', (_name, json, expected) => {
    expect(left({ ...messages, json, heldMicros: 200 })).toEqual(expected);
    expect(left({ ...messages, json, heldMicros: 200, unseenStatus: true })).toEqual(expected);
  });

  it('without a fallback it is the hold', () => {
    expect(left({ cost: perCall(5), heldMicros: 60 })).toEqual([60, 'fallback']);
  });

  it('C060: a charge that was read before the client left is the charge when it is larger', () => {
    const settlement = { ...inBody(), fallbackMicros: 20 };
    const json = { cost: 0.00003 };
    expect(left({ cost: perCall(60), settlement, json })).toEqual([30, 'reported']);
    expect(charged({ cost: perCall(60), settlement, json })).toEqual([30, 'reported']);
  });

  it('results that were counted before the client left are the charge when they cost more', () => {
    const cost: Cost = {
      kind: 'per_result',
      prices: [{ when: [], perMillionMicros: 10_000_000 }],
      results: 'data[*]',
      reserve: { kind: 'fixed', units: 10 },
    };
    const settlement = settled({ fallbackMicros: 20 });
    expect(left({ cost, settlement, json: { data: [1, 2, 3] } })).toEqual([30, 'usage']);
    expect(left({ cost, settlement, json: { data: [1] } })).toEqual([20, 'fallback']);
    expect(left({ cost, settlement })).toEqual([20, 'fallback']);
  });

  it('a fallback of nothing stays nothing where nothing was seen, also of an unknown price', () => {
    const settlement = settled({ fallbackMicros: 0 });
    const unpriced = { ...messagesCost, prices: [] };
    for (const cost of [perCall(5), messagesCost, unpriced]) {
      expect(left({ cost, settlement, json: {} })).toEqual([0, 'fallback']);
    }
    const told = { ...inBody(), fallbackMicros: 0 };
    expect(left({ cost: perCall(5), settlement: told, json: {} })).toEqual([0, 'fallback']);
  });

  it('a miss that the vendor says it charged is charged, whoever left', () => {
    const miss = { cost: perCall(5), settlement: { ...inBody(), fallbackMicros: 0 }, status: 404 };
    expect(left({ ...miss, json: { cost: 0.00003 } })).toEqual([30, 'reported']);
    expect(left({ ...miss, json: {} })).toEqual([0, 'not_billable']);
  });

  it('an answer that cannot cost money costs nothing', () => {
    expect(left({ cost: perCall(5), status: 500 })).toEqual([0, 'not_billable']);
    expect(left({ cost: { kind: 'free' }, status: 200 })).toEqual([0, 'table']);
  });
});
