import { describe, expect, it } from 'vitest';
import {
  base64Decoded,
  base64Fragments,
  htmlDecoded,
  jsonDecoded,
  normalise,
  percentDecoded,
  spellingsOf,
} from '../../../../src/domain/credentials/spellings';

const decoding = { charsMin: 8, bytesMax: 10_000 };

describe('spellingsOf', () => {
  it.each([
    ['p@ss/w+rd', 'p%40ss%2Fw%2Brd'],
    ['p@ss/w+rd', 'p%40ss%2fw%2brd'],
    ['p@ss/w+rd', 'p%40ss/w%2Brd'],
    ['p@ss/w+rd', 'p@ss\\/w+rd'],
    ['p@ss/w+rd', 'p@ss/w\\u002Brd'],
    ['p@ss/w+rd', btoa('p@ss/w+rd')],
    ['user:pass', 'dXNlcjpwYXNz'],
    ['a b!c', 'a+b%21c'],
    ['a b!c', 'a%20b!c'],
    ['abcde', 'YWJjZGU='],
    ['abcde', 'YWJjZGU'],
    ['abcde', 'YWJjZGU%3D'],
    ['>>>>???', 'Pj4-Pj8_Pw'],
    ['>>>>???', 'Pj4+Pj8\\/Pw=='],
    ['a&<>"\'z', 'a&amp;&lt;&gt;&quot;&#39;z'],
    ['a&<>"\'z', 'a&amp;&lt;&gt;&quot;&#x27;z'],
    ['a&<>"\'z', 'a&#38;&#60;&#62;&#34;&#39;z'],
    ['a&<>"\'z', 'a&#x26;&#x3c;&#x3e;&#x22;&#x27;z'],
    ['a&<>"\'z', 'a\\u0026\\u003c\\u003e\\"\'z'],
    ['a&<>"\'z', 'a\\u0026\\u003C\\u003E\\u0022\\u0027z'],
    ['üs\ner', '\\u00fcs\\ner'],
    ['üs\ner', '\\u00FCs\\ner'],
    ['a"b', 'a\\\\\\"b'],
  ])('holds for %j the spelling %j', (secret, spelling) => {
    expect(spellingsOf(secret)).toContain(spelling);
  });

  it('is distinct, longest first, and has the secret itself', () => {
    const spellings = spellingsOf('p@ss/w+rd é');
    expect(new Set(spellings).size).toBe(spellings.length);
    expect(spellings.map((s) => s.length)).toEqual(
      spellings.map((s) => s.length).sort((a, b) => b - a),
    );
    expect(spellings).toContain('p@ss/w+rd é');
  });

  it('is short for a key of plain characters and empty for nothing', () => {
    expect(spellingsOf('sk-abc123')).toEqual(
      ['sk-abc123', 'c2stYWJjMTIz'].sort((a, b) => b.length - a.length),
    );
    expect(spellingsOf('')).toEqual([]);
  });

  it('does not throw on a lone surrogate', () => {
    expect(spellingsOf('a\ud800bc')).toContain('a\ud800bc');
  });
});

describe('base64Fragments', () => {
  it.each(['', 'x', 'xy', 'xyz', 'xyzz'])(
    'one of them is in the base64 of a longer text behind %j',
    (before) => {
      const longer = btoa(`${before}s3cr>t?k~y and more`);
      expect(base64Fragments('s3cr>t?k~y').some((fragment) => longer.includes(fragment))).toBe(
        true,
      );
    },
  );

  it('they depend on the secret alone', () => {
    expect(base64Fragments('abcd')).toEqual(['YWJjZ', 'FiY2', 'hYmNk']);
  });
});

describe('decoders', () => {
  it.each([
    ['\\u0070@ss\\/w\\u002Brd', 'p@ss/w+rd'],
    ['\\\\u0070', '\\u0070'],
    ['\\x41\\q\\', 'A\\q\\'],
    ['\\ud83d\\ude00\\n', '😀\n'],
    ['\\u12', '\\u12'],
  ])('JSON: %j is %j', (text, expected) => expect(jsonDecoded(text)).toBe(expected));

  it.each([
    ['%70%4f%4F', 'pOO'],
    ['%', '%'],
    ['%4', '%4'],
    ['%zz%41', '%zzA'],
    ['%2541', '%41'],
    ['%C3%A9é', 'éé'],
    ['%ff!', '\ufffd!'],
    ['a+b', 'a+b'],
  ])('percent: %j is %j', (text, expected) => expect(percentDecoded(text)).toBe(expected));

  it.each([
    ['&amp;lt;', '&lt;'],
    ['&#112;&#x70;&#X70;&#0112;', 'pppp'],
    ['&#112', 'p'],
    ['&amp&lt', '&<'],
    ['&commat;&sol;&nope;', '@/&nope;'],
    ['&#1114112;&#xffffffff;', '&#1114112;&#xffffffff;'],
    ['a & b', 'a & b'],
  ])('HTML: %j is %j', (text, expected) => expect(htmlDecoded(text)).toBe(expected));

  it.each([
    ['std', btoa('>>>???secret')],
    ['url', btoa('>>>???secret').replaceAll('+', '-').replaceAll('/', '_')],
    ['behind a slash', `/${btoa('a secret')}`],
    ['in lines', btoa('a secret').replace(/(.{5})/g, '$1\r\n')],
  ])('base64, %s: the text is read', (_name, text) => {
    expect(base64Decoded(`x: ${text}.`, decoding)).toContain('secret');
  });

  it('base64: a short run is not read, a bound is a bound', () => {
    expect(base64Decoded('abcdefg hijk', decoding)).toBe('');
    expect(base64Decoded('a'.repeat(4000), decoding)).toBe(null);
  });
});

describe('normalise', () => {
  it.each([
    ['%5Cu0070', 'p'],
    ['%2525', '%'],
    ['&amp;#37;70', 'p'],
    ['\\\\u0026amp;', '&'],
    ['plain', 'plain'],
  ])('undoes nested escapes: %j is %j', (text, expected) => expect(normalise(text)).toBe(expected));

  it('stops after three rounds', () => expect(normalise('%25252525')).toBe('%25'));
});
