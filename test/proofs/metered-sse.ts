/**
 * `npm run prove -- metered-sse`: a metered event stream passes unbuffered and unchanged while its
 * usage is read from the events: whatever the split, the line ends and the framing, the same charge;
 * and a stream that outlives its lease settles once.
 * Promises: the vendor writes its next bytes only when the client has the last ones.
 * Called by scripts/prove.ts and test/e2e/metered-sse.test.ts.
 */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import {
  costOf,
  isReplay,
  type MoneyTenant,
  type MoneyWorld,
  startMoneyWorld,
} from '../support/money-world.ts';
import { streamHead } from '../support/priced-origin.ts';
import { holds, type Proof, type Row, type Staged, same } from '../support/proof.ts';
import { headerOf } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { contentRows } from './metered-sse/contents.ts';
import {
  catalog,
  fallbackMicros,
  type Named,
  settledAlike,
  type Worlds,
} from './metered-sse/stand.ts';
import { StreamCall, type StreamOptions } from './metered-sse/stream-call.ts';
import {
  plain,
  type StreamShape,
  streamChargeMicros,
  streams,
  wholeOf,
} from './metered-sse/streams.ts';

/** Streams that are open at the same time. */
const sideBySide = 8;
/** `npm test` cuts at every so many bytes, and at both ends. */
const shortStep = 9;

// ── split at every byte ──

function cutRow(shape: StreamShape, short: boolean): Named {
  const last = shape.usage.length;
  const cuts = Array.from({ length: last + 1 }, (_, at) => at).filter(
    (at) => !short || at % shortStep === 0 || at === last,
  );
  return [
    `${shape.name}: the usage event cut at ${short ? 'some of its bytes' : 'every byte'}, the same charge`,
    async ({ world }) => {
      const tenant = await world.tenant();
      await inTurns(cuts, (at) => cutAt(world, tenant, shape, at));
      await settledAlike(tenant, cuts.length, streamChargeMicros);
      return `${cuts.length} cuts`;
    },
  ];
}

async function cutAt(
  world: MoneyWorld,
  tenant: MoneyTenant,
  { endpoint, before, usage, after }: StreamShape,
  at: number,
): Promise<void> {
  const call = await StreamCall.start(world, tenant, `lab.${endpoint}`);
  await call.write(Buffer.concat([before, usage.subarray(0, at)]));
  await call.write(Buffer.concat([usage.subarray(at), after]));
  await call.end();
}

/** Runs `work` over a list, some at a time. */
async function inTurns<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...list];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: sideBySide }, lane));
}

const byteByByte: readonly Named[] = streams.map((shape) => [
  `${shape.name}: every byte in a chunk of its own, the same charge`,
  async ({ world }) => {
    const tenant = await world.tenant();
    const call = await StreamCall.start(world, tenant, `lab.${shape.endpoint}`);
    const whole = wholeOf(shape);
    for (let at = 0; at < whole.length; at += 1) await call.write(whole.subarray(at, at + 1));
    await call.end();
    await settledAlike(tenant, 1, streamChargeMicros);
    return `${whole.length} chunks`;
  },
]);

// ── unbuffered ──

const firstBeforeSecond: Named = [
  'each event reaches the client before the next one is written, the first right after the headers',
  async ({ world }) => {
    const tenant = await world.tenant();
    const call = await StreamCall.start(world, tenant, 'lab.chat');
    await call.client.until(() => call.client.bytes.includes('\r\n\r\n'));
    for (let n = 0; n < 50; n += 1) await call.write(Buffer.from(`data: {"n":${n}}\n\n`));
    await call.write(wholeOf(plain));
    const lines = await call.end();
    same(headerOf(lines, 'content-type'), 'text/event-stream', 'content-type');
    same(headerOf(lines, 'x-weir-cost-micro'), null, 'a cost that nobody knew then');
    await settledAlike(tenant, 1, streamChargeMicros);
  },
];

const identity: Named = [
  'a caller that accepts gzip gets the stream as it is: the vendor is asked for identity',
  async ({ world }) => {
    const tenant = await world.tenant();
    const headers = ['Accept-Encoding: gzip, br'];
    const call = await StreamCall.start(world, tenant, 'lab.chat', { headers });
    const asked = headerOf(call.vendor.request.lines, 'accept-encoding');
    holds(asked === null || asked === 'identity', `the vendor was asked for ${asked}`);
    await call.write(wholeOf(plain));
    await call.end();
    await settledAlike(tenant, 1, streamChargeMicros);
  },
];

/** We ask for none, and what comes all the same is relayed as it is, and read at its end. */
const codings: readonly (readonly [name: string, coding: string, bytes: Buffer, micros: number])[] =
  [
    ['gzip', 'gzip', gzipSync(wholeOf(plain)), streamChargeMicros],
    ['br', 'BR', brotliCompressSync(wholeOf(plain)), streamChargeMicros],
    ['zstd in gzip', 'zstd, gzip', gzipSync(zstdCompressSync(wholeOf(plain))), streamChargeMicros],
    ['identity', 'identity', wholeOf(plain), streamChargeMicros],
    ['a coding that nobody knows', 'x-own', gzipSync(wholeOf(plain)), fallbackMicros],
    ['not what it says', 'gzip', wholeOf(plain), fallbackMicros],
  ];
