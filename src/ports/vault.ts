/**
 * Vault: seals secrets and opens them again. Tiers of keys: a versioned master key (a Worker secret) wraps one data key per tenant,
 * which seals each secret with AES-256-GCM; the additional data binds tenant and secret id.
 * Promises: a row moved to another tenant or id does not open; opened values stay in memory no longer than CONFIG_TTL_S.
 */
import type { Result } from '../base/result';
import type { Refusal } from '../domain/refusal';

/** A sealed secret as the store has it, with the wrapped data key that opens it. */
export interface SealedSecret {
  readonly id: string;
  readonly tenantId: string;
  readonly sealed: Uint8Array;
  readonly dataKeyVersion: number;
  readonly masterVersion: number;
  readonly wrappedDataKey: Uint8Array;
}

export interface Vault {
  /** Opens one secret; `secret.not_found` when the row does not authenticate or its master key is gone. Pure CPU: no store is asked. */
  open(secret: SealedSecret): Promise<Result<string, Refusal>>;
  /** Whether a data key opens: its master key is configured, and is the one that wrapped it, not another one of the same version. */
  opens(key: WrappedDataKey): Promise<boolean>;
  /** A new data key for a tenant, already wrapped under the newest master key. */
  newDataKey(tenantId: string, version: number): Promise<WrappedDataKey>;
  /** Seals `value` under a tenant's data key. */
  seal(
    key: WrappedDataKey,
    secret: { tenantId: string; id: string; value: string },
  ): Promise<Uint8Array>;
  /** The same data key under the newest master key; `null` when it already is. */
  rewrap(key: WrappedDataKey): Promise<Result<WrappedDataKey | null, Refusal>>;
  /** Version of the newest master key. */
  readonly newestMasterVersion: number;
  /** Versions of all master keys that are configured. */
  readonly masterVersions: readonly number[];
}

/** A tenant's data key as it is stored. */
export interface WrappedDataKey {
  readonly tenantId: string;
  readonly version: number;
  readonly masterVersion: number;
  readonly wrapped: Uint8Array;
}
