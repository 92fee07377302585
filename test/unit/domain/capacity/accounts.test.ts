/** Platform accounts: owner, key, and who may not serve. */
import { describe, expect, it } from 'vitest';
import { err, ok } from '../../../../src/base/result';
import { keyedAccount, ownerAccount } from '../../../../src/domain/capacity/accounts';

describe('the account of an object', () => {
  it.each([
    ['no object: nobody is pinned', [], ['primary', 'b'], ok(null)],
    ['null is the primary', [null], ['primary', 'b'], ok('primary')],
    ['its own account', ['b', 'b'], ['primary', 'b'], ok('b')],
    ['two accounts', ['b', null], ['primary', 'b'], err('split')],
    ['a label that is gone', ['c'], ['primary', 'b'], err('retired')],
    ['a deployment with the primary only', ['c'], ['primary'], err('unavailable')],
  ] as const)('%s', (_, owners, configured, wanted) => {
    expect(ownerAccount(owners, configured)).toEqual(wanted);
  });
});

describe('the account of a key', () => {
  const labels = ['primary', 'b', 'c'];
  const keys = Array.from({ length: 3_000 }, (_, at) => `key-${at}`);
  const of = (key: string, among: readonly string[], scope = 'ten_1') =>
    keyedAccount(among, { scope, key });

  it('is the same for every repeat, whatever the order of the labels', () => {
    for (const key of keys.slice(0, 100))
      expect(of(key, labels)).toBe(of(key, labels.toReversed()));
  });

  it('is spread evenly', () => {
    for (const label of labels) {
      const share = keys.filter((key) => of(key, labels) === label).length / keys.length;
      expect(share).toBeGreaterThan(0.28);
      expect(share).toBeLessThan(0.39);
    }
  });

  it('moves only the keys of a label that goes', () => {
    const moved = keys.filter((key) => {
      const before = of(key, labels);
      return before !== 'c' && of(key, ['primary', 'b']) !== before;
    });
    expect(moved).toEqual([]);
  });

  it('depends on whose key it is', () => {
    const same = keys.filter((key) => of(key, labels, 'ten_1') === of(key, labels, 'ten_2'));
    expect(same.length).toBeLessThan(keys.length / 2);
  });

  it('is nobody without accounts', () => {
    expect(of('k', [])).toBeNull();
  });
});
