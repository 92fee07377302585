/**
 * The client leaves a call that our vendor account pays for: when, how, and what it costs then
 * (decisions section 4, tier 4). One unit of usage costs one micro-USD; a hold of `lab.usage` and
 * `lab.stream` is 100, their fallback 80. Called by ../disconnect-money.ts.
 */
import {
  callMicros,
  usageFallbackMicros,
  usageHoldMicros,
} from '../../support/money-world-catalog.ts';
import {
  chunk,
  lastChunk,
  refuses,
  streamHead,
  streams,
  usageReply,
  type VendorCall,
} from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { until } from '../disconnect/stand.ts';
import {
  answered,
  cancelled,
  drainMs,
  type End,
  farHost,
  type Left,
  leave,
  type Named,
  noticeMs,
  type Stand,
  type Visit,
} from './stand.ts';

type How = 'RST' | 'FIN';
const ways: readonly How[] = ['RST', 'FIN'];
const units = 30;
const released = 'released';

// ── before the vendor was asked ──

/**
 * A FIN cannot be seen before something is written to the client: that call runs on, and is charged
 * like any other.
 */
const beforeThePlace: readonly Named[] = (['before', 'behind'] as const).map((gate) => [
  `RST while the hold is being placed, ${gate} the object's commit: nothing is sent, nothing is charged`,
  async (stand) => {
    const tenant = await stand.tenant();
    await stand.gate(gate, tenant);
    const visit = await stand.visit('lab.usage', {}, tenant);
    await leave(visit, 'RST');
    await stand.gate('open', tenant);
    await stand.leftBehind(visit, { charge: released, end: cancelled });
    same(stand.vendor.arrivals(visit.caseId), 0, 'what reached the vendor');
  },
]);

const finBeforeThePlace: Named = [
  'FIN while the hold is being placed: unseen until the answer is written, charged as answered',
  async (stand) => {
    const tenant = await stand.tenant();
    await stand.gate('before', tenant);
    const visit = await stand.visit('lab.usage', {}, tenant);
    await leave(visit, 'FIN');
    await stand.gate('open', tenant);
    (await stand.arrived(visit)).complete(usageReply(units));
    await stand.leftBehind(visit, { charge: units, end: answered });
  },
];

const beforeTheSend: Named = [
  'RST while the address is looked up, the hold in hand: released, nothing is sent',
  async (stand) => {
    stand.resolver.script(farHost, { delayMs: 2_000 });
    const asked = stand.resolver.asked(farHost);
    const visit = await stand.visit('far.upload');
    await until('a look-up', () => stand.resolver.asked(farHost) > asked || undefined);
    await leave(visit, 'RST');
    await stand.leftBehind(visit, { charge: released, end: cancelled });
  },
];

// ── during the upload ──

/** Nobody has to read the body, so its first part is with the vendor when the client goes. */
const midUpload: readonly Named[] = ways.flatMap((how) =>
  [
    ['plain', 'Content-Length: 5000\r\n\r\nfirst part'],
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\na\r\nfirst part\r\n'],
  ].map(
    ([kind, tail]): Named => [
      `${how} mid-upload, ${kind}: the vendor never has a whole request; one end of the hold`,
      async (stand) => {
        const visit = await stand.upload('raw.upload', String(tail));
        const connection = await until('the first part', () =>
          stand.raw.connections.findLast(({ bytes }) => bytes.includes(visit.caseId)),
        );
        await until('the body', () => connection.bytes.includes('first part') || undefined);
        await leave(visit, how);
        await until('its end', () => connection.closedAtMs ?? undefined, noticeMs + drainMs);
        holds(!connection.bytes.toString('latin1').endsWith('\r\n0\r\n\r\n'), 'a clean end');
        await stand.leftBehind(visit, { charge: callMicros, end: cancelled });
      },
    ],
  ),
);

