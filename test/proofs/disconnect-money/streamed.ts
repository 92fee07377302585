/**
 * The client leaves a stream that our vendor account pays for, and calls that have an idempotency
 * key. A hold of `lab.stream` is 100, its fallback 80. Called by ../disconnect-money.ts.
 */
import type { CallOptions } from '../../support/money-world.ts';
import { usageFallbackMicros, usageHoldMicros } from '../../support/money-world-catalog.ts';
import {
  chunk,
  lastChunk,
  streamHead,
  usageReply,
  type VendorCall,
} from '../../support/priced-origin.ts';
import { same } from '../../support/proof.ts';
import { until } from '../../support/until.ts';
import {
  answered,
  cancelled,
  type How,
  heldMs,
  leave,
  type Named,
  noticeMs,
  passed,
  type Rest,
  released,
  type Stand,
  units,
  type Visit,
  ways,
} from './stand.ts';

const event = (text: string): Buffer => chunk(`data: ${text}\n\n`);
const usageEvent = (count: number): Buffer => event(`{"usage":{"units":${count}}}`);
const done = event('[DONE]');

/** A stream of which the client has seen the first event. */
async function streaming(
  stand: Stand,
  endpoint: string,
  options: CallOptions = {},
): Promise<[Visit, VendorCall]> {
  const visit = await stand.visit(endpoint, options);
  const call = await stand.arrived(visit);
  call.write(streamHead);
  call.write(event('{"n":0}'));
  await visit.client.until(() => visit.client.bytes.includes('{"n":0}'));
  return [visit, call];
}

/** What comes after the client has left a stream, and what it costs. */
const streamRests: readonly (readonly [name: string, rest: Rest, charge: number])[] = [
  [
    'the vendor goes on to the end',
    (call) => {
      call.write(event('{"n":1}'));
      call.write(usageEvent(units));
      call.complete(Buffer.concat([done, Buffer.from(lastChunk)]));
    },
    units,
  ],
  [
    'the usage and the end event come, the connection stays open',
    (call) => call.complete(Buffer.concat([usageEvent(units), done])),
    units,
  ],
  ['the vendor falls silent', () => undefined, usageFallbackMicros],
  [
    'a usage below the fallback comes, then nothing',
    (call) => call.write(usageEvent(units)),
    usageFallbackMicros,
  ],
  ['a usage above the fallback comes, then nothing', (call) => call.write(usageEvent(95)), 95],
  [
    'a usage above the hold comes, then nothing',
    (call) => call.write(usageEvent(250)),
    usageHoldMicros,
  ],
  ['the vendor resets', ({ socket }) => socket.resetAndDestroy(), usageFallbackMicros],
];

const midStream: readonly Named[] = ways.flatMap((how) =>
  streamRests
    .filter(([name]) => how === 'RST' || !name.includes('silent'))
    .map(
      ([name, rest, charge]): Named => [
        `${how} mid-stream, ${name}: charged ${charge}`,
        async (stand) => {
          const [visit, call] = await streaming(stand, 'lab.stream');
          await leave(visit, how);
          // A FIN is found by writing: the first write meets the closed socket, its RST the next one.
          if (how === 'FIN') await noticed(call);
          rest(call);
          await stand.leftBehind(visit, { charge, ends: [cancelled] });
        },
      ],
    ),
);

/** Writes events until the gateway must have seen that its client is gone. */
async function noticed(call: VendorCall): Promise<void> {
  for (let i = 0; i < 3; i += 1) {
    call.write(event(`{"n":${i}}`));
    await passed(50);
  }
  await passed(heldMs);
}

/** The answer has nobody to go to when it begins; it is read to its end all the same. */
const beforeTheStream: readonly Named[] = ways.flatMap((how) =>
  [0, heldMs].map(
    (ms): Named => [
      `${how} ${ms === 0 ? 'at once' : 'later'}, before the headers of a stream that then runs to its end: charged ${units}`,
      async (stand) => {
        const visit = await stand.visit('lab.stream');
        const call = await stand.arrived(visit);
        await passed(ms);
        await leave(visit, how);
        call.write(streamHead);
        for (let i = 0; i < 5; i += 1) {
          call.write(event(`{"n":${i}}`));
          await passed(20);
        }
        call.write(usageEvent(units));
        call.complete(Buffer.concat([done, Buffer.from(lastChunk)]));
        await stand.leftBehind(visit, { charge: units, ends: [cancelled] });
      },
    ],
  ),
);

