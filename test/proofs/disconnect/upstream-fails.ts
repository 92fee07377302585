/**
 * The upstream fails: resets, closes, falls silent, or answers without a body to follow. Called by
 * test/proofs/disconnect.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { readAnswer } from '../../support/raw-client.ts';
import { type Answer, reply } from '../../support/recording-origin.ts';
import {
  answered,
  bodyKinds,
  cancelled,
  failed,
  firstByteMs,
  half,
  held,
  idleMs,
  leave,
  type Named,
  resets,
  type Shape,
  type Stand,
  shapes,
  shown,
  silent,
  type UpstreamName,
  type Visit,
  whole,
} from './stand.ts';

const upstreamGone: readonly Named[] = bodyKinds.flatMap((upstream) => [
  ...(
    [
      ['resets before headers', resets('')],
      ['resets mid-headers', resets('HTTP/1.1 200 OK\r\nContent-Ty')],
      ['closes before headers', ({ connection }) => void connection.socket.end()],
    ] as readonly (readonly [string, Answer])[]
  ).map(
    ([what, answer]): Named => [
      `the upstream ${what}, ${upstream}: 502 with our problem, failed`,
      async (stand) => {
        const visit = await stand.visit(upstream, answer, 'POST', 'Content-Length: 2\r\n\r\n{}');
        const got = await visit.client.answer('POST');
        visit.leftAtMs = performance.now();
        same([got.status, got.complete], [502, true], 'the answer');
        holds(got.body.includes('urn:weir:problem:downstream.error'), got.body.toString());
        await stand.ended(visit, failed);
      },
    ],
  ),
  ...shapes.map(
    (shape): Named => [
      `C018 the upstream resets mid-body, ${shape.name}, ${upstream}: broken towards the client too`,
      async (stand) => {
        const visit = await stand.visit(upstream, resets(shape.head + shape.first));
        await brokenAnswer(stand, visit, upstream);
      },
    ],
  ),
  [
    `C018 the upstream closes before its Content-Length is sent, ${upstream}: never a clean end`,
    async (stand) => {
      const [plain] = shapes as [Shape];
      const visit = await stand.visit(upstream, ({ connection }) => {
        connection.socket.end(plain.head + plain.first);
      });
      await brokenAnswer(stand, visit, upstream);
    },
  ],
  [
    `C018 the upstream closes without a last chunk, ${upstream}: never a clean end`,
    async (stand) => {
      const chunked = shapes[1] as Shape;
      const visit = await stand.visit(upstream, ({ connection }) => {
        connection.socket.end(chunked.head + chunked.first);
      });
      await brokenAnswer(stand, visit, upstream);
    },
  ],
]);

async function brokenAnswer(stand: Stand, visit: Visit, upstream: UpstreamName): Promise<void> {
  const { client } = visit;
  await client.until(() => client.ended !== 'open');
  visit.leftAtMs = performance.now();
  const got = readAnswer(client.bytes, 'GET', client.ended);
  holds(!got.complete, `a clean end: ${client.bytes.toString('latin1')}`);
  await stand.ended(visit, upstream === 'native' ? answered : ['failed', 200, 'stream.aborted']);
}

/** Sends half of an upload, lets the wait for the answer pass, and sends the rest. */
const slowUploads: readonly Named[] = (
  [
    ['declared', 'Content-Length: 262144', (half) => half, ''],
    ['chunked', 'Transfer-Encoding: chunked', (half) => `20000\r\n${half}\r\n`, '0\r\n\r\n'],
  ] as readonly (readonly [string, string, (half: string) => string, string])[]
).map(
  ([framing, header, framed, end]): Named => [
    `an upload that takes longer than the wait for its answer is no silent upstream, ${framing}`,
    async (stand) => {
      const half = framed('a'.repeat(131_072));
      const answer = whole(shapes[0] as Shape);
      const visit = await stand.visit('watched', answer, 'POST', `${header}\r\n\r\n`);
      visit.client.send(half);
      await stand.reached(visit);
      await held(visit, firstByteMs + 300);
      visit.client.send(half + end);
      const got = await visit.client.answer('POST');
      visit.leftAtMs = performance.now();
      same(got.status, 200, 'status');
      await stand.ended(visit, answered);
    },
  ],
);