const coded: readonly Named[] = codings.map(([name, coding, bytes, micros]) => [
  `a stream that is coded all the same (${name}): each byte at once, identical, with its coding; charged ${micros}`,
  async ({ world }) => {
    const tenant = await world.tenant();
    const head = streamHead.replace('\r\n\r\n', `\r\nContent-Encoding: ${coding}\r\n\r\n`);
    const call = await StreamCall.start(world, tenant, 'lab.chat', { head });
    await call.write(bytes.subarray(0, 20));
    await call.write(bytes.subarray(20));
    same(headerOf(await call.end(), 'content-encoding'), coding, 'content-encoding');
    await settledAlike(tenant, 1, micros);
  },
]);

const crowd = 40;

const manyAtOnce: Named = [
  `${crowd} streams of one tenant at once, their events in turns: each settles once, at its own usage`,
  async ({ world }) => {
    const tenant = await world.tenant();
    const starts = Array.from({ length: crowd }, () => StreamCall.start(world, tenant, 'lab.chat'));
    const calls = await Promise.all(starts);
    const usage = (n: number) => `{"usage":{"prompt_tokens":${n},"completion_tokens":0}}`;
    for (const call of calls) await call.write(plain.before);
    await Promise.all(calls.map((call, n) => call.write(Buffer.from(`data: ${usage(n)}\n\n`))));
    for (const call of calls.toReversed()) await call.write(plain.after);
    await Promise.all(calls.map((call) => call.end()));
    const sum = (crowd * (crowd - 1)) / 2;
    same((await tenant.ended()).settled, sum, 'settled');
    const charges = (await tenant.entries()).filter(({ kind }) => kind === 'settle');
    const sorted = charges.map(({ micros }) => micros ?? -1).sort((a, b) => a - b);
    same(sorted, [...calls.keys()], 'charges');
  },
];

// ── a key ──

const keyed: Named = [
  'a stream with a key is not kept back, is recorded and replayed: same bytes, first cost, one charge',
  async ({ world }) => {
    const tenant = await world.tenant();
    const key: StreamOptions = { key: 'stream-1' };
    const call = await StreamCall.start(world, tenant, 'lab.chat', key);
    await call.write(plain.before);
    await call.write(Buffer.concat([plain.usage, plain.after]));
    await call.end();
    await tenant.ended();
    const again = await tenant.call('lab.chat', {
      body: '{"stream":true}',
      key: 'stream-1',
    });
    same([again.status, isReplay(again), costOf(again)], [200, true, streamChargeMicros], 'replay');
    holds(again.body.equals(wholeOf(plain)), 'other bytes in the replay');
    same(headerOf(again.lines, 'content-type'), 'text/event-stream', 'content-type');
    await settledAlike(tenant, 1, streamChargeMicros);
  },
];

// ── longer than the lease ──

/** The lease of the second world; the stream lives four of them. Renewed like in production. */
const leaseMs = 900;
const renewMs = leaseMs / 3;
const streamMs = 4 * leaseMs;

const pastTheLease: Named = [
  `a stream of ${streamMs / leaseMs} leases keeps its hold, settles once and is never expired`,
  async ({ leased }) => {
    const tenant = await leased.tenant();
    const call = await StreamCall.start(leased, tenant, 'lab.chat');
    const startedAtMs = performance.now();
    for (let n = 0; performance.now() - startedAtMs < streamMs; n += 1) {
      await call.write(Buffer.from(`data: {"n":${n}}\n\n`));
      same((await tenant.api('GET', '/ledger')).open_holds, 1, 'open holds while it streams');
      const lookedAtMs = performance.now();
      await until('the time', () => performance.now() - lookedAtMs >= 50 || undefined);
    }
    await call.write(wholeOf(plain));
    await call.end();
    await settledAlike(tenant, 1, streamChargeMicros);
    const kinds = (await tenant.entries()).map(({ kind }) => kind);
    const renewals = kinds.filter((kind) => kind === 'renew').length;
    holds(renewals >= streamMs / leaseMs, `${renewals} renewals`);
    same(await tenant.reviews(), [], 'reviews');
    await tenant.audit();
    return `${renewals} renewals`;
  },
];

// ── the stage ──

async function stage(options: {
  readonly short: boolean;
  readonly args: readonly string[];
}): Promise<Staged> {
  const limits = { ledgerLeaseMs: leaseMs, ledgerAlarmJitterMs: 20, holdRenewMs: renewMs };
  const worlds: Worlds = {
    world: await startMoneyWorld({ catalog }),
    leased: await startMoneyWorld({ catalog, limits }),
  };
  const only = options.args.find((arg) => !arg.startsWith('--'));
  const table: readonly Named[] = [
    ...streams.map((shape) => cutRow(shape, options.short)),
    ...(options.short ? byteByByte.slice(0, 2) : byteByByte),
    firstBeforeSecond,
    identity,
    ...coded,
    manyAtOnce,
    ...contentRows,
    keyed,
    pastTheLease,
  ].filter(([name]) => only === undefined || name.includes(only));
  let passed = 0;
  const rows: Row[] = table.map(([name, run]) => ({
    name,
    run: async () => {
      const shown = await run(worlds);
      passed += 1;
      return typeof shown === 'string' ? shown : undefined;
    },
  }));
  return {
    rows,
    figure: () => `${passed} of ${rows.length} rows hold`,
    dispose: async () => {
      await worlds.world.dispose();
      await worlds.leased.dispose();
    },
  };
}

export const proof: Proof = {
  name: 'metered-sse',
  title:
    'a metered stream passes unbuffered and unchanged, and its usage is read whatever the split',
  takes: { usage: '[part of a row’s name]', wordsMax: 1 },
  stage,
};
