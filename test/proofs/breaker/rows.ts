/** What the breaker guarantees, each on vendors of its own state. Called by test/proofs/breaker.ts. */
import { costOf, newCase } from '../../support/money-world.ts';
import { refuses, silent, type VendorCall } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import type { RawAnswer } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import {
  broke,
  intervalMs,
  isOut,
  isolateCount,
  type Stand,
  spacingMs,
  viewMs,
  well,
} from './stand.ts';

type Named = readonly [name: string, run: (stand: Stand) => Promise<string | void>];

/** Clients that call as fast as they are answered, over connections of their own. */
const crowdSize = 64;

/** A crowd that calls `endpoint` until it is told to stop, and what it was answered. */
interface Crowd {
  readonly seen: readonly RawAnswer[];
  readonly stop: () => Promise<readonly RawAnswer[]>;
}

function crowd(stand: Stand, endpoint: string, size: number): Crowd {
  const seen: RawAnswer[] = [];
  let over = false;
  const clients = Array.from({ length: size }, async (_, at) => {
    while (!over) seen.push(await stand.call(endpoint, { of: at, isolate: at % isolateCount }));
  });
  const stop = async () => {
    over = true;
    await Promise.all(clients);
    return seen;
  };
  return { seen, stop };
}

/** Hits in windows of one interval, the sliding one with the most. */
function mostInAnInterval(times: readonly number[]): number {
  return times.reduce((most, from) => {
    const within = times.filter((at) => at >= from && at < from + intervalMs * 0.95).length;
    return Math.max(most, within);
  }, 0);
}

const dryUnderCrowd: Named = [
  `${crowdSize} connections of 5 tenants on 4 isolates, one vendor dry: one hit an interval once a view has aged, others untouched`,
  async (stand) => {
    stand.vendor('dry', broke);
    const startedAtMs = performance.now();
    const dryCrowd = crowd(stand, 'dry.a', crowdSize - 16);
    const wetCrowd = crowd(stand, 'wet.a', 16);
    // Locked at the second strike, however long a cold start took; from then on each isolate learns it within one view's age.
    await until('the lock is known', () => dryCrowd.seen.find(isOut));
    await stand.pass(viewMs + intervalMs);
    const settledAtMs = performance.now();
    await stand.pass(6 * intervalMs);
    const [dry, wet] = await Promise.all([dryCrowd.stop(), wetCrowd.stop()]);
    const earlier = stand.hits('dry', startedAtMs).filter(({ atMs }) => atMs < settledAtMs).length;
    const times = stand.hits('dry', settledAtMs).map(({ atMs }) => atMs);
    const most = mostInAnInterval(times);
    holds(
      most <= 1,
      `${most} hits in one interval: ${times.map((t) => Math.round(t - settledAtMs))}`,
    );
    holds(times.length >= 3, `only ${times.length} probes in 6 intervals`);
    same(
      wet.filter(({ status }) => status !== 200).length,
      0,
      'calls of the other vendor that failed',
    );
    const out = dry.filter(isOut);
    holds(out.length > 1_000, `only ${out.length} refusals`);
    for (const tenant of stand.tenants) same((await tenant.ended()).held, 0, 'held');
    same(out.filter((answer) => costOf(answer) !== null).length, 0, 'refusals that cost');
    return `${earlier} hits before, ${times.length} in 6 intervals, ${out.length} refused, ${wet.length} of the other vendor`;
  },
];

const recovery: Named = [
  'the vendor has money again: the next probe opens the lock, and every isolate serves within a view',
  async (stand) => {
    const sinceMs = performance.now();
    stand.vendor('dry', well);
    const { stop } = crowd(stand, 'dry.a', 16);
    await stand.pass(intervalMs + 2 * viewMs);
    const seen = await stop();
    const [first] = stand.hits('dry', sinceMs);
    holds(
      first !== undefined && first.atMs - sinceMs <= intervalMs * 1.5,
      'no probe within one interval',
    );
    const last = await Promise.all(
      Array.from({ length: isolateCount }, (_, isolate) => stand.call('dry.a', { isolate })),
    );
    same(
      last.map(({ status }) => status),
      Array(isolateCount).fill(200),
      'after it, by isolate',
    );
    return `served again after ${Math.round((first?.atMs ?? 0) - sinceMs)} ms, ${seen.length} calls`;
  },
];

