/** The whole road around an account that is out: what the parent and its child call owe between them. */
import { describe, expect, it } from 'vitest';
import type { Overflow } from '../../../src/call/branch-overflow';
import { usualAggregators } from '../../../src/domain/overflow/aggregators';
import type { EnvelopeRequest } from '../../../src/domain/overflow/envelope';
import type { OverflowRoute } from '../../../src/domain/overflow/routes';
import { perCall, settled } from '../domain/pricing/prices';
import { cost, pending, rule, settlement } from '../domain/tasks/rows';
import { entryOf, token } from './calls';
import { locked, NotedCapacity, noOverflow } from './capacity-ports';
import { NotedDesk, NotedTasks } from './desk';
import { answering, keyed, path, rowOf, told } from './paid-calls';
import { asking, play, type World } from './road-world';

const out = () => new NotedCapacity({ view: locked('vendor') });
const outOfQuota = () => new NotedCapacity({ view: locked('vendor.search', { kind: 'quota' }) });

const served = '{"success":true,"priceCents":0.008,"data":{"a":1, "credits":2}}';

const theRoute: OverflowRoute = {
  ...{ endpointId: 'vendor.search', aggregator: 'orthogonal', vendor: 'vendor' },
  ...{ operation: '/v1/search', priceMicros: 90, unit: 'call', singleResult: false },
};

/** The road with a route through an aggregator, and a vendor that answers 402. */
async function around(
  world: World = {},
  query = '',
  headers: Record<string, string> = {},
  [status, body]: readonly [number, string] = [200, served],
  parts: Partial<Overflow> = {},
) {
  const runs: EnvelopeRequest[] = [];
  const overflow: Overflow = {
    ...noOverflow,
    mode: 'on',
    aggregators: usualAggregators,
    keyOf: () => 'agg-key',
    routes: { routeFor: () => theRoute },
    budgets: { ...noOverflow.budgets, reserve: async () => ({ outcome: 'reserved' }) },
    ask: async (request) => {
      runs.push(request);
      return { status, bytes: new TextEncoder().encode(body) };
    },
    ...parts,
  };
  const desk = new NotedDesk();
  const { answer, asked, rows, reports, background } = play(
    { found: [], entry: rowOf(), overflow, desk, send: answering('{}', { status: 402 }), ...world },
    asking({ headers: { 'x-weir-key': token, ...headers } }, `${path}${query}`),
  );
  const got = await answer;
  await Promise.all(background.work);
  return { got, runs, rows, desk, asked, reports };
}

describe('a vendor that says with a bill that our account is out', () => {
  const billed = (usd: string): World => ({
    entry: entryOf(
      {
        provider: 'apollo',
        cost: perCall(70),
        settlement: settled({
          reported: { in: 'header', at: 'x-usd', perMillionMicros: 1e12, times: null },
        }),
      },
      { slug: 'apollo', accounts: [{ label: 'main', setting: 'VENDOR_KEY' }] },
    ),
    masks: true,
    send: answering('{"error":"Insufficient credits"}', { status: 422, headers: { 'x-usd': usd } }),
  });

  it('is paid once: an aggregator is not paid for the same call', async () => {
    const { got, runs, rows, desk } = await around(billed('0.00004'));
    expect([got.status, got.headers.get('x-weir-cost-micro'), runs]).toEqual([422, '40', []]);
    expect(told(desk)).toEqual([['settle', 40, true]]);
    expect(rows).toMatchObject([{ status: 422, signal: 'balance', costMicros: 40 }]);
  });

  it('of nothing is gone around', async () => {
    const { got, desk } = await around(billed('0'));
    expect([got.status, got.headers.get('x-weir-cost-micro')]).toEqual([200, '80']);
    expect(told(desk)).toEqual([
      ['settle', 0, true],
      ['settle', 80, true],
    ]);
  });
});

it.each<[string, World]>([
  ['that our account failed', {}],
  ['whose account is known to be out', { capacity: out() }],
])('a call %s is asked elsewhere without the ceiling of our own account', async (_, world) => {
  const entry = rowOf({ ceilingParam: { name: 'max_usd', unit: 'usd' } });
  const { runs } = await around({ entry, ...world }, '?q=1');
  expect(runs.map(({ body }) => body)).toEqual([
    '{"api":"vendor","path":"/v1/search","query":{"q":"1"}}',
  ]);
});

