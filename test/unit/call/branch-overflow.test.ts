/** The child cycle: its hold, its reservation and its end, whatever the aggregator does. */
import { describe, expect, it, vi } from 'vitest';
import { holdRenewMs } from '../../../src/base/limits-money';
import { ok } from '../../../src/base/result';
import {
  type Child,
  type Overflow,
  type OverflowPorts,
  overflow,
} from '../../../src/call/branch-overflow';
import { usualAggregators } from '../../../src/domain/overflow/aggregators';
import type { OverflowTrigger } from '../../../src/domain/overflow/child';
import type { OverflowRoute } from '../../../src/domain/overflow/routes';
import { shapeOf } from '../../../src/domain/overflow/shape';
import type { Cost } from '../../../src/domain/pricing/price';
import { perCall } from '../domain/pricing/prices';
import { key as accessKey, authorized, backgroundOf, catalogCall, scan, tenant } from './calls';
import { capacityPorts, healthy, NotedCapacity, noOverflow } from './capacity-ports';
import { NotedDesk, NotedTasks } from './desk';

const route: OverflowRoute = {
  endpointId: 'vendor.search',
  aggregator: 'orthogonal',
  vendor: 'vendor',
  operation: '/search',
  priceMicros: 90,
  unit: 'call',
  singleResult: false,
};
const broke: OverflowTrigger = { kind: 'answer', status: 402, signal: 'balance' };
const envelope = (body: unknown, status = 200) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
const served = () => envelope({ success: true, priceCents: 0.008, data: { a: 1 } });
/** A run of the other dialect, which names the vendor's status beside its own state. */
const monids = (httpStatus: number, status = 'COMPLETED') => ({
  route: { aggregator: 'monid' },
  send: async () =>
    envelope({ runId: '01RUN', status, providerResponse: { httpStatus }, output: { a: 1 } }),
});

interface Setting {
  /** The aggregator's answer; null: none. */
  readonly send?: () => Promise<Response | null>;
  readonly overflow?: Partial<Overflow>;
  readonly reserve?: 'reserved' | 'refused' | 'unavailable' | 'throws';
  readonly trigger?: OverflowTrigger;
  readonly key?: string;
  readonly capacity?: NotedCapacity;
  readonly desk?: NotedDesk;
  readonly allows?: boolean;
  /** Of the route; its unit too. */
  readonly route?: Partial<OverflowRoute>;
  readonly cost?: Cost;
  readonly query?: string;
  /** X-Weir-Max-Cost-Micro. */
  readonly ceiling?: string;
  /** Of the caller's key. */
  readonly callCap?: number;
  readonly hasRoute?: boolean;
  /** Told as soon as the child has ended. */
  readonly onEnd?: () => void;
  readonly request?: Request;
  /** The caller's body, as far as it was kept. */
  readonly sentBytes?: Uint8Array<ArrayBuffer>;
}

