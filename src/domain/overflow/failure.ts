/**
 * Failure: what a failed run marks, and whether a route may be asked now.
 * Promises: only the aggregator's refusal of our own key or balance marks all of it at once; what is about one vendor marks that vendor
 * there; three vendors that gave no envelope within the life of a mark are the aggregator's fault (decisions section 5, C079); a request that
 * the aggregator does not take marks nothing. Pure. Called by the road's overflow branch.
 */
import { assertNever } from '../../base/assert';
import { overflowMalformedVendorsMax, overflowMarkMs } from '../../base/limits-capacity';
import type { CapacityView, MarkView } from '../capacity/operations';
import type { OverflowFailure } from './envelope';

/** A mark for the capacity object of `overflow:<aggregator>`; the key `''` is the aggregator itself. */
export interface OverflowMark {
  readonly key: string;
  readonly reason: string;
  readonly forMs: number;
}

/** Key of the mark that is about a whole aggregator. */
const wholeAggregator = '';

/** Reasons that count towards the aggregator when three vendors have them: the two ways to get no envelope. */
const counted: ReadonlySet<string> = new Set<OverflowFailure>(['malformed', 'unreachable']);

/** What to mark after `failure` of `vendor`; `marks` are those that stand now. */
export function marksAfter(
  failure: OverflowFailure,
  vendor: string,
  marks: readonly Pick<MarkView, 'key' | 'reason' | 'endsInMs'>[],
): readonly OverflowMark[] {
  switch (failure) {
    case 'contract':
      return [];
    case 'aggregator_auth':
    case 'aggregator_balance':
      return [mark(wholeAggregator, failure)];
    case 'vendor_dry':
      return [mark(vendor, failure)];
    case 'malformed':
    case 'unreachable': {
      const vendors = new Set([vendor]);
      for (const { key, reason, endsInMs } of marks)
        if (key !== wholeAggregator && endsInMs > 0 && counted.has(reason)) vendors.add(key);
      const own = mark(vendor, failure);
      return vendors.size < overflowMalformedVendorsMax
        ? [own]
        : [own, mark(wholeAggregator, failure)];
    }
    default:
      return assertNever(failure);
  }
}

const mark = (key: string, reason: OverflowFailure): OverflowMark => ({
  key,
  reason,
  forMs: overflowMarkMs,
});

/** The mark by which `vendor` is not to be asked there now; null: none. `ageMs`: how old the marks are. */
export function markedFor(
  vendor: string,
  marks: readonly Pick<MarkView, 'key' | 'reason' | 'endsInMs'>[],
  ageMs: number,
): string | null {
  const found = marks.find(
    ({ key, endsInMs }) => (key === wholeAggregator || key === vendor) && endsInMs > ageMs,
  );
  return found?.reason ?? null;
}

/**
 * Whether an aggregator may be asked for `vendor` now: it is not marked, and the last sweep did not read our balance there as empty, which
 * holds until the next reading as a vendor's does (digest A12). `ageMs`: how old the view is.
 */
export function mayAsk(
  vendor: string,
  { marks, reading }: Pick<CapacityView, 'marks' | 'reading'>,
  ageMs: number,
): boolean {
  if (markedFor(vendor, marks, ageMs) !== null) return false;
  if (reading === null || reading.state !== 'exhausted') return true;
  return reading.endsInMs !== null && reading.endsInMs <= ageMs;
}