describe('a shadow', () => {
  const shadow: Partial<Overflow> = { mode: 'shadow' };

  it.each<[string, World, number]>([
    ['that our account failed', {}, 402],
    ['whose account is known to be out', { capacity: out() }, 503],
  ])(
    'of a call %s has a row beside the call’s own, which nobody pays for',
    async (_, world, status) => {
      const { got, rows, desk } = await around(world, '', {}, [200, served], shadow);
      expect([got.status, told(desk).filter(([kind]) => kind === 'settle')]).toEqual([status, []]);
      const [own, beside] = rows;
      expect(own).toMatchObject({ status, servedVia: null });
      expect(beside).toMatchObject({
        id: `${own?.id}:overflow`,
        outcome: 'answered',
        status: 200,
        code: 'overflow.shadow',
        blame: null,
        costMicros: null,
        holdId: null,
        servedVia: 'overflow:orthogonal',
      });
    },
  );

  it('that the aggregator failed has one that says so', async () => {
    const { rows } = await around({}, '', {}, [500, 'no'], shadow);
    expect(rows[1]).toMatchObject({
      outcome: 'failed',
      status: 502,
      code: 'overflow.shadow',
      costMicros: null,
    });
  });
});

describe('the vendor’s own charge in an answer that an aggregator relayed', () => {
  const entry = rowOf({
    stripReportedCharge: true,
    settlement: settled({
      reported: { in: 'body', at: 'credits', perMillionMicros: 1, times: null },
    }),
  });

  it('is cut out as in a direct one, for the caller and for the record of its key', async () => {
    const { got, desk } = await around({ entry }, '', keyed);
    expect(await got.text()).toBe('{"a":1}');
    const records = desk.last.flatMap((op) => (op[0] === 'record' ? [op[2].body] : []));
    expect(records.map((body) => new TextDecoder().decode(body ?? undefined))).toEqual(['{"a":1}']);
  });

  it('stays where the caller asks for it', async () => {
    const { got } = await around({ entry }, '', { 'x-weir-keep-reported-charge': '1' });
    expect(await got.text()).toBe('{"a":1, "credits":2}');
  });
});

describe('a call that costs nothing here and something at an aggregator', () => {
  const free: World = { entry: rowOf({ cost: { kind: 'free' } }) };
  const isAgain = 7;
  it.each<[string, World]>([
    ['by its vendor’s answer', free],
    ['by an account that is out', { ...free, capacity: outOfQuota() }],
  ])('is counted there, since nobody has counted it, %s', async (_, world) => {
    const { desk } = await around(world, '', { 'x-weir-meta': 'team=a' });
    expect(desk.places.map((op) => [op[2], op[5], op[isAgain]])).toEqual([
      [90, ['team', 'a'], undefined],
    ]);
  });

  it('is not counted twice when its key was', async () => {
    const { desk } = await around({ ...free, key: { callCap: 3 } });
    expect(desk.places.map((op) => [op[2], op[4], op[isAgain]])).toEqual([
      [0, 3, undefined],
      [90, null, true],
    ]);
  });
});

describe('a task, which lives where it was submitted, whatever its row was when its route was found', () => {
  it('is submitted to no aggregator', async () => {
    const { got, runs } = await around({ entry: rowOf({ cost, settlement, task: rule }) });
    expect([got.status, runs]).toEqual([402, []]);
  });

  it('is asked for at no aggregator, its account being out of that operation’s quota', async () => {
    const entry = rowOf({ cost: { kind: 'free' }, path: '/tasks/{id}', taskId: 'id' });
    const tasks = new NotedTasks();
    tasks.found = pending();
    const { got, runs } = await around({ entry, tasks, capacity: outOfQuota() }, '?id=job-1');
    expect([got.status, runs]).toEqual([503, []]);
  });
});

const full = (): World => ({
  entry: rowOf({ rate: { limit: 1, windowMs: 1_000 } }),
  capacity: new NotedCapacity({ slot: { outcome: 'refused', retryAfterMs: 900 } }),
});

describe('the rows of a call that an aggregator served', () => {
  const ofChild = {
    ...{ outcome: 'answered', status: 200, code: null, blame: null, costMicros: 80 },
    ...{
      servedVia: 'overflow:orthogonal',
      account: null,
      signal: null,
      found: null,
      evidence: null,
    },
  };
  const idOf = (got: Response) => got.headers.get('x-weir-call-id');

  it.each<[string, World]>([
    ['whose account is known to be out', { capacity: out() }],
    ['whose window is full', full()],
  ])('%s: one, the child’s under the call’s own id', async (_, world) => {
    const { got, rows, desk } = await around(world);
    expect([got.status, await got.text()]).toEqual([200, '{"a":1, "credits":2}']);
    expect(rows).toMatchObject([{ ...ofChild, id: idOf(got), holdId: desk.places.at(-1)?.[1] }]);
    expect(rows[0]?.latencyMs).toBeLessThan(1_000);
  });

  it('that its vendor had answered: the child’s, and the vendor’s answer as it was', async () => {
    const { got, rows, desk } = await around({ masks: true });
    const [own, childs] = desk.places.map((op) => op[1]);
    expect(got.status).toBe(200);
    expect(rows).toMatchObject([
      { ...ofChild, id: `${idOf(got)}:overflow`, holdId: childs },
      {
        ...{ id: idOf(got), outcome: 'answered', status: 402, code: null, blame: null },
        ...{ costMicros: null, servedVia: null, account: 'primary', signal: 'balance' },
        ...{ evidence: '{}', holdId: own },
      },
    ]);
    for (const row of rows) expect(row.latencyMs).toBeLessThan(1_000);
  });
});

