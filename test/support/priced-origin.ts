/**
 * A vendor that bills: a raw loopback origin that knows which call of a test each request belongs
 * to, and counts what it executed for it.
 * A request belongs to the case that its `x-case` header names (the gateway relays it as it is),
 * else to the vendor's `idempotency-key`, else to its target. `arrivals` counts requests that were
 * complete; `completions` counts those whose work was done, whether or not anybody was still there
 * to take the answer: that is what a vendor bills. Called by the money proofs (`money-world.ts`).
 */
import type net from 'node:net';
import { headerOf } from './raw-client.ts';
import {
  type RecordedRequest,
  type RecordingOrigin,
  reply,
  startOrigin,
} from './recording-origin.ts';

/** One request at the vendor. */
export interface VendorCall {
  readonly caseId: string;
  /** The vendor's own `idempotency-key`, as it arrived; `null` without one. */
  readonly vendorKey: string | null;
  readonly request: RecordedRequest;
  readonly socket: net.Socket;
  /** The connection was closed by the gateway, or reset. */
  readonly gone: () => boolean;
  /** Writes bytes as they are; the work is not done by it. */
  readonly write: (bytes: string | Buffer) => void;
  /** The work is done: billed from here. Writes the answer, or the last bytes of it. */
  readonly complete: (bytes?: string | Buffer) => void;
}

/** What the vendor does with a call. */
export type Plan = (call: VendorCall) => void | Promise<void>;

export interface PricedOrigin {
  readonly port: number;
  readonly authority: string;
  /** Every request, in the order of arrival. */
  readonly calls: readonly VendorCall[];
  /** What is done with every call that has no plan of its own. */
  plan(plan: Plan): void;
  /** What is done with the calls of one case. */
  planFor(caseId: string, plan: Plan): void;
  /** From here on calls wait at the barrier before their plan is carried out. */
  hold(): void;
  /** Opens the barrier: those that wait go on (also those whose client is gone). */
  open(): void;
  /** Calls that wait at the barrier. */
  readonly waiting: () => number;
  readonly arrivals: (caseId: string) => number;
  readonly completions: (caseId: string) => number;
  /** Cases that arrived or were completed at least once. */
  readonly cases: () => readonly string[];
  readonly completed: () => number;
  /** Waits until `done` holds; looked at after every arrival and completion. */
  until(done: () => boolean, timeoutMs?: number): Promise<void>;
  /** Forgets calls and counts; plans and barrier stay. */
  clear(): void;
  close(): Promise<void>;
}

const json = ['Content-Type: application/json'];

/** 200 with `{"ok":true,"usage":{"units":N},…}`. */
export const answers =
  (units = 1, more: object = {}): Plan =>
  (call) =>
    call.complete(usageReply(units, { case: call.caseId, ...more }));

/** The bytes of such an answer. */
export const usageReply = (units: number, more: object = {}): Buffer =>
  reply('200 OK', json, JSON.stringify({ ok: true, usage: { units }, ...more }));

/** An answer that says no: the vendor did nothing that it bills. */
export const refuses =
  (status: string, body: object = { error: 'no' }): Plan =>
  (call) =>
    call.write(reply(status, json, JSON.stringify(body)));

/** Never answers; the connection stays open. */
export const silent: Plan = () => undefined;

/** Resets the connection after `before` was written; the work is done all the same when `billed`. */
export const resets =
  (before: string | Buffer = '', billed = false): Plan =>
  ({ socket, complete }) => {
    if (billed) complete();
    if (before === '') socket.resetAndDestroy();
    else socket.write(before, () => socket.resetAndDestroy());
  };

/** The head of an event stream, chunked. */
export const streamHead =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

/** One chunk of a chunked body. */
export function chunk(bytes: string | Buffer): Buffer {
  const data = typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes;
  const size = Buffer.from(`${data.length.toString(16)}\r\n`, 'latin1');
  return Buffer.concat([size, data, Buffer.from('\r\n')]);
}

