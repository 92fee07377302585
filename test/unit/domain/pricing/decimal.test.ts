import { describe, expect, it } from 'vitest';
import { decimalExponentMax } from '../../../../src/base/limits-money';
import {
  ceilMicros,
  compare,
  decimalOf,
  minus,
  plus,
  times,
  wholeDecimal,
} from '../../../../src/domain/pricing/decimal';

const decimal = (value: unknown) => {
  const read = decimalOf(value);
  if (read === null) throw new Error(`no decimal: ${String(value)}`);
  return read;
};

describe('decimalOf', () => {
  it.each([
    [0, 0n, 0],
    [-0, 0n, 0],
    [7, 7n, 0],
    [1.1, 11n, 1],
    [1e-7, 1n, 7],
    [1.5e21, 1_500_000_000_000_000_000_000n, 0],
    ['0.000123', 123n, 6],
    ['1.2E3', 1200n, 0],
    ['007', 7n, 0],
    [5e-324, 5n, 324],
    [`1e-${decimalExponentMax}`, 1n, decimalExponentMax],
    ['1'.repeat(64), BigInt('1'.repeat(64)), 0],
  ])('reads %s exactly', (value, digits, scale) => {
    expect(decimalOf(value)).toEqual({ digits, scale });
  });

  it.each([
    [-1],
    [-0.1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [null],
    [undefined],
    [true],
    [[]],
    [{}],
    [3n],
    [''],
    [' 1'],
    ['+1'],
    ['-1'],
    ['1,5'],
    ['.5'],
    ['1.'],
    ['0x10'],
    ['1e'],
    ['1e999'],
    ['1e-999'],
    [`1e-${decimalExponentMax + 1}`],
    ['Infinity'],
    ['$1'],
    ['٣'],
    ['1'.repeat(65)],
  ])('%s is no amount', (value) => {
    expect(decimalOf(value)).toBeNull();
  });
});

describe('sums', () => {
  it('are exact where doubles are not', () => {
    expect(compare(plus(decimal(0.1), decimal(0.2)), decimal(0.3))).toBe(0);
    expect(plus(decimal(0.25), decimal(1))).toEqual({ digits: 125n, scale: 2 });
    expect(plus(decimal(1), decimal(0.25))).toEqual({ digits: 125n, scale: 2 });
    expect(times(decimal(1.1), decimal(1.1))).toEqual({ digits: 121n, scale: 2 });
    expect(minus(decimal(0.3), decimal(0.1))).toEqual({ digits: 2n, scale: 1 });
    expect(minus(decimal(0.25), decimal(0.1))).toEqual({ digits: 15n, scale: 2 });
    expect(minus(decimal(1), decimal(0.25))).toEqual({ digits: 75n, scale: 2 });
    expect(compare(minus(decimal(1), decimal(2)), decimal(0))).toBe(0);
    expect(compare(decimal(2), decimal(1.99))).toBe(1);
    expect(compare(decimal('1.0'), decimal(1.01))).toBe(-1);
  });

  it.each([[-1], [0.5], [2 ** 53]])('%d is no whole number of ours', (units) => {
    expect(() => wholeDecimal(units)).toThrow();
  });

  it('are rounded up once, not term by term', () => {
    const third = { units: wholeDecimal(1), perMillionMicros: 333_333 };
    expect(ceilMicros([third, third, third])).toBe(1);
    expect(ceilMicros([third])).toBe(1);
    expect(ceilMicros([{ units: wholeDecimal(3), perMillionMicros: 333_334 }])).toBe(2);
    expect(ceilMicros([])).toBe(0);
    expect(ceilMicros([{ units: decimal('0'), perMillionMicros: 5 }])).toBe(0);
    expect(ceilMicros([{ units: decimal(5e-324), perMillionMicros: 1 }])).toBe(1);
  });

  it('beyond what one operation of the ledger carries are no amount', () => {
    const unit = { units: wholeDecimal(1_000_000), perMillionMicros: 1_000_000_000_000 };
    expect(ceilMicros([unit])).toBe(1_000_000_000_000);
    expect(ceilMicros([unit, { units: wholeDecimal(1), perMillionMicros: 1 }])).toBeNull();
  });
});
