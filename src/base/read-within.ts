/**
 * Read within: a body whole, up to a bound.
 * Promises: what is held is the bytes and one buffer, whatever the pieces are in which they come; beyond the bound the stream is cancelled
 * and nothing is kept. The attack: 5,000 chunks of one byte, 30 KB on the wire, held 64 KiB each and took the isolate's memory.
 * Called by call/pump.ts, by the management API and by the adapters that ask vendors and aggregators on the operator's behalf.
 */
import { pumpChunkBytes } from './limits';

/** All bytes; null: there are more than `bytesMax`. Rejects when the body breaks. */
export async function readWithin(
  body: ReadableStream | null,
  bytesMax: number,
): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader({ mode: 'byob' });
  const bytes = await readBytes(reader, bytesMax);
  if (bytes === null) await reader.cancel();
  return bytes;
}

/** As the standard has it: the buffer comes back with the end too. The platform's types leave it out. */
interface Read {
  readonly done: boolean;
  readonly value?: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * The same of a stream that its owner has opened, and cancels. Each piece is read into what the one before has left of a buffer; `length`,
 * where one was promised, makes the first one no larger than it takes.
 */
export async function readBytes(
  reader: ReadableStreamBYOBReader,
  bytesMax: number,
  length: number | null = null,
): Promise<Uint8Array | null> {
  const full: Uint8Array[] = [];
  let total = 0;
  let filled = 0;
  // One byte more than was promised: the end is read into it.
  let room = new Uint8Array(Math.min(pumpChunkBytes, (length ?? pumpChunkBytes) + 1));
  for (;;) {
    const read: Read = await reader.read(room);
    const { value } = read;
    // A stream that was cancelled keeps the buffer; its owner has asked for no more.
    if (value === undefined) return null;
    if (read.done) return joined(full, new Uint8Array(value.buffer, 0, filled));
    total += value.byteLength;
    if (total > bytesMax) return null;
    filled += value.byteLength;
    if (filled < value.buffer.byteLength) {
      room = new Uint8Array(value.buffer, filled);
    } else {
      full.push(new Uint8Array(value.buffer));
      room = new Uint8Array(pumpChunkBytes);
      filled = 0;
    }
  }
}

function joined(full: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  if (full.length === 0) return last;
  const out = new Uint8Array(full.reduce((sum, piece) => sum + piece.byteLength, last.byteLength));
  let at = 0;
  for (const piece of [...full, last]) {
    out.set(piece, at);
    at += piece.byteLength;
  }
  return out;
}
