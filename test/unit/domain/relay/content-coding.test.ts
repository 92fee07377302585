/** What is judged is the whole of what a client would decode: no frame behind the first, no name of JavaScript's own. */
import { describe, expect, it } from 'vitest';
import { decodeContent } from '../../../../src/domain/relay/content-coding';

const of = (base64: string): number[] => [...atob(base64)].map((char) => char.charCodeAt(0));
const textOf = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : new TextDecoder().decode(bytes);
const decoded = (bytes: readonly number[], coding: string): string | null =>
  textOf(decodeContent(Uint8Array.from(bytes), coding, 1_000));

/** Each coding's bytes of `first ` and of `second`, by node:zlib. */
const coded = {
  gzip: ['H4sIAAAAAAAAA0vLLCouUQAA/HrxHAYAAAA=', 'H4sIAAAAAAAAAytOTc7PSwEAaREftgYAAAA='],
  deflate: ['eJxLyywqLlEAAAigAkk=', 'eJwrTk3Oz0sBAAjKAn0='],
  'raw deflate': ['S8ssKi5RAAA=', 'K05Nzs9LAQA='],
  br: ['iwKAZmlyc3QgAw==', 'GwUA+CUAgpBwJA=='],
  zstd: ['KLUv/SAGMQAAZmlyc3Qg', 'KLUv/SAGMQAAc2Vjb25k'],
} as const;
const rows = Object.entries(coded).map(
  ([name, [first, second]]) => [name, name.replace('raw ', ''), of(first), of(second)] as const,
);

describe('a body in one frame', () => {
  it.each(rows)('of %s is decoded', (_, coding, first) => {
    expect(decoded(first, coding)).toBe('first ');
    expect(decoded(first.slice(0, -1), coding)).toBeNull();
  });
});

describe('bytes behind the first frame', () => {
  it('that are another member of gzip are decoded with it', () => {
    expect(decoded([...of(coded.gzip[0]), ...of(coded.gzip[1])], 'gzip')).toBe('first second');
  });

  it.each(rows.slice(1))('are nothing that %s leaves unseen', (_, coding, first, second) => {
    expect(decoded([...first, ...second], coding)).toBeNull();
  });

  it.each(rows)('that are no frame make %s unreadable', (_, coding, first) => {
    expect(decoded([...first, 0x73, 0x6b, 0x2d, 0x31], coding)).toBeNull();
  });
});

describe('the list of codings', () => {
  it('is undone from its end', () => {
    const both = of('H4sIAAAAAAAAA6uY431aR0svkIGBYwGTJwB1wTlPDgAAAA==');
    expect(decoded(both, 'deflate, gzip')).toBe('first ');
    expect(decoded(both, 'gzip, deflate')).toBeNull();
  });

  it.each(['GZip', 'x-gzip', 'identity, gzip', ' gzip ,'])('%j is gzip', (coding) => {
    expect(decoded(of(coded.gzip[0]), coding)).toBe('first ');
  });
});

it.each(['constructor', '__proto__', 'gzip, constructor', 'x'])('%s is no coding', (coding) => {
  expect(decoded(of(coded.gzip[0]), coding)).toBeNull();
});
