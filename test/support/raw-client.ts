/**
 * A raw TCP client: sends exact bytes, keeps exact bytes. Nothing is parsed on the way; helpers read the recorded bytes afterwards.
 */
import net from 'node:net';

export interface RawAnswer {
  /** All bytes that came. */
  readonly bytes: Buffer;
  /** The connection ended while we waited. */
  readonly ended: 'fin' | 'reset' | 'open';
  readonly head: string;
  readonly statusLine: string;
  readonly status: number;
  /** Header lines as they were sent, without CRLF. */
  readonly lines: readonly string[];
  /** Body bytes after undoing chunked framing. */
  readonly body: Buffer;
  /** The framing was complete: all of Content-Length, or the last chunk. */
  readonly complete: boolean;
}

/** How long an answer may take that is not measured, milliseconds: 8 MiB through a machine that has other work took more than ten seconds. */
const patienceMs = 30_000;

/** An open connection under test control. */
export class RawConnection {
  readonly socket: net.Socket;
  bytes = Buffer.alloc(0);
  ended: 'fin' | 'reset' | 'open' = 'open';
  /** When each chunk arrived, performance.now() milliseconds. */
  readonly arrivals: { readonly atMs: number; readonly text: string }[] = [];
  readonly #waiters = new Set<() => void>();

  private constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, chunk]);
      this.arrivals.push({ atMs: performance.now(), text: chunk.toString('latin1') });
      this.#wake();
    });
    socket.on('end', () => this.#end('fin'));
    socket.on('error', () => this.#end('reset'));
    socket.on('close', () => this.#end('fin'));
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  send(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Waits until `done` holds, or fails after `timeoutMs`. */
  async until(done: () => boolean, timeoutMs = patienceMs): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!done()) {
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(
          `nothing more came within ${timeoutMs} ms; so far: ${JSON.stringify(this.bytes.toString('latin1').slice(0, 400))}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(finish, left);
        const waiters = this.#waiters;
        function finish(): void {
          clearTimeout(timer);
          waiters.delete(finish);
          resolve();
        }
        waiters.add(finish);
      });
    }
  }

  /** Waits for one whole answer (or the end of the connection). `method` HEAD has no body. */
  async answer(method = 'GET', timeoutMs = patienceMs): Promise<RawAnswer> {
    await this.until(
      () => this.ended !== 'open' || readAnswer(this.bytes, method, this.ended).complete,
      timeoutMs,
    );
    return readAnswer(this.bytes, method, this.ended);
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  close(): void {
    this.socket.destroy();
  }

  #end(how: 'fin' | 'reset'): void {
    if (this.ended === 'open') this.ended = how;
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }
}

/** One exchange on a connection of its own. */
export async function exchange(
  port: number,
  request: string | Buffer,
  options: { method?: string; timeoutMs?: number } = {},
): Promise<RawAnswer> {
  const connection = await RawConnection.open(port);
  try {
    connection.send(request);
    const method =
      options.method ??
      (typeof request === 'string' ? request : request.toString('latin1', 0, 20)).split(' ')[0] ??
      'GET';
    return await connection.answer(method, options.timeoutMs);
  } finally {
    connection.close();
  }
}

/** Reads recorded bytes as one answer; 1xx answers are skipped. */
export function readAnswer(bytes: Buffer, method: string, ended: RawAnswer['ended']): RawAnswer {
  const cut = bytes.indexOf('\r\n\r\n');
  if (cut < 0)
    return {
      bytes,
      ended,
      head: '',
      statusLine: '',
      status: 0,
      lines: [],
      body: Buffer.alloc(0),
      complete: false,
    };
  const head = bytes.toString('latin1', 0, cut);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  if (status >= 100 && status < 200 && status !== 101)
    return readAnswer(bytes.subarray(cut + 4), method, ended);
  const rest = bytes.subarray(cut + 4);
  const { body, complete } = readBody(rest, lines, method, status, ended);
  return { bytes, ended, head, statusLine, status, lines, body, complete };
}

function readBody(
  rest: Buffer,
  lines: readonly string[],
  method: string,
  status: number,
  ended: RawAnswer['ended'],
): { body: Buffer; complete: boolean } {
  if (method === 'HEAD' || status === 204 || status === 304 || status === 101)
    return { body: rest, complete: true };
  if (/chunked/i.test(headerOf(lines, 'transfer-encoding') ?? '')) return dechunk(rest);
  const length = headerOf(lines, 'content-length');
  if (length === null) return { body: rest, complete: ended === 'fin' };
  return { body: rest.subarray(0, Number(length)), complete: rest.length >= Number(length) };
}

/** Undoes chunked framing; `complete` only after the last chunk. */
export function dechunk(bytes: Buffer): { body: Buffer; complete: boolean } {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return { body: Buffer.concat(parts), complete: false };
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (Number.isNaN(size)) return { body: Buffer.concat(parts), complete: false };
    if (size === 0)
      return { body: Buffer.concat(parts), complete: bytes.indexOf('\r\n', end + 2) >= 0 };
    if (bytes.length < end + 2 + size) {
      parts.push(bytes.subarray(end + 2));
      return { body: Buffer.concat(parts), complete: false };
    }
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** Value of the first header line of that name, or `null`. */
export function headerOf(lines: readonly string[], name: string): string | null {
  const line = lines.find((l) => l.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return line === undefined ? null : line.slice(line.indexOf(':') + 1).trim();
}

/** All values of a name, one per line, in order. */
export const headersOf = (lines: readonly string[], name: string): string[] =>
  lines
    .filter((l) => l.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    .map((l) => l.slice(l.indexOf(':') + 1).trim());
