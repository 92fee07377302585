/**
 * Decimal: numbers of vendors, exactly. `1.1` in a bill means 1.1, not the nearest double.
 * Promises: finite and never negative; sums and products are exact; rounding happens once, upwards,
 * in {@link ceilMicros}. Must never: round a part of a sum. Pure. Called by the rules of
 * prices and by those that read an aggregator's amounts.
 */
import { assert } from '../../base/assert';
import {
  decimalCharsMax,
  decimalExponentMax,
  ledgerAmountMicrosMax,
} from '../../base/limits-money';

/** `digits` divided by ten to the power of `scale`; neither is negative. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** So many units at so much for a million of them. */
export interface Term {
  readonly units: Decimal;
  readonly perMillionMicros: number;
}

/** No units. */
export const zero: Decimal = { digits: 0n, scale: 0 };

const decimalText = /^([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,4}))?$/;

/**
 * A number, or a text that is one (headers; amounts that vendors quote); `null` for everything
 * else: negative, infinite, empty, with a sign, a unit or spaces.
 */
export function decimalOf(value: unknown): Decimal | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  const text = String(value);
  if (text.length > decimalCharsMax) return null;
  const match = decimalText.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const scale = fraction.length - Number(exponent);
  if (Math.abs(scale) > decimalExponentMax) return null;
  const digits = BigInt(whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** A whole number of ours. */
export function wholeDecimal(units: number): Decimal {
  assert(Number.isSafeInteger(units) && units >= 0, 'units of ours are whole and not negative');
  return { digits: BigInt(units), scale: 0 };
}

/** The digits of `value` at a larger scale. */
const atScale = (value: Decimal, scale: number): bigint =>
  value.digits * 10n ** BigInt(scale - value.scale);

/** a + b. */
export function plus(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { digits: atScale(a, scale) + atScale(b, scale), scale };
}

/** a − b; zero when that is negative. */
export function minus(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  const digits = atScale(a, scale) - atScale(b, scale);
  return digits > 0n ? { digits, scale } : zero;
}

/** a × b. */
export const times = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  scale: a.scale + b.scale,
});

/** Below zero, zero or above it as `a` is below, equal to or above `b`. */
export function compare(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale);
  const [left, right] = [atScale(a, scale), atScale(b, scale)];
  return left < right ? -1 : Number(left > right);
}

/** The larger one. */
export const larger = (a: Decimal, b: Decimal): Decimal => (compare(a, b) < 0 ? b : a);

/**
 * The sum of all terms in micro-USD, rounded up once; `null` when it is more than one operation of
 * the ledger carries (`ledgerAmountMicrosMax`).
 */
export function ceilMicros(terms: readonly Term[]): number | null {
  const scale = Math.max(0, ...terms.map(({ units }) => units.scale));
  let sum = 0n;
  for (const { units, perMillionMicros } of terms) {
    sum += atScale(units, scale) * BigInt(perMillionMicros);
  }
  const divisor = 1_000_000n * 10n ** BigInt(scale);
  const micros = (sum + divisor - 1n) / divisor;
  return micros <= BigInt(ledgerAmountMicrosMax) ? Number(micros) : null;
}
