/** A catalog path, filled with anything: it keeps its segments and means one thing to us and to the platform's URL parser. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeSegment, fillPath } from '../../src/domain/catalog/placeholders';
import { queryPairs } from '../../src/domain/relay/query';

const piece = fc.constantFrom(
  '.',
  '..',
  '/',
  '\\',
  '?',
  '#',
  '%',
  '%2',
  '%2e',
  '%2F',
  '%5C',
  '%zz',
  '@',
  ':',
  '&',
  '=',
  '+',
  ';',
  ' ',
  '\t',
  '\n',
  '\0',
  'a',
  'Z',
  '0',
  '-',
  '_',
  '~',
  '{b}',
  '{',
  '}',
  '^',
  '|',
  '"',
  '<',
  '`',
  'é',
  '😀',
  '\ud800',
  '\u2028',
);
const value = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
const template = fc.constantFrom(
  '/x/{a}',
  '/{a}/y/{b}',
  '/m/{a}:run',
  '/{a}.{b}',
  '/.{a}/z',
  '/{b}{a}',
);
const pair = (name: string, text: string): string =>
  `${name}=${encodeURIComponent(text.toWellFormed())}`;

describe('a filled path', () => {
  it('is refused, or keeps every segment, and the URL parser changes nothing in it', () => {
    fc.assert(
      fc.property(template, value, value, (text, a, b) => {
        const filled = fillPath(text, `${pair('a', a)}&k=v&${pair('b', b)}`);
        if (!filled.ok) return;
        const { path } = filled.value;
        expect(path.split('/').length).toBe(text.split('/').length);
        const url = new URL(`https://h.example/base${path}?q`);
        expect([url.pathname, url.search, url.hash]).toEqual([`/base${path}`, '?q', '']);
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes exactly its own pairs out of the query', () => {
    fc.assert(
      fc.property(template, value, (text, other) => {
        const kept = pair('other', other);
        const filled = fillPath(text, `${kept}&a=1&b=2`);
        const left = filled.ok ? queryPairs(filled.value.query).map(({ raw }) => raw) : [];
        const unused = ['a', 'b'].filter((name) => !text.includes(`{${name}}`));
        expect(left).toEqual([kept, ...unused.map((name) => `${name}=${name === 'a' ? 1 : 2}`)]);
      }),
    );
  });

  it('has a valid escape of the value as it was, and nothing escaped twice', () => {
    fc.assert(
      fc.property(value, (text) => {
        const once = encodeSegment(text);
        expect(once).toMatch(/^(?:[A-Za-z0-9._~@-]|%[0-9A-Fa-f]{2})*$/);
        expect(encodeSegment(once)).toBe(once);
      }),
    );
  });
});
