/** What the child cycle guarantees on the road. Called by test/proofs/overflow.ts. */
import { costOf, refusalOf } from '../../support/money-world.ts';
import { answers, type Plan, refuses, resets, silent } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { until } from '../../support/until.ts';
import {
  broke,
  directMicros,
  envelope,
  fastOverflow,
  type RoadStand,
  routeMicros,
  runMicros,
  runs,
  servedVia,
} from './road-stand.ts';

export type Named = readonly [name: string, run: (stand: RoadStand) => Promise<string | void>];

const callIdOf = (answer: RawAnswer): string => headerOf(answer.lines, 'x-weir-call-id') ?? '';
const burst: Plan = (call) =>
  call.write(
    reply(
      '429 Too Many',
      ['Content-Type: application/json', 'Retry-After: 30'],
      '{"error":"slow"}',
    ),
  );

/** A fresh breaker and fresh marks: what the row before left has ended. */
async function calm(stand: RoadStand): Promise<void> {
  stand.vendor(answers());
  stand.aggregator(runs());
  const deadline = performance.now() + 20_000;
  for (;;) {
    const answer = await stand.call('dry.unrouted');
    if (answer.status === 200) break;
    holds(performance.now() < deadline, `the vendor is still out: ${answer.status}`);
    await stand.pass(50);
  }
  await stand.pass(fastOverflow.overflowMarkMs as number);
  await stand.pass(fastOverflow.capacityViewMsMax as number);
  stand.forget();
}

const serves = (what: string, vendor: Plan, signal: string, status: number): Named => [
  `${what}: the aggregator serves, at its price, under the parent's call id; the parent costs nothing`,
  async (stand) => {
    await calm(stand);
    stand.vendor(vendor);
    const before = await stand.tenant.ended();
    const answer = await stand.call();
    same([answer.status, answer.body.toString()], [200, '{"served":true}'], 'the answer');
    same([servedVia(answer), costOf(answer)], ['overflow:orthogonal', runMicros], 'the disclosure');
    same([stand.direct.length, stand.runs.length], [1, 1], 'sends');
    same((await stand.tenant.ended()).settled - before.settled, runMicros, 'settled');
    const rows = await untilTwo(stand, callIdOf(answer));
    same(
      rows.map((row) => [row.status, row.cost_micros, row.signal, row.served_via]),
      [
        [status, null, signal, null],
        [200, runMicros, null, 'overflow:orthogonal'],
      ],
      'the two rows',
    );
    const run = JSON.parse(stand.runs[0]?.request.body.toString() ?? '{}');
    same([run.api, run.path, run.body], ['dry', '/a', { a: 1 }], 'the envelope');
  },
];

async function untilTwo(stand: RoadStand, callId: string): Promise<Record<string, unknown>[]> {
  for (let looks = 0; ; looks += 1) {
    const rows = await stand.rows(callId);
    if (rows.length === 2 || looks > 300) return rows;
    await stand.pass(10);
  }
}

const never = (
  what: string,
  vendor: Plan,
  status: number,
  endpoint = 'dry.a',
  method = 'POST',
): Named => [
  `${what}: no aggregator is asked`,
  async (stand) => {
    await calm(stand);
    stand.vendor(vendor);
    const answer = await stand.call(endpoint, { method, timeoutMs: 40_000 });
    same(answer.status, status, 'the answer');
    same([stand.runs.length, servedVia(answer)], [0, null], 'runs');
  },
];

interface Failure {
  readonly what: string;
  readonly plan: Plan;
  /** What the caller gets. */
  readonly gets: '503' | 'vendor';
  /** Whether a second vendor call within the life of a mark asks again. */
  readonly asksAgain: boolean;
}

