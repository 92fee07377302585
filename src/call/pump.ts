/**
 * Body pumps: the few cases in which JavaScript may touch a body: a chunked upload is counted, a bound JSON body is read, an answer of
 * a `track_body` upstream is followed to its end.
 * Promises: BYOB reads (a default reader is ten times dearer), bounded memory, a broken stream stays broken. Called by stages 08 and 11.
 */
import { pumpChunkBytes } from '../base/limits';

/** Reads a body into memory; `null` when it has more than `bytesMax` bytes. Throws when the stream breaks. */
export async function readAll(body: ReadableStream, bytesMax: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  const reader = body.getReader({ mode: 'byob' });
  for (;;) {
    const { value, done } = await reader.read(new Uint8Array(pumpChunkBytes));
    if (done) break;
    total += value.byteLength;
    if (total > bytesMax) {
      await reader.cancel();
      return null;
    }
    chunks.push(value);
  }
  return joined(chunks, total);
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

/** The same bytes, still chunked; cut (a broken body for the upstream) after `bytesMax`, telling `onOverrun` first. */
export function limitBody(body: ReadableStream, bytesMax: number, onOverrun: () => void): ReadableStream {
  const { readable, writable } = new IdentityTransformStream();
  void copy(body, writable, (total) => {
    if (total <= bytesMax) return true;
    onOverrun();
    return false;
  });
  return readable;
}

/** How a followed body ended. */
export type BodyEnd = 'complete' | 'upstream_broke' | 'caller_left' | 'idle';

/** Follows an answer's body to its end: bytes, idle timeout, outcome. `length` is its Content-Length when it has one. */
export function trackBody(
  body: ReadableStream,
  options: { readonly length: number | null; readonly idleTimeoutMs: number; readonly onEnd: (end: BodyEnd, bytes: number) => void },
): ReadableStream {
  const { readable, writable } = options.length === null ? new IdentityTransformStream() : new FixedLengthStream(options.length);
  let bytes = 0;
  let idle = false;
  let lastAtMs = Date.now();
  const abort = new AbortController();
  const timer = setInterval(() => {
    if (Date.now() - lastAtMs < options.idleTimeoutMs) return;
    idle = true;
    abort.abort();
  }, Math.max(10, Math.floor(options.idleTimeoutMs / 4)));
  const follow = async (): Promise<void> => {
    const end = await copy(body, writable, (total) => {
      bytes = total;
      lastAtMs = Date.now();
      return true;
    }, abort.signal);
    clearInterval(timer);
    options.onEnd(idle ? 'idle' : end, bytes);
  };
  void follow();
  return readable;
}

type CopyEnd = 'complete' | 'upstream_broke' | 'caller_left';

/** Copies until the end, a refusal of `allow`, or a fault on either side; never a clean end after a broken read. */
async function copy(
  body: ReadableStream,
  writable: WritableStream,
  allow: (total: number) => boolean,
  signal?: AbortSignal,
): Promise<CopyEnd> {
  const reader = body.getReader({ mode: 'byob' });
  const writer = writable.getWriter();
  signal?.addEventListener('abort', () => void reader.cancel('idle').catch(() => undefined));
  let total = 0;
  let reading = true;
  try {
    for (;;) {
      reading = true;
      const { value, done } = await reader.read(new Uint8Array(pumpChunkBytes));
      if (signal?.aborted) throw new Error('idle');
      if (done) break;
      total += value.byteLength;
      if (!allow(total)) throw new Error('over the limit');
      reading = false;
      await writer.write(value);
    }
    await writer.close();
    return 'complete';
  } catch (fault) {
    await writer.abort(fault).catch(() => undefined);
    await reader.cancel(fault).catch(() => undefined);
    return reading ? 'upstream_broke' : 'caller_left';
  }
}