const upstreamSilent: readonly Named[] = [
  ...slowUploads,
  [
    'the upstream never answers: 504 at the watchdog, timed_out, upstream closed',
    async (stand) => {
      const visit = await stand.visit('watched', silent);
      const got = await visit.client.answer();
      visit.leftAtMs = performance.now();
      same(got.status, 504, 'status');
      const closedMs = await stand.upstreamClosed(visit);
      const row = await stand.ended(visit, ['timed_out', 504, 'timeout.request']);
      holds(row.latency_ms >= firstByteMs, `latency ${row.latency_ms} ms`);
      return shown(closedMs);
    },
  ],
  [
    'a tracked body falls silent: broken at the idle timeout, timed_out 504, upstream closed',
    async (stand) => {
      const visit = await stand.visit('idle', half(shapes[2] as Shape));
      const { client } = visit;
      await client.until(() => client.ended !== 'open');
      visit.leftAtMs = performance.now();
      holds(!readAnswer(client.bytes, 'GET', client.ended).complete, 'a clean end');
      const closedMs = await stand.upstreamClosed(visit);
      const row = await stand.ended(visit, ['timed_out', 504, 'timeout.idle']);
      holds(row.latency_ms >= idleMs, `latency ${row.latency_ms} ms`);
      same(row.response_bytes, 9, 'response_bytes');
      return shown(closedMs);
    },
  ],
  [
    'a slow reader of a tracked body is not an idle upstream: the whole body, answered',
    async (stand) => {
      const body = Buffer.alloc(10_000_000, 0x61);
      const visit = await stand.visit('idle', reply('200 OK', [], body));
      const { client } = visit;
      await client.until(() => client.bytes.length > 0);
      client.socket.pause();
      await held(visit, 2.5 * idleMs);
      client.socket.resume();
      const got = await client.answer('GET', 20_000);
      same([got.complete, got.body.length], [true, body.length], 'the answer');
      await stand.ended(visit, answered);
    },
  ],
  [
    'C018 an error body that has to be masked breaks: 502 with our problem, failed',
    async (stand) => {
      const head =
        'HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';
      const visit = await stand.visit('masked', ({ connection }) => {
        connection.socket.end(`${head}{"error":`);
      });
      const got = await visit.client.answer();
      visit.leftAtMs = performance.now();
      same([got.status, got.complete], [502, true], 'the answer');
      await stand.ended(visit, failed);
    },
  ],
  [
    'RST while an error body is read for masking: upstream closed, cancelled 499',
    async (stand) => {
      const head =
        'HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';
      const visit = await stand.visit('masked', ({ connection }) => {
        connection.socket.write(`${head}{"error":`);
      });
      await stand.reached(visit);
      await held(visit);
      leave(visit, 'RST');
      const closedMs = await stand.upstreamClosed(visit);
      await stand.ended(visit, cancelled);
      return shown(closedMs);
    },
  ],
];

/** Answers without a body to follow: the row of a tracked call must come all the same. */
const trackedWithoutBody: readonly Named[] = (
  [
    ['204', 'GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['205', 'GET', 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n'],
    ['304', 'GET', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'],
    ['200 to HEAD', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n'],
    ['an empty 200', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ] as const
).map(
  ([what, method, bytes]): Named => [
    `${what} of a tracked upstream has its row`,
    async (stand) => {
      const visit = await stand.visit('tracked', bytes, method);
      const got = await visit.client.answer(method);
      visit.client.close();
      await stand.ended(visit, ['answered', got.status, null]);
    },
  ],
);

const noStatus: readonly Named[] = bodyKinds.map((upstream) => [
  `700 is no HTTP status, ${upstream}: 502 with our problem, failed`,
  async (stand) => {
    const visit = await stand.visit(upstream, 'HTTP/1.1 700 Odd\r\nContent-Length: 2\r\n\r\nok');
    same((await visit.client.answer()).status, 502, 'status');
    visit.leftAtMs = performance.now();
    await stand.ended(visit, failed);
  },
]);

/** Every row of this file. */
export const upstreamFails: readonly Named[] = [
  ...upstreamGone,
  ...upstreamSilent,
  ...trackedWithoutBody,
  ...noStatus,
];
