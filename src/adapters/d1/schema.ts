/**
 * The D1 tables: tenancy, configuration, sealed secrets, the reporting copy of calls, the catalog.
 * Promises: every row but a tenant's own and the catalog's carries `tenant_id`; money is never here. Must never: be queried without a tenant in the WHERE.
 * Source of `d1-migrations/` (drizzle-kit). Called by the D1 adapters only. Times are epoch milliseconds.
 */
import { sql } from 'drizzle-orm';
import {
  customType,
  foreignKey,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { CatalogEndpoint, EndpointAccess } from '../../domain/catalog/endpoint';
import type { Provider } from '../../domain/catalog/provider';
import type { Binding, Endpoint, HeaderRules } from '../../domain/catalog/upstream';
import type { Budget } from '../../domain/ledger/config';
import type { Permission } from '../../domain/tenancy/access';
import type { Blame, Outcome } from '../../ports/evidence';

/**
 * A BLOB as bytes. drizzle's own blob column wants Node's Buffer, which workerd has not; D1 gives an
 * array of numbers.
 */
const bytes = customType<{ data: Uint8Array; driverData: Uint8Array | readonly number[] }>({
  dataType: () => 'blob',
  fromDriver: (value) => Uint8Array.from(value),
  toDriver: (value) => value,
});

export const tenants = sqliteTable(
  'tenants',
  {
    id: text('id').primaryKey(),
    parentId: text('parent_id'),
    name: text('name').notNull(),
    depth: integer('depth').notNull(),
    homeRegion: text('home_region'),
    ledgerTenantId: text('ledger_tenant_id').notNull(),
    /** Limits of the tenant's own ledger: this copy is what the object is configured with. */
    dailyCapMicros: integer('daily_cap_micros'),
    budgets: text('budgets', { mode: 'json' }).$type<readonly Budget[]>().notNull().default([]),
    ledgerConfigVersion: integer('ledger_config_version').notNull().default(0),
    /** False: an aggregator never serves this tenant's calls. */
    platformOverflow: integer('platform_overflow', { mode: 'boolean' }).notNull().default(true),
    /** Raised by every write that the road could notice; one read of it per tenant per CONFIG_TTL_S keeps isolates honest. */
    configVersion: integer('config_version').notNull().default(1),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [
    index('tenants_parent').on(t.parentId, t.id),
    foreignKey({ name: 'tenants_parent_id', columns: [t.parentId], foreignColumns: [t.id] }),
  ],
);

export const projects = sqliteTable(
  'projects',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id')
      .notNull()
      .references(() => tenants.id),
    name: text('name').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [uniqueIndex('projects_name').on(t.tenantId, t.name)],
);

export const principals = sqliteTable(
  'principals',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id')
      .notNull()
      .references(() => tenants.id),
    name: text('name').notNull(),
    role: text('role', { enum: ['owner', 'admin', 'member', 'viewer'] }).notNull(),
    enabled: integer('enabled', { mode: 'boolean' }).notNull().default(true),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [uniqueIndex('principals_name').on(t.tenantId, t.name)],
);

export const accessKeys = sqliteTable(
  'access_keys',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id')
      .notNull()
      .references(() => tenants.id),
    principalId: text('principal_id')
      .notNull()
      .references(() => principals.id),
    name: text('name').notNull(),
    /** Lower-case hex SHA-256 of the whole token; the token itself is shown once and never stored. */
    sha256: text('sha256').notNull(),
    /** The first characters of the token, so that a person can tell keys apart. */
    hint: text('hint').notNull(),
    permissions: text('permissions', { mode: 'json' }).$type<readonly Permission[]>(),
    upstreamAccess: text('upstream_access', { mode: 'json' }).$type<readonly string[]>(),
    projectAccess: text('project_access', { mode: 'json' }).$type<readonly string[]>(),
    /** Metered calls per UTC day. */
    dailyCallCap: integer('daily_call_cap'),
    expiresAt: integer('expires_at'),
    revokedAt: integer('revoked_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('access_keys_sha256').on(t.sha256),
    index('access_keys_tenant').on(t.tenantId, t.id),
    index('access_keys_principal').on(t.principalId),
  ],
);

/** Per-tenant data keys, wrapped by a versioned master key. */
export const tenantDataKeys = sqliteTable(
  'tenant_data_keys',
  {
    tenantId: text('tenant_id')
      .notNull()
      .references(() => tenants.id),
    version: integer('version').notNull(),
    masterVersion: integer('master_version').notNull(),
    /** 12-byte nonce followed by AES-256-GCM of the 32-byte data key. */
    wrapped: bytes('wrapped').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.version] }),
    index('tenant_data_keys_master').on(t.masterVersion, t.tenantId),
  ],
);

