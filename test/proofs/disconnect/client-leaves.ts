/**
 * The client leaves: RST and FIN in every phase of a call. Called by test/proofs/disconnect.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { until } from '../../support/until.ts';
import {
  answered,
  bodyKinds,
  cancelled,
  type End,
  failed,
  firstByteMs,
  half,
  held,
  leave,
  type Named,
  noticeMs,
  type Shape,
  shapes,
  shown,
  silent,
  stillServes,
  type Visit,
  whole,
} from './stand.ts';

const resetBeforeHeaders: readonly Named[] = bodyKinds.flatMap((upstream) =>
  [
    ['GET', 'GET', '\r\n'],
    ['a whole upload', 'POST', 'Content-Length: 2\r\n\r\n{}'],
    ['a whole chunked upload', 'POST', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
  ].map(
    ([kind, method, tail]): Named => [
      `RST before headers, ${kind}, ${upstream}: upstream closed, cancelled 499`,
      async (stand) => {
        const visit = await stand.visit(upstream, silent, method, tail);
        await stand.reached(visit);
        await held(visit);
        leave(visit, 'RST');
        const closedMs = await stand.upstreamClosed(visit);
        await stand.ended(visit, cancelled);
        return shown(closedMs);
      },
    ],
  ),
);

/**
 * Before the custody is armed: the context dies with the client, and the call log writes the row.
 */
