/** Coded bodies: what a client would decode is decoded, in any number of members and layers; what is cut, changed or followed by more is nothing. */
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeContent } from '../../src/domain/relay/content-coding';

const bytesMax = 100_000;
const coders: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => gzipSync(bytes),
  'x-gzip': (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes),
  zstd: (bytes) => zstdCompressSync(bytes),
  identity: (bytes) => bytes,
};
const coding = fc.constantFrom(...Object.keys(coders));
const real = fc.constantFrom('gzip', 'deflate', 'br', 'zstd');
const plain = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 40 }),
  fc.nat(3_000).map((length) => new Uint8Array(length + 1).fill(97)),
);
const coded = (bytes: Uint8Array, name: string): Uint8Array => coders[name]?.(bytes) ?? bytes;
const joined = (...parts: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => [...part]));
const list = (bytes: Uint8Array | null): readonly number[] | null =>
  bytes === null ? null : [...bytes];

describe('a coded body', () => {
  it('is what was coded, through any layers and however they are spelled', () => {
    const spelled = fc.tuple(coding, fc.boolean(), fc.constantFrom('', ' ', '\t'));
    fc.assert(
      fc.property(plain, fc.array(spelled, { maxLength: 2 }), (bytes, layers) => {
        const body = layers.reduce<Uint8Array>((inner, [name]) => coded(inner, name), bytes);
        const header = layers.map(
          ([name, isUpper, space]) => space + (isUpper ? name.toUpperCase() : name) + space,
        );
        expect(list(decodeContent(body, header.join(','), bytesMax))).toEqual([...bytes]);
      }),
      { numRuns: 60 },
    );
  });

  it('of several gzip members is all of them; raw deflate is deflate', () => {
    fc.assert(
      fc.property(fc.array(plain, { minLength: 1, maxLength: 3 }), (parts) => {
        const members = joined(...parts.map((part) => gzipSync(part)));
        expect(list(decodeContent(members, 'gzip', bytesMax))).toEqual([...joined(...parts)]);
        const raw = deflateRawSync(joined(...parts));
        expect(list(decodeContent(raw, 'deflate', bytesMax))).toEqual([...joined(...parts)]);
      }),
      { numRuns: 40 },
    );
  });

  it('that is cut anywhere, or has bytes behind its end, is nothing', () => {
    const rest = fc.uint8Array({ minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(plain, real, fc.nat(), rest, (bytes, name, pick, behind) => {
        const body = coded(bytes, name);
        const cut = body.subarray(0, 1 + (pick % (body.length - 1)));
        expect(decodeContent(cut, name, bytesMax)).toBeNull();
        expect(decodeContent(joined(body, behind), name, bytesMax)).toBeNull();
      }),
      { numRuns: 60 },
    );
  });

  it('that grows beyond the bound is nothing, and up to it is all', () => {
    fc.assert(
      fc.property(real, fc.integer({ min: 1, max: 4_000 }), (name, length) => {
        const body = coded(new Uint8Array(length).fill(97), name);
        expect(decodeContent(body, name, length)?.length).toBe(length);
        expect(length === 1 ? null : decodeContent(body, name, length - 1)).toBeNull();
      }),
      { numRuns: 40 },
    );
  });

  it('never throws and never gives what is no stream', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 30 }), real, (bytes, name) => {
        const decoded = decodeContent(bytes, name, bytesMax);
        if (decoded !== null && name !== 'deflate' && name !== 'br')
          expect(list(decodeContent(coded(decoded, name), name, bytesMax))).toEqual([...decoded]);
      }),
      { numRuns: 100 },
    );
  });
});