/** The hit that goes through the lock when it is due. */
async function nextProbe(stand: Stand, sinceMs: number): Promise<VendorCall> {
  await stand.world.origin.until(() => stand.hits('dry', sinceMs).length > 0, 5 * intervalMs);
  return stand.hits('dry', sinceMs)[0]?.call as VendorCall;
}

/** Calls until the vendor is reached: that one is the probe. The isolate knows of the lock: an idle one would ask the vendor at once. */
async function probing(
  stand: Stand,
): Promise<{ probe: VendorCall; client: { reset(): void; close(): void } }> {
  const sinceMs = performance.now();
  for (;;) {
    const client = await stand.tenant().open('dry.a', { caseId: newCase(), isolate: 0 });
    const reached = nextProbe(stand, sinceMs).catch(() => null);
    const answered = client.answer('POST', 5 * intervalMs).catch(() => null);
    const first = await Promise.race([reached, answered.then(() => 'answered' as const)]);
    if (first !== null && first !== 'answered') return { probe: first, client };
    client.close();
    await stand.pass(intervalMs / 10);
  }
}

const lostProbes: readonly Named[] = (
  [
    ['never answers', silent, 'stay'],
    ['never answers, and its client leaves', silent, 'reset'],
    ['is answered 404', refuses('404 Not Found'), 'stay'],
    ['is answered 422', refuses('422 Unprocessable Entity'), 'stay'],
  ] as const
).map(
  ([how, plan, client]): Named => [
    `C071: a probe that ${how}: another one after the interval, its 2xx opens the lock`,
    async (stand) => {
      stand.vendor('dry', broke);
      await stand.lock('dry.a');
      stand.vendor('dry', plan);
      const lost = await probing(stand);
      const lostAtMs = performance.now();
      if (client === 'reset') lost.client.reset();
      stand.vendor('dry', well);
      const next = await probing(stand);
      const afterMs = performance.now() - lostAtMs;
      holds(afterMs >= intervalMs * 0.8, `the next probe came after ${Math.round(afterMs)} ms`);
      await stand.pass(viewMs / 4);
      const answer = await stand.call('dry.a', { isolate: 0 });
      same(answer.status, 200, 'after the probe');
      next.client.close();
      lost.client.close();
      return `the next one after ${Math.round(afterMs)} ms`;
    },
  ],
);

const isolateDies: Named = [
  'C071: the isolate of a probe dies (kill -9): the lock is still there, another probe after the interval opens it',
  async (stand) => {
    stand.vendor('dry', broke);
    await stand.lock('dry.a');
    stand.vendor('dry', silent);
    const lost = await probing(stand);
    await stand.world.isolates.kill();
    await stand.world.restart();
    lost.client.close();
    stand.vendor('dry', well);
    const next = await probing(stand);
    next.client.close();
    await stand.pass(viewMs * 1.2);
    same((await stand.call('dry.a', { isolate: 2 })).status, 200, 'after the probe');
  },
];

const burst: Named = [
  'C076: five at once are one strike; a second one later locks, with a 2xx between it does not',
  async (stand) => {
    stand.vendor('wet', broke);
    const five = () =>
      Promise.all(
        Array.from({ length: 5 }, (_, at) => stand.call('wet.b', { isolate: at % isolateCount })),
      );
    same(
      (await five()).map(({ status }) => status),
      Array(5).fill(402),
      'the burst',
    );
    stand.vendor('wet', well);
    same((await stand.call('wet.b')).status, 200, 'a 2xx between');
    await stand.pass(spacingMs * 1.2);
    stand.vendor('wet', broke);
    same((await stand.call('wet.b')).status, 402, 'a strike after a 2xx');
    same((await stand.call('wet.b')).status, 402, 'not locked');
    await stand.pass(spacingMs * 1.2);
    same((await stand.call('wet.b')).status, 402, 'the strike that locks');
    await stand.pass(viewMs / 4);
    same(isOut(await stand.call('wet.a')), true, 'a balance locks the whole provider');
    same((await stand.call('wet.free')).status, 402, 'a free route is not refused for a balance');
    stand.vendor('wet', well);
    await stand.pass(intervalMs + viewMs);
    await stand.call('wet.b');
    await stand.pass(viewMs * 1.2);
    same((await stand.call('wet.a')).status, 200, 'open again');
  },
];

const quota: Named = [
  'C076: a quota locks its endpoint only',
  async (stand) => {
    const body = {
      errors: [{ details: 'You have reached the limit per billing period' }],
      message: 'You have reached the limit per billing period',
    };
    stand.vendor('hunter', refuses('429 Too Many Requests', body));
    await stand.lock('hunter.a');
    stand.vendor('hunter', well);
    same(isOut(await stand.call('hunter.a')), true, 'the endpoint');
    same((await stand.call('hunter.b')).status, 200, 'another endpoint of the vendor');
  },
];