async function run(setting: Setting = {}) {
  const found = { ...route, ...setting.route };
  const asked: string[] = [];
  const bodies: (string | null)[] = [];
  const reports: unknown[] = [];
  const desk = setting.desk ?? new NotedDesk();
  const budgets: Overflow['budgets'] = {
    reserve: async (name, _id, micros) => {
      asked.push(`reserve ${name} ${micros}`);
      const outcome = setting.reserve ?? 'reserved';
      if (outcome === 'throws') throw new Error('bug');
      return outcome === 'refused' ? { outcome, spentMicros: 1, budgetMicros: 1 } : { outcome };
    },
    close: (name, _id, end) => {
      if (end?.kind === 'reconcile') asked.push(`reconcile ${name} ${end.micros}`);
      if (end?.kind === 'give_back') asked.push(`giveBack ${name}`);
    },
    days: async () => null,
  };
  const ports: OverflowPorts = {
    ...capacityPorts(setting.capacity),
    desk,
    replayBodies: null,
    tasks: new NotedTasks(),
    report: (event, facts) => void reports.push([event, facts]),
    overflow: {
      ...noOverflow,
      mode: 'on',
      aggregators: usualAggregators,
      keyOf: () => 'agg-key',
      routes: { routeFor: (_id, _context, mayUse) => (mayUse?.(found) === false ? null : found) },
      budgets,
      ask: async ({ body }) => {
        asked.push('send');
        bodies.push(body);
        const answer = await (setting.send ?? (async () => served()))();
        if (answer === null) return null;
        return { status: answer.status, bytes: new Uint8Array(await answer.arrayBuffer()) };
      },
      ...setting.overflow,
    },
  };
  const key = setting.key ?? null;
  const call = authorized({
    catalog: catalogCall(
      { cost: setting.cost ?? perCall(70) },
      { hasRoute: setting.hasRoute ?? true, callersQuery: setting.query ?? null },
    ),
    ...(setting.request === undefined ? {} : { request: setting.request }),
    sentBytes: setting.sentBytes ?? null,
    key: accessKey({ callCap: setting.callCap ?? null }),
    headers: scan({ idempotencyKey: key, maxCostMicro: setting.ceiling ?? null }),
    tenant: { ...tenant(ok([])), allowsOverflow: setting.allows ?? true },
  });
  const background = backgroundOf();
  const trigger = setting.trigger ?? broke;
  const isCounted = trigger.kind !== 'skip_direct';
  const shadows: Child[] = [];
  const onShadow = (shadow: Child): void => void shadows.push(shadow);
  const child = await overflow(call, { trigger, isCounted, onShadow }, ports, background);
  setting.onEnd?.();
  await Promise.all(background.work);
  return { child, shadows, asked, bodies, reports, desk, ends: desk.ends };
}