export const secrets = sqliteTable(
  'secrets',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id')
      .notNull()
      .references(() => tenants.id),
    name: text('name').notNull(),
    visibility: text('visibility', { enum: ['private', 'descendants'] })
      .notNull()
      .default('private'),
    dataKeyVersion: integer('data_key_version').notNull(),
    /** 12-byte nonce followed by AES-256-GCM of the UTF-8 value; additional data binds tenant and id. */
    sealed: bytes('sealed').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('secrets_name').on(t.tenantId, t.name),
    // A data key cannot be retired while it seals a row, nor a row written under a retired one.
    foreignKey({
      name: 'secrets_data_key',
      columns: [t.tenantId, t.dataKeyVersion],
      foreignColumns: [tenantDataKeys.tenantId, tenantDataKeys.version],
    }),
  ],
);

export const upstreams = sqliteTable(
  'upstreams',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id')
      .notNull()
      .references(() => tenants.id),
    projectId: text('project_id').references(() => projects.id),
    name: text('name').notNull(),
    alias: text('alias').notNull(),
    scheme: text('scheme', { enum: ['https', 'http'] }).notNull(),
    endpoints: text('endpoints', { mode: 'json' }).$type<readonly Endpoint[]>().notNull(),
    basePath: text('base_path').notNull(),
    bindings: text('bindings', { mode: 'json' }).$type<readonly Binding[]>().notNull(),
    headerRules: text('header_rules', { mode: 'json' }).$type<HeaderRules>(),
    firstByteTimeoutMs: integer('first_byte_timeout_ms').notNull(),
    idleTimeoutMs: integer('idle_timeout_ms').notNull(),
    visibility: text('visibility', { enum: ['private', 'descendants'] })
      .notNull()
      .default('private'),
    enabled: integer('enabled', { mode: 'boolean' }).notNull().default(true),
    trackBody: integer('track_body', { mode: 'boolean' }).notNull().default(false),
    needsTargetHost: integer('needs_target_host', { mode: 'boolean' }).notNull().default(false),
    tags: text('tags', { mode: 'json' }).$type<readonly string[]>().notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('upstreams_name').on(t.tenantId, t.name),
    uniqueIndex('upstreams_alias').on(t.tenantId, t.alias),
  ],
);

/** One row per endpoint, so that a URL finds its upstreams by index. */
export const upstreamHosts = sqliteTable(
  'upstream_hosts',
  {
    tenantId: text('tenant_id').notNull(),
    host: text('host').notNull(),
    port: integer('port').notNull(),
    upstreamId: text('upstream_id')
      .notNull()
      .references(() => upstreams.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.host, t.port, t.upstreamId] }),
    index('upstream_hosts_upstream').on(t.upstreamId),
  ],
);

export const routes = sqliteTable(
  'routes',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    upstreamId: text('upstream_id')
      .notNull()
      .references(() => upstreams.id, { onDelete: 'cascade' }),
    methods: text('methods', { mode: 'json' }).$type<readonly string[]>().notNull(),
    path: text('path').notNull(),
    queryAllowlist: text('query_allowlist', { mode: 'json' }).$type<readonly string[]>(),
    suffixMode: text('suffix_mode', { enum: ['disabled', 'append'] })
      .notNull()
      .default('append'),
    priority: integer('priority').notNull().default(0),
    enabled: integer('enabled', { mode: 'boolean' }).notNull().default(true),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [
    index('routes_upstream').on(t.upstreamId, t.id),
    index('routes_tenant').on(t.tenantId, t.id),
  ],
);

