/** What an operation may look like: whatever else is answered `invalid`, alone. */
import { describe, expect, it } from 'vitest';
import {
  type Claim,
  type EndOp,
  endFault,
  type PlaceOp,
  placeFault,
  type RecordedAnswer,
  type Tags,
} from '../../../../src/domain/ledger/operations';

type Fields = {
  id?: string;
  micros?: number;
  key?: string;
  cap?: number | null;
  tags?: Tags | null;
};

const place = (fields: Fields & { claim?: Claim | null } = {}): PlaceOp => {
  const all = {
    id: 'hld_1',
    micros: 5,
    key: 'key_1',
    cap: null,
    tags: null,
    claim: null,
    ...fields,
  };
  return ['place', all.id, all.micros, all.key, all.cap, all.tags, all.claim];
};

const answer = (fields: Partial<RecordedAnswer> = {}): EndOp => {
  const body = new Uint8Array(3);
  const whole = { status: 200, headers: [], body, bodyRef: null, bodyBytes: 3, costMicros: 1 };
  return ['record', 'idm_1', { ...whole, ...fields }];
};

describe('placeFault', () => {
  it.each<[string, PlaceOp, string | null]>([
    ['a plain hold', place(), null],
    ['a hold of nothing', place({ micros: 0 }), null],
    ['the largest amount', place({ micros: 1_000_000_000_000 }), null],
    ['more than the largest', place({ micros: 1_000_000_000_001 }), 'amountMicros'],
    ['a fraction', place({ micros: 0.5 }), 'amountMicros'],
    ['a negative amount', place({ micros: -1 }), 'amountMicros'],
    ['no number', place({ micros: Number.NaN }), 'amountMicros'],
    ['an empty id', place({ id: '' }), 'holdId'],
    ['an endless id', place({ id: 'x'.repeat(65) }), 'holdId'],
    ['no key', place({ key: '' }), 'keyId'],
    ['a cap of no calls', place({ cap: 0 }), null],
    ['a negative cap', place({ cap: -1 }), 'callCap'],
    ['five tags', place({ tags: ['a', '1', 'b', '1', 'c', '1', 'd', '1', 'e', '1'] }), null],
    ['six tags', place({ tags: Array.from({ length: 12 }, (_, i) => `t${i}`) }), 'tags'],
    ['a tag without a value', place({ tags: ['a'] }), 'tags'],
    ['an empty value', place({ tags: ['a', ''] }), 'tags'],
    ['one dimension twice', place({ tags: ['a', '1', 'a', '2'] }), 'tags'],
    ['names of Object.prototype', place({ tags: ['__proto__', 'constructor'] }), null],
    ['a claim', place({ claim: ['idm_1', 'p', 'k', 'f'] }), null],
    ['a key of 200 characters', place({ claim: ['idm_1', 'p', 'k'.repeat(200), 'f'] }), null],
    ['a key of 201 characters', place({ claim: ['idm_1', 'p', 'k'.repeat(201), 'f'] }), 'claim'],
    ['an empty key', place({ claim: ['idm_1', 'p', '', 'f'] }), 'claim'],
  ])('%s', (_, op, field) => {
    expect(placeFault(op)).toBe(field);
  });
});

describe('endFault', () => {
  it.each<[string, EndOp, string | null]>([
    ['a settlement of nothing', ['settle', 'hld_1', 0, true], null],
    ['a vendor’s typing error', ['settle', 'hld_1', 1e15, true], 'chargeMicros'],
    ['a fraction', ['settle', 'hld_1', 1.5, true], 'chargeMicros'],
    ['a novel as a reason', ['release', 'hld_1', 'x'.repeat(65)], 'reason'],
    ['no id', ['renew', ''], 'id'],
    ['an answer', answer(), null],
    ['an answer in R2', answer({ body: null, bodyRef: 'r2/1', bodyBytes: 300_000 }), null],
    ['both', answer({ bodyRef: 'r2/1' }), 'body'],
    ['neither', answer({ body: null }), 'body'],
    ['another length', answer({ bodyBytes: 4 }), 'bodyBytes'],
    ['256 KiB and one byte', bytes(256 * 1024 + 1), 'body'],
    ['8 MiB and one byte', answer({ body: null, bodyRef: 'r', bodyBytes: 8_388_609 }), 'bodyBytes'],
    ['a header without a value', answer({ headers: ['x'] }), 'headers'],
    ['headers without end', answer({ headers: ['x', 'y'.repeat(131_072)] }), 'headers'],
  ])('%s', (_, op, field) => {
    expect(endFault(op)).toBe(field);
  });

  function bytes(count: number): EndOp {
    return answer({ body: new Uint8Array(count), bodyBytes: count });
  }
});
