/**
 * Balance call: how the operator's balance at a vendor is read, as the catalog declares it.
 * Promises: plain JSON, validated when it was imported; its URLs are at the provider's own base URLs, so that it can send a credential
 * nowhere else. Pure. Read by the sweep (`domain/capacity/collect.ts`); made by `scripts/lib/catalog`.
 */

/** `none`: the vendor publishes no meter, only a dashboard shows the balance. */
export type BalanceCall = { readonly kind: 'none' } | BalanceRequest;

/** One request and where its JSON answer says what is left. Paths are those of `base/json-path.ts`; `[*]` sums, as a last step it counts. */
export interface BalanceRequest {
  readonly kind: 'call';
  readonly method: 'GET' | 'POST';
  /** Whole URL at one of the provider's base URLs' hosts; `{id}` is what `lookup` found. */
  readonly url: string;
  /** A GET that comes first, where the balance belongs to an id that only the vendor knows (a project's). */
  readonly lookup: { readonly url: string; readonly at: string } | null;
  /** Platform setting of the credential, where the account's own may not read it; null: the account's own. */
  readonly setting: string | null;
  readonly remaining: string;
  /** What is subtracted from `remaining`: vendors that tell what was bought and what was used. */
  readonly remainingMinus: string | null;
  readonly total: string | null;
  /** When it is filled again: epoch seconds or milliseconds, or RFC 3339. */
  readonly resetsAt: string | null;
  /** A word for people: `usd`, `credits`, `characters`. */
  readonly unit: string;
  /** What the vendor's numbers are divided by to be in `unit`: 100 for cents. */
  readonly divideBy: number;
  /** Only an exact reading may say that an account is exhausted. */
  readonly confidence: 'exact' | 'estimated';
  readonly note: string | null;
}