/**
 * One row per method of an enabled route: two enabled routes of one upstream cannot share path, priority and method, however many
 * requests write at once (digest B2). Read by nobody.
 */
export const routeSlots = sqliteTable(
  'route_slots',
  {
    upstreamId: text('upstream_id').notNull(),
    method: text('method').notNull(),
    priority: integer('priority').notNull(),
    path: text('path').notNull(),
    tenantId: text('tenant_id').notNull(),
    routeId: text('route_id')
      .notNull()
      .references(() => routes.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.upstreamId, t.method, t.priority, t.path] }),
    index('route_slots_route').on(t.routeId),
  ],
);

export const denyRules = sqliteTable(
  'deny_rules',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id')
      .notNull()
      .references(() => tenants.id),
    host: text('host'),
    path: text('path'),
    method: text('method'),
    principalId: text('principal_id'),
    projectId: text('project_id'),
    note: text('note'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [index('deny_rules_tenant').on(t.tenantId, t.id)],
);

/** The reporting copy of calls: lossy with a dying isolate, never the source of money. Rows expire (CALL_RETENTION_DAYS). */
export const calls = sqliteTable(
  'calls',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    keyId: text('key_id'),
    principalId: text('principal_id'),
    upstreamId: text('upstream_id'),
    surface: text('surface').notNull(),
    method: text('method').notNull(),
    host: text('host'),
    path: text('path'),
    outcome: text('outcome').$type<Outcome>().notNull(),
    status: integer('status').notNull(),
    code: text('code'),
    blame: text('blame').$type<Blame>(),
    startedAt: integer('started_at').notNull(),
    latencyMs: integer('latency_ms').notNull(),
    requestBytes: integer('request_bytes'),
    responseBytes: integer('response_bytes'),
    evidence: text('evidence'),
    tier: integer('tier'),
    catalogId: text('catalog_id'),
    costMicros: integer('cost_micros'),
    holdId: text('hold_id'),
    /** The platform account that served it. */
    account: text('account'),
    /** What the answer said of that account (`domain/capacity/signal.ts`). */
    signal: text('signal'),
    /** `overflow:<aggregator>` on the row of a child call; its parent's row has the call id without a suffix. */
    servedVia: text('served_via'),
  },
  (t) => [index('calls_tenant').on(t.tenantId, t.id), index('calls_started').on(t.startedAt)],
);

/** `unixepoch` in milliseconds, for statements that may not depend on an isolate's clock. */
export const nowMs = sql<number>`(unixepoch('subsec') * 1000)`;

// ── catalog: the operator's, no tenant's; written by `npm run catalog -- apply` only ──

/** One provider of the catalog; the document is the whole of it. */
export const catalogProviders = sqliteTable('catalog_providers', {
  slug: text('slug').primaryKey(),
  name: text('name').notNull(),
  document: text('document', { mode: 'json' }).$type<Provider>().notNull(),
});

/** One endpoint of the catalog; the columns beside the document are what is searched and compared. */
export const catalogEndpoints = sqliteTable(
  'catalog_endpoints',
  {
    id: text('id').primaryKey(),
    provider: text('provider')
      .notNull()
      .references(() => catalogProviders.slug),
    capability: text('capability').notNull(),
    summary: text('summary').notNull(),
    access: text('access').$type<EndpointAccess>().notNull(),
    /** Micro-USD of a smallest usual call, null when it cannot be told: only to compare endpoints. */
    guideMicros: integer('guide_micros'),
    retired: integer('retired', { mode: 'boolean' }).notNull(),
    document: text('document', { mode: 'json' }).$type<CatalogEndpoint>().notNull(),
  },
  (t) => [
    index('catalog_endpoints_provider').on(t.provider, t.id),
    index('catalog_endpoints_capability').on(t.capability, t.id),
  ],
);

/** One row, id 1: the version is raised by every apply that changes something; isolates compare it. */
export const catalogState = sqliteTable('catalog_state', {
  id: integer('id').primaryKey(),
  version: integer('version').notNull(),
  appliedAt: integer('applied_at').notNull(),
});
