/** Failures: whom they mark, and for how long. */
import { describe, expect, it } from 'vitest';
import { overflowMalformedVendorsMax, overflowMarkMs } from '../../../../src/base/limits-capacity';
import type { OverflowFailure } from '../../../../src/domain/overflow/envelope';
import { markedFor, marksAfter, mayAsk } from '../../../../src/domain/overflow/failure';

const stands = (key: string, reason: OverflowFailure, endsInMs = 1) => ({ key, reason, endsInMs });

describe('a failure', () => {
  it.each<[OverflowFailure, string[]]>([
    ['aggregator_auth', ['']],
    ['aggregator_balance', ['']],
    ['vendor_dry', ['v1']],
    ['malformed', ['v1']],
    ['unreachable', ['v1']],
    ['contract', []],
  ])('%s marks %j for a quarter of an hour', (failure, keys) => {
    expect(marksAfter(failure, 'v1', [])).toEqual(
      keys.map((key) => ({ key, reason: failure, forMs: overflowMarkMs })),
    );
    expect(overflowMarkMs).toBe(900_000);
  });

  it.each([
    ['no other vendor', [], ['v1']],
    ['one other vendor', [stands('v2', 'malformed')], ['v1']],
    ['two other vendors', [stands('v2', 'malformed'), stands('v3', 'unreachable')], ['v1', '']],
    ['its own mark twice', [stands('v1', 'malformed'), stands('v2', 'malformed')], ['v1']],
    ['marks that are over', [stands('v2', 'malformed', 0), stands('v3', 'malformed', -1)], ['v1']],
    ['vendors that are dry', [stands('v2', 'vendor_dry'), stands('v3', 'vendor_dry')], ['v1']],
    ['a mark of the whole', [stands('', 'malformed'), stands('v2', 'malformed')], ['v1']],
  ])('without an envelope beside %s marks %3$j', (_, marks, keys) => {
    expect(marksAfter('malformed', 'v1', marks).map(({ key }) => key)).toEqual(keys);
    expect(overflowMalformedVendorsMax).toBe(3);
  });

  it('C079: of one vendor leaves the others of that aggregator served', () => {
    const marks = marksAfter('malformed', 'v1', []).map(({ key, reason, forMs }) => ({
      key,
      reason,
      endsInMs: forMs,
    }));
    expect(markedFor('v1', marks, 0)).toBe('malformed');
    expect(markedFor('v2', marks, 0)).toBeNull();
  });

  it('of our key or balance leaves none of them served', () => {
    const marks = [stands('', 'aggregator_auth', 10)];
    expect(markedFor('v1', marks, 9)).toBe('aggregator_auth');
    expect(markedFor('v1', marks, 10)).toBeNull();
  });
});

describe('our balance there', () => {
  const reading = {
    observedAtMs: 1,
    state: 'exhausted',
    resetsAtMs: null,
    endsInMs: null,
    nextProbeInMs: 0,
  } as const;

  it.each([
    ['that a sweep read as empty', reading, false],
    ['that is empty until a reset', { ...reading, endsInMs: 10 }, false],
    ['whose reset has come', { ...reading, endsInMs: 9 }, true],
    ['that is left', { ...reading, state: 'ok' }, true],
    ['that nobody read', null, true],
  ] as const)('%s', (_, known, may) => {
    expect(mayAsk('v1', { marks: [], reading: known }, 9)).toBe(may);
  });

  it('is not looked at where a mark stands already', () => {
    const marks = [{ key: 'v1', reason: 'vendor_dry', endsInMs: 10 }];
    expect(mayAsk('v1', { marks, reading: null }, 9)).toBe(false);
    expect(mayAsk('v2', { marks, reading: null }, 9)).toBe(true);
  });
});