const callerFaults: Named = [
  'C073: malformed requests and edge blocks of one tenant strike nothing',
  async (stand) => {
    stand.vendor('wet', well);
    const faults = [
      '400 Bad Request',
      '404 Not Found',
      '413 Payload Too Large',
      '422 Unprocessable Entity',
      '401 Unauthorized',
      '500 Internal Server Error',
      '503 Service Unavailable',
    ];
    for (let round = 0; round < 3; round += 1) {
      for (const status of faults) {
        stand.vendor('wet', refuses(status, { error: 'no' }));
        await stand.call('wet.a', { of: 1 });
      }
      stand.vendor('wet', (call) =>
        call.write(
          'HTTP/1.1 403 Forbidden\r\ncf-mitigated: challenge\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<p>x<',
        ),
      );
      await stand.call('wet.a', { of: 1 });
      await stand.pass(spacingMs * 1.2);
    }
    stand.vendor('wet', well);
    const good = await Promise.all(
      Array.from({ length: isolateCount }, (_, isolate) => stand.call('wet.a', { of: 2, isolate })),
    );
    same(
      good.map(({ status }) => status),
      Array(isolateCount).fill(200),
      "another tenant's calls",
    );
  },
];

const cancels: Named = [
  'clients that leave strike nothing',
  async (stand) => {
    stand.vendor('wet', silent);
    for (let i = 0; i < 6; i += 1) {
      const sinceMs = performance.now();
      const client = await stand.tenant(i % 2).open('wet.a', { isolate: i % isolateCount });
      await stand.world.origin.until(() => stand.hits('wet', sinceMs).length > 0);
      client.reset();
      await stand.pass(spacingMs / 2);
    }
    stand.vendor('wet', well);
    same((await stand.call('wet.a', { isolate: 3 })).status, 200, 'the next call');
  },
];

const accounts: Named = [
  'two accounts: the dry one is left alone, the other serves; refused only when both are out',
  async (stand) => {
    stand.vendor('twin#primary', broke);
    for (let i = 0; i < 12; i += 1) {
      await stand.call('twin.a', { isolate: 0 });
      await stand.pass(spacingMs / 3);
    }
    // An isolate learns what it does not know from the first call on.
    for (let isolate = 0; isolate < isolateCount; isolate += 1)
      await stand.call('twin.a', { isolate });
    await stand.pass(viewMs / 4);
    const sinceMs = performance.now();
    const seen = await Promise.all(
      Array.from({ length: 40 }, (_, at) => stand.call('twin.a', { isolate: at % isolateCount })),
    );
    same(
      seen.filter(({ status }) => status !== 200).length,
      0,
      'calls that the second account did not serve',
    );
    same([...new Set(stand.hits('twin', sinceMs).map((a) => a.account))], ['b'], 'accounts used');
    stand.vendor('twin#b', broke);
    await stand.lock('twin.a');
    const answer = await stand.call('twin.a', { isolate: 0 });
    same(isOut(answer), true, 'both are out');
  },
];

const replays: Named = [
  'a recorded answer replays while the provider is locked; a new key is refused and holds nothing',
  async (stand) => {
    stand.vendor('dry', well);
    const of = 4;
    const first = await stand.call('dry.a', { of, key: 'kept', caseId: 'kept' });
    same(first.status, 200, 'the first');
    stand.vendor('dry', broke);
    await stand.lock('dry.a');
    const sinceMs = performance.now();
    const again = await stand.call('dry.a', { of, key: 'kept', caseId: 'kept', isolate: 0 });
    same([again.status, again.body.toString()], [200, first.body.toString()], 'the replay');
    const fresh = await stand.call('dry.a', { of, key: 'fresh', isolate: 0 });
    same(isOut(fresh), true, 'a new key');
    same(stand.hits('dry', sinceMs).length, 0, 'hits');
    same((await stand.tenant(of).ended()).held, 0, 'held');
  },
];

/** In this order: each row leaves the vendors as the next one finds them. */
export const breakerRows: readonly Named[] = [
  dryUnderCrowd,
  recovery,
  ...lostProbes,
  isolateDies,
  callerFaults,
  cancels,
  burst,
  quota,
  accounts,
  replays,
];
