/**
 * Catalog: the priced operations of vendors, as the road reads them.
 * Promises: on a warm isolate nothing here asks the store, ids that do not exist included; what is older than CONFIG_TTL_S is read
 * again behind a call, past it before; a store that does not answer is `config.unavailable`, never a guess.
 * Implemented by `adapters/d1/catalog.ts`; the management API reads the store (`ports/store.ts`).
 */
import type { MaybePromise, Result } from '../base/result';
import type { CatalogEndpoint } from '../domain/catalog/endpoint';
import type { NearRows } from '../domain/catalog/near-ids';
import type { Provider } from '../domain/catalog/provider';
import type { Refusal } from '../domain/refusal';
import type { Background } from './config';

/** A row with its provider, both of one version. */
export interface CatalogEntry {
  readonly endpoint: CatalogEndpoint;
  readonly provider: Provider;
}

/** When a look-up happens, epoch milliseconds, and who carries the refresh at half-life. */
export interface LookupContext {
  readonly nowMs: number;
  readonly background: Background;
}

/** The road's catalog. Every look-up refuses with `config.unavailable` only. */
export interface Catalog {
  /** The row of that id, tombstones included; `null` when there is none. */
  endpoint(id: string, context: LookupContext): MaybePromise<Result<CatalogEntry | null, Refusal>>;
  /** Diagnoses an id that cannot be called. For the error path. */
  near(id: string, context: LookupContext): MaybePromise<Result<NearRows, Refusal>>;
}
