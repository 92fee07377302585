/**
 * Meters: the numbers of an answer that cost money, read from one JSON document or from the many of
 * a stream in the same way. Promises: `null` is absent (vendors send `"usage": null` until the last
 * event); a value that is no number is malformed, never zero. Must never: keep a document. Called
 * by `charge.ts` for JSON answers and by `sse-usage-tap.ts` for streams.
 */
import { type Found, pathOf, readPath } from '../../base/json-path';
import { type Decimal, decimalOf, larger, plus, wholeDecimal, zero } from './decimal';
import type { Cost, Meter, Settlement, StreamEnd } from './price';

/** One number to look for: the first path that holds one is it. */
export interface Reading {
  readonly name: string;
  readonly paths: readonly string[];
  readonly keep: Meter['keep'];
}

/** What was read for a {@link Reading}; absent: never seen. */
export type Seen = Decimal | 'malformed';

/** What an answer says about its price. */
export interface Usage {
  readonly seen: ReadonlyMap<string, Seen>;
  /** A stream had events that could not be read: what was seen may be too little. */
  readonly isPartial: boolean;
}

/** What has to be read of an answer to price it, and what ends its stream. */
export interface UsagePlan {
  readonly readings: readonly Reading[];
  readonly ends: readonly StreamEnd[];
}

/** Names of the readings of a reported charge; no meter can have one with a colon. */
export const reportedReading = ':reported';
export const reportedTimesReading = ':times';
/** The name of the count of results or rows. */
export const countReading = ':count';
/** The name of the vendor's word that it failed: that it was read is what counts, whatever it says. */
export const failedReading = ':failed';

/** What to read from the answers of an endpoint. No readings: the body says nothing about money. */
export function usagePlan(cost: Cost, settlement: Settlement): UsagePlan {
  const readings: Reading[] = cost.kind === 'usage' ? [...cost.meters] : [];
  const { failed } = settlement;
  if (failed !== undefined) readings.push({ name: failedReading, paths: failed, keep: 'last' });
  const count = countPath(cost);
  if (count !== null) readings.push({ name: countReading, paths: [count], keep: 'sum' });
  const { reported } = settlement;
  if (reported?.in === 'body') {
    readings.push({ name: reportedReading, paths: [reported.at], keep: 'last' });
  }
  const times = reported?.times ?? null;
  if (times !== null) {
    readings.push({ name: reportedTimesReading, paths: [times.at], keep: 'last' });
  }
  return { readings, ends: cost.kind === 'usage' ? cost.ends : [] };
}

function countPath(cost: Cost): string | null {
  if (cost.kind === 'per_result') return cost.results;
  return cost.kind === 'quota_rows' ? cost.rows : null;
}

/** The usage that one JSON answer declares. */
export function usageOf(document: unknown, plan: UsagePlan): Usage {
  const seen = new Map<string, Seen>();
  observe(seen, document, plan.readings);
  return { seen, isPartial: false };
}

/** Adds what one document says to what was seen before it. */
export function observe(
  seen: Map<string, Seen>,
  document: unknown,
  readings: readonly Reading[],
): void {
  for (const reading of readings) {
    const value = firstNumber(document, reading.paths);
    if (value !== null) seen.set(reading.name, kept(seen.get(reading.name), value, reading.keep));
  }
}

function kept(before: Seen | undefined, value: Seen, keep: Meter['keep']): Seen {
  if (before === undefined || keep === 'last') return value;
  if (before === 'malformed' || value === 'malformed') return 'malformed';
  return keep === 'sum' ? plus(before, value) : larger(before, value);
}

function firstNumber(document: unknown, paths: readonly string[]): Seen | null {
  for (const text of paths) {
    const value = numberOf(readPath(document, pathOf(text)));
    if (value !== null) return value;
  }
  return null;
}

/** One number, the sum of several (zero of none), or a count; `null` when it is absent. */
function numberOf(found: Found): Seen | null {
  if (found.kind === 'missing') return null;
  if (found.kind === 'count') return wholeDecimal(found.count);
  const values = found.values.filter((value) => value !== null);
  if (values.length === 0 && found.values.length > 0) return null;
  let sum: Decimal = zero;
  for (const value of values) {
    const number = decimalOf(value);
    if (number === null) return 'malformed';
    sum = plus(sum, number);
  }
  return sum;
}
