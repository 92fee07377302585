/**
 * Store: the configuration as the management API reads and writes it; one collection per resource.
 * Promises: every statement is scoped to the tenant that it is given; a write that the road could
 * notice raises that tenant's `config_version` in the same transaction; an absent or foreign id is
 * `resource.not_found`, a broken unique rule is `resource.conflict` with its field, a store that
 * does not answer is `config.unavailable`. Must never: answer from memory. Implemented by
 * `adapters/d1/store/`. Times are epoch milliseconds.
 */
import type { Result } from '../base/result';
import type { CatalogEndpoint } from '../domain/catalog/endpoint';
import type { Provider } from '../domain/catalog/provider';
import type { DenyRule, Route, Upstream, Visibility } from '../domain/catalog/upstream';
import type { Budget, LedgerConfig } from '../domain/ledger/config';
import type { LogRow } from '../domain/ledger/entries';
import type { Refusal } from '../domain/refusal';
import type { Permission, Role } from '../domain/tenancy/access';
import type { CatalogEntry } from './catalog';
import type { CallRow } from './evidence';
import type { SealedSecret, Vault, WrappedDataKey } from './vault';

/** What every store operation gives. */
export type Stored<T> = Promise<Result<T, Refusal>>;

/** A slice of a list ordered by id: at most `limit` rows behind `after`. */
export interface Page {
  readonly after: string | null;
  readonly limit: number;
}