const failing = ({ what, plan, gets, asksAgain }: Failure): Named => [
  `${what}: nothing is charged, ${gets === '503' ? 'the 503' : "the vendor's own answer"}, ${asksAgain ? 'no mark' : 'a mark'}`,
  async (stand) => {
    await calm(stand);
    stand.vendor(broke);
    stand.aggregator(plan);
    const before = await stand.tenant.ended();
    const answer = await stand.call('dry.a', { timeoutMs: 30_000 });
    if (gets === '503')
      same([answer.status, refusalOf(answer)], [503, 'provider_capacity'], 'the answer');
    else same([answer.status, refusalOf(answer)], [402, null], 'the answer');
    same(stand.runs.length, 1, 'runs');
    stand.aggregator(runs());
    const again = await stand.call();
    same(servedVia(again) !== null, asksAgain, 'whether the next call is served there');
    const charged = asksAgain ? runMicros : 0;
    same((await stand.tenant.ended()).settled - before.settled, charged, 'settled');
  },
];

const failures: readonly Failure[] = [
  {
    what: 'its key is refused',
    plan: envelope(401, { success: false, error: 'key', code: 'UNAUTHORIZED' }),
    gets: '503',
    asksAgain: false,
  },
  {
    what: 'its balance is out',
    plan: envelope(402, { success: false, error: 'credits', code: 'INSUFFICIENT_CREDITS' }),
    gets: '503',
    asksAgain: false,
  },
  {
    what: 'C079: no envelope at all',
    plan: (call) => call.complete(reply('504 X', [], 'upstream request timeout')),
    gets: '503',
    asksAgain: false,
  },
  {
    what: 'its own account at the vendor is dry',
    plan: envelope(402, { success: false, priceCents: 0, data: { error: 'not enough credits' } }),
    gets: '503',
    asksAgain: false,
  },
  {
    what: 'its schema refuses the request',
    plan: envelope(422, { success: false, error: 'unexpected parameter' }),
    gets: 'vendor',
    asksAgain: true,
  },
  { what: 'it resets the connection', plan: resets(), gets: '503', asksAgain: false },
  { what: 'it never answers', plan: silent, gets: '503', asksAgain: false },
];

const skipsDirect: Named = [
  'the account is known to be out: the vendor is not asked, nothing is held for it, one row',
  async (stand) => {
    await calm(stand);
    stand.vendor(broke);
    stand.aggregator(envelope(422, { success: false, error: 'no' }));
    await until('the lock', async () => {
      const answer = await stand.call('dry.unrouted');
      return refusalOf(answer) === 'provider_capacity' || undefined;
    });
    stand.aggregator(runs());
    stand.forget();
    const before = await stand.tenant.ended();
    const answer = await stand.call();
    same([answer.status, servedVia(answer)], [200, 'overflow:orthogonal'], 'the answer');
    same([stand.direct.length, stand.runs.length], [0, 1], 'sends');
    same((await stand.tenant.ended()).settled - before.settled, runMicros, 'settled');
    const rows = await stand.rows(callIdOf(answer));
    same(
      rows.map((row) => [row.status, row.cost_micros, row.served_via]),
      [[200, runMicros, 'overflow:orthogonal']],
      'the row',
    );
  },
];

const optOut: Named = [
  'a tenant that opted out is never relayed, on either entry',
  async (stand) => {
    await calm(stand);
    const out = await stand.world.tenant({ limits: { platform_overflow: false } });
    stand.vendor(broke);
    same((await out.call('dry.a')).status, 402, 'the vendor’s own answer');
    same(stand.runs.length, 0, 'runs');
  },
];

const keyed: Named = [
  'a key: the child’s answer is recorded and replays with its disclosure; one run',
  async (stand) => {
    await calm(stand);
    stand.vendor(broke);
    const first = await stand.call('dry.a', { key: 'k1', caseId: 'k1' });
    same([first.status, servedVia(first)], [200, 'overflow:orthogonal'], 'the first');
    stand.vendor(answers());
    const again = await stand.call('dry.a', { key: 'k1', caseId: 'k1' });
    same([again.status, again.body.toString()], [200, first.body.toString()], 'the repeat');
    same(
      [headerOf(again.lines, 'x-weir-idempotent-replay'), servedVia(again)],
      ['true', 'overflow:orthogonal'],
      'its headers',
    );
    same([stand.runs.length, stand.direct.length], [1, 1], 'sends');
  },
];

