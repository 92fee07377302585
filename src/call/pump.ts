/**
 * Body pumps: the few cases in which JavaScript may touch a body: a chunked upload is counted, a bound JSON body and an error body are
 * read, an answer of a `track_body` upstream is followed to its end.
 * Promises: BYOB reads (a default reader is ten times dearer), bounded memory, bounded waits, a broken stream never becomes a whole one.
 * Called by stages 08, 10 and 11.
 */
import { pumpChunkBytes } from '../base/limits';

/** Reads a whole body within `bytesMax` bytes and `waitMs` milliseconds. Never throws. */
export async function readAll(
  body: ReadableStream,
  bytesMax: number,
  waitMs: number,
): Promise<Uint8Array | 'too_large' | 'broken' | 'late'> {
  const reader = body.getReader({ mode: 'byob' });
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => late.resolve('late'), waitMs);
  try {
    const read = await Promise.race([readChunks(reader, bytesMax), late.promise]);
    if (read === 'late' || read === 'too_large') void reader.cancel().catch(() => undefined);
    return read;
  } catch {
    return 'broken';
  } finally {
    clearTimeout(timer);
  }
}

async function readChunks(
  reader: ReadableStreamBYOBReader,
  bytesMax: number,
): Promise<Uint8Array | 'too_large'> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { value, done } = await reader.read(new Uint8Array(pumpChunkBytes));
    if (done) return joined(chunks, total);
    total += value.byteLength;
    if (total > bytesMax) return 'too_large';
    chunks.push(value);
  }
}

function joined(chunks: readonly Uint8Array[], total: number): Uint8Array {
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const out = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.byteLength;
  }
  return out;
}

/**
 * The same bytes, still chunked. `onCut` is told before anything is ended, so that the send can be cancelled first: the body has more than
 * `bytesMax` bytes, or broke.
 */
export function limitBody(
  body: ReadableStream,
  bytesMax: number,
  onCut: (why: 'overrun' | 'broken') => void,
): ReadableStream {
  const { readable, writable } = new IdentityTransformStream();
  let overrun = false;
  void copy(body, writable, {
    allow: (total) => {
      overrun = total > bytesMax;
      return !overrun;
    },
    beforeAbort: (end) => {
      if (end === 'source_broke') onCut(overrun ? 'overrun' : 'broken');
    },
  });
  return readable;
}

/** How a followed body ended. */
export type BodyEnd = 'complete' | 'upstream_broke' | 'caller_left' | 'idle';

/** What the follower of a body is told. Sizes in bytes. */
export interface BodyWatch {
  /** Total so far, before each chunk goes on. */
  readonly onBytes: (total: number) => void;
  /** Exactly once. */
  readonly onEnd: (end: BodyEnd) => void;
}

/** Follows an answer's body to its end: bytes, silence of the upstream, outcome. `length` is its Content-Length when it has one. */
export function trackBody(
  body: ReadableStream,
  options: {
    readonly length: number | null;
    readonly idleTimeoutMs: number;
    readonly watch: BodyWatch;
  },
): ReadableStream {
  const { readable, writable } =
    options.length === null ? new IdentityTransformStream() : new FixedLengthStream(options.length);
  const silence = new Silence(options.idleTimeoutMs);
  const follow = async (): Promise<void> => {
    const end = await copy(body, writable, {
      allow: (total) => {
        options.watch.onBytes(total);
        return true;
      },
      length: options.length,
      silence,
    });
    silence.stop();
    options.watch.onEnd(silence.broken ? 'idle' : end === 'source_broke' ? 'upstream_broke' : end);
  };
  void follow();
  return readable;
}

/** Counts only the time in which a read is pending: a caller that reads slowly is not an upstream that is silent. */
class Silence {
  broken = false;
  onBreak: () => void = () => undefined;
  #sinceMs: number | null = null;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(idleTimeoutMs: number) {
    const everyMs = Math.max(10, Math.floor(idleTimeoutMs / 4));
    this.#timer = setInterval(() => {
      if (this.broken || this.#sinceMs === null || Date.now() - this.#sinceMs < idleTimeoutMs)
        return;
      this.broken = true;
      this.onBreak();
    }, everyMs);
  }

  begin(): void {
    this.#sinceMs = Date.now();
  }

  pause(): void {
    this.#sinceMs = null;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

type CopyEnd = 'complete' | 'source_broke' | 'caller_left';

/**
 * A buffer for the next read: what is left of a body whose length is known, and one byte to see its
 * end; a buffer of 64 KiB for an answer of 1 KB costs more than the relay.
 */
const bufferBytes = (total: number, length: number | null | undefined): number =>
  length === null || length === undefined
    ? pumpChunkBytes
    : Math.min(pumpChunkBytes, Math.max(1, length - total));

interface CopyRules {
  /** Whether the total after a chunk may go on. */
  readonly allow: (total: number) => boolean;
  /** Content-Length of the body, when it has one. */
  readonly length?: number | null;
  readonly silence?: Silence;
  /** Called before either side is ended for a fault. */
  readonly beforeAbort?: (end: CopyEnd) => void;
}

/** Copies until the end, a refusal, silence, or a fault on either side; never a clean end after a broken read. */
async function copy(
  body: ReadableStream,
  writable: WritableStream,
  rules: CopyRules,
): Promise<CopyEnd> {
  const reader = body.getReader({ mode: 'byob' });
  const writer = writable.getWriter();
  const { silence } = rules;
  if (silence !== undefined)
    silence.onBreak = () => void reader.cancel('idle').catch(() => undefined);
  let total = 0;
  let reading = true;
  try {
    for (;;) {
      reading = true;
      silence?.begin();
      const { value, done } = await reader.read(new Uint8Array(bufferBytes(total, rules.length)));
      silence?.pause();
      if (silence?.broken) throw new Error('idle');
      if (done) break;
      total += value.byteLength;
      if (!rules.allow(total)) throw new Error('over the limit');
      reading = false;
      await writer.write(value);
    }
    reading = false;
    await writer.close();
    return 'complete';
  } catch (fault) {
    const end = reading ? 'source_broke' : 'caller_left';
    rules.beforeAbort?.(end);
    await writer.abort(fault).catch(() => undefined);
    await reader.cancel(fault).catch(() => undefined);
    return end;
  }
}