const midRead: readonly Named[] = ways.map((how) => [
  `${how} mid-upload of a body that the key's fingerprint needs: no hold, nothing is sent`,
  async (stand) => {
    const tail = 'Idempotency-Key: k\r\nContent-Length: 50\r\n\r\n{"a":';
    const visit = await stand.upload('lab.usage', tail);
    await leave(visit, how);
    await stand.leftBehind(visit, { charge: 'no hold', end: cancelled });
    same(stand.vendor.arrivals(visit.caseId), 0, 'what reached the vendor');
  },
]);

// ── the vendor is at work ──

type Rest = (call: VendorCall) => void;

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

const resetBeforeHeaders: readonly Named[] = aftermaths.map(([name, rest, charge]) => [
  `RST before headers, ${name}: ${shown(charge)}`,
  async (stand) => {
    const visit = await stand.visit('lab.usage');
    const call = await stand.arrived(visit);
    await leave(visit, 'RST');
    holds(!call.gone(), 'the vendor was let go at once');
    rest(call);
    await stand.leftBehind(visit, { charge, end: cancelled });
    await until('the vendor is let go', () => call.gone() || undefined, drainMs + noticeMs).catch(
      () => holds(charge !== usageFallbackMicros, 'the vendor is still waited for'),
    );
  },
]);

function shown(charge: Left['charge']): string {
  return typeof charge === 'number' ? `charged ${charge}` : charge;
}

const finBeforeHeaders: Named = [
  'FIN before headers: unseen, the vendor completes, charged as answered',
  async (stand) => {
    const visit = await stand.visit('lab.usage');
    const call = await stand.arrived(visit);
    await leave(visit, 'FIN');
    call.complete(usageReply(units));
    await stand.leftBehind(visit, { charge: units, end: answered });
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
    await stand.leftBehind(visit, { charge, end: cancelled });
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
    await stand.leftBehind(visit, { charge, end: cancelled });
  },
]);

const event = (text: string): Buffer => chunk(`data: ${text}\n\n`);
const usageEvent = (count: number): Buffer => event(`{"usage":{"units":${count}}}`);
const done = event('[DONE]');

/** A stream of which the client has seen the first event. */
async function streaming(stand: Stand, endpoint: string): Promise<[Visit, VendorCall]> {
  const visit = await stand.visit(endpoint);
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
          if (how === 'FIN') await noticed(visit, call);
          rest(call);
          await stand.leftBehind(visit, { charge, end: cancelled });
        },
      ],
    ),
);

/** Writes events until the gateway must have seen that its client is gone. */
async function noticed(visit: Visit, call: VendorCall): Promise<void> {
  for (let i = 0; i < 5; i += 1) {
    call.write(event(`{"n":${i}}`));
    await leave(visit, 'FIN');
  }
}

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
    const end: End = how === 'RST' ? cancelled : answered;
    await stand.leftBehind(visit, { charge: units, end });
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
  if (how === 'FIN') await noticed(visit, call);
  await until('the vendor is let go', () => call.gone() || undefined, noticeMs);
  await stand.leftBehind(visit, { charge: released, end: cancelled });
}

// ── with an idempotency key ──

const keyed: readonly Named[] = [
  [
    'RST before headers with a key, the vendor completes: the retry replays it, one charge',
    async (stand) => {
      const visit = await stand.visit('lab.usage', { key: 'retry' });
      const call = await stand.arrived(visit);
      await leave(visit, 'RST');
      call.complete(whole);
      const { tenant, caseId } = visit;
      same((await tenant.ended()).settled, units, 'settled');
      const again = await stand.repeat(visit, 'lab.usage', { key: 'retry', caseId });
      same([again.status, again.replay, again.cost], [200, true, units], 'the retry');
      same(again.body, whole.subarray(whole.indexOf('\r\n\r\n') + 4).toString(), 'its body');
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
];

/** Every row of this file. */
export const clientLeaves: readonly Named[] = [
  ...beforeThePlace,
  finBeforeThePlace,
  beforeTheSend,
  ...midUpload,
  ...midRead,
  ...resetBeforeHeaders,
  finBeforeHeaders,
  ...fixedPrice,
  ...midJson,
  ...midStream,
  ...oneEventBeforeTheEnd,
  ...afterTheLastByte,
  ...cancelRows,
  ...keyed,
];
