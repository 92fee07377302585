/** A body that came encoded: how large it may become, who lets it go, and that nothing is read before somebody asks. */
import { describe, expect, it } from 'vitest';
import { bodyExpansionMax, requestBodyBytesMax } from '../../../src/base/limits';
import { readBytes } from '../../../src/base/read-within';
import { EncodedBody } from '../../../src/call/encoded-body';

const collected = async (stream: ReadableStream): Promise<Uint8Array> =>
  new Uint8Array(await new Response(stream).arrayBuffer());

/** Zeros in gzip, with a file name in its header that makes it exactly `bytes` long. */
async function zipped(zeros: number, bytes: number): Promise<Uint8Array> {
  const plain = new Blob([new Uint8Array(zeros)]).stream();
  const bare = await collected(plain.pipeThrough(new CompressionStream('gzip')));
  const out = new Uint8Array(bytes).fill(0x61);
  out.set(bare.subarray(0, 10));
  out[3] = 8;
  const behind = bytes - (bare.length - 10);
  out[behind - 1] = 0;
  out.set(bare.subarray(10), behind);
  return out;
}

/** A source that is asked for its chunks one by one. */
function source(chunks: readonly Uint8Array[]) {
  const seen = { pulls: 0, isLetGo: false };
  const body = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      const chunk = chunks[seen.pulls];
      seen.pulls += 1;
      if (chunk !== undefined) controller.enqueue(chunk.slice());
    },
    cancel() {
      seen.isLetGo = true;
    },
  });
  return { body, seen };
}

const read = (body: ReadableStream): Promise<Uint8Array | null> =>
  readBytes(body.getReader({ mode: 'byob' }), 2_000_000, null);

describe('a body in gzip', () => {
  it('may be bodyExpansionMax times larger, and not one byte more', async () => {
    const bytes = 10_000;
    const most = bodyExpansionMax * bytes;
    for (const [zeros, fault] of [
      [most, null],
      [most + 1, 'expansion'],
    ] as const) {
      const encoded = new EncodedBody(new Blob([await zipped(zeros, bytes)]).stream(), ['gzip']);
      const plain = await read(encoded.body).catch(() => 'broken');
      expect([plain === 'broken' ? plain : plain?.length, encoded.fault]).toEqual(
        fault === null ? [most, null] : ['broken', fault],
      );
    }
  });

  it('that is a bomb is let go at once, also while its sender holds back the rest', async () => {
    const { body, seen } = source([await zipped(5_000_000, 10_000)]);
    const encoded = new EncodedBody(body, ['gzip']);
    await expect(read(encoded.body)).rejects.toThrow();
    expect([encoded.fault, seen.isLetGo]).toEqual(['expansion', true]);
  });
});

describe('a body in base64', () => {
  it('is not read before somebody asks for it', async () => {
    const { body, seen } = source([]);
    const encoded = new EncodedBody(body, ['base64']);
    await Promise.resolve();
    expect([encoded.fault, seen.pulls]).toEqual([null, 0]);
  });

  it('of white space without end is cut at requestBodyBytesMax, though it decodes to nothing', async () => {
    const space = new Uint8Array(1_000_000).fill(0x20);
    const { body, seen } = source(Array(requestBodyBytesMax / space.length + 2).fill(space));
    const encoded = new EncodedBody(body, ['base64']);
    await expect(read(encoded.body)).rejects.toThrow();
    expect([encoded.fault, seen.isLetGo]).toEqual(['too_large', true]);
  }, 30_000);

  it('that is none breaks where it stops to be one, and its source is let go', async () => {
    const { body, seen } = source([
      new TextEncoder().encode('YWJjYWJj'),
      new TextEncoder().encode('YW*j'),
    ]);
    const encoded = new EncodedBody(body, ['base64']);
    await expect(read(encoded.body)).rejects.toThrow();
    expect([encoded.fault, seen.isLetGo]).toEqual(['base64', true]);
  });
});
