/**
 * The client leaves while its vendor works on a plain answer, or has just given it: what it costs
 * then (decisions section 4, tier 4). One unit of usage costs one micro-USD; a hold of `lab.usage` is
 * 100, its fallback 80. Called by ../disconnect-money.ts.
 */
import { callMicros, usageFallbackMicros } from '../../support/money-world-catalog.ts';
import { refuses, streams, usageReply, type VendorCall } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { until } from '../../support/until.ts';
import {
  answered,
  cancelled,
  firstByteMs,
  heldMs,
  type Left,
  leave,
  type Named,
  passed,
  type Rest,
  released,
  shown,
  units,
  ways,
} from './stand.ts';

/** What the vendor does when its client's client is gone, and what that costs. */
const aftermaths: readonly (readonly [name: string, rest: Rest, charge: Left['charge']])[] = [
  ['the vendor completes', (call) => call.complete(usageReply(units)), units],
  ['the vendor says 500', refuses('500 Oops'), released],
  ['the vendor says 429', refuses('429 Slow'), released],
  ['the vendor says 200 without usage', (call) => call.complete(ok), usageFallbackMicros],
  ['the vendor resets', ({ socket }) => socket.resetAndDestroy(), usageFallbackMicros],
  ['the vendor never answers', () => undefined, usageFallbackMicros],
];
const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

const resetBeforeHeaders: readonly Named[] = aftermaths.flatMap(([name, rest, charge]) =>
  [0, heldMs].map(
    (ms): Named => [
      `RST before headers ${ms === 0 ? 'at once' : 'later'}, ${name}: ${shown(charge)}`,
      async (stand) => {
        const visit = await stand.visit('lab.usage');
        const call = await stand.arrived(visit);
        await passed(ms);
        await leave(visit, 'RST');
        holds(!call.gone(), 'the vendor was let go at once');
        rest(call);
        await stand.leftBehind(visit, { charge, ends: [cancelled] });
        if (name.includes('never')) holds(call.gone(), 'the vendor is still waited for');
      },
    ],
  ),
);

const finBeforeHeaders: Named = [
  'FIN before headers: unseen, the vendor completes, charged as answered',
  async (stand) => {
    const visit = await stand.visit('lab.usage');
    const call = await stand.arrived(visit);
    await leave(visit, 'FIN');
    call.complete(usageReply(units));
    await stand.leftBehind(visit, { charge: units, ends: [answered] });
  },
];

const fixedPrice: readonly Named[] = (
  [
    ['completes', (call: VendorCall) => call.complete(usageReply(1)), callMicros],
    ['never answers', () => undefined, callMicros],
    ['says 503', refuses('503 Busy'), released],
  ] as readonly (readonly [string, Rest, Left['charge']])[]
).map(([name, rest, charge]) => [
  `RST before headers of a call with a fixed price, the vendor ${name}: ${shown(charge)}`,
  async (stand) => {
    const visit = await stand.visit('lab.fixed');
    const call = await stand.arrived(visit);
    await leave(visit, 'RST');
    rest(call);
    await stand.leftBehind(visit, { charge, ends: [cancelled] });
  },
]);

// ── the answer is on its way ──

const whole = usageReply(units);
const cut = whole.indexOf('\r\n\r\n') + 10;

const midJson: readonly Named[] = (
  [
    ['completes', (call: VendorCall) => call.complete(whole.subarray(cut)), units],
    ['stalls', () => undefined, usageFallbackMicros],
    ['resets', ({ socket }: VendorCall) => socket.resetAndDestroy(), usageFallbackMicros],
  ] as readonly (readonly [string, Rest, Left['charge']])[]
).map(([name, rest, charge]) => [
  `RST mid-body, plain JSON, the vendor ${name}: ${shown(charge)}`,
  async (stand) => {
    const visit = await stand.visit('lab.usage');
    const call = await stand.arrived(visit);
    call.write(whole.subarray(0, cut));
    await leave(visit, 'RST');
    rest(call);
    await stand.leftBehind(visit, { charge, ends: [cancelled] });
  },
]);

