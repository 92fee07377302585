import { describe, expect, it } from 'vitest';
import { ledgerAmountMicrosMax } from '../../../../src/base/limits-money';
import { type Estimate, estimate, resultsAsked } from '../../../../src/domain/pricing/estimate';
import type { Cost } from '../../../../src/domain/pricing/price';
import { asking, chatCost, messagesCost, perCall, settled } from './prices';

const micros = (answer: Estimate): number | string =>
  answer.kind === 'known' ? answer.micros : answer.kind === 'unknown' ? answer.why : answer.kind;

const reported = { in: 'body', at: 'cost', perMillionMicros: 1_000_000, times: null } as const;

const quotaOf = (
  entities: string,
  standard: number | null,
  max: number | null,
): Extract<Cost, { kind: 'quota_rows' }> => ({
  kind: 'quota_rows',
  prices: [{ when: [], perMillionMicros: 1_000_000 }],
  page: { in: 'query', at: 'size', default: standard, max },
  entities,
  rows: null,
});

describe('estimate', () => {
  it('free costs nothing, whatever is reserved', () => {
    expect(micros(estimate({ kind: 'free' }, settled({ reserveMicros: 9 }), asking()))).toBe(0);
  });

  const tiers: Cost = {
    kind: 'per_call',
    prices: [
      {
        when: [
          { in: 'query', at: 'type', oneOf: ['pro'] },
          { in: 'query', at: 'deep', oneOf: [true] },
        ],
        priceMicros: 900,
      },
      { when: [{ in: 'query', at: 'type', oneOf: ['pro', 'plus'] }], priceMicros: 500 },
      { when: [{ in: 'query', at: 'n', oneOf: [1, 2] }], priceMicros: 70 },
    ],
  };

  it.each([
    ['type=pro&deep=true', 900],
    ['deep=true&type=%70ro', 900],
    ['type=pro', 500],
    ['type=plus&n=1', 500],
    ['n=2', 70],
    ['n=3', 'no_price'],
    ['type=PRO', 'no_price'],
    ['', 'no_price'],
  ])('the first row that matches %s is the price: %s', (query, expected) => {
    expect(micros(estimate(tiers, settled(), asking({ query })))).toBe(expected);
  });

  it.each([
    ...['n=1&n=9', 'n=9&n=1', 'n=1&%6E=9', 'n=1&N=9', 'N=1', '%4e=1'],
    ...['x=1;n=9&n=1', 'n=1&x;N=9', 'n=1;x', 'n;x=1'],
  ])('C040: %s chooses no price, also not a catch-all', (query) => {
    const open: Cost = { ...tiers, prices: [...tiers.prices, { when: [], priceMicros: 1 }] };
    expect(micros(estimate(open, settled(), asking({ query })))).toBe('no_price');
  });

  it.each([
    [{ model: 'small', Model: 'big' }],
    [{ MODEL: 'small' }],
    [{ model: 'small', mOdel: 'big' }],
  ])('C040: %j chooses no price: a vendor may read the other member', (body) => {
    const facts = asking({ body, bodyBytes: 3 });
    expect(micros(estimate(chatCost, settled(), facts))).toBe('no_price');
  });

  it('a member that looks like the one that is counted reserves the most', () => {
    const held = (more: object) =>
      micros(estimate(chatCost, settled(), asking({ body: { model: 'big', ...more } })));
    expect(held({ max_tokens: 10, Max_Tokens: 4_000 })).toBe(held({ max_tokens: 4_000 }));
    expect(held({ max_tokens: 10, max_token: 4_000 })).toBe(held({ max_tokens: 10 }));
  });

  it('a selector reads the JSON body, and an object there matches nothing', () => {
    const facts = (model: unknown) => asking({ body: { model }, bodyBytes: 3 });
    expect(micros(estimate(chatCost, settled(), facts('small')))).toBe(601);
    expect(micros(estimate(chatCost, settled(), facts('huge')))).toBe('no_price');
    expect(micros(estimate(chatCost, settled(), facts(['small'])))).toBe('no_price');
    expect(micros(estimate(chatCost, settled(), facts(null)))).toBe('no_price');
    expect(micros(estimate(chatCost, settled(), asking()))).toBe('no_price');
  });

  const byBody = (at: string, option: string | number): Cost => ({
    kind: 'per_call',
    prices: [{ when: [{ in: 'body', at, oneOf: [option] }], priceMicros: 5 }],
  });

  it.each([
    ['a count', byBody('ids[*]', 2), { ids: [7, 7] }, 5],
    ['another count', byBody('ids[*]', 2), { ids: [7] }, 'no_price'],
    ['one value of a list', byBody('ids[*].n', 1), { ids: [{ n: 1 }] }, 5],
    [
      'a value that is there twice',
      byBody('ids[*].n', 1),
      { ids: [{ n: 1 }, { n: 1 }] },
      'no_price',
    ],
    ['no value of an empty list', byBody('ids[*].n', 1), { ids: [] }, 'no_price'],
    ['what is absent', byBody('x', 'undefined'), {}, 'no_price'],
  ])('a selector matches %s', (_name, cost, body, expected) => {
    expect(micros(estimate(cost, settled(), asking({ body })))).toBe(expected);
  });

  it.each([
    // 3,000 bytes are 1,000 tokens: as many as the lower price allows
    [3_000, 2_500 + 10_000],
    [3_001, 5_005 + 15_000],
  ])('a call that may be large is held at the price of large ones: %d bytes', (bodyBytes, held) => {
    const [big] = chatCost.prices;
    const above = {
      ...{ units: 1_000, meters: ['input'] },
      perMillionMicros: { input: 5_000_000, cached: 2_500_000, output: 15_000_000 },
    };
    const cost: Cost = { ...chatCost, prices: big === undefined ? [] : [{ ...big, above }] };
    const facts = asking({ body: { model: 'big' }, bodyBytes });
    expect(micros(estimate(cost, settled(), facts))).toBe(held);
  });

  it.each([
    // 300 bytes are 100 tokens at $2.50, output at $10 for a million
    [{}, 250 + 10_000],
    [{ max_tokens: 10 }, 250 + 100],
    [{ max_tokens: 10, n: 3 }, 250 + 300],
    [{ max_tokens: 1_000_000 }, 250 + 40_000],
    [{ max_tokens: 'many' }, 250 + 40_000],
    [{ max_tokens: 0 }, 250 + 40_000],
    [{ max_tokens: -5 }, 250 + 40_000],
    [{ max_tokens: 1.5 }, 250 + 40_000],
    [{ max_tokens: null }, 250 + 40_000],
    [{ max_tokens: [1] }, 250 + 40_000],
    [{ max_tokens: '12' }, 250 + 120],
  ])('usage reserves what %j may use', (body, expected) => {
    const facts = asking({ body: { model: 'big', ...body }, bodyBytes: 300 });
    expect(micros(estimate(chatCost, settled(), facts))).toBe(expected);
  });

  it('usage reserves a whole unit for the bytes that begin one', () => {
    const facts = asking({ body: { model: 'big', max_tokens: 10 }, bodyBytes: 301 });
    // 101 tokens at $2.50
    expect(micros(estimate(chatCost, settled(), facts))).toBe(253 + 100);
  });

  it.each([
    ['the meter that is reserved', { output: 1_000_000 }, 100],
    ['only a meter that is not', { input: 1_000_000 }, 'no_reserve'],
    ['only a meter that is not, the other at nothing', { input: 1, output: 0 }, 'no_reserve'],
    ['no meter', {}, 0],
    ['none at more than nothing', { input: 0, output: 0 }, 0],
    ['a meter at more than the ledger carries', { output: 1_000_000_000_000_000_000 }, 'too_large'],
  ])('usage whose price names %s', (_name, perMillionMicros, expected) => {
    const cost: Cost = { ...messagesCost, prices: [{ when: [], perMillionMicros }] };
    expect(micros(estimate(cost, settled(), asking()))).toBe(expected);
  });

  it('usage without a known body size, or without a reserve, is unknown, never zero', () => {
    const facts = asking({ body: { model: 'big' }, bodyBytes: null });
    expect(micros(estimate(chatCost, settled(), facts))).toBe('no_body_size');
    const bare = {
      ...messagesCost,
      meters: messagesCost.meters.map((m) => ({ ...m, reserve: [] })),
    };
    expect(micros(estimate(bare, settled(), asking()))).toBe('no_reserve');
    expect(micros(estimate(bare, settled({ reserveMicros: 40 }), asking()))).toBe(40);
  });

  it.each([
    ['', 20],
    ['size=7', 7],
    ['size=100', 100],
    ['size=101', 100],
    ['size=0', 100],
    ['size=x', 100],
    ['size=1', 1],
    ['size=1e1', 100],
    ['size=%207', 100],
    ['size=7%20', 100],
    ['size=1&size=90', 100],
    ['size=1&Size=90', 100],
    ['size=1&x=;size=90', 100],
    ['size=1&x=;sized=90', 1],
  ])('quota rows: page of %j is %d rows', (query, rows) => {
    const cost: Cost = {
      kind: 'quota_rows',
      prices: [{ when: [], perMillionMicros: 1_000_000 }],
      page: { in: 'query', at: 'size', default: null, max: null },
      entities: 'ids',
      rows: null,
    };
    expect(micros(estimate(cost, settled(), asking({ query })))).toBe(rows);
    const body = { ids: Array.from({ length: 150 }, (_, i) => i) };
    expect(micros(estimate(cost, settled(), asking({ query, body })))).toBe(
      Math.min(150 * rows, 10_000),
    );
    expect(micros(estimate(cost, settled(), asking({ body: { ids: [1], Ids: [1, 2] } })))).toBe(
      10_000,
    );
    expect(micros(estimate({ ...cost, page: null }, settled(), asking({ query })))).toBe(20);
  });

  it.each([
    [30, 200, '', 30],
    [30, 200, 'size=150', 150],
    [30, 200, 'size=201', 200],
    [null, 10, '', 10],
    [null, 10, 'size=99', 10],
  ])('quota rows: pages of %j, at most %j: %j is %d rows', (standard, max, query, rows) => {
    expect(micros(estimate(quotaOf('ids', standard, max), settled(), asking({ query })))).toBe(
      rows,
    );
  });

  it.each([
    ['ids', { ids: [] }, 20],
    ['ids', { ids: 'one' }, 20],
    ['ids', {}, 20],
    ['ids[*]', { ids: [1, 2, 3] }, 60],
    ['ids[*]', { ids: [] }, 20],
  ])(
    'quota rows: each entity of %s in %j has a page, and one is there: %d rows',
    (at, body, rows) => {
      expect(micros(estimate(quotaOf(at, null, null), settled(), asking({ body })))).toBe(rows);
    },
  );

  it('per result reserves as many as may come', () => {
    const cost: Cost = {
      kind: 'per_result',
      prices: [{ when: [], perMillionMicros: 500_000 }],
      results: 'data[*]',
      reserve: { kind: 'request', in: 'query', at: 'limit', default: 10, max: 50 },
    };
    expect(micros(estimate(cost, settled(), asking()))).toBe(5);
    expect(micros(estimate(cost, settled(), asking({ query: 'limit=3' })))).toBe(2);
    expect(micros(estimate(cost, settled(), asking({ query: 'limit=999' })))).toBe(25);
  });

  it('a flat reserve replaces the estimate, and a price only where the vendor reports one', () => {
    expect(micros(estimate(perCall(5), settled({ reserveMicros: 80 }), asking()))).toBe(80);
    const unpriced: Cost = { kind: 'per_call', prices: [] };
    expect(micros(estimate(unpriced, settled({ reserveMicros: 80 }), asking()))).toBe('no_price');
    const told = settled({ reserveMicros: 80, reported });
    expect(micros(estimate(unpriced, told, asking()))).toBe(80);
    expect(micros(estimate(unpriced, settled({ reported }), asking()))).toBe('no_price');
  });

  it('holds the ceiling where the price is unknown, refuses above it, and zero buys nothing', () => {
    const at = (cost: Cost, ceilingMicros: number) =>
      estimate(cost, settled(), asking({ ceilingMicros }));
    const kinds: readonly Cost[] = [
      { kind: 'per_call', prices: [] },
      { kind: 'per_success', prices: [] },
      { ...quotaOf('ids', null, null), prices: [] },
      { ...messagesCost, prices: [] },
    ];
    for (const unpriced of kinds) {
      expect(at(unpriced, 7)).toMatchObject({ kind: 'known', micros: 7, isCeiling: true });
      expect(at(unpriced, 0)).toEqual({ kind: 'unknown', why: 'no_price' });
    }
    expect(at(perCall(5), 5)).toMatchObject({ kind: 'known', micros: 5, isCeiling: false });
    expect(at(perCall(5), 4)).toEqual({ kind: 'over_ceiling', micros: 5, ceilingMicros: 4 });
    expect(at(perCall(5), 0)).toEqual({ kind: 'over_ceiling', micros: 5, ceilingMicros: 0 });
    expect(at({ kind: 'free' }, 0)).toMatchObject({ kind: 'known', micros: 0 });
  });

  it('is held against the price as well where less than it is set aside', () => {
    const at = (cost: Cost, ceilingMicros: number, reserveMicros: number) =>
      estimate(cost, settled({ reserveMicros }), asking({ ceilingMicros }));
    expect(at(perCall(500), 100, 50)).toEqual({
      kind: 'over_ceiling',
      micros: 500,
      ceilingMicros: 100,
    });
    expect(micros(at(perCall(500), 500, 50))).toBe(50);
    expect(at(perCall(50), 100, 500)).toMatchObject({ kind: 'over_ceiling', micros: 500 });
    const unpriced: Cost = { kind: 'per_call', prices: [] };
    const told = settled({ reserveMicros: 50, reported });
    expect(micros(estimate(unpriced, told, asking({ ceilingMicros: 100 })))).toBe(50);
  });

  it('a ceiling above what one operation of the ledger carries holds exactly that', () => {
    const facts = asking({ ceilingMicros: 999_999_999_999_999 });
    const unpriced: Cost = { kind: 'per_call', prices: [] };
    const held = estimate(unpriced, settled(), facts);
    expect(held).toMatchObject({ kind: 'known', micros: ledgerAmountMicrosMax });
  });

  it('an estimate that no operation carries is unknown', () => {
    const cost: Cost = {
      kind: 'per_result',
      prices: [{ when: [], perMillionMicros: 1_000_000_000_000_000 }],
      results: 'n',
      reserve: { kind: 'fixed', units: 1_000_000 },
    };
    expect(micros(estimate(cost, settled(), asking()))).toBe('too_large');
  });

  it('freezes a price that survives JSON', () => {
    const known = estimate(chatCost, settled(), asking({ body: { model: 'big' } }));
    if (known.kind !== 'known') throw new Error(known.kind);
    expect(JSON.parse(JSON.stringify(known.price))).toEqual(known.price);
    expect(known.price).toMatchObject({ perMillionMicros: { output: 10_000_000 } });
  });
});

describe('the results that a call may give', () => {
  const results: Cost = {
    kind: 'per_result',
    prices: [{ when: [], perMillionMicros: 1_000_000 }],
    results: 'results[*]',
    reserve: { kind: 'request', in: 'query', at: 'size', default: 10, max: 100 },
  };

  it.each([
    ['by the result', results, 25],
    ['by the row', { ...quotaOf('ids', 10, 100), entities: null }, 25],
    ['by the call', perCall(70), 1],
    ['of nothing', { kind: 'free' }, 1],
  ] as const)('are those that it asks for where it is priced %s', (_, cost, asked) => {
    expect(resultsAsked(cost, asking({ query: 'size=25' }))).toBe(asked);
  });
});
