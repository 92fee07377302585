/** Wire: whatever a batch and its answers are, the other side reads what was sent. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  Applied,
  EndAnswer,
  EndOp,
  PlaceAnswer,
  PlaceOp,
} from '../../src/domain/ledger/operations';
import { packAnswers, packBatch, unpackAnswers, unpackBatch } from '../../src/domain/ledger/wire';

const id = fc.string({ maxLength: 8 });
const micros = fc.maxSafeNat();
const tags = fc.option(fc.array(id, { maxLength: 4 }));
const claim = fc.option(fc.tuple(id, id, id, id));
const cap = fc.option(fc.nat());
const key = fc.constantFrom('key_a', 'key_b');

/** Uncounted calls, plain ones and those that travel whole, so that all of them stand between two of one key. */
const place: fc.Arbitrary<PlaceOp> = fc.oneof(
  fc.tuple(
    fc.constant('place' as const),
    id,
    micros,
    key,
    fc.constant(null),
    fc.constant(null),
    fc.constant(null),
    fc.constant(true),
  ),
  fc.tuple(fc.constant('place' as const), id, micros, key, cap, tags, claim),
  fc.tuple(fc.constant('place' as const), id, micros, key, cap, tags, claim, fc.constant(true)),
  fc.tuple(
    fc.constant('place' as const),
    id,
    micros,
    key,
    fc.constant(null),
    fc.constant(null),
    fc.constant(null),
  ),
);
const answer = fc.record({
  status: fc.nat(),
  headers: fc.array(id),
  body: fc.option(fc.uint8Array({ maxLength: 5 })),
  bodyRef: fc.option(id),
  bodyBytes: fc.nat(),
  costMicros: micros,
});
const end: fc.Arbitrary<EndOp> = fc.oneof(
  fc.tuple(fc.constant('renew' as const), id),
  fc.tuple(fc.constant('settle' as const), id, micros, fc.boolean()),
  fc.tuple(fc.constant('release' as const), id, id),
  fc.tuple(fc.constant('record' as const), id, answer),
  fc.tuple(fc.constant('free' as const), id),
  fc.tuple(fc.constant('unknown' as const), id),
);
const endAnswer: fc.Arbitrary<EndAnswer> = fc.oneof(
  fc.constantFrom<EndAnswer>(
    { outcome: 'settled' },
    { outcome: 'released' },
    { outcome: 'late_settled' },
    { outcome: 'unknown_hold' },
    { outcome: 'already_ended', ending: 'expired', chargeMicros: 0, lateMicros: null },
  ),
  fc.record({ outcome: fc.constant('renewed' as const), leaseUntilMs: micros }),
);
const placeAnswer: fc.Arbitrary<PlaceAnswer> = fc.oneof(
  fc.record({ outcome: fc.constant('placed' as const), leaseUntilMs: fc.constantFrom(0, 5, 6) }),
  fc.record({ outcome: fc.constant('replay' as const), answer }),
  fc.constantFrom<PlaceAnswer>({ outcome: 'mismatch' }, { outcome: 'invalid', field: 'holdId' }),
);

describe('the ledger on the wire', () => {
  it('a batch is what was packed, after a clone', () => {
    fc.assert(
      fc.property(fc.array(end), fc.array(place), (ends, places) => {
        expect(unpackBatch(structuredClone(packBatch(ends, places)))).toEqual({ ends, places });
      }),
      { numRuns: 2000 },
    );
  });

  it('an operation that travels whole leaves the key of the flat ones alone', () => {
    const places: PlaceOp[] = [
      ['place', 'a', 1, 'key_a', null, null, null],
      ['place', 'b', 1, 'key_b', null, null, null, true],
      ['place', 'c', 1, 'key_a', null, null, null],
    ];
    expect(unpackBatch(structuredClone(packBatch([], places)))).toEqual({ ends: [], places });
  });

  it('an operation that goes without a key before any key is no batch', () => {
    expect(() => unpackBatch([0, 1, 6, 'a', 5])).toThrow('without a key');
  });

  it('answers are what was packed, after a clone', () => {
    fc.assert(
      fc.property(fc.array(endAnswer), fc.array(placeAnswer), (ends, places) => {
        const applied: Applied = { outcome: 'applied', ends, places };
        expect(unpackAnswers(structuredClone(packAnswers(applied)))).toEqual(applied);
      }),
      { numRuns: 2000 },
    );
  });

  it('a list that is cut short or too long is no batch', () => {
    const flat = packBatch([['settle', 'a', 5, true]], [['place', 'b', 1, 'k', null, null, null]]);
    expect(() => unpackBatch(flat.slice(0, -1))).toThrow('ends too early');
    expect(() => unpackBatch([...flat, 1])).toThrow('longer than it says');
    expect(() => unpackBatch([1, 0, 99, 'a'])).toThrow('unknown code');
  });
});
