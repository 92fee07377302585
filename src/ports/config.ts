/**
 * Config: what the road needs to know about tenants, keys, upstreams and rules.
 * Promises: answers from memory while the tenant's configuration is known to be ≤ CONFIG_TTL_S old; a look-up that is not in memory is
 * a promise; a store that does not answer is `config.unavailable`, never a guess. Implemented by `adapters/d1/config.ts`.
 */
import type { MaybePromise, Result } from '../base/result';
import type { DenyRule, Upstream } from '../domain/catalog/upstream';
import type { LedgerAddress } from '../domain/ledger/address';
import type { Refusal } from '../domain/refusal';
import type { AccessKey } from '../domain/tenancy/access';
import type { SealedSecret } from './vault';

/** Registers work that must go on after the answer (ctx.waitUntil). */
export type Background = (work: Promise<unknown>) => void;

/** A key that may be used now, and the tenant it belongs to. */
export interface Identity {
  readonly key: AccessKey;
  readonly tenant: TenantView;
}

/** One tenant's configuration as of one version. */
export interface TenantView {
  readonly tenantId: string;
  /** The tenant and its ancestors, leaf first. */
  readonly chain: readonly string[];
  /** Where the money of this tenant's calls is. */
  readonly ledger: LedgerAddress;
  /** The dimension of that ledger's first budget: its tag value also scopes idempotency keys. */
  readonly primaryDimension: string | null;
  /** Whether an aggregator may serve its calls: no tenant of the chain has opted out. */
  readonly allowsOverflow: boolean;
  /** Rules of the whole chain. */
  readonly denyRules: readonly DenyRule[];
  /** Upstreams of that name along the chain, closest first, only those that the tenant may see; disabled ones included. */
  named(name: string): MaybePromise<Result<readonly Upstream[], Refusal>>;
  /** The same by alias. */
  aliased(alias: string): MaybePromise<Result<readonly Upstream[], Refusal>>;
  /** The same by endpoint. */
  at(host: string, port: number): MaybePromise<Result<readonly Upstream[], Refusal>>;
  /**
   * The upstream that `make` builds around the secret that is named like `provider`: the tenant's own, or else the closest ancestor's
   * that descendants may use; `null` without one. `make` runs once per (`cacheKey`, `provider`) while the configuration stands: a warm
   * isolate gives the same object without a query, and {@link secretsOf} has its sealed secret. `cacheKey` says what `make` depends on.
   */
  ownSecret(
    cacheKey: string,
    provider: string,
    make: (secretId: string) => Upstream,
  ): MaybePromise<Result<Upstream | null, Refusal>>;
  /** Sealed secrets of one upstream's bindings. */
  secretsOf(upstream: Upstream): MaybePromise<Result<BoundSecrets, Refusal>>;
}

/** By id; `'denied'`: it is there, and the upstream's tenant may not use it. One that is gone is not in it. */
export type BoundSecrets = ReadonlyMap<string, SealedSecret | 'denied'>;

export interface Config {
  /**
   * Who a token is. Refuses with `auth.failed` (unknown, expired, revoked), `config.unavailable`.
   * `background` carries the refresh at half-life.
   */
  identify(
    token: string,
    nowMs: number,
    background: Background,
  ): MaybePromise<Result<Identity, Refusal>>;
  /** Forgets what this isolate knows of a tenant and of every tenant below it: an isolate sees its own writes at once. */
  forget(tenantId: string): void;
}
