/**
 * Charge: what a finished call costs. Promises: what the vendor says it charged is the charge, zero
 * and misses included; a report that cannot be read costs the fallback, never nothing; usage may
 * cost more than was held; a call that its client left is never cheaper for that than what was
 * metered. Must never: charge for a fault of the vendor (3xx, 5xx, no answer, a 2xx that says so).
 * Pure. Called by stage 09 and by the owner of a call whose client left.
 */
import { assertNever } from '../../base/assert';
import { outcomeOf } from '../capacity/outcome';
import {
  ceilMicros,
  compare,
  type Decimal,
  decimalOf,
  minus,
  type Term,
  times,
  wholeDecimal,
  zero,
} from './decimal';
import { type FrozenPrice, ratesFor } from './estimate';
import {
  countReading,
  failedReading,
  reportedReading,
  reportedTimesReading,
  type Seen,
  type Usage,
} from './meters';
import type { Cost, ReportedCharge, Settlement } from './price';

/** What is known of an answer when it is settled. */
export interface AnswerFacts {
  readonly price: FrozenPrice;
  readonly settlement: Settlement;
  readonly status: number;
  /** A header of the answer, as the vendor sent it. */
  readonly header: (name: string) => string | null;
  /** From the JSON answer (`usageOf`) or its stream (the tap); `null`: no body that could be read. */
  readonly usage: Usage | null;
  readonly heldMicros: number;
}

/** Where a charge comes from. */
export type ChargeSource =
  | 'reported'
  | 'usage'
  | 'table'
  | 'fallback'
  | 'not_billable'
  | 'vendor_failed';

/**
 * What to settle, micro-USD. `not_billable`, `vendor_failed`: the hold is released instead; the latter is no success, whatever its status,
 * and a key that asked for one is free again.
 */
export interface Charge {
  readonly micros: number;
  readonly source: ChargeSource;
}

/** Whether a charge is none: nothing is booked, the hold goes back. */
export const isRelease = (source: ChargeSource): boolean =>
  source === 'not_billable' || source === 'vendor_failed';

const neverBilled: ReadonlySet<number> = new Set([401, 402, 403, 405, 407, 408, 429]);

/**
 * Whether a status can cost money at all (digest A9). `isReported`: the vendor says that it charged
 * for this answer, an amount that can be read.
 */
export function isBillable(kind: Cost['kind'], status: number, isReported: boolean): boolean {
  const outcome = outcomeOf(status, null);
  if (outcome !== 'error') return kind !== 'per_success' || outcome === 'hit';
  if (status < 400 || status >= 500) return false;
  return kind === 'per_call' && isReported && !neverBilled.has(status);
}

/** The charge of a call that has an answer, seen to its end. */
export function charge(answer: AnswerFacts): Charge {
  const { price, settlement, status, usage } = answer;
  const reported =
    settlement.reported === null ? null : reportedMicros(answer, settlement.reported);
  if (!isBillable(price.kind, status, typeof reported === 'number')) return notBillable;
  if (price.kind === 'free') return { micros: 0, source: 'table' };
  if (typeof reported === 'number') return { micros: reported, source: 'reported' };
  if (hasFailed(usage)) {
    const micros = meteredSoFar(price, usage);
    return micros === 0 ? vendorFailed : { micros, source: 'usage' };
  }
  const priced = reported === null ? pricedMicros(price, usage, false) : null;
  if (priced === null) return { micros: fallbackMicros(answer), source: 'fallback' };
  const source = price.kind === 'usage' ? 'usage' : 'table';
  const isDoubtful = usage?.isPartial === true && priced < fallbackMicros(answer);
  return isDoubtful
    ? { micros: fallbackMicros(answer), source: 'fallback' }
    : { micros: priced, source };
}

/** Whether the vendor said, with a 2xx of which everything was read, that it failed. */
const hasFailed = (usage: Usage | null): boolean =>
  usage?.seen.has(failedReading) === true && !usage.isPartial;

const notBillable: Charge = { micros: 0, source: 'not_billable' };
const vendorFailed: Charge = { micros: 0, source: 'vendor_failed' };

/** What is known of a call that was sent and whose end nobody saw. `status`: `null` before headers. */
export interface AbandonedFacts extends Omit<AnswerFacts, 'status'> {
  readonly status: number | null;
}

/**
 * The charge of such a call: the larger of what was metered so far and the fallback, at most the
 * hold (decisions section 4, tier 4). An answer whose status cannot cost money costs nothing.
 */