describe('a run that is served', () => {
  it('is held at the route’s price, reserved, sent, settled at the aggregator’s price', async () => {
    const { child, asked, desk, ends } = await run();
    expect(desk.places[0]?.slice(2, 5)).toEqual([90, 'key_1', null]);
    expect(asked).toEqual(['reserve orthogonal 90', 'send', 'reconcile orthogonal 80']);
    expect(ends).toEqual([['settle', desk.places[0]?.[1], 80, true]]);
    expect(child).toMatchObject({ status: 200, costMicros: 80, servedVia: 'overflow:orthogonal' });
    const headers = Object.fromEntries(child?.response?.headers ?? []);
    expect(headers).toMatchObject({
      'x-weir-call-id': 'call_1',
      'x-weir-served-via': 'overflow:orthogonal',
      'x-weir-cost-micro': '80',
      'x-weir-error-source': 'upstream',
      'content-type': 'application/json',
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
    });
    expect(await child?.response?.text()).toBe('{"a":1}');
  });

  it('for a key is settled and recorded in one step, with the bytes that the caller gets', async () => {
    const { child, desk, ends } = await run({ key: 'k' });
    const [, holdId, , , , , claim] = desk.places[0] ?? [];
    const body = new TextEncoder().encode('{"a":1}');
    expect(desk.waitedFor).toEqual([
      [
        ['settle', holdId, 80, true],
        ['record', claim?.[0], expect.objectContaining({ status: 200, body, costMicros: 80 })],
      ],
    ]);
    expect([ends, child?.costMicros]).toEqual([[], 80]);
    expect(await child?.response?.text()).toBe('{"a":1}');
  });

  it('for a key is on disk before its answer is given', async () => {
    const desk = new NotedDesk();
    const onDisk = Promise.withResolvers<void>();
    desk.onDisk = onDisk.promise;
    let isGiven = false;
    const onEnd = () => {
      isGiven = true;
    };
    vi.useFakeTimers();
    const running = run({ key: 'k', desk, onEnd });
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers();
    expect([desk.waitedFor.length, isGiven]).toEqual([1, false]);
    onDisk.resolve();
    await running;
  });

  it('sends the body that the caller sent', async () => {
    const request = new Request('https://gw.test/x', { method: 'POST', body: '{"q":1}' });
    const sentBytes = new Uint8Array(new TextEncoder().encode('{"q":1}'));
    const { bodies } = await run({ request, sentBytes });
    expect(bodies).toEqual(['{"api":"vendor","path":"/search","body":{"q":1}}']);
  });

  it.each([204, 205, 304])('by a vendor’s %i has no body', async (status) => {
    const { child } = await run(monids(status));
    expect([child?.status, child?.response?.body]).toEqual([status, null]);
  });

  it('for a HEAD has no body', async () => {
    const { child } = await run({ request: new Request('https://gw.test/x', { method: 'HEAD' }) });
    expect([child?.status, child?.response?.body]).toEqual([200, null]);
  });

  it('goes through the aggregator that a key is there for', async () => {
    const other = { ...route, aggregator: 'monid' };
    const { child } = await run({
      ...monids(200),
      overflow: {
        keyOf: ({ name }) => (name === 'monid' ? 'agg-key' : null),
        routes: {
          routeFor: (_id, _context, mayUse) => [route, other].find((one) => mayUse?.(one)) ?? null,
        },
      },
    });
    expect(child).toMatchObject({ status: 200, servedVia: 'overflow:monid' });
  });

  it('and whose price nobody says costs what was held', async () => {
    const send = async () => envelope({ success: true, data: { a: 1 } });
    const { child, desk, ends } = await run({ send });
    expect(ends).toEqual([['settle', desk.places[0]?.[1], 90, true]]);
    expect(child?.costMicros).toBe(90);
  });

  it.each([
    [300, 200],
    [404, 200],
    [499, 200],
    [404, 404],
  ])('by a vendor’s %i costs the caller nothing and frees its key', async (status, outer) => {
    const send = async () => envelope({ success: false, status, priceCents: 2, data: {} }, outer);
    const { child, desk } = await run({ send, key: 'k' });
    expect(child).toMatchObject({ status, isOut: false, costMicros: null });
    expect(child?.response?.headers.get('x-weir-cost-micro')).toBe('0');
    expect(desk.waitedFor.map((ends) => ends.map(([name]) => name))).toEqual([['release', 'free']]);
  });

  it('that takes longer than a lease keeps its hold', async () => {
    vi.useFakeTimers();
    const answer = Promise.withResolvers<Response>();
    const running = run({ send: () => answer.promise });
    await vi.advanceTimersByTimeAsync(holdRenewMs + 1);
    answer.resolve(served());
    const { ends, desk } = await running;
    vi.useRealTimers();
    expect(ends.map(([op, id]) => [op, id === desk.places[0]?.[1]])).toEqual([
      ['renew', true],
      ['settle', true],
    ]);
  });

  it('has a hold of its own, never the parent’s id', async () => {
    const [one, two] = [await run(), await run()];
    expect(one.desk.places[0]?.[1]).not.toBe(two.desk.places[0]?.[1]);
  });
});

describe('the day’s budget of an aggregator', () => {
  it('counts a run that was served for nothing, and forgets a failure that cost nothing', async () => {
    const free = async () => envelope({ success: true, priceCents: 0, data: { a: 1 } });
    expect((await run({ send: free })).asked.at(-1)).toBe('reconcile orthogonal 0');
    const refused = async () => envelope({ success: false, code: 'NOT_FOUND' }, 404);
    expect((await run({ send: refused })).asked.at(-1)).toBe('giveBack orthogonal');
  });
});

const perResult: Cost = {
  kind: 'per_result',
  prices: [{ when: [], perMillionMicros: 50_000_000 }],
  results: 'results[*]',
  reserve: { kind: 'request', in: 'query', at: 'limit', default: 10, max: 100 },
};

