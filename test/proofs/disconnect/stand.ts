/**
 * The stand of the disconnect proof: gateway, origin, calls under test, and what is asked of them
 * afterwards.
 * Promises: answers by path, so that cases may run side by side; a row is read when the log's flush
 * has brought it, never by time.
 * Called by test/proofs/disconnect.ts and the tables beside this file.
 */
import { callLogFlushMs } from '../../../src/base/limits.ts';
import type { Gateway } from '../../support/gateway.ts';
import { holds, same } from '../../support/proof.ts';
import { RawConnection } from '../../support/raw-client.ts';
import {
  type Answer,
  type OriginConnection,
  type RecordedRequest,
  type RecordingOrigin,
  reply,
} from '../../support/recording-origin.ts';
import type { Scenario } from '../../support/scenario.ts';
import { until } from '../../support/until.ts';

/** How soon the other side must notice, milliseconds (issue 1). */
export const noticeMs = 1_000;
/**
 * How long a client or an origin stays before it leaves, milliseconds: a latency below it is not
 * real.
 */
export const heldMs = 150;
/** The watchdogs of the test upstreams, milliseconds. */
export const firstByteMs = 1_500;
export const idleMs = 1_000;

/** The columns of a call's row that this proof reads. */
interface CallRecord {
  readonly outcome: string;
  readonly status: number;
  readonly code: string | null;
  readonly latency_ms: number;
  readonly response_bytes: number | null;
}

/** One call under test; times are performance.now(). */
export interface Visit {
  readonly client: RawConnection;
  readonly path: string;
  readonly startedAtMs: number;
  /** When its first bytes were seen at the origin; 0 before. */
  reachedAtMs: number;
  /** When the side that leaves left. */
  leftAtMs: number;
}

/** An answer in two halves: what comes before the fault, and the rest up to its clean end. */
export interface Shape {
  readonly name: string;
  readonly head: string;
  readonly first: string;
  readonly rest: string;
}

export const shapes: readonly Shape[] = [
  {
    name: 'plain',
    head: 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n',
    first: '{"a"',
    rest: ': 1}',
  },
  {
    name: 'chunked',
    head: 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    first: '4\r\n{"a"\r\n',
    rest: '4\r\n: 1}\r\n0\r\n\r\n',
  },
  {
    name: 'sse',
    head: 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n',
    first: '9\r\ndata: a\n\n\r\n',
    rest: 'e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n',
  },
];

export const upstreams = {
  native: {},
  tracked: { track_body: true },
  watched: { first_byte_timeout_ms: firstByteMs },
  idle: { track_body: true, idle_timeout_ms: idleMs },
  bound: { bindings: [{ location: 'json', name: 'api_key', secret: 'cred://vendor' }] },
  masked: { bindings: [{ location: 'header', name: 'x-api-key', secret: 'cred://vendor' }] },
} as const;
export type UpstreamName = keyof typeof upstreams;
export const bodyKinds = ['native', 'tracked'] as const;

/** The gateway, the origin and what has been called so far. */
export class Stand {
  readonly gateway: Gateway;
  readonly origin: RecordingOrigin;
  readonly scenario: Scenario;
  /** What the origin answers, by path. */
  readonly answers = new Map<string, Answer>();

  constructor(gateway: Gateway, origin: RecordingOrigin, scenario: Scenario) {
    this.gateway = gateway;
    this.origin = origin;
    this.scenario = scenario;
    origin.answer((request) => {
      const answer = this.answers.get(request.target) ?? silent;
      if (typeof answer === 'function') return answer(request);
      request.connection.socket.write(answer);
    });
  }

  get paths(): readonly string[] {
    return [...this.answers.keys()];
  }

  /** Starts a call; `tail` is what comes behind the key's header. */
  async visit(
    upstream: UpstreamName,
    answer: Answer,
    method = 'GET',
    tail = '\r\n',
  ): Promise<Visit> {
    const path = `/case-${this.answers.size + 1}.`;
    this.answers.set(path, answer);
    const client = await RawConnection.open(this.gateway.port);
    const startedAtMs = performance.now();
    const target = `/call/${upstream}${path}`;
    const key = `X-Weir-Key: ${this.scenario.token}`;
    client.send(`${method} ${target} HTTP/1.1\r\nHost: gw\r\n${key}\r\n${tail}`);
    return { client, path, startedAtMs, reachedAtMs: 0, leftAtMs: 0 };
  }

  /** Whether a call has been seen at the origin. */
  connectionOf({ path }: Visit, text = path): OriginConnection | undefined {
    const { connections } = this.origin;
    return connections.findLast((c) => c.bytes.includes(path) && c.bytes.includes(text));
  }

