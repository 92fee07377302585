/**
 * Credentials: the opened, rendered bindings of one upstream, ready to set.
 * Promises: rendered values live no longer than CONFIG_TTL_S in memory. Implemented by `adapters/vault/credentials.ts`.
 */
import type { MaybePromise, Result } from '../base/result';
import type { Upstream } from '../domain/catalog/upstream';
import type { MaskedSecret } from '../domain/credentials/masking';
import type { Rendered } from '../domain/credentials/render';
import type { Refusal } from '../domain/refusal';
import type { TenantView } from './config';

export interface PreparedCredentials {
  readonly headers: readonly Rendered[];
  readonly query: readonly Rendered[];
  /** Field and its value, already a JSON string. */
  readonly json: readonly Rendered[];
  /** Every injected secret with all its spellings, for masking; empty when only constants are injected. */
  readonly masks: readonly MaskedSecret[];
}

export interface Credentials {
  /** Refuses with `secret.not_found`, `auth.failed` (secret denied), `credential.unavailable`, `config.unavailable`. */
  prepare(
    upstream: Upstream,
    tenant: TenantView,
    nowMs: number,
  ): MaybePromise<Result<PreparedCredentials, Refusal>>;
}