it('a hold that was placed before the window was asked is given back before the child’s is placed', async () => {
  const { asked, desk } = await around(full());
  const ofMoney = asked.filter((port) => ['place', 'release', 'settle'].includes(port));
  expect(ofMoney).toEqual(['place', 'release', 'place', 'settle']);
  expect(told(desk)).toEqual([
    ['release', 'provider_rate_limited'],
    ['settle', 80, true],
  ]);
});

describe('a call that is dearer elsewhere than its caller accepts', () => {
  const ceiling = { 'x-weir-max-cost-micro': '80' };

  it.each<[string, World, number, string | null]>([
    ['that our account failed: their answer', {}, 402, null],
    ['whose account is out: our no', { capacity: out() }, 503, 'provider_capacity'],
    ['whose window is full: our no', full(), 429, 'provider_rate_limited'],
  ])('%s, and one row', async (_, world, status, code) => {
    const { got, runs, rows } = await around(world, '', ceiling);
    expect([got.status, runs]).toEqual([status, []]);
    expect(rows).toMatchObject([{ status, code, servedVia: null }]);
    if (code !== null) expect(await got.json()).not.toHaveProperty('overflow', expect.any(String));
  });
});

describe('a bug on the way around an account', () => {
  /** The route is found when the row is resolved; the look behind that throws. */
  const overflowing = (): Overflow => {
    let looks = 0;
    const routeFor = () => {
      looks += 1;
      if (looks > 1) throw new TypeError('bug');
      return theRoute;
    };
    return { ...noOverflow, mode: 'on', routes: { routeFor } };
  };

  it.each<[string, World]>([
    ['that our account failed', {}],
    ['whose account is out', { capacity: out() }],
    ['whose window is full', full()],
  ])('is a bare 500 with its row, and no hold stays open, for a call %s', async (_, world) => {
    const { got, rows, reports, desk } = await around({ ...world, overflow: overflowing() });
    expect([got.status, got.headers.get('x-weir-call-id')]).toEqual([500, rows[0]?.id]);
    expect(rows).toMatchObject([
      { outcome: 'failed', status: 500, code: 'internal.error', blame: 'gateway' },
    ]);
    expect(reports).toMatchObject([['call.bug', { error: 'TypeError' }]]);
    expect(told(desk).map(([op]) => op)).toEqual(desk.places.map(() => 'release'));
  });
});

describe('an aggregator that does not take the request either', () => {
  const no: readonly [number, string] = [400, '{"success":false,"error":"schema"}'];
  it('of a call whose account is out: the 503 says so, and the run has a row', async () => {
    const { got, rows } = await around({ capacity: out() }, '', {}, no);
    const problem = await got.json();
    expect([got.status, problem]).toMatchObject([
      503,
      {
        type: 'urn:weir:problem:provider_capacity',
        overflow: 'overflow.contract',
        detail: expect.stringContaining('does not take this request. Nothing was charged.'),
      },
    ]);
    expect(rows.map((row) => [row.id.slice(31), row.status, row.code, row.servedVia])).toEqual([
      [':overflow', 502, 'overflow.contract', 'overflow:orthogonal'],
      ['', 503, 'provider_capacity', null],
    ]);
  });

  it('of a call whose window is full: the 429 says nothing of it, and the run has a row', async () => {
    const { got, rows } = await around(full(), '', {}, no);
    const problem = await got.json();
    expect([got.status, problem]).toMatchObject([
      429,
      { type: 'urn:weir:problem:provider_rate_limited' },
    ]);
    expect(problem).not.toHaveProperty('overflow');
    expect(rows.map(({ code }) => code)).toEqual(['overflow.contract', 'provider_rate_limited']);
  });

  const burst: World = { send: answering('{}', { status: 429, headers: { 'retry-after': '30' } }) };
  it.each<[string, World, readonly [number, string], number]>([
    ['for its own rules', {}, no, 402],
    ['at all, where our account had but a burst', burst, [500, 'down'], 429],
  ])('%s: the vendor’s answer stands', async (_, world, answer, status) => {
    const { got, rows } = await around(world, '', {}, answer);
    expect([got.status, got.headers.get('x-weir-error-source')]).toEqual([status, 'upstream']);
    expect(rows.map((row) => [row.id.slice(31), row.status, row.outcome])).toEqual([
      [':overflow', 502, 'failed'],
      ['', status, 'answered'],
    ]);
  });

  it('for another reason, of a call that was sent: the 503 does not say that nothing was', async () => {
    const { got } = await around({ masks: true }, '', {}, [500, 'down']);
    expect(await got.json()).toMatchObject({
      overflow: 'overflow.malformed',
      detail: expect.stringContaining('could not serve the call. Nothing was charged.'),
    });
  });
});
