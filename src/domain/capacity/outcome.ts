/**
 * Outcome: whether an answer had what was asked for. Promises: one rule, for telemetry and for
 * settlement: a price per success bills exactly what has content, a price per result counts zero in
 * exactly a miss. Must never: read a body that nobody holds; without one a 2xx is a hit. Pure.
 * Called by `pricing/charge.ts` and by the road, for the row's `found`.
 */
import { countReading, type Usage } from '../pricing/meters';

/** `hit`: found something. `miss`: a 2xx without content or without results. `error`: no 2xx. */
export type Outcome = 'hit' | 'miss' | 'error';

/** The rule, on what was read of the answer (`usageOf`, or the tap of a stream); null: nothing. */
export function outcomeOf(status: number, usage: Usage | null): Outcome {
  if (status < 200 || status >= 300) return 'error';
  if (status === 204) return 'miss';
  const count = usage?.seen.get(countReading);
  return count !== undefined && count !== 'malformed' && count.digits === 0n ? 'miss' : 'hit';
}
