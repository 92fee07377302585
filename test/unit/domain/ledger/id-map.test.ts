/** IdMap and EndedHolds: whatever happens in whatever order, they hold what a `Map` would. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EndedHolds } from '../../../../src/domain/ledger/ended-holds';
import type { EndedHold } from '../../../../src/domain/ledger/holds';
import { hashOf, IdMap } from '../../../../src/domain/ledger/id-map';

/** Few ids, so that most steps meet one that is there; among them some of one hash. */
const sameHash = ['a_EEEEEEEEEEEE', 'b_EEEEEEEEEEEE', 'c_EEEEEEEEEEEE'];
const id = fc.oneof(
  fc.constantFrom(...sameHash),
  fc.nat(300).map((n) => `hld_${n}`),
);

describe('IdMap', () => {
  it('has ids of one hash in the test', () => {
    expect(new Set(sameHash.map(hashOf)).size).toBe(1);
  });

  it('holds what a Map holds, in the same order', () => {
    const step = fc.record({ id, what: fc.constantFrom('set', 'set', 'delete'), value: fc.nat() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        const [map, expected] = [new IdMap<number>(), new Map<string, number>()];
        for (const { id, what, value } of steps) {
          if (what === 'set') {
            map.set(id, value);
            expected.set(id, value);
          } else {
            map.delete(id);
            expected.delete(id);
          }
          expect(map.get(id)).toBe(expected.get(id));
          expect(map.has(id)).toBe(expected.has(id));
        }
        expect([...map]).toEqual([...expected]);
        expect([...map.values()]).toEqual([...expected.values()]);
        expect(map.size).toBe(expected.size);
        expect(map.first).toBe([...expected.values()][0]);
      }),
    );
  });
});

describe('EndedHolds', () => {
  const hold: fc.Arbitrary<EndedHold> = fc.record({
    amountMicros: fc.nat(1_000_000_000_000),
    placedAtMs: fc.nat(2_000_000_000_000),
    chargeMicros: fc.nat(1_000_000_000_000),
    ending: fc.constantFrom('settled', 'released', 'expired'),
    lateMicros: fc.option(fc.nat()),
    tags: fc.option(fc.constant(['team', 'a'])),
  });

  it('remembers the newest word about each, until it is cleared', () => {
    const step = fc.record({ id, hold, isLast: fc.nat(200).map((n) => n === 0) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 500 }), (steps) => {
        const [ended, expected] = [new EndedHolds(), new Map<string, EndedHold>()];
        for (const { id, hold, isLast } of steps) {
          ended.set(id, hold);
          expected.set(id, hold);
          if (isLast) {
            ended.clear();
            expected.clear();
          }
          expect(ended.has(id)).toBe(expected.has(id));
        }
        expect(ended.ids).toEqual([...expected.keys()]);
        for (const [id, hold] of expected) expect(ended.get(id)).toEqual(hold);
      }),
    );
  });
});
