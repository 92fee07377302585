/**
 * Body pumps: the few cases in which JavaScript may touch a body: a chunked upload is counted, a bound JSON body and an error body are
 * read, an answer of a `track_body` upstream is followed to its end.
 * Promises: BYOB reads (a default reader is ten times dearer), bounded memory, bounded waits, a broken stream never becomes a whole one.
 * Called by every stage and branch that reads a body.
 */
import { pumpChunkBytes } from '../base/limits';
import { readBytes } from '../base/read-within';
import { ByteBuffer } from '../domain/pricing/byte-buffer';

/** Reads a whole body within `bytesMax` bytes and `waitMs` milliseconds; `length`: what was promised, where something was. Never throws. */
export async function readAll(
  body: ReadableStream,
  bytesMax: number,
  waitMs: number,
  length: number | null = null,
): Promise<Uint8Array | 'too_large' | 'broken' | 'late'> {
  const reader = body.getReader({ mode: 'byob' });
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => late.resolve('late'), waitMs);
  try {
    const read = await Promise.race([readBytes(reader, bytesMax, length), late.promise]);
    if (read === 'late' || read === null) void reader.cancel().catch(() => undefined);
    return read ?? 'too_large';
  } catch {
    return 'broken';
  } finally {
    clearTimeout(timer);
  }
}

/** What a pumped upload tells. */
export interface UploadWatch {
  readonly onBytes: (total: number) => void;
  readonly onCut: (why: 'overrun' | 'broken') => void;
}

/**
 * The same bytes, still chunked. `onBytes` is told how many there were so far; `onCut` before anything is ended, so that the send can be
 * cancelled first: the body has more than `bytesMax` bytes, or broke.
 */
export function limitBody(
  body: ReadableStream,
  bytesMax: number,
  { onBytes, onCut }: UploadWatch,
): ReadableStream {
  const { readable, writable } = new IdentityTransformStream();
  let overrun = false;
  void copy(body, writable, {
    allow: (total) => {
      onBytes(total);
      overrun = total > bytesMax;
      return !overrun;
    },
    beforeAbort: (end) => {
      if (end === 'source_broke') onCut(overrun ? 'overrun' : 'broken');
    },
  });
  return readable;
}

/** How a followed body ended. `drained`: the caller had left, and the upstream was read to its end all the same. */
export type BodyEnd = 'complete' | 'upstream_broke' | 'caller_left' | 'drained' | 'idle';

/** A body whose first chunk is being read. */
export interface BegunBody {
  readonly reader: ReadableStreamBYOBReader;
  readonly first: Promise<ReadableStreamReadResult<Uint8Array>>;
}

/** What the follower of a body is told. Sizes in bytes. */
export interface BodyWatch {
  /** What {@link oneChunk} made of the body. */
  readonly begun?: BegunBody;
  /** Sees each chunk as it passes; must neither change nor keep it. */
  readonly onChunk?: (chunk: Uint8Array) => void;
  /** Whether the upstream is read to its end when the caller has left. */
  readonly drains?: boolean;
  /** Tells when the caller has left: an answer that nobody takes is never read, and a write to it never ends. */
  readonly whenLeft?: ((then: () => void) => void) | undefined;
  readonly silence: Silence;
  /** Total so far, before each chunk goes on. */
  readonly onBytes: (total: number) => void;
  /** Exactly once. A promise holds back the end of a body that is complete, as the caller sees it. */
  readonly onEnd: (end: BodyEnd) => void | Promise<void>;
}

/**
 * A body of `length` bytes that comes in one chunk before anybody must look at its silence: nothing is left to pump, and a pump costs more
 * than the relay. What came otherwise, or not yet, is for {@link trackBody}. Never rejects.
 */
export function oneChunk(
  body: ReadableStream,
  length: number,
  silence: Silence,
): Promise<Uint8Array | BegunBody> {
  const reader = body.getReader({ mode: 'byob' });
  const first = readUnder(silence, reader, length);
  const came = first.then(
    ({ value }) => value ?? null,
    () => null,
  );
  return Promise.race([came, silence.watched]).then((chunk) => {
    if (chunk?.byteLength !== length) return { reader, first };
    silence.stop();
    return chunk;
  });
}

/** One read of at most `bytesMax` bytes, ended when the upstream is silent for too long. */
function readUnder(
  silence: Silence | undefined,
  reader: ReadableStreamBYOBReader,
  bytesMax: number,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  if (silence !== undefined) {
    silence.onBreak = () => void reader.cancel('idle').catch(() => undefined);
    silence.begin();
  }
  return reader.read(new Uint8Array(bytesMax));
}

/**
 * Follows an answer's body to its end: bytes, silence of the upstream, outcome. `length` is its Content-Length when it has one.
 * The end is told before the client's side is closed: once that is closed the runtime may drop the context.
 */
export function trackBody(
  body: ReadableStream,
  options: {
    readonly length: number | null;
    readonly watch: BodyWatch;
  },
): ReadableStream {
  const { length, watch } = options;
  const { silence } = watch;
  const { readable, writable } =
    length === null ? new IdentityTransformStream() : new FixedLengthStream(length);
  const finish = (end: CopyEnd): void | Promise<void> => {
    silence.stop();
    return watch.onEnd(silence.broken ? 'idle' : end === 'source_broke' ? 'upstream_broke' : end);
  };
  void copy(watch.begun ?? body, writable, {
    allow: (total) => {
      watch.onBytes(total);
      return true;
    },
    length,
    silence,
    onChunk: watch.onChunk,
    drains: watch.drains ?? false,
    whenLeft: watch.whenLeft,
    beforeClose: () => finish('complete'),
  }).then((end) => {
    if (end !== 'complete') void finish(end);
  });
  return readable;
}

