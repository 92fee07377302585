/**
 * What of a request's body the price of a row depends on: then the body has to be read before the send, and one that a member prices must
 * not be readable in two ways. Pure. Called by stage 04. Must never: miss a place where `price.ts` reads the request.
 */
import { assertNever } from '../../base/assert';
import type { Cost, ReserveFactor } from './price';

/** `members`: values in its JSON; `bytes`: only how long it is. */
export type PricedBy = 'members' | 'bytes' | 'nothing';

/** The strongest need of all tables and reserves of a cost. */
export function pricedBy(cost: Cost): PricedBy {
  if (cost.kind === 'free') return 'nothing';
  const isSelected = cost.prices.some(({ when }) => when.some((value) => value.in === 'body'));
  const reserve = reserveReads(cost);
  return isSelected ? 'members' : reserve;
}

function reserveReads(cost: Exclude<Cost, { kind: 'free' }>): PricedBy {
  switch (cost.kind) {
    case 'per_call':
    case 'per_success':
      return 'nothing';
    case 'per_result':
      return factorsRead([cost.reserve]);
    case 'quota_rows':
      return cost.entities !== null || cost.page?.in === 'body' ? 'members' : 'nothing';
    case 'usage':
      return factorsRead(cost.meters.flatMap((meter) => meter.reserve));
    default:
      return assertNever(cost);
  }
}

function factorsRead(factors: readonly ReserveFactor[]): PricedBy {
  if (factors.some((factor) => factor.kind === 'request' && factor.in === 'body')) return 'members';
  return factors.some((factor) => factor.kind === 'body_bytes') ? 'bytes' : 'nothing';
}
