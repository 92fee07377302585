import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeQueryPart,
  queryPairs,
  queryPairValue,
  setQueryPair,
  withoutQueryPairs,
} from '../../src/domain/relay/query';

const target = 'key';
/** Spellings of the target, and names that only look like it. */
const ours = fc.constantFrom('key', '%6Bey', 'k%65y', '%6b%65%79', 'ke%79');
const others = fc.constantFrom(
  'a',
  'Key',
  'key%20',
  '+key',
  '%256Bey',
  '%zz',
  '%',
  '',
  '?key',
  'key[]',
  'k%C3%A9y',
  'é',
  '%FF',
);
const value = fc.constantFrom(
  '',
  '=',
  '=1',
  '=a=b',
  '=%2f%2F',
  '=+',
  '=%',
  '=?/:@!$',
  '=a%26key=x',
);
const segment = fc.oneof(
  { weight: 1, arbitrary: fc.record({ name: ours, value, isOurs: fc.constant(true) }) },
  { weight: 3, arbitrary: fc.record({ name: others, value, isOurs: fc.constant(false) }) },
);
const segments = fc.array(segment, { maxLength: 8 });
const print = (parts: readonly { readonly name: string; readonly value: string }[]): string =>
  parts.map((part) => part.name + part.value).join('&');

describe('raw query editing', () => {
  it('setting a pair leaves one of that name with that value and every other pair byte for byte in its place', () => {
    fc.assert(
      fc.property(segments, fc.string({ unit: 'grapheme' }), (parts, secret) => {
        const set = setQueryPair(print(parts), target, secret);
        expect(new URLSearchParams(`&${set}`).getAll(target)).toEqual([secret]);
        const first = parts.findIndex((part) => part.isOurs);
        const kept = parts.map((part, at) =>
          part.isOurs ? (at === first ? null : undefined) : part.name + part.value,
        );
        const pairs = kept.filter((raw) => raw !== undefined);
        const expected = first < 0 ? (print(parts) === '' ? [null] : [...pairs, null]) : pairs;
        const mine = set
          .split('&')
          .map((raw) => (decodeQueryPart(raw.split('=', 1)[0] ?? '') === target ? null : raw));
        expect(mine).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  it('dropping pairs keeps every other pair and separator', () => {
    fc.assert(
      fc.property(segments, (parts) => {
        const raw = print(parts);
        const left = withoutQueryPairs(raw, (name) => name === target);
        const kept = parts.filter((part) => !part.isOurs);
        const isGone = kept.length === 0 && raw !== '';
        expect(left).toBe(isGone ? null : print(kept));
      }),
      { numRuns: 1000 },
    );
  });

  it('editing nothing changes nothing, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.string().filter((raw) => !raw.includes('#')),
        (raw) => {
          expect(withoutQueryPairs(raw, () => false)).toBe(raw);
        },
      ),
    );
  });

  it('names are what the platform decodes', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('%', '4', '1', '+', '=', '&', 'C', '3', 'A', '9', 'é', '?'),
        }),
        (raw) => {
          const expected = [...new URLSearchParams(`&${raw}`)].map(([name]) => name);
          expect(queryPairs(raw).map((pair) => pair.name)).toEqual(expected);
        },
      ),
      { numRuns: 1000 },
    );
  });

  /** What follows a `?` in a request target, as the platform reads it. */
  const platformPairs = (raw: string): [string, string][] => [
    ...new URL(`http://h.example/?${raw}`).searchParams,
  ];
  const soup = fc
    .array(
      fc.constantFrom(
        ...[
          'k',
          'e',
          'y',
          'key',
          '%6B',
          '%6b',
          '%4B',
          '=',
          '=',
          '&',
          '&',
          '+',
          '%',
          '%2',
          '%3D',
          '%26',
        ],
        ...[
          ';',
          '?',
          '/',
          '[]',
          '%C3%A9',
          'é',
          '%ff',
          '%00',
          "'",
          '"',
          '<',
          '%25',
          '%0A',
          '😀',
          '#',
        ],
        ...['k\te', 'y\n=', '=\r1'],
      ),
      { maxLength: 12 },
    )
    .map((pieces) => pieces.join(''));

  it('names and values are what the platform makes of them, whatever the bytes', () => {
    fc.assert(
      fc.property(soup, (raw) => {
        const read = queryPairs(raw).map(({ name, raw: pair }) => [name, queryPairValue(pair)]);
        expect(read.map(([name]) => name)).toEqual(platformPairs(raw).map(([name]) => name));
        expect(read).toEqual(platformPairs(raw));
      }),
      { numRuns: 2000 },
    );
  });

  it('an edited query is read as the old one, but for the pair that was set or dropped', () => {
    const values = fc.string({ unit: 'grapheme', maxLength: 6 });
    fc.assert(
      fc.property(soup, values, (raw, secret) => {
        const isOther = ([name]: readonly [string, string]): boolean => name !== target;
        const others = platformPairs(raw).filter(isOther);
        const set = platformPairs(setQueryPair(raw, target, secret));
        expect(set.filter(isOther)).toEqual(others);
        expect(set.filter((pair) => !isOther(pair))).toEqual([[target, secret]]);
        const left = withoutQueryPairs(raw, (name) => name === target) ?? '';
        expect(platformPairs(left)).toEqual(others);
      }),
      { numRuns: 2000 },
    );
  });
});