describe('what a run may cost', () => {
  const each = { unit: 'result', priceMicros: 90 } as const;

  it.each([
    ['limit=25', 2_250],
    ['limit=1', 90],
    ['q=x', 900],
  ])('by the result is held and reserved for all that %s may give', async (query, micros) => {
    const { asked, desk } = await run({ cost: perResult, route: each, query });
    expect(desk.places[0]?.[2]).toBe(micros);
    expect(asked[0]).toBe(`reserve orthogonal ${micros}`);
  });

  it('by the result is that of one where a run gives no more', async () => {
    const single = { ...each, singleResult: true };
    const { desk } = await run({ cost: perResult, route: single, query: 'limit=25' });
    expect(desk.places[0]?.[2]).toBe(90);
  });

  it('by the result is reserved for all of them in a shadow too', async () => {
    const shadow = { overflow: { mode: 'shadow' } } as const;
    const { asked } = await run({ cost: perResult, route: each, query: 'limit=25', ...shadow });
    expect(asked[0]).toBe('reserve orthogonal 2250');
  });

  it.each(['89', '0'])(
    'is never above the ceiling that the caller named: %s sends nothing',
    async (ceiling) => {
      const { child, asked, desk } = await run({ ceiling });
      expect([child, asked, desk.places]).toEqual([null, [], []]);
    },
  );

  it('may be the ceiling; a shadow costs the caller nothing and has none', async () => {
    expect((await run({ ceiling: '90' })).child?.status).toBe(200);
    const { asked } = await run({ ceiling: '0', overflow: { mode: 'shadow' } });
    expect(asked).toContain('send');
  });
});

describe('a key with a call cap', () => {
  it.each([
    ['was counted with the parent', broke, [null, true]],
    ['was counted with the parent that our window refused', { kind: 'window' }, [null, true]],
    [
      'is counted with the child when nothing was placed before',
      { kind: 'skip_direct' },
      [3, undefined],
    ],
  ] as const)('%s', async (_, trigger, expected) => {
    const { desk } = await run({ trigger, callCap: 3 });
    const [placed] = desk.places;
    expect([placed?.[4], placed?.[7]]).toEqual(expected);
  });

  it('that has used it up sends nothing past an account that is out', async () => {
    const refusal = { code: 'key_call_cap', cap: 3, resetsAtMs: 0 } as const;
    const desk = new NotedDesk({ outcome: 'refused', refusal });
    const { child, asked } = await run({ trigger: { kind: 'skip_direct' }, callCap: 3, desk });
    expect([child, asked]).toEqual([null, []]);
  });
});

describe('an error that repeats our key', () => {
  it.each([300, 404])('is shown without it (%i)', async (status) => {
    const echo = {
      success: false,
      status,
      priceCents: 0,
      data: { error: 'bad orthogonal-key-0123456789' },
    };
    const { child } = await run({
      send: async () => envelope(echo),
      overflow: { keyOf: () => 'orthogonal-key-0123456789' },
    });
    expect(await child?.response?.text()).toBe('{"error":"bad ***"}');
  });
});

