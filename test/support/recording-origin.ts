/**
 * A raw TCP origin that records every byte of every request and answers with exact bytes. It frames requests only as far as it must to
 * know when one is complete; anything odd stays visible in `raw`.
 */
import net from 'node:net';
import { dechunk, headerOf } from './raw-client.ts';

export interface RecordedRequest {
  readonly raw: Buffer;
  readonly requestLine: string;
  readonly method: string;
  /** The request target, byte for byte (latin1). */
  readonly target: string;
  /** Header lines as received. */
  readonly lines: readonly string[];
  readonly body: Buffer;
  readonly connection: OriginConnection;
}

export interface OriginConnection {
  readonly socket: net.Socket;
  /** All bytes of the connection. */
  bytes: Buffer;
  /** performance.now() when the connection was closed or reset, or `null` while it is open. */
  closedAtMs: number | null;
}

/** What to answer: bytes now, or a function that drives the socket. */
export type Answer = string | Buffer | ((request: RecordedRequest) => void | Promise<void>);

export interface RecordingOrigin {
  readonly port: number;
  readonly authority: string;
  /** Complete requests, in order. */
  readonly requests: RecordedRequest[];
  readonly connections: OriginConnection[];
  /** Sets the answer of every following request. */
  answer(answer: Answer): void;
  /** Forgets what was recorded. */
  clear(): void;
  /** Waits until `count` requests have arrived. */
  arrived(count?: number, timeoutMs?: number): Promise<RecordedRequest>;
  close(): Promise<void>;
}

/** An HTTP/1.1 answer with Content-Length. */
export function reply(
  status: string,
  headers: readonly string[] = [],
  body: string | Buffer = '',
): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  return Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${status}\r\n${[...headers, `Content-Length: ${bytes.length}`].join('\r\n')}\r\n\r\n`,
      'latin1',
    ),
    bytes,
  ]);
}

/** Starts an origin on a free loopback port. */
export async function startOrigin(
  initial: Answer = reply('200 OK', [], 'ok'),
): Promise<RecordingOrigin> {
  let current = initial;
  const requests: RecordedRequest[] = [];
  const connections: OriginConnection[] = [];
  const waiters = new Set<() => void>();
  const server = net.createServer({ noDelay: true }, (socket) => {
    const connection: OriginConnection = { socket, bytes: Buffer.alloc(0), closedAtMs: null };
    connections.push(connection);
    let pending = Buffer.alloc(0);
    const closed = (): void => {
      connection.closedAtMs ??= performance.now();
    };
    socket.on('error', closed);
    socket.on('close', closed);
    socket.on('end', closed);
    socket.on('data', (chunk: Buffer) => {
      connection.bytes = Buffer.concat([connection.bytes, chunk]);
      pending = Buffer.concat([pending, chunk]);
      for (;;) {
        const taken = takeRequest(pending, connection);
        if (taken === null) return;
        pending = pending.subarray(taken.raw.length);
        requests.push(taken);
        for (const wake of [...waiters]) wake();
        if (typeof current === 'function') void current(taken);
        else socket.write(current);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const port = (server.address() as net.AddressInfo).port;
  return {
    port,
    authority: `127.0.0.1:${port}`,
    requests,
    connections,
    answer(answer) {
      current = answer;
    },
    clear() {
      requests.length = 0;
      connections.length = 0;
    },
    async arrived(count = 1, timeoutMs = 10_000) {
      const deadline = Date.now() + timeoutMs;
      while (requests.length < count) {
        const left = deadline - Date.now();
        if (left <= 0)
          throw new Error(
            `${requests.length} of ${count} requests reached the origin within ${timeoutMs} ms`,
          );
        await new Promise<void>((resolve) => {
          const timer = setTimeout(done, left);
          function done(): void {
            clearTimeout(timer);
            waiters.delete(done);
            resolve();
          }
          waiters.add(done);
        });
      }
      return requests[count - 1] as RecordedRequest;
    },
    close() {
      for (const { socket } of connections) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The first complete request of a buffer, or `null`. */
function takeRequest(bytes: Buffer, connection: OriginConnection): RecordedRequest | null {
  const cut = bytes.indexOf('\r\n\r\n');
  if (cut < 0) return null;
  const head = bytes.toString('latin1', 0, cut);
  const [requestLine = '', ...lines] = head.split('\r\n');
  const [method = '', target = ''] = requestLine.split(' ');
  const rest = bytes.subarray(cut + 4);
  const make = (bodyBytes: number, body: Buffer): RecordedRequest => ({
    raw: bytes.subarray(0, cut + 4 + bodyBytes),
    requestLine,
    method,
    target,
    lines,
    body,
    connection,
  });
  if (/chunked/i.test(headerOf(lines, 'transfer-encoding') ?? '')) {
    const { body, complete } = dechunk(rest);
    if (!complete) return null;
    const end =
      rest.indexOf('0\r\n\r\n', Math.max(0, rest.length - 8)) < 0
        ? rest.indexOf('\r\n0\r\n\r\n') + 7
        : rest.length;
    return make(end, body);
  }
  const length = Number(headerOf(lines, 'content-length') ?? 0);
  return rest.length < length ? null : make(length, rest.subarray(0, length));
}