const resetEarly: readonly Named[] = [
  ['GET', 'GET', '\r\n'],
  ['a whole upload', 'POST', 'Content-Length: 2\r\n\r\n{}'],
  ['a part of an upload', 'POST', 'Content-Length: 20\r\n\r\n{}'],
  ['a part of a chunked upload', 'POST', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n'],
].map(([kind, method, tail]) => [
  `RST as soon as the upstream has seen the call, ${kind}: upstream closed, cancelled 499`,
  async (stand) => {
    const visit = await stand.visit('native', silent, method, tail);
    await stand.reached(visit);
    leave(visit, 'RST');
    const closedMs = await stand.upstreamClosed(visit);
    await stand.ended(visit, cancelled);
    return shown(closedMs);
  },
]);

const uploads = [
  ['plain', 'Content-Length: 5000\r\n\r\nfirst part'],
  ['chunked', 'Transfer-Encoding: chunked\r\n\r\na\r\nfirst part\r\n'],
  ['chunked, inside a chunk', 'Transfer-Encoding: chunked\r\n\r\nff\r\nfirst part'],
] as const;

/**
 * A FIN in a native body is the one case that the runtime reports like a reset of the upstream
 * (docs/failure-modes.md): the row blames the connection. The pump of a chunked body sees who left.
 */
const endOfUpload = (how: 'RST' | 'FIN', kind: string): End =>
  how === 'FIN' && kind === 'plain' ? failed : cancelled;

const leftMidUpload: readonly Named[] = (['RST', 'FIN'] as const).flatMap((how) =>
  bodyKinds.flatMap((upstream) =>
    uploads.map(
      ([kind, tail]): Named => [
        `${how} mid-upload, ${kind}, ${upstream}: upstream closed, no clean end, ${endOfUpload(how, kind)[0]}`,
        async (stand) => {
          const visit = await stand.visit(upstream, silent, 'POST', tail);
          const connection = await stand.reached(visit, 'first part');
          await held(visit);
          leave(visit, how);
          const closedMs = await stand.upstreamClosed(visit).finally(() => {
            const whole = connection.bytes.toString('latin1').endsWith('\r\n0\r\n\r\n');
            holds(!whole, 'the upstream got half a body with a clean end');
          });
          const row = await stand.row(visit);
          same([row.outcome, row.status], endOfUpload(how, kind).slice(0, 2), 'the row');
          return shown(closedMs);
        },
      ],
    ),
  ),
);

const leftWhileRead: readonly Named[] = (['RST', 'FIN'] as const).map((how) => [
  `${how} mid-upload of a body that a binding has to read: nothing is sent, cancelled 499`,
  async (stand) => {
    const visit = await stand.visit('bound', silent, 'POST', 'Content-Length: 50\r\n\r\n{"a":');
    await held(visit);
    leave(visit, how);
    const row = await stand.row(visit);
    same([row.outcome, row.status], ['cancelled', 499], 'the row');
    same(stand.connectionOf(visit), undefined, 'what reached the origin');
  },
]);

const resetMidBody: readonly Named[] = bodyKinds.flatMap((upstream) =>
  shapes.map(
    (shape): Named => [
      `RST mid-body, ${shape.name}, ${upstream}: upstream closed`,
      async (stand) => {
        const visit = await stand.visit(upstream, half(shape));
        await visit.client.until(() => visit.client.bytes.includes(shape.first.slice(-6)));
        await held(visit);
        leave(visit, 'RST');
        const closedMs = await stand.upstreamClosed(visit);
        await stand.ended(visit, upstream === 'native' ? answered : cancelled);
        return shown(closedMs);
      },
    ],
  ),
);

const countedMidBody: Named = [
  'RST mid-body, tracked: the row has the bytes that were relayed',
  async (stand) => {
    const visit = await stand.visit('tracked', half(shapes[0] as Shape));
    await visit.client.until(() => visit.client.bytes.includes('{"a"'));
    leave(visit, 'RST');
    same((await stand.row(visit)).response_bytes, 4, 'response_bytes');
  },
];

/** C061: the client closes as soon as it has the last byte. */
const leftAfterLastByte: readonly Named[] = (['RST', 'FIN'] as const).flatMap((how) =>
  bodyKinds.flatMap((upstream) =>
    shapes.map(
      (shape): Named => [
        `C061 ${how} after the last byte, ${shape.name}, ${upstream}: answered, ten times of ten`,
        async (stand) => {
          const visits: Visit[] = [];
          for (let i = 0; i < 10; i++) {
            const visit = await stand.visit(upstream, whole(shape));
            const { client } = visit;
            const last = shape.name === 'sse' ? '[DONE]\n\n' : ': 1}';
            await client.until(() => client.bytes.includes(last));
            leave(visit, how);
            visits.push(visit);
          }
          for (const visit of visits) await stand.ended(visit, answered);
          await stillServes(stand);
        },
      ],
    ),
  ),
);

// ── the client closes (FIN) ──

const finBeforeHeaders: Named = [
  'FIN before headers: unseen until the first-byte watchdog, timed_out 504, upstream closed',
  async (stand) => {
    const visit = await stand.visit('watched', silent);
    const connection = await stand.reached(visit);
    visit.client.close();
    const what = 'the watchdog lets the upstream go';
    const { startedAtMs } = visit;
    const closedAtMs = await until(what, () => connection.closedAtMs ?? undefined, 2 * firstByteMs);
    const row = await stand.row(visit);
    same([row.outcome, row.status, row.code], ['timed_out', 504, 'timeout.request'], 'the row');
    const inTime = row.latency_ms >= firstByteMs && row.latency_ms <= firstByteMs + noticeMs;
    holds(inTime, `latency ${row.latency_ms} ms`);
    return `upstream closed ${(closedAtMs - startedAtMs).toFixed(0)} ms after the call began`;
  },
];

/** The first shape again, with room for more writes. */
const longPlain: Shape = {
  name: 'plain',
  head: 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n',
  first: '{"a"',
  rest: '',
};

const finMidBody: readonly Named[] = bodyKinds.flatMap((upstream) =>
  [longPlain, ...shapes.slice(1)].map(
    (shape): Named => [
      `FIN mid-body, ${shape.name}, ${upstream}: noticed at the next write`,
      async (stand) => {
        const visit = await stand.visit(upstream, half(shape));
        await visit.client.until(() => visit.client.bytes.includes(shape.first.slice(-6)));
        await held(visit);
        leave(visit, 'FIN');
        const connection = await stand.reached(visit);
        // The first write meets the closed socket, whose RST the second one finds.
        const writing = setInterval(() => connection.socket.write(shape.first), 20);
        const closedMs = await stand.upstreamClosed(visit).finally(() => clearInterval(writing));
        await stand.ended(visit, upstream === 'native' ? answered : cancelled);
        return shown(closedMs);
      },
    ],
  ),
);

/** Every row of this file. */
export const clientLeaves: readonly Named[] = [
  ...resetBeforeHeaders,
  ...resetEarly,
  ...leftMidUpload,
  ...leftWhileRead,
  ...resetMidBody,
  countedMidBody,
  ...leftAfterLastByte,
  finBeforeHeaders,
  ...finMidBody,
];
