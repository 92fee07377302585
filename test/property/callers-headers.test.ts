/** Headers of callers that Weir reads or takes apart, against readers written apart: all that is ours goes, all that is not stays as it is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ledgerTagCharsMax, ledgerTagPairsMax, metaCharsMax } from '../../src/base/limits-money';
import { readMeta, tagNamePattern, tagValuePattern } from '../../src/domain/idempotency/meta';
import { withoutOwnCookies } from '../../src/domain/relay/cookies';
import { readCarrier } from '../../src/domain/tenancy/carriers';
import { tokenChars, tokensIn } from '../../src/domain/tenancy/token';
import { weirCookies } from '../../src/http/header-names';

// ── X-Weir-Meta ──

const metaPiece = fc.constantFrom(
  ...['a', 'b', 'team', 'x'.repeat(ledgerTagCharsMax), 'y', '=', '=', '=', ',', ',', ', ', ' '],
  ...['\t', '@', '"', ';', '/', 'é', '\u007f', '__proto__', '-'],
);
const metaText = fc.oneof(
  fc.array(metaPiece, { maxLength: 14 }).map((pieces) => pieces.join('')),
  fc
    .array(fc.tuple(metaPiece, metaPiece), { minLength: 1, maxLength: ledgerTagPairsMax + 1 })
    .map((pairs) => pairs.map(([key, value]) => `${key}=${value}`).join(', ')),
);

/** The tags, by the sentence in the manual; null: something in it is wrong. */
function tagsBySentence(text: string): string[] | null {
  const pairs = text.split(',').map((pair) => pair.replace(/^[ \t]*/, '').replace(/[ \t]*$/, ''));
  const tags = pairs.map((pair) => [
    pair.split('=', 1)[0] ?? '',
    pair.split('=').slice(1).join('='),
  ]);
  const isRight = tags.every(
    ([key = '', value = '']) =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(key) &&
      /^[\x20-\x7e]+$/.test(value) &&
      Math.max(key.length, value.length) <= ledgerTagCharsMax,
  );
  const isSingle = new Set(tags.map(([key]) => key)).size === tags.length;
  const isShort = text.length <= metaCharsMax && tags.length <= ledgerTagPairsMax;
  return isRight && isSingle && isShort ? tags.flat() : null;
}

describe('X-Weir-Meta', () => {
  it('is all of its tags or a fault', () => {
    fc.assert(
      fc.property(metaText, (text) => {
        const read = readMeta(text);
        expect(read.ok ? read.value : null).toEqual(tagsBySentence(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it('gives tags that a budget can name', () => {
    fc.assert(
      fc.property(metaText, (text) => {
        const read = readMeta(text);
        const tags = read.ok ? (read.value ?? []) : [];
        for (const [at, tag] of tags.entries())
          expect(tag).toMatch(at % 2 === 0 ? tagNamePattern : tagValuePattern);
      }),
      { numRuns: 1_000 },
    );
  });
});

// ── keys in carriers ──

const token = fc
  .string({ unit: fc.constantFrom('a', 'Z', '0', '9'), minLength: tokenChars - 3 })
  .map((text) => `wk_${text.slice(0, tokenChars - 3)}`)
  .filter((text) => text.length === tokenChars);
const stranger = fc.constantFrom(
  ...['Bearer sk-live-1', ' x', 'Basic c2s6', 'basic', 'wk_', 'wk_short', 'Basic !', '"a"', ''],
  ...[' Token a=b', 'é', 'Digest username="wk_"', ' ', 'Basic'],
);
const written = token.chain((key) =>
  fc.constantFrom(
    ...[key, `Bearer ${key}`, ` ${key}`, `"${key}"`, `Token token="${key}"`, `x.${key}`],
    ...[`Basic ${btoa(key)}`, `basic  ${btoa(`${key}:x`)}`, `BASIC ${btoa(`x:${key}`)} `],
    ...[`Basic ${btoa(`${key}:`).replace(/=+$/, '')}`, `${key}:${key}`, `Basic ${btoa(`a${key}`)}`],
  ),
);
const element = fc.oneof(
  stranger.map((text) => ({ text, isOurs: false })),
  written.map((text) => ({ text, isOurs: true })),
);

describe('a carrier of keys', () => {
  it('loses every element with a key of ours, and keeps the bytes of all others', () => {
    fc.assert(
      fc.property(fc.array(element, { minLength: 1, maxLength: 4 }), (elements) => {
        const value = elements.map(({ text }) => text).join(',');
        const carried = readCarrier('authorization', value);
        const others = elements.filter(({ isOurs }) => !isOurs).map(({ text }) => text);
        const isAllTheirs = others.length === elements.length;
        expect(carried === null).toBe(isAllTheirs);
        expect(isAllTheirs ? value : (carried?.rest ?? '')).toBe(
          isAllTheirs ? value : others.join(',').trim(),
        );
        expect(carried?.tokens.length ?? 0).toBeGreaterThanOrEqual(elements.length - others.length);
        for (const found of carried?.tokens ?? []) expect(tokensIn(found)).toEqual([found]);
      }),
      { numRuns: 800 },
    );
  });
});

// ── cookies ──

const cookie = fc.oneof(
  fc
    .tuple(fc.constantFrom(...weirCookies), fc.constantFrom('=x', '=', '', ' = y', '="q"'))
    .map(([name, value]) => ({ text: name + value, isOurs: true })),
  fc
    .constantFrom('a=1', `${weirCookies[0]}x=1`, `x${weirCookies[0]}=1`, 'b', 'c="1 2"', '=', 'é=é')
    .map((text) => ({ text, isOurs: false })),
);

describe('a Cookie', () => {
  it('loses our cookies, wherever its lines were joined, and keeps all others in their order', () => {
    const joint = fc.constantFrom('; ', ';', ' ; ', ', ', ',');
    const joints = fc.array(joint, { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(cookie, { minLength: 1, maxLength: 6 }), joints, (cookies, between) => {
        const value = cookies.map(({ text }, at) => (at > 0 ? between[at] : '') + text).join('');
        const left = withoutOwnCookies(value);
        const others = cookies.filter(({ isOurs }) => !isOurs).map(({ text }) => text);
        const names = left === null ? [] : left.split(/[;,]/).map((text) => text.trim());
        expect(names).toEqual(others);
        if (others.length === cookies.length) expect(left).toBe(value);
      }),
      { numRuns: 2_000 },
    );
  });
});
