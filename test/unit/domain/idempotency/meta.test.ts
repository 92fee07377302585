import { describe, expect, it } from 'vitest';
import { readMeta, tagNamePattern, tagValuePattern } from '../../../../src/domain/idempotency/meta';
import { placeFault } from '../../../../src/domain/ledger/operations';

describe('readMeta', () => {
  it.each([
    [null, null],
    ['team=a', ['team', 'a']],
    ['team=a,env=prod', ['team', 'a', 'env', 'prod']],
    [' team=a ,\tenv=prod ', ['team', 'a', 'env', 'prod']],
    ['a=1,b=2,c=3,d=4,e=5', ['a', '1', 'b', '2', 'c', '3', 'd', '4', 'e', '5']],
    ['a=b=c==', ['a', 'b=c==']],
    ['a=x@y.z', ['a', 'x@y.z']],
    ['name=Blue Team', ['name', 'Blue Team']],
    ['a=1,A=2', ['a', '1', 'A', '2']],
    ['__proto__=1,constructor=2', ['__proto__', '1', 'constructor', '2']],
    [`a=1${' '.repeat(2_045)}`, ['a', '1']],
    [`${'k'.repeat(128)}=${'v'.repeat(128)}`, ['k'.repeat(128), 'v'.repeat(128)]],
  ])('%j', (header, tags) => {
    expect(readMeta(header)).toEqual({ ok: true, value: tags });
    if (tags !== null) {
      expect(placeFault(['place', 'hld_1', 1, 'key_1', null, tags, null])).toBeNull();
    }
  });

  it.each([
    ['', 1, 'not_a_pair'],
    [' ', 1, 'not_a_pair'],
    ['team', 1, 'not_a_pair'],
    ['=a', 1, 'not_a_pair'],
    ['team=', 1, 'not_a_pair'],
    ['team= ', 1, 'not_a_pair'],
    ['a=1,', 2, 'not_a_pair'],
    [',a=1', 1, 'not_a_pair'],
    ['a=1,,b=2', 2, 'not_a_pair'],
    ['a=1,@b=2', 2, 'at_sign'],
    ['a@b=2', 1, 'at_sign'],
    ['a b=1', 1, 'key_charset'],
    ['a =1', 1, 'key_charset'],
    ['a:b=1', 1, 'key_charset'],
    ['é=1', 1, 'key_charset'],
    ['a=é', 1, 'value_charset'],
    ['a=b\tc', 1, 'value_charset'],
    ['a=\u001f', 1, 'value_charset'],
    [`${'k'.repeat(129)}=v`, 1, 'key_too_long'],
    [`k=${'v'.repeat(129)}`, 1, 'value_too_long'],
    ['a=1,b=2,a=3', 3, 'repeated_key'],
    ['a=1,b=2,c=3,d=4,e=5,f=6', 0, 'too_many'],
    [`a=1${' '.repeat(2_048)}`, 0, 'too_long'],
  ])('%j is a fault of pair %d: %s', (header, pair, reason) => {
    expect(readMeta(header)).toEqual({ ok: false, error: { pair, reason } });
  });

  it('a budget can name every tag that a header can carry, and no other', () => {
    const chars = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code));
    for (const text of chars.flatMap((char) => [char, `a${char}`, `${char}a`, `a${char}a`])) {
      const asKey = readMeta(`${text}=v`);
      const isKey = asKey.ok && asKey.value?.[0] === text;
      expect([text, tagNamePattern.test(text)]).toEqual([text, isKey]);
      const asValue = readMeta(`k=${text}`);
      const isValue = asValue.ok && asValue.value?.[1] === text && asValue.value.length === 2;
      expect([text, tagValuePattern.test(text)]).toEqual([text, isValue]);
    }
  });

  it('a value may be the text of a key', () => {
    expect(readMeta('a=b,b=a')).toEqual({ ok: true, value: ['a', 'b', 'b', 'a'] });
  });
});