// ── after the end ──

const afterTheLastByte: readonly Named[] = ways.flatMap((how) =>
  (
    [
      ['plain JSON', 'lab.usage', (call: VendorCall) => call.complete(whole), '"units":30}'],
      ['SSE', 'lab.stream', streams(units), '[DONE]\n\n\r\n0\r\n\r\n'],
    ] as const
  ).map(
    ([kind, endpoint, plan, last]): Named => [
      `C060 C061 ${how} after the last byte, ${kind}: answered and charged, ten times of ten`,
      async (stand) => {
        const tenant = await stand.tenant();
        for (let i = 0; i < 10; i += 1) {
          const visit = await stand.visit(endpoint, {}, tenant);
          const call = await stand.arrived(visit);
          await plan(call);
          await visit.client.until(() => visit.client.bytes.includes(last));
          if (how === 'RST') visit.client.reset();
          else visit.client.close();
        }
        const rows = await until('ten rows', async () => {
          const found = await stand.rows(tenant);
          return found.length >= 10 ? found : undefined;
        });
        for (const { outcome, status, cost_micros } of rows)
          same([outcome, status, cost_micros], [...answered, units], 'a row');
        same((await tenant.ended()).settled, 10 * units, 'settled');
        await stand.nextPasses(tenant, 10 * units);
      },
    ],
  ),
);

// ── while it is being booked ──

/** The ledger is slow when the call is settled; with a key, the answer waits for that. */
const whileBooked: readonly Named[] = ([null, 'kept'] as const).map((key) => [
  `RST while the settlement ${key === null ? '' : 'of a keyed call '}waits for the ledger: charged ${units} once`,
  async (stand) => {
    const options = key === null ? {} : { key };
    const visit = await stand.visit('lab.usage', options);
    const { tenant, caseId } = visit;
    const call = await stand.arrived(visit);
    await stand.gate('before', tenant);
    call.complete(whole);
    if (key === null) same((await visit.client.answer('POST')).status, 200, 'the answer');
    await stand.atTheGate(tenant);
    await leave(visit, 'RST');
    await stand.gate('open', tenant);
    same((await tenant.ended()).settled, units, 'settled');
    if (key !== null) {
      const again = await stand.repeat(visit, 'lab.usage', { key, caseId });
      same([again.status, again.replay, again.cost], [200, true, units], 'the retry');
    }
    same(stand.vendor.arrivals(caseId), 1, 'requests at the vendor');
    await stand.nextPasses(tenant, units);
  },
]);

// ── the watchdog ──

/** 504 and 499 are two ends of one call: whichever comes first stays. */
const watchdog: readonly Named[] = [
  [
    'the watchdog fires while the client is there, which leaves then: 504 once, released',
    async (stand) => {
      const visit = await stand.visit('lab.usage');
      const call = await stand.arrived(visit);
      same((await visit.client.answer('POST')).status, 504, 'the answer');
      visit.client.reset();
      await until('the vendor is let go', () => call.gone() || undefined);
      await stand.leftBehind(visit, { charge: released, ends: [['timed_out', 504]] });
    },
  ],
  [
    'the client leaves, then the watchdog fires: 499 once, charged by what was seen',
    async (stand) => {
      const visit = await stand.visit('lab.usage');
      await stand.arrived(visit);
      await passed(firstByteMs - 2 * heldMs);
      await leave(visit, 'RST');
      await stand.leftBehind(visit, { charge: usageFallbackMicros, ends: [cancelled] });
    },
  ],
];

/** Every row of this file. */
export const plainRows: readonly Named[] = [
  ...resetBeforeHeaders,
  finBeforeHeaders,
  ...fixedPrice,
  ...midJson,
  ...afterTheLastByte,
  ...whileBooked,
  ...watchdog,
];
