/**
 * D1Config: the road's configuration in isolate memory, kept honest by one version read per tenant per CONFIG_TTL_S.
 * Promises: a warm call asks no store; at half-life the version is read in the background, past the TTL it is awaited; while D1 does not
 * answer the last good configuration serves for `staleConfigMaxMs`; a known revocation stays refused; bounded, with a share per tenant.
 * workerd trap: never await a promise of another request, so every cold caller reads for itself; only the background refresh is single.
 * Implements ports/config.ts. Called by wiring.ts.
 */
import {
  aliasCharsMax,
  configRetryMs,
  keyCacheMax,
  purgePauseMs,
  slugCharsMax,
  staleConfigMaxMs,
  tenantKeysMax,
  tenantLookupsMax,
  tenantViewsMax,
  unknownKeysMax,
  unknownKeyTtlMs,
} from '../../base/limits';
import { Lru } from '../../base/lru';
import { err, type MaybePromise, ok, type Result } from '../../base/result';
import type { DenyRule, Upstream } from '../../domain/catalog/upstream';
import type { LedgerAddress } from '../../domain/ledger/address';
import type { Refusal } from '../../domain/refusal';
import type { AccessKey } from '../../domain/tenancy/access';
import { isToken } from '../../domain/tenancy/token';
import type { Background, BoundSecrets, Config, Identity, TenantView } from '../../ports/config';
import type { SealedSecret } from '../../ports/vault';
import { type TokenMint, tokenHash } from '../vault/token-check';
import type { ConfigReader, KeySnapshot, LoadedUpstream, UpstreamQuery } from './config-reader';

const unavailable: Refusal = { code: 'config.unavailable', retryAfterMs: configRetryMs };
const unknown: Refusal = { code: 'auth.failed', reason: 'unknown' };

/** How often the last good configuration had to stand in for D1. */
export interface ConfigCounters {
  staleServed: number;
  refreshFailed: number;
}

interface Recognised {
  readonly view: View;
  readonly hash: string;
  readonly identity: Identity;
  readonly untilMs: number;
}

export class D1Config implements Config {
  readonly counters: ConfigCounters = { staleServed: 0, refreshFailed: 0 };
  readonly #reader: ConfigReader;
  readonly #mint: Pick<TokenMint, 'genuine'>;
  readonly #ttlMs: number;
  readonly #nowMs: () => number;
  /** Tokens seen in the last CONFIG_TTL_S: the only place that holds them. */
  readonly #recognised = new Lru<string, Recognised>(keyCacheMax);
  readonly #unknown = new Lru<string, number>(unknownKeysMax);
  readonly #views = new Lru<string, View>(tenantViewsMax);
  #epoch = 0;
  #purgeDueMs = 0;
  readonly #tenantOfHash = new Lru<string, string>(keyCacheMax);

  constructor(options: {
    reader: ConfigReader;
    mint: Pick<TokenMint, 'genuine'>;
    ttlMs: number;
    nowMs: () => number;
  }) {
    this.#reader = options.reader;
    this.#mint = options.mint;
    this.#ttlMs = options.ttlMs;
    this.#nowMs = options.nowMs;
  }

