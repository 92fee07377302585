import { describe, expect, it } from 'vitest';
import {
  decodeQueryPart,
  disallowedNames,
  mergeQuery,
  queryPairs,
  queryPairValue,
  repeatedNames,
  setQueryPair,
  withoutQueryPairs,
} from '../../../../src/domain/relay/query';

describe('decodeQueryPart', () => {
  it.each([
    ['key', 'key'],
    ['%6Bey', 'key'],
    ['%6bey', 'key'],
    ['a+b', 'a b'],
    ['a%2Bb', 'a+b'],
    ['%', '%'],
    ['%zz', '%zz'],
    ['%6', '%6'],
    ['%%36Bey', '%6Bey'],
    ['%C3%A9', 'é'],
    ['é', 'é'],
    ['%FF', '\ufffd'],
    ['%EF%BB%BFkey', '\ufeffkey'],
    ['%3D%26%23', '=&#'],
    ['?x%20', '?x '],
    ['k\tey', 'key'],
    ['', ''],
    ['a=b%3D', 'a=b='],
  ])('reads %j as %j', (raw, decoded) => {
    expect(decodeQueryPart(raw)).toBe(decoded);
  });
});

describe('queryPairs', () => {
  it('gives decoded names and raw bytes in order, without empty pairs', () => {
    expect(queryPairs('?x=1&&%6Bey=a=b&=v&flag&')).toEqual([
      { name: '?x', raw: '?x=1' },
      { name: 'key', raw: '%6Bey=a=b' },
      { name: '', raw: '=v' },
      { name: 'flag', raw: 'flag' },
    ]);
  });

  it('gives none for no query and for an empty one', () => {
    expect([queryPairs(null), queryPairs('')]).toEqual([[], []]);
  });

  it.each([
    ['key=a%20b', 'a b'],
    ['key', ''],
    ['key=', ''],
    ['key=a=b', 'a=b'],
  ])('reads the value of %s', (raw, value) => {
    expect(queryPairValue(raw)).toBe(value);
  });
});

describe('withoutQueryPairs', () => {
  it.each([
    ['a=1&key=x&b=2', 'a=1&b=2'],
    ['key=x&a=1', 'a=1'],
    ['a=1&key=x', 'a=1'],
    ['%6Bey=x&a=%zz+%2f', 'a=%zz+%2f'],
    ['a&&key=1&&b=', 'a&&&b='],
    ['?key=1&key&key=', '?key=1'],
    ['a=1&b=2&', 'a=1&b=2&'],
    ['&', '&'],
    ['key=x', null],
    ['key=1&key=2', null],
    ['', ''],
    [null, null],
  ])('drops key from %j and keeps the other bytes: %j', (raw, expected) => {
    expect(withoutQueryPairs(raw, (name) => name === 'key')).toBe(expected);
  });

  it('lets the caller judge the raw pair', () => {
    expect(
      withoutQueryPairs('key=wk_1&key=own', (_name, raw) => queryPairValue(raw).startsWith('wk_')),
    ).toBe('key=own');
  });
});

describe('setQueryPair', () => {
  it.each([
    ['C037: first of two in place, the second goes', 'key=evil&a=1&key=evil2', 'key=SECRET&a=1'],
    ['C037: an escaped name is the same name', '%6Bey=evil&a=1', 'key=SECRET&a=1'],
    ['C037: nothing goes behind a fragment', 'a=1#', 'a=1&key=SECRET'],
    ['C037: a pair in a fragment is none', 'a=1#&key=evil', 'a=1&key=SECRET'],
    ['a pair without = is replaced', 'key&a', 'key=SECRET&a'],
    ['another case is another name', 'Key=1', 'Key=1&key=SECRET'],
    ['other bytes stay', 'a=%zz&&b=+%2F%2f&c&=d&?e', 'a=%zz&&b=+%2F%2f&c&=d&?e&key=SECRET'],
    ['a trailing separator stays', 'a=1&', 'a=1&&key=SECRET'],
    ['an empty query', '', 'key=SECRET'],
    ['no query', null, 'key=SECRET'],
  ])('%s', (_name, raw, expected) => {
    expect(setQueryPair(raw, 'key', 'SECRET')).toBe(expected);
  });

  it('encodes all but RFC 3986 unreserved characters', () => {
    const set = setQueryPair(null, 'a[b]', "az09-._~ +&=#%/?:@!$'()*,;é\ud800");
    const value = 'az09-._~%20%2B%26%3D%23%25%2F%3F%3A%40%21%24%27%28%29%2A%2C%3B%C3%A9%EF%BF%BD';
    expect(set).toBe(`a%5Bb%5D=${value}`);
  });
});

describe('mergeQuery', () => {
  it.each([
    ['C039: no query of the caller', 'type=b', null, 'type=b'],
    ['C039: a query of the caller', 'type=b', 'q=1', 'type=b&q=1'],
    ['C039: an empty query of the caller', 'type=b', '', 'type=b'],
    ['no own query, none of the caller', null, null, null],
    ['no own query, an empty one of the caller', null, '', ''],
    ['no own query', null, 'q=%zz&&', 'q=%zz&&'],
    ['an empty own query', '', 'q=1', 'q=1'],
  ])('%s', (_name, own, callers, expected) => {
    expect(mergeQuery(own, callers)).toBe(expected);
  });
});

describe('allowlist', () => {
  const allow = new Set(['limit', 'q']);

  it.each([
    ['C040: a repeated name', 'limit=1&limit=1000', [], ['limit']],
    ['C040: a wrong case', 'Limit=5', ['Limit'], []],
    ['C040: brackets', 'limit[]=5', ['limit[]'], []],
    ['C040: an escaped name repeated', '%6Cimit=1&limit=9', [], ['limit']],
    ['C040: an undeclared name', 'limit=1&x=2', ['x'], []],
    ['an allowed query', 'q=a&&limit=1', [], []],
    ['an undeclared name twice is named once', 'x=1&%78=2', ['x'], ['x']],
    ['a nameless pair', '=1', [''], []],
    ['a name behind a semicolon, where some origins begin a pair', 'q=1;x=2', ['x'], []],
    ['the same, escaped name', 'limit=1;%78;q=2', ['x'], []],
    ['allowed names with semicolons', 'q=1;limit=2;', [], []],
    ['an escaped semicolon, which is a value', 'q=1%3Bx=2', [], []],
    ['none', null, [], []],
  ])('%s', (_name, raw, disallowed, repeated) => {
    expect({ disallowed: disallowedNames(raw, allow), repeated: repeatedNames(raw) }).toEqual({
      disallowed,
      repeated,
    });
  });
});
