/**
 * Capacity words: what an answer of a vendor says of our account there, and the names of what can be out.
 * Promises: plain data; pure. Made by `classify.ts`, read by the breaker, the road and the operator's views.
 */

/**
 * `balance`: the account has no money left. `quota`: an allowance of one operation is used up. `burst`: too many at once, a short wait
 * helps. `unknown`: a 429 that says nothing. `unrecorded`: a refusal that speaks of capacity in words that no row knows. `edge_block`:
 * the vendor's CDN refused the shape of the request.
 */
export type SignalKind = 'balance' | 'quota' | 'burst' | 'unknown' | 'unrecorded' | 'edge_block';

/** What one answer said. */
export interface CapacitySignal {
  readonly kind: SignalKind;
  /** How long the vendor says to wait, from the answer on; null: it does not say. At most `capacityVendorHoldMsMax`. */
  readonly waitMs: number | null;
  /** The row that matched, or the phrase that did (never the body: errors echo requests). */
  readonly because: string;
}

/** Only these two mean that the account is out. */
export const isExhausting = (kind: SignalKind): kind is 'balance' | 'quota' =>
  kind === 'balance' || kind === 'quota';

/** The label of the operator's usual account at a provider. */
export const primaryAccount = 'primary';

/**
 * Name of the lock that a signal is about: the whole provider for a balance, one endpoint for a quota (allowances are per operation);
 * `#label` behind it for an account that is not the primary (digest A12).
 */
export function lockKey(
  kind: 'balance' | 'quota',
  place: { readonly provider: string; readonly endpointId: string; readonly account: string },
): string {
  const scope = kind === 'balance' ? place.provider : place.endpointId;
  return place.account === primaryAccount ? scope : `${scope}#${place.account}`;
}