export function abandonedCharge(call: AbandonedFacts): Charge {
  const { price, settlement, usage, heldMicros } = call;
  const { reported } = settlement;
  const told = reported === null ? null : reportedMicros(call, reported);
  const toldMicros = typeof told === 'number' ? told : 0;
  if (call.status !== null && !isBillable(price.kind, call.status, typeof told === 'number')) {
    return notBillable;
  }
  if (price.kind === 'free') return { micros: 0, source: 'table' };
  const meteredMicros = meteredSoFar(price, usage);
  const seenMicros = Math.max(toldMicros, meteredMicros);
  const isFailure = hasFailed(usage);
  if (isFailure && seenMicros === 0) return vendorFailed;
  const fallback = isFailure ? 0 : fallbackMicros(call);
  const micros = Math.min(heldMicros, Math.max(seenMicros, fallback));
  if (fallback >= seenMicros) return { micros, source: 'fallback' };
  return { micros, source: toldMicros >= meteredMicros ? 'reported' : 'usage' };
}

/** The price of what an answer has counted until now; a flat price has counted nothing. */
function meteredSoFar(price: Exclude<FrozenPrice, { kind: 'free' }>, usage: Usage | null): number {
  const isMetered = price.kind === 'usage' || usage?.seen.has(countReading) === true;
  return isMetered ? (pricedMicros(price, usage, true) ?? 0) : 0;
}

const fallbackMicros = (call: Pick<AnswerFacts, 'settlement' | 'heldMicros'>): number =>
  call.settlement.fallbackMicros ?? call.heldMicros;

// ── the vendor's own word ──

/** What the vendor says it charged, micro-USD, whatever the answer was; `null`: it says nothing that can be read. */
export function reportedCharge(
  answer: Pick<AnswerFacts, 'header' | 'usage' | 'settlement'>,
): number | null {
  const { reported } = answer.settlement;
  const told = reported === null ? null : reportedMicros(answer, reported);
  return typeof told === 'number' ? told : null;
}

/** The reported charge in micro-USD; `unreadable`: absent, malformed or out of bounds. */
function reportedMicros(
  { header, usage }: Pick<AnswerFacts, 'header' | 'usage'>,
  reported: ReportedCharge,
): number | 'unreadable' {
  const amount =
    reported.in === 'header'
      ? decimalOf(header(reported.at)?.trim())
      : number(usage?.seen.get(reportedReading));
  const factor =
    reported.times === null
      ? wholeDecimal(1)
      : bounded(number(usage?.seen.get(reportedTimesReading)), reported.times);
  if (amount === null || factor === null) return 'unreadable';
  const { perMillionMicros } = reported;
  return ceilMicros([{ units: times(amount, factor), perMillionMicros }]) ?? 'unreadable';
}

const number = (seen: Seen | undefined): Decimal | null =>
  seen === undefined || seen === 'malformed' ? null : seen;

function bounded(
  factor: Decimal | null,
  { min, max }: { readonly min: number; readonly max: number },
): Decimal | null {
  if (factor === null || factor.digits === 0n) return null;
  const [low, high] = [decimalOf(min), decimalOf(max)];
  if (low === null || high === null) return null;
  return compare(factor, low) >= 0 && compare(factor, high) <= 0 ? factor : null;
}

// ── our own tables ──

/**
 * The price by table or usage; `null` when the answer does not say what it should.
 * `isCutShort`: a meter that was not seen yet counts as zero.
 */
function pricedMicros(
  price: Exclude<FrozenPrice, { kind: 'free' }>,
  usage: Usage | null,
  isCutShort: boolean,
): number | null {
  switch (price.kind) {
    case 'per_call':
    case 'per_success':
      return price.priceMicros;
    case 'per_result':
    case 'quota_rows': {
      const { perMillionMicros, isCounted, asked } = price;
      const units = isCounted ? number(usage?.seen.get(countReading)) : wholeDecimal(asked);
      if (perMillionMicros === null || units === null) return null;
      return ceilMicros([{ units, perMillionMicros }]);
    }
    case 'usage':
      return usageMicros(price, usage, isCutShort);
    default:
      return assertNever(price);
  }
}

function usageMicros(
  price: Extract<FrozenPrice, { kind: 'usage' }>,
  usage: Usage | null,
  isCutShort: boolean,
): number | null {
  if (usage === null) return null;
  const rates = ratesFor(price, (meter) => number(usage.seen.get(meter)));
  if (rates === null) return null;
  const terms: Term[] = [];
  for (const { name, includes, isRequired } of price.meters) {
    const seen = usage.seen.get(name);
    const isUnreadable = seen === 'malformed' || (seen === undefined && isRequired);
    if (isUnreadable && !isCutShort) return null;
    let units = number(seen) ?? zero;
    for (const part of includes) units = minus(units, number(usage.seen.get(part)) ?? zero);
    terms.push({ units, perMillionMicros: rates[name] ?? 0 });
  }
  return ceilMicros(terms);
}