  identify(
    token: string,
    nowMs: number,
    background: Background,
  ): MaybePromise<Result<Identity, Refusal>> {
    const seen = this.#recognised.get(token);
    if (
      seen !== undefined &&
      seen.untilMs > nowMs &&
      !seen.view.dropped &&
      seen.view.ageMs(nowMs) < this.#ttlMs
    ) {
      if (seen.view.ageMs(nowMs) * 2 >= this.#ttlMs)
        this.#refreshBehind(seen.view, nowMs, background);
      return usable(seen.identity, nowMs);
    }
    return this.#identifyCold(token, nowMs, background);
  }

  forget(tenantId: string): void {
    this.#epoch += 1;
    this.#views.purge((view) => view.chain.includes(tenantId) && view.drop());
    this.#unknown.purge(() => true);
  }

  async #identifyCold(
    token: string,
    nowMs: number,
    background: Background,
  ): Promise<Result<Identity, Refusal>> {
    this.#purge(nowMs);
    if (!isToken(token) || !(await this.#mint.genuine(token)))
      return err({ code: 'auth.failed', reason: 'malformed' });
    const hash = await tokenHash(token);
    if ((this.#unknown.get(hash) ?? 0) > nowMs) return err(unknown);
    const known = await this.#viewOfKnownKey(hash, nowMs, background);
    if (known !== null) return this.#recognise(token, hash, known, nowMs);
    const epoch = this.#epoch;
    const read = await this.#reader.key(hash);
    if (read === null) return err(unavailable);
    if (read === 'unknown') {
      this.#unknown.set(hash, nowMs + unknownKeyTtlMs);
      return err(unknown);
    }
    const view = this.#viewFor(read, hash, nowMs);
    // Something was forgotten while this was read: right for this call, too old to keep.
    if (epoch !== this.#epoch) view.drop();
    return this.#recognise(token, hash, view, nowMs);
  }

  /** Tokens whose time is over leave memory; at most once a second, however many unknown ones are tried. */
  #purge(nowMs: number): void {
    if (nowMs < this.#purgeDueMs) return;
    this.#purgeDueMs = nowMs + purgePauseMs;
    this.#recognised.purge((seen) => seen.untilMs <= nowMs || seen.view.dropped);
  }

  /** A key that the tenant's view already holds needs no query, only a view that is known to be current (or the last good one). */
  async #viewOfKnownKey(hash: string, nowMs: number, background: Background): Promise<View | null> {
    const tenantId = this.#tenantOfHash.get(hash);
    const view = tenantId === undefined ? undefined : this.#views.get(tenantId);
    if (view === undefined || view.dropped || view.keys.get(hash) === undefined) return null;
    const ageMs = view.ageMs(nowMs);
    const isOutage = view.failedAtMs > view.checkedAtMs;
    // One call per outage waits for D1; the others get the last good configuration while it is asked again behind them.
    if (ageMs >= this.#ttlMs && isOutage) this.#refreshBehind(view, nowMs, background);
    else if (ageMs >= this.#ttlMs) await this.#refresh(view, nowMs);
    else if (ageMs * 2 >= this.#ttlMs) this.#refreshBehind(view, nowMs, background);
    if (view.dropped) return null;
    const nowAgeMs = view.ageMs(nowMs);
    if (nowAgeMs < this.#ttlMs) return view;
    if (nowAgeMs >= staleConfigMaxMs) return null;
    this.counters.staleServed += 1;
    return view;
  }

  #recognise(token: string, hash: string, view: View, nowMs: number): Result<Identity, Refusal> {
    const key = view.keys.get(hash);
    if (key === undefined) return err(unknown);
    const identity: Identity = { key, tenant: view };
    this.#recognised.set(token, { view, hash, identity, untilMs: nowMs + this.#ttlMs });
    return usable(identity, nowMs);
  }

  #viewFor(read: KeySnapshot, hash: string, nowMs: number): View {
    const tenantId = read.key.tenantId;
    let view = this.#views.get(tenantId);
    if (view === undefined || view.dropped || view.version !== read.version) {
      view?.drop();
      view = new View(this.#reader, read, nowMs);
      this.#views.set(tenantId, view);
    }
    view.keys.set(hash, read.key);
    this.#tenantOfHash.set(hash, tenantId);
    return view;
  }

  #refreshBehind(view: View, nowMs: number, background: Background): void {
    if (view.refreshingUntilMs > nowMs || view.failedAtMs + configRetryMs > nowMs) return;
    view.refreshingUntilMs = nowMs + this.#ttlMs;
    background(this.#refresh(view, nowMs));
  }

  /** Reads the chain's versions; a changed one drops the view, no answer leaves it to age. */
  async #refresh(view: View, nowMs: number): Promise<void> {
    if (view.failedAtMs + configRetryMs > nowMs) return;
    const state = await this.#reader.chain(view.tenantId);
    view.refreshingUntilMs = 0;
    if (state === null) {
      view.failedAtMs = this.#nowMs();
      this.counters.refreshFailed += 1;
    } else if (state === 'gone' || state.version !== view.version) {
      view.drop();
    } else {
      view.checkedAtMs = nowMs;
    }
  }
}

/** Expiry needs a clock, so it is judged on every call; the rest was judged when the row was read. */
function usable(identity: Identity, nowMs: number): Result<Identity, Refusal> {
  const { key } = identity;
  if (key.revoked) return err({ code: 'auth.failed', reason: 'revoked' });
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)
    return err({ code: 'auth.failed', reason: 'expired' });
  return ok(identity);
}

/** What no registration can have: it is not asked for, and not kept. A tenant's share of misses would be 32 MB of a caller's long names. */
const nothing: Result<readonly Upstream[], never> = ok([]);

/** One tenant's configuration as of one version; dropped as a whole when the version changes. */
class View implements TenantView {
  readonly tenantId: string;
  readonly chain: readonly string[];
  readonly version: string;
  readonly ledger: LedgerAddress;
  readonly primaryDimension: string | null;
  readonly allowsOverflow: boolean;
  readonly denyRules: readonly DenyRule[];
  readonly keys = new Lru<string, AccessKey>(tenantKeysMax);
  checkedAtMs: number;
  failedAtMs = 0;
  refreshingUntilMs = 0;
  dropped = false;
  readonly #reader: ConfigReader;
  readonly #lookups = new Lru<string, readonly Upstream[]>(tenantLookupsMax);
  readonly #secrets = new WeakMap<Upstream, BoundSecrets>();
  /** By provider: the secret that is named like it, or that there is none. */
  readonly #named = new Lru<string, SealedSecret | null>(tenantLookupsMax);

  constructor(reader: ConfigReader, read: KeySnapshot, nowMs: number) {
    this.#reader = reader;
    this.tenantId = read.key.tenantId;
    this.chain = read.chain;
    this.version = read.version;
    this.ledger = read.ledger;
    this.primaryDimension = read.primaryDimension;
    this.allowsOverflow = read.allowsOverflow;
    this.denyRules = read.denyRules;
    this.checkedAtMs = nowMs;
  }

  ageMs(nowMs: number): number {
    return nowMs - this.checkedAtMs;
  }

  drop(): true {
    this.dropped = true;
    return true;
  }

  named(name: string): MaybePromise<Result<readonly Upstream[], Refusal>> {
    return name.length > slugCharsMax ? nothing : this.#find(`n ${name}`, { by: 'name', name });
  }

  aliased(alias: string): MaybePromise<Result<readonly Upstream[], Refusal>> {
    return alias.length > aliasCharsMax
      ? nothing
      : this.#find(`a ${alias}`, { by: 'alias', alias });
  }

  at(host: string, port: number): MaybePromise<Result<readonly Upstream[], Refusal>> {
    return this.#find(`h ${host} ${port}`, { by: 'host', host, port });
  }

  ownSecret(
    cacheKey: string,
    provider: string,
    make: (secretId: string) => Upstream,
  ): MaybePromise<Result<Upstream | null, Refusal>> {
    const lookup = `s ${provider} ${cacheKey}`;
    const [made] = this.#lookups.get(lookup) ?? [];
    if (made !== undefined) return ok(made);
    const secret = this.#named.get(provider);
    if (secret === null) return ok(null);
    return secret === undefined
      ? this.#loadOwn(lookup, provider, make)
      : ok(this.#around(secret, lookup, make));
  }

  secretsOf(upstream: Upstream): Result<BoundSecrets, Refusal> {
    return ok(this.#secrets.get(upstream) ?? new Map());
  }

  #find(
    cacheKey: string,
    query: UpstreamQuery,
  ): MaybePromise<Result<readonly Upstream[], Refusal>> {
    const cached = this.#lookups.get(cacheKey);
    return cached === undefined ? this.#load(cacheKey, query) : ok(cached);
  }

  async #loadOwn(
    lookup: string,
    provider: string,
    make: (secretId: string) => Upstream,
  ): Promise<Result<Upstream | null, Refusal>> {
    const read = await this.#reader.secretNamed(this.chain, provider);
    if (read === null) return err(unavailable);
    // As in #load: the view must not mix two versions.
    if (read.version === this.version) this.#named.set(provider, read.found);
    else this.drop();
    return ok(read.found === null ? null : this.#around(read.found, lookup, make));
  }

  /** The one upstream of this look-up; two calls that read at once get the same. */
  #around(secret: SealedSecret, lookup: string, make: (secretId: string) => Upstream): Upstream {
    const [before] = this.#lookups.get(lookup) ?? [];
    if (before !== undefined) return before;
    const made = make(secret.id);
    this.#secrets.set(made, new Map([[secret.id, secret]]));
    if (!this.dropped) this.#lookups.set(lookup, [made]);
    return made;
  }

  async #load(
    cacheKey: string,
    query: UpstreamQuery,
  ): Promise<Result<readonly Upstream[], Refusal>> {
    const read = await this.#reader.upstreams(this.chain, query);
    if (read === null) return err(unavailable);
    const found = read.found.map((loaded: LoadedUpstream) => {
      this.#secrets.set(loaded.upstream, loaded.secrets);
      return loaded.upstream;
    });
    // Newer than this view: right for this call, but the view must not mix two versions.
    if (read.version === this.version) this.#lookups.set(cacheKey, found);
    else this.drop();
    return ok(found);
  }
}
