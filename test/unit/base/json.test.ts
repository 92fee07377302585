import { describe, expect, it } from 'vitest';
import {
  decodeUtf8,
  jsonString,
  parseJson,
  scanObject,
  setTopLevelFields,
} from '../../../src/base/json';

const options = { depthMax: 128 };
const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

/** Members `0` to `39`, each with its comma. */
const many = Array.from({ length: 40 }, (_, i) => `"${i}":0,`).join('');

describe('scanObject', () => {
  it('gives the members in order with decoded names, spans and kinds', () => {
    const text =
      ' { "a" : 1.0e+2 , "\\u0062\\n":"x" ,"c":[ {} ], "d":{"e":null},"f":false,"g":null } ';
    const scanned = scanObject(text, options);
    if (!scanned.ok) throw new Error(scanned.error);
    const seen = scanned.value.map((m) => [
      m.name,
      text[m.nameStart],
      text.slice(m.valueStart, m.valueEnd),
      m.kind,
    ]);
    expect(seen).toEqual([
      ['a', '"', '1.0e+2', 'number'],
      ['b\n', '"', '"x"', 'string'],
      ['c', '"', '[ {} ]', 'array'],
      ['d', '"', '{"e":null}', 'object'],
      ['f', '"', 'false', 'boolean'],
      ['g', '"', 'null', 'null'],
    ]);
  });

  it.each([
    ['C093: the same name twice', '{"n":1,"n":1000}'],
    ['C093: the same name, once escaped', '{"n":1,"\\u006e":1000}'],
    ['C093: a repeated name deep inside', '{"a":[{"b":{"n":1,"m":2,"n":3}}]}'],
    ['C093: the target of a binding twice', '{"key":"a","x":1,"key":"b"}'],
    ['C093: __proto__ twice', '{"__proto__":{},"__proto__":{}}'],
    ['the same escaped control character', '{"\\n":1,"\\u000a":2}'],
    ['the same surrogate pair, raw and escaped', '{"😀":1,"\\ud83d\\ude00":2}'],
    ['the same lone surrogate in two hex cases', '{"\\ud800":1,"\\uD800":2}'],
    ['the empty name twice', '{"":1,"":2}'],
    ['the first and the last of many', `{${many}"0":1}`],
    ['the last two of many', `{${many}"39":1}`],
  ])('refuses %s', (_name, text) => {
    expect(scanObject(text, options)).toEqual({ ok: false, error: 'duplicate_key' });
  });

  it.each([
    ['names that differ in case', '{"n":1,"N":2}'],
    ['one name in two objects', '{"a":{"n":1},"b":{"n":2},"n":3}'],
    ['C093: __proto__ and constructor once', '{"__proto__":{"x":1},"constructor":1,"toString":2}'],
    ['many names', `{${many}"40":0}`],
    ['names that start alike', '{"a":1,"a\\"":2,"\\"a":3}'],
  ])('accepts %s', (_name, text) => {
    expect(scanObject(text, options).ok).toBe(true);
  });

  it.each([
    '{',
    '}',
    '{}}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,}',
    '{"a":1 "b":2}',
    '{a:1}',
    "{'a':1}",
    '{"a":01}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":+1}',
    '{"a":-}',
    '{"a":1e}',
    '{"a":1e+}',
    '{"a":0x1}',
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":True}',
    '{"a":nul}',
    '{"a":truex}',
    '{"a":"\n"}',
    '{"a":"\t"}',
    '{"a":"\u0000"}',
    '{"a":"\\x41"}',
    '{"a":"\\u12"}',
    '{"a":"\\u12g4"}',
    '{"a":"\\',
    '{"a":"b',
    '{"a":[1,]}',
    '{"a":[1}',
    '{"a":[}',
    '{"a":{]}',
    '{"a":1}//',
    '/**/{}',
    '{"a":1}{"b":2}',
    '\u00a0{}',
    '{}\u00a0',
    '{}\ufeff',
    '{"a"\u2028:1}',
    '{"a":1;}',
    '[1',
    '"x',
    'x',
    '-',
  ])('refuses %j as no RFC 8259 text', (text) => {
    expect(scanObject(text, options)).toEqual({ ok: false, error: 'syntax' });
  });

  it.each([
    ['', 'empty'],
    [' \n\r\t', 'empty'],
    ['\ufeff{}', 'bom'],
    ['[]', 'not_object'],
    ['"{}"', 'not_object'],
    ['1', 'not_object'],
    ['null', 'not_object'],
    [' true ', 'not_object'],
    ['[{"a":1}]', 'not_object'],
  ])('calls %j %s', (text, error) => {
    expect(scanObject(text, options)).toEqual({ ok: false, error });
  });

  it.each([
    [1, '{}', true],
    [1, '{"a":{}}', false],
    [2, '{"a":{}}', true],
    [2, '{"a":[[]]}', false],
    [128, nested(128), true],
    [128, nested(129), false],
  ])('reads %d levels and no more: %s', (depthMax, text, isRead) => {
    const scanned = scanObject(text, { depthMax });
    expect(scanned.ok ? null : scanned.error).toBe(isRead ? null : 'too_deep');
  });

  it('C095: 100000 levels are too deep, not a stack overflow', () => {
    expect(scanObject(nested(100_000), options)).toEqual({ ok: false, error: 'too_deep' });
    expect(scanObject(nested(100_000), { depthMax: 200_000 }).ok).toBe(true);
  });

  it('reads an object of 200000 names in linear time', () => {
    const text = `{${Array.from({ length: 200_000 }, (_, i) => `"${i}":0`).join(',')}}`;
    const scanned = scanObject(text, options);
    expect(scanned.ok && scanned.value.length).toBe(200_000);
  });
});