const oneEventBeforeTheEnd: readonly Named[] = ways.map((how) => [
  `${how} one event before the end is not free: the usage event comes after the client has gone`,
  async (stand) => {
    const visit = await stand.visit('lab.stream');
    const call = await stand.arrived(visit);
    call.write(streamHead);
    for (let i = 0; i < 20; i += 1) call.write(event(`{"n":${i}}`));
    await visit.client.until(() => visit.client.bytes.includes('{"n":19}'));
    await leave(visit, how);
    call.write(usageEvent(units));
    call.complete(Buffer.concat([done, Buffer.from(lastChunk)]));
    // Whether a FIN is found while the last bytes are written is the network's.
    const ends = how === 'RST' ? [cancelled] : [cancelled, answered];
    await stand.leftBehind(visit, { charge: units, ends });
  },
]);

// ── where the vendor does not bill what is cancelled ──

const cancelRows: readonly Named[] = [
  [
    'RST before headers of a row that cancels: the vendor is let go, the hold is released',
    async (stand) => {
      const visit = await stand.visit('lab.cancel');
      const call = await stand.arrived(visit);
      await letGo(stand, visit, call, 'RST');
    },
  ],
  ...ways.map(
    (how): Named => [
      `${how} mid-stream of a row that cancels: the vendor is let go, the hold is released`,
      async (stand) => {
        const [visit, call] = await streaming(stand, 'lab.stream_cancel');
        await letGo(stand, visit, call, how);
      },
    ],
  ),
];

async function letGo(stand: Stand, visit: Visit, call: VendorCall, how: How): Promise<void> {
  await leave(visit, how);
  if (how === 'FIN') await noticed(call);
  await until('the vendor is let go', () => call.gone() || undefined, noticeMs);
  await stand.leftBehind(visit, { charge: released, ends: [cancelled] });
}

// ── with an idempotency key ──

const keyed: readonly Named[] = [
  [
    'RST before headers with a key, the vendor completes: the retry replays it, one charge',
    async (stand) => {
      const visit = await stand.visit('lab.usage', { key: 'retry' });
      const call = await stand.arrived(visit);
      await leave(visit, 'RST');
      call.complete(usageReply(units));
      const { tenant, caseId } = visit;
      same((await tenant.ended()).settled, units, 'settled');
      const again = await stand.repeat(visit, 'lab.usage', { key: 'retry', caseId });
      same([again.status, again.replay, again.cost], [200, true, units], 'the retry');
      same(JSON.parse(again.body).usage, { units }, 'its body');
      same(stand.vendor.arrivals(caseId), 1, 'requests at the vendor');
      await stand.nextPasses(tenant, units);
    },
  ],
  [
    'RST before headers with a key, the vendor never answers: unknown, never sent again by itself',
    async (stand) => {
      const visit = await stand.visit('lab.usage', { key: 'lost' });
      await stand.arrived(visit);
      await leave(visit, 'RST');
      const { tenant, caseId } = visit;
      same((await tenant.ended()).settled, usageFallbackMicros, 'settled');
      const again = await stand.repeat(visit, 'lab.usage', { key: 'lost', caseId });
      same([again.status, again.code], [409, 'idempotency.outcome_unknown'], 'the retry');
      same(stand.vendor.arrivals(caseId), 1, 'requests at the vendor');
      await stand.nextPasses(tenant, usageFallbackMicros);
    },
  ],
  [
    'RST mid-stream with a key, the vendor goes on: the retry replays the whole stream, one charge',
    async (stand) => {
      const [visit, call] = await streaming(stand, 'lab.stream', { key: 'stream' });
      await leave(visit, 'RST');
      call.write(usageEvent(units));
      call.complete(Buffer.concat([done, Buffer.from(lastChunk)]));
      const { tenant, caseId } = visit;
      same((await tenant.ended()).settled, units, 'settled');
      const again = await stand.repeat(visit, 'lab.stream', { key: 'stream', caseId });
      same([again.status, again.replay, again.cost], [200, true, units], 'the retry');
      const whole = `data: {"n":0}\n\ndata: {"usage":{"units":${units}}}\n\ndata: [DONE]\n\n`;
      same(again.body, whole, 'its body');
      same(stand.vendor.arrivals(caseId), 1, 'requests at the vendor');
      await stand.nextPasses(tenant, units);
    },
  ],
];

/** Every row of this file. */
export const streamedRows: readonly Named[] = [
  ...beforeTheStream,
  ...midStream,
  ...oneEventBeforeTheEnd,
  ...cancelRows,
  ...keyed,
];
