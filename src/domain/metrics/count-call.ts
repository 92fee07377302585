/**
 * One finished call as counts.
 * Promises: one row adds to each metric once; a code that is no refusal of ours is `other`. Pure, and cheap: it runs once for every call
 * of an isolate, behind its answer. Called by the isolate's tally.
 */
import type { Outcome } from '../capacity/outcome';
import { isChildId } from '../overflow/child';
import { label, type Totals } from './series';

/** What is counted of a call: a part of its row. Milliseconds, bytes, micro-USD. */
export interface CountedCall {
  readonly id: string;
  readonly surface: string;
  readonly outcome: string;
  readonly status: number;
  readonly code: string | null;
  readonly blame: string | null;
  readonly latencyMs: number;
  readonly requestBytes: number | null;
  readonly responseBytes: number | null;
  readonly tier: number | null;
  readonly catalogId: string | null;
  readonly costMicros: number | null;
  readonly signal: string | null;
  readonly found: Outcome | null;
  readonly servedVia: string | null;
}

/** Upper bounds of the histogram's buckets, milliseconds: a relay takes five, a long answer minutes. */
const bucketsMs: readonly number[] = [
  5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
];

/** `le` of each bucket in seconds, the last one without a bound. */
export const bucketLabels: readonly string[] = [
  ...bucketsMs.map((ms) => String(ms / 1_000)),
  '+Inf',
];

/** Adds one call. `isRefusal` knows the codes of the refusal table. */
export function countCall(
  totals: Totals,
  call: CountedCall,
  isRefusal: (code: string) => boolean,
): void {
  if (call.catalogId !== null) countVendor(totals, call, call.catalogId);
  // A parent and its child are one call.
  if (isChildId(call.id)) return;
  const tier = call.tier ?? 'none';
  const statusClass = `${Math.floor(call.status / 100)}xx`;
  const { surface, outcome, blame, code } = call;
  totals.add(`calls|${surface},${outcome},${blame ?? 'none'},${tier},${statusClass}`, 1);
  totals.add(`duration|${tier},${bucketOf(call.latencyMs)}`, 1);
  if (call.latencyMs > 0) totals.add(`latency|${tier}`, Math.round(call.latencyMs));
  if (call.requestBytes !== null && call.requestBytes > 0) totals.add('sent|', call.requestBytes);
  if (call.responseBytes !== null && call.responseBytes > 0)
    totals.add('received|', call.responseBytes);
  if (outcome === 'refused')
    totals.add(`refusals|${code !== null && isRefusal(code) ? code : 'other'}`, 1);
}

/** What a call of a catalog row says of its vendor. */
function countVendor(
  totals: Totals,
  { costMicros, signal, found, servedVia, outcome }: CountedCall,
  catalogId: string,
): void {
  const provider = catalogId.slice(0, catalogId.indexOf('.'));
  if (costMicros !== null && costMicros > 0) totals.add(`cost|${label(provider)}`, costMicros);
  if (found !== null) totals.add(`answers|${label(provider)},${found}`, 1);
  if (signal !== null) totals.add(`signals|${label(provider)},${label(signal)}`, 1);
  if (servedVia !== null)
    totals.add(`overflow|${label(servedVia.replace(/^overflow:/, ''))},${outcome}`, 1);
}

function bucketOf(ms: number): string {
  let at = 0;
  while (at < bucketsMs.length && ms > (bucketsMs[at] ?? 0)) at += 1;
  return bucketLabels[at] ?? '+Inf';
}