describe('decodeUtf8', () => {
  it.each([
    ['C095: a byte order mark', [0xef, 0xbb, 0xbf, 0x7b, 0x7d], 'bom'],
    ['C095: the byte ff', [0x7b, 0xff, 0x7d], 'not_utf8'],
    ['an overlong slash', [0xc0, 0xaf], 'not_utf8'],
    ['an encoded surrogate', [0xed, 0xa0, 0x80], 'not_utf8'],
    ['a cut character', [0xe2, 0x82], 'not_utf8'],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00], 'not_utf8'],
  ])('refuses %s', (_name, bytes, error) => {
    expect(decodeUtf8(Uint8Array.from(bytes))).toEqual({ ok: false, error });
  });

  it('keeps every character of valid UTF-8, a later U+FEFF included', () => {
    const text = '{"a":"é\ufeff😀\u0000"}';
    expect(decodeUtf8(new TextEncoder().encode(text))).toEqual({ ok: true, value: text });
    expect(decodeUtf8(new Uint8Array())).toEqual({ ok: true, value: '' });
  });
});

describe('setTopLevelFields', () => {
  it.each([
    [
      'replaces in place',
      '{"a": 1.00, "key" : "old" ,"b":1e5}',
      '{"a": 1.00, "key" : "S" ,"b":1e5}',
    ],
    ['replaces a container whole', '{"key":{"a":[1,2]},"b":0}', '{"key":"S","b":0}'],
    ['finds an escaped name and keeps its spelling', '{"\\u006bey":1}', '{"\\u006bey":"S"}'],
    ['leaves a deeper field of that name alone', '{"a":{"key":1}}', '{"a":{"key":1},"key":"S"}'],
    ['appends to an empty object', '{}', '{"key":"S"}'],
    ['appends to an empty object with space', ' { } ', ' {"key":"S" } '],
    ['appends compactly', '{"a":1}', '{"a":1,"key":"S"}'],
    ['appends with the spaces of the document', '{"a": 1, "b": 2}', '{"a": 1, "b": 2, "key": "S"}'],
    ['appends on a line of its own', '{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "key": "S"\n}\n'],
    ['C095: keeps a lone surrogate escape', '{"a":"\\ud800"}', '{"a":"\\ud800","key":"S"}'],
    [
      'keeps numbers that no double holds',
      '{"a":12345678901234567890.10}',
      '{"a":12345678901234567890.10,"key":"S"}',
    ],
    [
      'C093: takes __proto__ for a name',
      '{"__proto__":{"a":1}}',
      '{"__proto__":{"a":1},"key":"S"}',
    ],
  ])('%s', (_name, text, expected) => {
    expect(setTopLevelFields(text, [['key', '"S"']], options)).toEqual({
      ok: true,
      value: expected,
    });
  });

  it('sets several fields, present and absent, in one pass', () => {
    const fields = [
      ['z', '"Z"'],
      ['b', '"B"'],
      ['y', '[]'],
    ] as const;
    const set = setTopLevelFields('{"a":1,"b":2,"c":3}', fields, options);
    expect(set).toEqual({ ok: true, value: '{"a":1,"b":"B","c":3,"z":"Z","y":[]}' });
  });

  it('can set __proto__ and changes no prototype', () => {
    const set = setTopLevelFields('{}', [['__proto__', '{"polluted":1}']], options);
    expect(set).toEqual({ ok: true, value: '{"__proto__":{"polluted":1}}' });
    expect('polluted' in {}).toBe(false);
  });

  it('passes the faults of the document on', () => {
    expect(setTopLevelFields('[]', [['a', '1']], options)).toEqual({
      ok: false,
      error: 'not_object',
    });
    expect(setTopLevelFields('{"a":1,"a":2}', [['b', '1']], options)).toEqual({
      ok: false,
      error: 'duplicate_key',
    });
  });

  it.each([
    ['a value that is not JSON', [['a', '"x" ,"b":1']]],
    ['an empty value', [['a', '']]],
    [
      'one field twice',
      [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
  ] as const)('asserts against %s', (_name, fields) => {
    expect(() => setTopLevelFields('{}', fields, options)).toThrow('a JSON field');
  });
});

describe('jsonString', () => {
  it.each([
    ['é😀\u2028', '"é😀\u2028"'],
    ['a"\\\n\u0001/', '"a\\"\\\\\\n\\u0001/"'],
    ['x\ud800y', '"x\\ud800y"'],
  ])('prints %j with ASCII escapes only where UTF-8 cannot say it', (value, expected) => {
    expect(jsonString(value)).toBe(expected);
  });
});

describe('parseJson', () => {
  it('gives the value of any valid document', () => {
    expect(parseJson('[1,{"a":"b"}]', options)).toEqual({ ok: true, value: [1, { a: 'b' }] });
  });

  it.each([
    ['{"effect":"deny","effect":"allow"}', 'duplicate_key'],
    ['[{"a":1,"\\u0061":2}]', 'duplicate_key'],
    ['', 'empty'],
    ['{"a":1,}', 'syntax'],
    [nested(129), 'too_deep'],
  ])('C093: refuses %s', (text, error) => {
    expect(parseJson(text, options)).toEqual({ ok: false, error });
  });

  it('makes __proto__ an own property and changes no prototype', () => {
    const parsed = parseJson('{"__proto__":{"polluted":1}}', options);
    if (!parsed.ok) throw new Error(parsed.error);
    expect(Object.keys(Object(parsed.value))).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(parsed.value)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });
});