/** The end of a chunked body. */
export const lastChunk = '0\r\n\r\n';

/** A whole event stream, one chunk an event: `{"n":i}` events, one with the usage, `[DONE]`. */
export const streams =
  (units: number, events = 2): Plan =>
  (call) => {
    call.write(streamHead);
    for (let i = 0; i < events; i += 1) call.write(chunk(`data: {"n":${i}}\n\n`));
    call.write(chunk(`data: {"usage":{"units":${units}}}\n\n`));
    call.complete(Buffer.concat([chunk('data: [DONE]\n\n'), Buffer.from(lastChunk)]));
  };

/** Starts the vendor; by default it answers every call with one unit. */
export async function startPricedOrigin(): Promise<PricedOrigin> {
  return new Vendor(await startOrigin());
}

class Vendor implements PricedOrigin {
  readonly #origin: RecordingOrigin;
  readonly calls: VendorCall[] = [];
  readonly #plans = new Map<string, Plan>();
  #plan: Plan = answers();
  #held: VendorCall[] | null = null;
  #arrivals = new Map<string, number>();
  #completions = new Map<string, number>();
  readonly #watchers = new Set<() => void>();

  constructor(origin: RecordingOrigin) {
    this.#origin = origin;
    origin.answer((request) => this.#arrived(request));
  }

  get port(): number {
    return this.#origin.port;
  }

  get authority(): string {
    return this.#origin.authority;
  }

  plan(plan: Plan): void {
    this.#plan = plan;
  }

  planFor(caseId: string, plan: Plan): void {
    this.#plans.set(caseId, plan);
  }

  hold(): void {
    this.#held ??= [];
  }

  open(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const call of held) void this.#carryOut(call);
  }

  waiting = (): number => this.#held?.length ?? 0;
  arrivals = (caseId: string): number => this.#arrivals.get(caseId) ?? 0;
  completions = (caseId: string): number => this.#completions.get(caseId) ?? 0;
  cases = (): readonly string[] => [
    ...new Set([...this.#arrivals.keys(), ...this.#completions.keys()]),
  ];
  completed = (): number => [...this.#completions.values()].reduce((sum, n) => sum + n, 0);

  async until(done: () => boolean, timeoutMs = 10_000): Promise<void> {
    if (done()) return;
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const look = (): void => {
        if (!done()) return;
        end();
        resolve();
      };
      const timer = setTimeout(() => {
        end();
        const seen = `${this.calls.length} arrived, ${this.completed()} done`;
        reject(new Error(`the vendor saw nothing more within ${timeoutMs} ms: ${seen}`));
      }, timeoutMs);
      this.#watchers.add(look);
    });
  }

  clear(): void {
    this.calls.length = 0;
    this.#arrivals = new Map();
    this.#completions = new Map();
    this.#origin.clear();
  }

  close(): Promise<void> {
    return this.#origin.close();
  }

  #arrived(request: RecordedRequest): void {
    const vendorKey = headerOf(request.lines, 'idempotency-key');
    const caseId = headerOf(request.lines, 'x-case') ?? vendorKey ?? request.target;
    const { socket } = request.connection;
    const write = (bytes: string | Buffer): void => {
      if (!socket.destroyed) socket.write(bytes);
    };
    const call: VendorCall = {
      caseId,
      vendorKey,
      request,
      socket,
      gone: () => request.connection.closedAtMs !== null,
      write,
      complete: (bytes = '') => {
        count(this.#completions, caseId);
        if (bytes.length > 0) write(bytes);
        this.#wake();
      },
    };
    this.calls.push(call);
    count(this.#arrivals, caseId);
    if (this.#held === null) void this.#carryOut(call);
    else this.#held.push(call);
    this.#wake();
  }

  async #carryOut(call: VendorCall): Promise<void> {
    await (this.#plans.get(call.caseId) ?? this.#plan)(call);
  }

  #wake(): void {
    for (const look of [...this.#watchers]) look();
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
