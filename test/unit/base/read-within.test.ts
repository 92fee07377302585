/** Reading a body whole: its bytes, its bound, and no more memory than both. */
import { describe, expect, it } from 'vitest';
import { pumpChunkBytes } from '../../../src/base/limits';
import { readWithin } from '../../../src/base/read-within';
import { readAll } from '../../../src/call/pump';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const bodyOf = (text: string): ReadableStream => new Response(text).body as ReadableStream;

/** A body of so many pieces of one byte, the buffers that it was given to read into, and whether it was let go. */
function drip(pieces: number) {
  const seen = { buffers: new Set<ArrayBufferLike>(), isCancelled: false };
  let left = pieces;
  const reader = {
    read(room: Uint8Array) {
      if (room.byteOffset === 0) seen.buffers.add(room.buffer);
      const done = left === 0;
      left -= 1;
      room[0] = 0x61;
      return Promise.resolve({ done, value: room.subarray(0, done ? 0 : 1) });
    },
    cancel() {
      seen.isCancelled = true;
      return Promise.resolve();
    },
  };
  return { body: { getReader: () => reader } as unknown as ReadableStream, seen };
}

describe('readWithin', () => {
  it('gives all bytes of a body, of an empty one and of none', async () => {
    const long = 'x'.repeat(2 * pumpChunkBytes) + 'y';
    expect(await readWithin(bodyOf(long), long.length)).toEqual(bytes(long));
    expect(await readWithin(bodyOf(''), 0)).toEqual(new Uint8Array());
    expect(await readWithin(null, 0)).toEqual(new Uint8Array());
  });

  it('takes exactly bytesMax and not one more, and lets the stream go', async () => {
    expect(await readWithin(bodyOf('12345'), 5)).toEqual(bytes('12345'));
    const { body, seen } = drip(6);
    expect(await readWithin(body, 5)).toBeNull();
    expect(seen.isCancelled).toBe(true);
  });

  it('rejects when the body breaks', async () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const reading = readWithin(readable, 5);
    await writer.write(bytes('a'));
    void writer.abort(new Error('broke')).catch(() => undefined);
    await expect(reading).rejects.toThrow();
  });

  it('joins small pieces that cross the end of a buffer', async () => {
    const text = Array.from({ length: 30_000 }, (_, i) => `${i};`).join('');
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const writing = (async () => {
      for (let at = 0; at < text.length; at += 1_000)
        await writer.write(bytes(text.slice(at, at + 1_000)));
      await writer.close();
    })();
    expect(await readWithin(readable, text.length)).toEqual(bytes(text));
    await writing;
  });
});

describe('a body that comes byte by byte', () => {
  const pieces = pumpChunkBytes + 10;

  it.each([
    ['readWithin', (body: ReadableStream) => readWithin(body, pieces)],
    ['readAll', (body: ReadableStream) => readAll(body, pieces, 60_000)],
  ])('is held in as many buffers as its bytes fill: %s', async (_, read) => {
    const { body, seen } = drip(pieces);
    expect(await read(body)).toEqual(bytes('a'.repeat(pieces)));
    expect(seen.buffers.size).toBe(2);
  });

  it.each([
    [0, 0],
    [10, 10],
    [pumpChunkBytes, pumpChunkBytes],
    // A promise that is not kept is no bound: `bytesMax` is.
    [10, 3],
    [10, 70_000],
  ])('of %i promised bytes takes a buffer of no more, and %i that come', async (length, pieces) => {
    const { body, seen } = drip(pieces);
    expect(await readAll(body, 100_000, 60_000, length)).toEqual(bytes('a'.repeat(pieces)));
    const [first] = seen.buffers;
    expect(first?.byteLength).toBe(Math.min(pumpChunkBytes, length + 1));
  });
});
