import { describe, expect, it } from 'vitest';
import { byteBufferKeptMax } from '../../../../src/base/limits-money';
import { ByteBuffer } from '../../../../src/domain/pricing/byte-buffer';

const blockBytes = (buffer: ByteBuffer): number => buffer.view().buffer.byteLength;

describe('ByteBuffer', () => {
  it('holds the pieces in their order, and grows by doubling', () => {
    const buffer = new ByteBuffer();
    const blocks = [1, 2, 3, 4, 5].map((byte) => {
      buffer.append(Uint8Array.of(byte));
      return blockBytes(buffer);
    });
    expect(blocks).toEqual([1, 2, 4, 4, 8]);
    expect([...buffer.view()]).toEqual([1, 2, 3, 4, 5]);
    buffer.append(new Uint8Array(20));
    expect([buffer.length, blockBytes(buffer)]).toEqual([25, 25]);
  });

  it.each([
    [byteBufferKeptMax, byteBufferKeptMax],
    [byteBufferKeptMax + 1, 0],
  ])('cleared after %d bytes it keeps a block of %d', (bytes, kept) => {
    const buffer = new ByteBuffer();
    buffer.append(new Uint8Array(bytes));
    buffer.clear();
    expect([buffer.length, blockBytes(buffer)]).toEqual([0, kept]);
  });
});
