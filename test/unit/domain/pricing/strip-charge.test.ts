import { describe, expect, it } from 'vitest';
import { withoutReportedCharge } from '../../../../src/domain/pricing/strip-charge';
import { settled } from './prices';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
const settlement = (at: string, where: 'body' | 'header' = 'body') =>
  settled({ reported: { in: where, at, perMillionMicros: 1, times: null } });
const stripped = (text: string, at: string): string =>
  decoder.decode(withoutReportedCharge(encoder.encode(text), settlement(at)));

describe('withoutReportedCharge', () => {
  it.each([
    ['the only member', '{"cost":1}', 'cost', '{}'],
    ['the only one, with space', '{ "cost" : 1 }', 'cost', '{  }'],
    ['the first', '{"cost": 1.50, "a": 1.00}', 'cost', '{"a": 1.00}'],
    ['one in the middle', '{"a":1, "cost":{"x":[1,"}"]} , "b":2}', 'cost', '{"a":1, "b":2}'],
    ['the last', '{"a": 1.0e+2, "cost": 2}\n', 'cost', '{"a": 1.0e+2}\n'],
    ['a line of its own', '{\n  "a": 1,\n  "cost": 2\n}', 'cost', '{\n  "a": 1\n}'],
    ['an escaped name', '{"\\u0063ost":1,"a":"\\u00e9\\/"}', 'cost', '{"a":"\\u00e9\\/"}'],
    ['a deeper one only', '{"cost":1,"u":{"cost":2,"n":3}}', 'u.cost', '{"cost":1,"u":{"n":3}}'],
    ['behind an index', '[{"c":1},{"c":2,"d":3}]', '[1].c', '[{"c":1},{"d":3}]'],
    [
      'in every entry',
      '{"d":[{"c":1,"x":0},{},{"y":[],"c":2}]}',
      'd[*].c',
      '{"d":[{"x":0},{},{"y":[]}]}',
    ],
    ['a text as value', '{"cost":"1,}\\"]{","a":0}', 'cost', '{"a":0}'],
    ['C093: __proto__', '{"__proto__":1,"a":2}', '__proto__', '{"a":2}'],
    ['other characters stay', '{"é":"😀\u2028","cost":0}', 'cost', '{"é":"😀\u2028"}'],
    ['C095: a lone surrogate stays', '{"a":"\\ud800","cost":0}', 'cost', '{"a":"\\ud800"}'],
    ['a repeated name elsewhere', '{"a":1,"a":2,"cost":3}', 'cost', '{"a":1,"a":2}'],
  ])('cuts %s', (_name, text, at, expected) => {
    expect(stripped(text, at)).toBe(expected);
  });

  it.each([
    ['an absent member', '{"a":1}', 'cost'],
    ['an absent parent', '{"a":1}', 'usage.cost'],
    ['a parent that is no object', '{"usage":[1]}', 'usage.cost'],
    ['a path that ends in an index', '{"cost":[1,2]}', 'cost[0]'],
    ['a path that ends in [*]', '{"cost":[1,2]}', 'cost[*]'],
    ['a member that is there twice', '{"cost":1,"cost":2}', 'cost'],
    ['the same, once escaped', '{"cost":1,"\\u0063ost":2}', 'cost'],
    ['a parent that is there twice', '{"u":{"cost":1},"u":{}}', 'u.cost'],
    ['twice in one entry of several', '{"d":[{"c":1},{"c":1,"c":2}]}', 'd[*].c'],
    ['no JSON', '{"cost":1', 'cost'],
    ['two documents', '{"cost":1}{"cost":1}', 'cost'],
    ['nothing', '', 'cost'],
    ['a byte order mark', '\ufeff{"cost":1}', 'cost'],
    ['a scalar', '"cost"', 'cost'],
    ['events', 'data: {"cost":1}\n\n', 'cost'],
  ])('gives the very same bytes for %s', (_name, text, at) => {
    const bytes = encoder.encode(text);
    expect(withoutReportedCharge(bytes, settlement(at))).toBe(bytes);
  });

  it('gives the very same bytes for what is not UTF-8, and for other settlements', () => {
    const broken = Uint8Array.of(...encoder.encode('{"cost":1,"a":"'), 0xff, 0x22, 0x7d);
    expect(withoutReportedCharge(broken, settlement('cost'))).toBe(broken);
    const bytes = encoder.encode('{"cost":1}');
    expect(withoutReportedCharge(bytes, settlement('cost', 'header'))).toBe(bytes);
    expect(withoutReportedCharge(bytes, settled())).toBe(bytes);
  });

  it('C095: 100000 levels below the member are cut like any value', () => {
    const deep = `${'[{"x":'.repeat(50_000)}0${'}]'.repeat(50_000)}`;
    expect(stripped(`{"a":1,"cost":${deep}}`, 'cost')).toBe('{"a":1}');
  });
});