describe('nothing is sent', () => {
  it.each([
    ['when it is off', { overflow: { mode: 'off' } }],
    ['for a tenant that opted out', { allows: false }],
    ['without a route', { overflow: { routes: { routeFor: () => null } } }],
    ['without a key', { overflow: { keyOf: () => null } }],
    ['for a row that had no route when the call was resolved', { hasRoute: false }],
    [
      'of a call whose body went to the vendor without being kept',
      { request: new Request('https://gw.test/x', { method: 'POST', body: '{}' }) },
    ],
    ['for an answer that is the caller’s fault', { trigger: { ...broke, signal: null } }],
    ['for a 401', { trigger: { ...broke, status: 401 } }],
  ] as const)('%s', async (_, setting) => {
    const { child, asked, desk } = await run(setting);
    expect([child, asked, desk.places]).toEqual([null, [], []]);
  });

  it.each([
    ['a price here that fell below a quarter of the route’s', { cost: perCall(22) }],
    [
      'no price of one call any more',
      { cost: { ...perResult, reserve: { kind: 'fixed', units: 9 } } },
    ],
    ['a route that became too dear', { cost: perCall(70), route: { priceMicros: 281 } }],
  ] as const)('by a route that the last sync turned on, with %s', async (_, setting) => {
    const { child, asked, desk } = await run(setting);
    expect([child, asked, desk.places]).toEqual([null, [], []]);
  });

  it('to an aggregator that is marked', async () => {
    const marks = [{ key: 'vendor', reason: 'vendor_dry', endsInMs: 1_000 }];
    const { child, asked } = await run({
      capacity: new NotedCapacity({ view: { ...healthy, marks } }),
    });
    expect([child, asked]).toEqual([null, []]);
  });

  it('to an aggregator whose balance the last sweep read as empty', async () => {
    const reading = {
      observedAtMs: 1,
      state: 'exhausted',
      resetsAtMs: null,
      endsInMs: null,
      nextProbeInMs: 0,
    } as const;
    const { child, asked } = await run({
      capacity: new NotedCapacity({ view: { ...healthy, reading } }),
    });
    expect([child, asked]).toEqual([null, []]);
  });

  it.each(['refused', 'unavailable'] as const)(
    'when the budget is %s; the hold is released',
    async (reserve) => {
      const { child, asked, ends, reports } = await run({ reserve });
      expect([child, asked]).toEqual([null, ['reserve orthogonal 90']]);
      expect(reports).toMatchObject([['overflow.budget', { outcome: reserve }]]);
      expect(ends).toMatchObject([['release', expect.any(String), `overflow_budget_${reserve}`]]);
    },
  );

  it('when the ledger says no', async () => {
    const desk = new NotedDesk({
      outcome: 'refused',
      refusal: { code: 'insufficient_balance', availableMicros: 0, requiredMicros: 90 },
    });
    const { child, asked, ends } = await run({ desk });
    expect([child, asked, ends]).toEqual([null, [], []]);
  });
});

