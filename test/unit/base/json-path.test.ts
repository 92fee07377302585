import { describe, expect, it } from 'vitest';
import { parsePath, pathOf, readJson, readPath } from '../../../src/base/json-path';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('parsePath', () => {
  it.each([
    ['usage', [{ kind: 'member', name: 'usage' }]],
    [
      'a.b-c_$1',
      [
        { kind: 'member', name: 'a' },
        { kind: 'member', name: 'b-c_$1' },
      ],
    ],
    [
      'data[*].x[0]',
      [
        { kind: 'member', name: 'data' },
        { kind: 'each' },
        { kind: 'member', name: 'x' },
        { kind: 'index', index: 0 },
      ],
    ],
    ['["a.b"]', [{ kind: 'member', name: 'a.b' }]],
    [
      'a["\\u0062\\"]"]',
      [
        { kind: 'member', name: 'a' },
        { kind: 'member', name: 'b"]' },
      ],
    ],
    ['[*]', [{ kind: 'each' }]],
  ])('reads %s', (text, steps) => {
    expect(parsePath(text)).toEqual({ ok: true, value: steps });
  });

  it.each([
    '',
    '.a',
    'a.',
    'a..b',
    'a[',
    'a[]',
    'a[01]',
    'a[-1]',
    'a[1.5]',
    "a['b']",
    'a["b',
    'a["\\x"]',
    'a[?(@.b)]',
    '$.a b',
    'a[*]b',
    'a.[0]',
    'é',
  ])('refuses %j', (text) => {
    expect(parsePath(text)).toEqual({ ok: false, error: 'syntax' });
  });

  it('bounds text and steps', () => {
    expect(parsePath('a'.repeat(256)).ok).toBe(true);
    expect(parsePath('a'.repeat(257))).toEqual({ ok: false, error: 'too_long' });
    expect(parsePath(`a${'[0]'.repeat(15)}`).ok).toBe(true);
    expect(parsePath(`a${'[0]'.repeat(16)}`)).toEqual({ ok: false, error: 'too_deep' });
  });

  it('a path of the catalog that does not parse is our own fault', () => {
    expect(() => pathOf('a..b')).toThrow('a path of the catalog');
  });
});

describe('readPath', () => {
  const document = {
    usage: { tokens: 7, none: null },
    data: [{ c: 1, tags: ['x'] }, { c: 2, tags: [] }, { d: 3 }],
    empty: [],
    text: 'abc',
  };

  it.each([
    ['usage.tokens', { kind: 'values', values: [7] }],
    ['usage.none', { kind: 'values', values: [null] }],
    ['usage.absent', { kind: 'missing' }],
    ['usage.tokens.deeper', { kind: 'missing' }],
    ['data[1].c', { kind: 'values', values: [2] }],
    ['data[9].c', { kind: 'missing' }],
    ['data[*]', { kind: 'count', count: 3 }],
    ['data[*].c', { kind: 'values', values: [1, 2] }],
    ['data[*].absent', { kind: 'missing' }],
    ['data[*].tags[*]', { kind: 'count', count: 1 }],
    ['data[0].tags[*]', { kind: 'count', count: 1 }],
    ['empty[*]', { kind: 'count', count: 0 }],
    ['empty[*].c', { kind: 'values', values: [] }],
    ['usage[*]', { kind: 'missing' }],
    ['text[0]', { kind: 'missing' }],
    ['text.length', { kind: 'missing' }],
    ['data.length', { kind: 'missing' }],
    ['usage.toString', { kind: 'missing' }],
    ['__proto__.toString', { kind: 'missing' }],
    ['["constructor"]', { kind: 'missing' }],
  ])('%s', (text, found) => {
    expect(readPath(document, pathOf(text))).toEqual(found);
  });

  it.each([[undefined], [null], [1], ['x'], [[]]])('finds nothing in %j', (value) => {
    expect(readPath(value, pathOf('a.b'))).toEqual({ kind: 'missing' });
  });

  it('C093: reads a member __proto__ like any other', () => {
    const parsed = readJson(bytes('{"__proto__":{"n":5}}'));
    if (!parsed.ok) throw new Error(parsed.error);
    expect(readPath(parsed.value, pathOf('__proto__.n'))).toEqual({ kind: 'values', values: [5] });
  });
});

describe('readJson', () => {
  it.each([
    ['C095: a byte order mark', [0xef, 0xbb, 0xbf, 0x7b, 0x7d], 'bom'],
    ['C095: the byte ff', [0x22, 0xff, 0x22], 'not_utf8'],
    ['nothing', [], 'empty'],
    ['spaces', [0x20, 0x0a], 'empty'],
    ['half a document', [0x7b], 'syntax'],
  ])('refuses %s', (_name, list, error) => {
    expect(readJson(Uint8Array.from(list))).toEqual({ ok: false, error });
  });

  it('C095: 100000 levels and a lone surrogate are values, not a crash', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const read = readJson(bytes(deep));
    expect(read.ok && readPath(read.value, pathOf('[0][0][*]'))).toEqual({
      kind: 'count',
      count: 1,
    });
    expect(readJson(bytes('"\\ud800"'))).toEqual({ ok: true, value: '\ud800' });
  });
});