const leaves: Named = [
  'the client leaves while the aggregator works: the run is charged once, the parent is not',
  async (stand) => {
    await calm(stand);
    stand.vendor(broke);
    let finish: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    stand.aggregator(async (call) => {
      await gate;
      return runs()(call);
    });
    const before = await stand.tenant.ended();
    const client = await stand.tenant.open('dry.a', {});
    await stand.world.origin.until(() => stand.runs.length === 1);
    client.reset();
    finish();
    await stand.world.origin.until(() => stand.world.origin.completed() > 0);
    for (let looks = 0; looks < 300; looks += 1) {
      const now = await stand.tenant.ended();
      if (now.settled > before.settled) break;
      await stand.pass(10);
    }
    same((await stand.tenant.ended()).settled - before.settled, runMicros, 'settled');
  },
];

const vendorAnswers: readonly Named[] = [
  [
    'a 404 of the vendor through the aggregator is the answer, and costs nothing',
    async (stand) => {
      await calm(stand);
      stand.vendor(broke);
      stand.aggregator(envelope(404, { success: false, priceCents: 0, data: { error: 'nobody' } }));
      const before = await stand.tenant.ended();
      const answer = await stand.call();
      same(
        [answer.status, servedVia(answer), answer.body.toString()],
        [404, 'overflow:orthogonal', '{"error":"nobody"}'],
        'the answer',
      );
      same((await stand.tenant.ended()).settled, before.settled, 'settled');
    },
  ],
  [
    'a price that the aggregator does not say is its list price',
    async (stand) => {
      await calm(stand);
      stand.vendor(broke);
      stand.aggregator(runs(null));
      same(costOf(await stand.call()), routeMicros, 'the cost');
    },
  ],
];

export const roadRows: readonly Named[] = [
  serves('an empty balance', broke, 'balance', 402),
  serves('a burst that is too long to wait for', burst, 'burst', 429),
  ...vendorAnswers,
  never('a 2xx', answers(), 200),
  never('a caller’s 400', refuses('400 Bad Request'), 400),
  never('a 401', refuses('401 Unauthorized'), 401),
  never('a 500', refuses('500 X'), 500),
  never('a reset', resets(), 502),
  never('a PUT', broke, 402, 'dry.put', 'PUT'),
  never('an endpoint without a route', broke, 402, 'dry.unrouted'),
  optOut,
  keyed,
  leaves,
  ...failures.map(failing),
  skipsDirect,
];

/** `shadow`: spends the operator's budget, and nothing else is different. */
export const shadowRow: Named = [
  'shadow: the aggregator is asked and paid, the caller gets and pays what it would have',
  async (stand) => {
    stand.vendor(broke);
    const before = await stand.tenant.ended();
    const answer = await stand.call();
    same([answer.status, servedVia(answer), refusalOf(answer)], [402, null, null], 'the answer');
    await stand.world.origin.until(() => stand.runs.length === 1);
    same((await stand.tenant.ended()).settled, before.settled, 'settled');
    stand.vendor(answers());
    same(costOf(await stand.call('dry.unrouted')), directMicros, 'a healthy call');
  },
];

/** `off`: nobody is asked. */
export const offRow: Named = [
  'off: no aggregator is asked',
  async (stand) => {
    stand.vendor(broke);
    same((await stand.call()).status, 402, 'the answer');
    same(stand.runs.length, 0, 'runs');
  },
];

/** A budget of 20 and estimates of 8. */
export const budgetRow: Named = [
  'C081: budget 20, estimate 8, five at once: two are sent; an unknown cost stays reserved',
  async (stand) => {
    stand.vendor(broke);
    stand.aggregator(silent);
    const all = await Promise.all(
      Array.from({ length: 5 }, () => stand.call('dry.a', { timeoutMs: 30_000 })),
    );
    same(stand.runs.length, 2, 'runs');
    holds(
      all.every(({ status }) => status === 402 || status === 503),
      `answers ${all.map(({ status }) => status)}`,
    );
    await stand.pass(fastOverflow.overflowMarkMs as number);
    await stand.call();
    same(stand.runs.length, 2, 'runs of a later call');
    same((await stand.tenant.ended()).settled, 0, 'settled');
  },
];