describe('a run that fails', () => {
  const lost = async () => null;
  it.each([
    [
      'its key is refused',
      async () => envelope({ success: false, error: 'no' }, 401),
      'giveBack orthogonal',
      true,
    ],
    [
      'its schema refuses',
      async () => envelope({ success: false, error: 'no' }, 422),
      'giveBack orthogonal',
      false,
    ],
    [
      'a vendor’s 5xx that was charged',
      async () => envelope({ success: false, status: 503, priceCents: 2, data: {} }, 502),
      'reconcile orthogonal 20000',
      true,
    ],
    [
      'a vendor’s 500 that was charged',
      async () => envelope({ success: false, status: 500, priceCents: 2, data: {} }, 502),
      'reconcile orthogonal 20000',
      true,
    ],
  ] as const)('%s: the hold is released, the budget is told', async (_, send, told, isOut) => {
    const { child, asked, ends } = await run({ send });
    expect(asked.at(-1)).toBe(told);
    expect(ends).toMatchObject([['release', expect.any(String), expect.any(String)]]);
    expect(child).toMatchObject({ response: null, isOut, costMicros: null });
  });

  it.each([
    ['the connection breaks', lost],
    ['it says nothing of a cost', async () => new Response('oops', { status: 504 })],
  ])('%s: what it may have cost stays reserved', async (_, send) => {
    const { asked, ends } = await run({ send });
    expect(asked).toEqual(['reserve orthogonal 90', 'send']);
    expect(ends).toMatchObject([['release', expect.any(String), expect.any(String)]]);
  });

  it.each([
    ['its key is refused', 401, {}],
    ['its vendor failed', 502, { status: 503, priceCents: 2, data: {} }],
  ])('frees a key when nothing was executed for the caller: %s', async (_, status, parts) => {
    const send = async () => envelope({ success: false, ...parts }, status);
    const { desk } = await run({ send, key: 'k' });
    expect(desk.waitedFor.map((ends) => ends.map(([name]) => name))).toEqual([['release', 'free']]);
  });

  it('is reported, and what it says of the aggregator is marked for every isolate', async () => {
    const capacity = new NotedCapacity();
    const send = async () => envelope({ success: false, error: 'no' }, 401);
    const { reports } = await run({ send, capacity });
    expect(reports).toMatchObject([['overflow.failed', { code: 'overflow.aggregator_auth' }]]);
    const mark = { id: 'call_1:', key: '', reason: 'aggregator_auth' };
    expect(capacity.asked.at(-1)).toMatchObject(['mark', 'overflow:orthogonal', mark]);
  });

  it('to end in time costs nothing, stays reserved, and leaves its key unknown', async () => {
    const { child, desk, asked } = await run({ ...monids(200, 'RUNNING'), key: 'k' });
    expect(child).toMatchObject({ code: 'overflow.pending', isOut: true, response: null });
    expect(desk.waitedFor.map((ends) => ends.map(([name]) => name))).toEqual([
      ['release', 'unknown'],
    ]);
    expect(asked.filter((what) => what !== 'send')).toEqual(['reserve monid 90']);
  });

  it('by a bug behind the send leaves its key unknown', async () => {
    const send = async () => {
      throw new TypeError('bug');
    };
    const { child, desk, reports } = await run({ send, key: 'k' });
    expect([child, reports]).toMatchObject([null, [['overflow.bug', { error: 'TypeError' }]]]);
    expect(desk.waitedFor.map((ends) => ends.map(([name]) => name))).toEqual([
      ['release', 'unknown'],
    ]);
  });

  it('leaves a key unknown when nobody saw the outcome', async () => {
    const { desk } = await run({ send: lost, key: 'k' });
    const record = desk.places[0]?.[6]?.[0];
    expect(desk.waitedFor.at(-1)).toMatchObject([
      ['release', expect.any(String), expect.any(String)],
      ['unknown', record],
    ]);
  });

  it('in our own code releases the hold and costs the caller nothing', async () => {
    const { child, reports, ends } = await run({ reserve: 'throws' });
    expect(child).toBeNull();
    expect(ends).toMatchObject([['release', expect.any(String), expect.any(String)]]);
    expect(reports).toMatchObject([['overflow.bug', { error: 'Error' }]]);
  });
});

describe('a shadow', () => {
  it('is reserved and sent, holds nothing, and answers nobody', async () => {
    const { child, asked, desk, reports } = await run({ overflow: { mode: 'shadow' } });
    expect(child).toBeNull();
    expect(desk.places).toEqual([]);
    expect(asked).toEqual(['reserve orthogonal 90', 'send', 'reconcile orthogonal 80']);
    const shape = shapeOf(new TextEncoder().encode('{"a":1}'));
    expect(reports).toMatchObject([
      ['overflow.shadow', { outcome: 'served', status: 200, shape, cost_micros: 80 }],
    ]);
  });

  it('that fails says why, and is marked like any other run', async () => {
    const capacity = new NotedCapacity();
    const send = async () => envelope({ success: false, error: 'no' }, 401);
    const { reports } = await run({ send, capacity, overflow: { mode: 'shadow' } });
    expect(reports).toMatchObject([
      ['overflow.shadow', { outcome: 'aggregator_auth', shape: null }],
    ]);
    expect((capacity.asked.at(-1) as readonly unknown[])[0]).toBe('mark');
  });

  it('that the budget has no room for has no row: nothing was sent', async () => {
    const shadow = { overflow: { mode: 'shadow' } } as const;
    const { shadows, asked } = await run({ reserve: 'refused', ...shadow });
    expect([shadows, asked]).toEqual([[], ['reserve orthogonal 90']]);
  });
});