/**
 * How long an upstream has sent nothing. Counts only the time in which a read is pending: a caller that reads slowly is not an upstream
 * that is silent. Needs its timer from {@link watch} on: most bodies are through before anybody must look.
 */
export class Silence {
  broken = false;
  onBreak: () => void = () => undefined;
  /** Ends with the first {@link watch}. */
  readonly watched: Promise<null>;
  readonly #onWatched: (none: null) => void;
  readonly #idleTimeoutMs: number;
  #sinceMs: number | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;
  #isOver = false;

  constructor(idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
    const watched = Promise.withResolvers<null>();
    this.watched = watched.promise;
    this.#onWatched = watched.resolve;
  }

  /** Starts to look. */
  watch(): void {
    this.#onWatched(null);
    if (this.#timer !== null || this.#isOver) return;
    const everyMs = Math.max(10, Math.floor(this.#idleTimeoutMs / 4));
    this.#timer = setInterval(() => {
      if (this.broken || this.#sinceMs === null) return;
      if (Date.now() - this.#sinceMs < this.#idleTimeoutMs) return;
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
    this.#isOver = true;
    if (this.#timer !== null) clearInterval(this.#timer);
  }
}

type CopyEnd = 'complete' | 'source_broke' | 'caller_left' | 'drained';

/** A buffer for the next read: what is left of a body whose length is known; 64 KiB for an answer of 1 KB cost more than the relay. */
const bufferBytes = (total: number, length: number | null): number =>
  length === null ? pumpChunkBytes : Math.min(pumpChunkBytes, Math.max(1, length - total));

interface CopyRules {
  /** Whether the total after a chunk may go on. */
  readonly allow: (total: number) => boolean;
  /** Content-Length of the body, when it has one. */
  readonly length?: number | null;
  readonly silence?: Silence;
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined;
  readonly drains?: boolean;
  readonly whenLeft?: ((then: () => void) => void) | undefined;
  /** Called before either side is ended for a fault. */
  readonly beforeAbort?: (end: CopyEnd) => void;
  /** Called when every byte was taken by the other side, before that is closed. */
  readonly beforeClose?: () => void | Promise<void>;
}

/** Copies until the end, a refusal, silence, or a fault on either side; never a clean end after a broken read. */
async function copy(
  body: ReadableStream | BegunBody,
  writable: WritableStream,
  rules: CopyRules,
): Promise<CopyEnd> {
  const begun = 'first' in body ? body : { reader: body.getReader({ mode: 'byob' }), first: null };
  const { reader } = begun;
  const writer = writable.getWriter();
  const { silence, length = null } = rules;
  let next = begun.first;
  let total = 0;
  let reading = true;
  const taker = new Taker(writer, rules.drains ?? false);
  rules.whenLeft?.(() => taker.leave());
  try {
    // A length that is reached needs no read more to know that it is the end.
    while (length === null || total < length) {
      reading = true;
      next ??= readUnder(silence, reader, bufferBytes(total, length));
      const { value, done } = await next;
      next = null;
      silence?.pause();
      if (silence?.broken) throw new Error('idle');
      if (done) break;
      total += value.byteLength;
      if (!rules.allow(total)) throw new Error('over the limit');
      rules.onChunk?.(value);
      reading = false;
      await taker.take(value);
    }
    if (length !== null && total < length) throw new Error('too short');
    if (taker.hasLeft) return 'drained';
    reading = false;
    await rules.beforeClose?.();
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

/** The caller's side of a body. Where the upstream is drained, a caller that is gone is no reason to stop, and nobody waits for it. */
class Taker {
  hasLeft = false;
  readonly #writer: WritableStreamDefaultWriter;
  readonly #drains: boolean;
  #stopWaiting: (() => void) | null = null;

  constructor(writer: WritableStreamDefaultWriter, drains: boolean) {
    this.#writer = writer;
    this.#drains = drains;
  }

  leave(): void {
    if (!this.#drains) return;
    this.hasLeft = true;
    this.#stopWaiting?.();
  }

  async take(chunk: Uint8Array): Promise<void> {
    if (this.hasLeft) return;
    if (!this.#drains) return this.#writer.write(chunk);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stopWaiting = resolve;
    this.#writer.write(chunk).then(resolve, () => {
      this.hasLeft = true;
      resolve();
    });
    await promise;
  }
}

/** Copies of the chunks of a body, up to a bound. */
export class KeptBytes {
  readonly #bytesMax: number;
  /** No list of chunks: a copy of one byte takes two hundred. */
  readonly #kept = new ByteBuffer();
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Uint8Array): void {
    this.#total += chunk.byteLength;
    if (this.#total <= this.#bytesMax) this.#kept.append(chunk);
    else this.#kept.clear();
  }

  /** All of them; `null` when they were too many. */
  bytes(): Uint8Array | null {
    return this.#total <= this.#bytesMax ? this.#kept.view().slice() : null;
  }
}
