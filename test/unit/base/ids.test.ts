/** Ids: a ULID behind a prefix, as the specification writes it, and never twice the same. */
import { describe, expect, it } from 'vitest';
import { isId, newId, ulid } from '../../../src/base/ids';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The same 80 bits, five at a time, by the plainest way. */
const spelled = (bytes: Uint8Array): string => {
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return Array.from({ length: 16 }, (_, at) =>
    alphabet.charAt(Number((value >> BigInt(5 * (15 - at))) & 31n)),
  ).join('');
};

describe('a ULID', () => {
  it.each([
    [0, '0000000000'],
    [31, '000000000Z'],
    [32, '0000000010'],
    [1_469_922_850_259, '01ARZ3NDEK'],
    [2 ** 48 - 1, '7ZZZZZZZZZ'],
  ])('of %d ms begins with %s', (ms, time) => {
    expect(ulid(ms, new Uint8Array(10))).toBe(`${time}${'0'.repeat(16)}`);
  });

  it.each([
    [Uint8Array.from({ length: 10 }, () => 0xff)],
    [Uint8Array.from({ length: 10 }, (_, at) => 37 * at + 11)],
    [Uint8Array.from({ length: 10 }, (_, at) => (at === 9 ? 1 : 0))],
    [Uint8Array.from({ length: 10 }, (_, at) => (at === 0 ? 0x80 : 0))],
  ])('ends with its random bytes %j', (bytes) => {
    expect(ulid(0, bytes)).toBe(`${'0'.repeat(10)}${spelled(bytes)}`);
  });
});

describe('an id', () => {
  it('is its own: of one millisecond there are many, with every letter at every place', () => {
    const ids = Array.from({ length: 2_000 }, () => newId('hld', 1_469_922_850_259));
    expect(new Set(ids.map((id) => id.slice(-16))).size).toBe(ids.length);
    expect(ids.every((id) => id.startsWith('hld_01ARZ3NDEK') && isId('hld', id))).toBe(true);
    for (let at = 1; at <= 16; at += 1) {
      expect([at, new Set(ids.map((id) => id.at(-at))).size]).toEqual([at, alphabet.length]);
    }
  });

  const good = 'ups_01ARZ3NDEKTSV4RRFFQ69G5FAV';

  it.each([
    [good, true],
    [good.slice(0, -1), false],
    [`${good}0`, false],
    [`x${good}`, false],
    [good.replace('ups', 'key'), false],
    [good.replace('_', ''), false],
    [good.toLowerCase(), false],
    [good.replace('V4', 'U4'), false],
    [`${good.slice(0, -1)}\n`, false],
  ])('%j is one of ups: %s', (text, expected) => {
    expect(isId('ups', text)).toBe(expected);
  });
});
