/** Lru: bounded; what was read stays longest. */
import { describe, expect, it } from 'vitest';
import { Lru } from '../../../src/base/lru';

const filled = (max: number): Lru<number, string> => {
  const lru = new Lru<number, string>(max);
  for (let key = 0; key < max; key++) lru.set(key, `v${key}`);
  return lru;
};

const kept = (lru: Lru<number, string>, keys: readonly number[]): readonly number[] =>
  keys.filter((key) => lru.get(key) !== undefined);

describe('a full map', () => {
  it('never holds more than its bound', () => {
    const lru = filled(3);
    for (let key = 10; key < 100; key++) lru.set(key, 'x');
    expect(lru.size).toBe(3);
  });

  it('lets go first what was not read', () => {
    const lru = filled(3);
    lru.get(0);
    lru.set(3, 'v3');
    expect(kept(lru, [0, 1, 2, 3])).toEqual([0, 2, 3]);
  });

  it('takes a new entry even when all others were read', () => {
    const lru = filled(3);
    for (const key of [0, 1, 2]) lru.get(key);
    lru.set(3, 'v3');
    expect([lru.size, lru.get(3)]).toEqual([3, 'v3']);
  });

  it('forgets what was read long ago', () => {
    const lru = filled(2);
    lru.get(0);
    for (let key = 10; key < 14; key++) lru.set(key, 'x');
    expect(lru.get(0)).toBeUndefined();
  });

  it('replaces a value in its place', () => {
    const lru = filled(2);
    lru.set(1, 'new');
    expect([lru.size, lru.get(1)]).toEqual([2, 'new']);
  });
});

it('a purge forgets what it condemns, and nothing else', () => {
  const lru = filled(4);
  lru.purge((_, key) => key % 2 === 0);
  expect(kept(lru, [0, 1, 2, 3])).toEqual([1, 3]);
});