  /**
   * Waits until `text` of the call has reached the origin; gives the connection that it came on.
   */
  async reached(visit: Visit, text = visit.path): Promise<OriginConnection> {
    const connection = await until(`${text} at the origin`, () => this.connectionOf(visit, text));
    visit.reachedAtMs ||= performance.now();
    return connection;
  }

  /** Milliseconds from the leaving until the upstream's connection was closed. */
  async upstreamClosed(visit: Visit): Promise<number> {
    const connection = await this.reached(visit);
    const what = 'the upstream is closed';
    const closedAtMs = await until(what, () => connection.closedAtMs ?? undefined, noticeMs);
    return Math.max(0, closedAtMs - visit.leftAtMs);
  }

  async rows(path: string): Promise<CallRecord[]> {
    const db = await this.gateway.db();
    const { results } = await db.prepare('select * from calls where path = ?').bind(path).all();
    return results as unknown as CallRecord[];
  }

  /** The same for many calls, without their latency: one row each, all alike. */
  async allEnded(visits: readonly Visit[], end: End): Promise<void> {
    const paths = JSON.stringify(visits.map((visit) => visit.path));
    const sql = 'select * from calls where path in (select value from json_each(?))';
    const db = await this.gateway.db();
    const rows = await until(`${visits.length} rows`, async () => {
      const { results } = await db.prepare(sql).bind(paths).all();
      return results.length >= visits.length ? results : undefined;
    });
    same(rows.length, visits.length, 'rows');
    for (const row of rows) same([row.outcome, row.status, row.code], [...end], 'a row');
  }

  /** Rows by path. */
  async rowCounts(): Promise<ReadonlyMap<string, number>> {
    const db = await this.gateway.db();
    const { results } = await db.prepare('select path, count(*) n from calls group by path').all();
    return new Map(results.map((row) => [String(row.path), Number(row.n)]));
  }

  /** The call's row, once the flush has brought it. */
  row({ path }: Visit): Promise<CallRecord> {
    return until(`the row of ${path}`, async () => (await this.rows(path))[0]);
  }

  /**
   * Holds the row against what the case says; its latency is the call's life, the flush is not in
   * it.
   */
  async ended(visit: Visit, end: End): Promise<CallRecord> {
    const row = await this.row(visit);
    same([row.outcome, row.status, row.code], end, 'the row');
    if (row.outcome === 'answered') return row;
    const atLeast = visit.reachedAtMs === 0 ? 0 : visit.leftAtMs - visit.reachedAtMs - 25;
    const atMost = visit.leftAtMs - visit.startedAtMs + callLogFlushMs * 0.7;
    const real = row.latency_ms >= atLeast && row.latency_ms <= atMost;
    holds(real, `latency ${row.latency_ms} ms, wanted ${atLeast} to ${atMost} ms`);
    return row;
  }
}

export type End = readonly [outcome: string, status: number, code: string | null];
export const answered: End = ['answered', 200, null];
export const cancelled: End = ['cancelled', 499, 'client.closed'];
export const failed: End = ['failed', 502, 'downstream.error'];

/** Lets the time pass that is part of a case. */
export const held = ({ startedAtMs, reachedAtMs }: Visit, ms = heldMs): Promise<true> =>
  until('the time', () => performance.now() - (reachedAtMs || startedAtMs) >= ms || undefined);

/** The client goes: RST, or FIN with nothing unread. */
export function leave(visit: Visit, how: 'RST' | 'FIN'): void {
  visit.leftAtMs = performance.now();
  if (how === 'RST') visit.client.reset();
  else visit.client.close();
}

export const silent: Answer = () => undefined;
export const half =
  (shape: Shape): Answer =>
  ({ connection }) =>
    void connection.socket.write(shape.head + shape.first);
export const whole =
  (shape: Shape): Answer =>
  ({ connection }) =>
    void connection.socket.write(shape.head + shape.first + shape.rest);
export const resets =
  (before: string): Answer =>
  (request: RecordedRequest) => {
    if (before === '') request.connection.socket.resetAndDestroy();
    else request.connection.socket.write(before, () => request.connection.socket.resetAndDestroy());
  };

export const shown = (ms: number): string => `upstream closed after ${ms.toFixed(0)} ms`;
export type Named = readonly [name: string, run: (stand: Stand) => Promise<unknown>];

/** The isolate afterwards. */
export async function stillServes(stand: Stand): Promise<void> {
  const visit = await stand.visit('native', reply('200 OK', [], 'still'));
  same((await visit.client.answer()).body.toString(), 'still', 'the next call');
  visit.client.close();
}