/** When a row was made and last written. */
export interface Dated {
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface TenantRecord extends Dated {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  /** 1 for a root. */
  readonly depth: number;
  readonly homeRegion: string | null;
  readonly ledgerTenantId: string;
  /** False: no aggregator serves its calls, nor those of the tenants below it. */
  readonly platformOverflow: boolean;
  /** Limits of the tenant's own ledger, micro-USD and rules; they need {@link ledgerTenantId} = id. */
  readonly dailyCapMicros: number | null;
  readonly budgets: readonly Budget[];
  /** Raised by every write of the limits; 0: the ledger was never given any. */
  readonly ledgerConfigVersion: number;
}

export interface ProjectRecord extends Dated {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
}

export interface PrincipalRecord extends Dated {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly role: Role;
  readonly enabled: boolean;
}

/** An access key without its token; `hint` is how the token begins. */
export interface KeyRecord extends Dated {
  readonly id: string;
  readonly tenantId: string;
  readonly principalId: string;
  readonly name: string;
  readonly hint: string;
  readonly permissions: readonly Permission[] | null;
  readonly upstreamAccess: readonly string[] | null;
  readonly projectAccess: readonly string[] | null;
  /** Metered calls per UTC day; `null`: no cap. */
  readonly dailyCallCap: number | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** A secret without its value. */
export interface SecretRecord extends Dated {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly visibility: Visibility;
}

/** The sealed value that a secret is written with. */
export interface SealedValue {
  readonly sealed: Uint8Array;
  readonly dataKeyVersion: number;
}

export interface UpstreamRecord extends Omit<Upstream, 'routes'>, Dated {
  readonly tags: readonly string[];
}

export interface RouteRecord extends Route, Dated {
  readonly tenantId: string;
  readonly upstreamId: string;
  readonly enabled: boolean;
}

export interface DenyRuleRecord extends DenyRule, Dated {
  readonly tenantId: string;
  readonly note: string | null;
}

/** Reads of one resource. */
export interface Reads<R> {
  get(tenantId: string, id: string): Stored<R>;
  list(tenantId: string, page: Page): Stored<readonly R[]>;
}

/** Reads of calls, whose newest matter most. */
export interface CallReads extends Reads<CallRow> {
  /** The newest first; `after` is the row before the page, so its rows are older. */
  newest(tenantId: string, page: Page): Stored<readonly CallRow[]>;
}

/**
 * Reads and writes of one resource. `replace` writes every column that may change; ids and owners
 * never do.
 */
export interface Collection<R> extends Reads<R> {
  insert(row: R): Stored<void>;
  replace(row: R): Stored<void>;
  remove(tenantId: string, id: string): Stored<void>;
}

export interface TenantStore {
  /** The tenant and its ancestors, leaf first; empty when there is no such tenant. */
  chain(tenantId: string): Stored<readonly string[]>;
  get(tenantId: string): Stored<TenantRecord>;
  /** Direct children, or the roots for `null`. */
  children(parentId: string | null, page: Page): Stored<readonly TenantRecord[]>;
  insert(row: TenantRecord): Stored<void>;
  /** Everything but `ledgerConfigVersion`, which is only ever raised. */
  replace(row: TenantRecord): Stored<void>;
  /**
   * Raises `ledgerConfigVersion` above its value and above `atLeast`; gives the limits as they are
   * then, so that of two writers the later one's limits have the higher version.
   */
  raiseLimits(tenantId: string, atLeast: number): Stored<LedgerConfig>;
  /** Only a tenant without children and resources; else `resource.conflict`. */
  remove(tenantId: string): Stored<void>;
}

export interface KeyStore extends Omit<Collection<KeyRecord>, 'insert' | 'list'> {
  /** Stores the SHA-256 of `token`, never the token. */
  insert(row: KeyRecord, token: string): Stored<void>;
  list(tenantId: string, page: Page, principalId: string | null): Stored<readonly KeyRecord[]>;
  /** Sets the time of revocation; the first one stays. */
  revoke(tenantId: string, id: string, nowMs: number): Stored<void>;
}

export interface SecretStore extends Reads<SecretRecord> {
  insert(row: SecretRecord, value: SealedValue): Stored<void>;
  replace(row: SecretRecord, value: SealedValue): Stored<void>;
  /** Refused with `resource.conflict` while an upstream of the tenant is bound to it. */
  remove(tenantId: string, id: string): Stored<void>;
  /**
   * Secrets of these names that the leaf of `chain` may use: its own, and what its ancestors show
   * to descendants.
   */
  visible(chain: readonly string[], names: readonly string[]): Stored<readonly SecretRecord[]>;
  /** The same by id. */
  visibleIds(chain: readonly string[], ids: readonly string[]): Stored<readonly SecretRecord[]>;
}

export interface UpstreamStore extends Collection<UpstreamRecord> {
  /** Which of `ids` the leaf of `chain` may call. */
  visibleIds(chain: readonly string[], ids: readonly string[]): Stored<readonly string[]>;
}

export interface RouteStore extends Omit<Collection<RouteRecord>, 'insert' | 'list'> {
  list(tenantId: string, page: Page, upstreamId: string | null): Stored<readonly RouteRecord[]>;
  /** False, and nothing is written: the upstream has `routesMax` routes. */
  insertBelow(row: RouteRecord, routesMax: number): Stored<boolean>;
}

export interface DenyRuleStore extends Omit<Collection<DenyRuleRecord>, 'insert'> {
  /** False, and nothing is written: the tenant has `rulesMax` rules. */
  insertBelow(row: DenyRuleRecord, rulesMax: number): Stored<boolean>;
}

export interface ProjectStore extends Collection<ProjectRecord> {
  /** Which of `ids` are the tenant's. */
  existing(tenantId: string, ids: readonly string[]): Stored<readonly string[]>;
}

/**
 * Wrapped data keys, and the secrets that they seal. Only {@link DataKeyStore.wrappedBefore} looks
 * across tenants.
 */
export interface DataKeyStore {
  newest(tenantId: string): Stored<WrappedDataKey | null>;
  /** Adds a version; when it is there already, nothing happens: read the newest again. */
  add(key: WrappedDataKey, nowMs: number): Stored<void>;
  /**
   * Keys of every tenant that an older master key wraps than the newest of these: the first
   * `limit`, those that one of these wraps before the others, and how many there are.
   */
  wrappedBefore(
    masters: Pick<Vault, 'newestMasterVersion' | 'masterVersions'>,
    limit: number,
  ): Stored<Counted<WrappedDataKey>>;
  /** Replaces wrappings that nobody has replaced since they were read. */
  rewrap(changes: readonly Rewrapped[]): Stored<void>;
  /** The tenant's secrets under an older data key: the first `limit`, and how many there are. */
  sealedBefore(tenantId: string, version: number, limit: number): Stored<Counted<SealedSecret>>;
  /** Replaces sealed values that nobody has replaced since they were read. */
  reseal(tenantId: string, changes: readonly Resealed[]): Stored<void>;
  /** Deletes versions below `version` that no secret is sealed under. */
  retire(tenantId: string, version: number): Stored<void>;
}

/** D1's copy of ledgers' logs, read only: the ledger's own rows are the truth. */
export interface LedgerLogStore {
  /** Rows behind `afterSeq`, oldest first, at most `limit`. */
  rows(ledgerTenantId: string, afterSeq: number, limit: number): Stored<readonly LogRow[]>;
}

/** The first rows of a set and the size of the whole set. */
export interface Counted<T> {
  readonly rows: readonly T[];
  readonly total: number;
}

/** One data key before and after a master key rotation. */
export interface Rewrapped {
  readonly before: WrappedDataKey;
  readonly after: WrappedDataKey;
}

/** One secret before and after a data key rotation. */
export interface Resealed {
  readonly before: SealedSecret;
  readonly after: SealedValue;
}

/** What a list of the catalog is narrowed to; null: not. `text` is looked for in id, capability and summary. */
export interface CatalogFilter {
  readonly text: string | null;
  readonly provider: string | null;
  readonly capability: string | null;
}

/** A row of a list of the catalog. */
export interface CatalogListing {
  readonly id: string;
  readonly providerName: string;
  readonly endpoint: CatalogEndpoint;
}

/** The catalog, read only: `npm run catalog` writes it. It belongs to no tenant. */
export interface CatalogStore {
  list(filter: CatalogFilter, page: Page): Stored<readonly CatalogListing[]>;
  get(id: string): Stored<CatalogEntry>;
  /** Every provider, by slug; at most `catalogProvidersMax`. */
  providers(): Stored<readonly Provider[]>;
}

/** The collections of one database. */
export interface Store {
  readonly tenants: TenantStore;
  readonly projects: ProjectStore;
  readonly principals: Collection<PrincipalRecord>;
  readonly keys: KeyStore;
  readonly secrets: SecretStore;
  readonly dataKeys: DataKeyStore;
  readonly upstreams: UpstreamStore;
  readonly routes: RouteStore;
  readonly denyRules: DenyRuleStore;
  readonly calls: CallReads;
  readonly ledgerLog: LedgerLogStore;
  readonly catalog: CatalogStore;
}
