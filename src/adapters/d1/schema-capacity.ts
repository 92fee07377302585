/**
 * The D1 tables of the operator's vendor accounts: policies, readings, leases of scheduled work, routes through aggregators. No tenant's.
 * Promises: readings are never changed, policies are people's, `enabled` of a route is derived. Must never: hold a key or an amount of a
 * tenant's money. Source of `d1-migrations/` beside schema.ts. Called by the D1 adapters only. Times are epoch milliseconds.
 */
import {
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type {
  BalanceSource,
  CapacityType,
  FundingMode,
  ReadingState,
} from '../../domain/capacity/policy';

/** What is known of an account at a provider (or at an aggregator, `overflow:<name>`). Inserted when missing, never overwritten: people edit it. */
export const capacityPolicies = sqliteTable('capacity_policies', {
  provider: text('provider').primaryKey(),
  capacityType: text('capacity_type').$type<CapacityType>().notNull(),
  fundingMode: text('funding_mode').$type<FundingMode>().notNull(),
  /** Where its balance can be read. */
  source: text('source').$type<BalanceSource>().notNull(),
  /** Micro-USD of one unit; null: no dollar figure is ever invented. */
  usdPerUnitMicros: integer('usd_per_unit_micros'),
  /** Remaining units below which a person should act. */
  lowRemaining: real('low_remaining'),
  /** Whether an aggregator may serve it. */
  overflowAllowed: integer('overflow_allowed', { mode: 'boolean' }).notNull().default(true),
  note: text('note'),
  createdAt: integer('created_at').notNull(),
});

/** One reading of one account by one sweep. Never changed, deleted after `snapshotRetentionMs`; a collector that failed is a row with `error`. */
export const capacitySnapshots = sqliteTable(
  'capacity_snapshots',
  {
    id: text('id').primaryKey(),
    provider: text('provider').notNull(),
    account: text('account').notNull(),
    /** The sweep's `scheduledTime`: one sweep reads a provider once. */
    sweepAt: integer('sweep_at').notNull(),
    observedAt: integer('observed_at').notNull(),
    state: text('state').$type<ReadingState>().notNull(),
    remaining: real('remaining'),
    total: real('total'),
    unit: text('unit'),
    resetsAt: integer('resets_at'),
    source: text('source').$type<BalanceSource>().notNull(),
    confidence: text('confidence').$type<'exact' | 'estimated' | 'none'>().notNull(),
    note: text('note'),
    error: text('error'),
  },
  (t) => [
    index('capacity_snapshots_provider').on(t.provider, t.observedAt),
    uniqueIndex('capacity_snapshots_sweep').on(t.sweepAt, t.provider, t.account),
  ],
);

/** Leases of scheduled work: one row per job, taken by `scheduledTime`, so that two firings at once do it once. */
export const jobLeases = sqliteTable('job_leases', {
  job: text('job').primaryKey(),
  scheduledAt: integer('scheduled_at').notNull(),
  leasedUntil: integer('leased_until').notNull(),
});

/** One catalog endpoint through one aggregator. `enabled` is derived by every sync, never set by hand. */
export const overflowRoutes = sqliteTable(
  'overflow_routes',
  {
    endpointId: text('endpoint_id').notNull(),
    aggregator: text('aggregator').notNull(),
    /** The aggregator's spelling of vendor and operation. */
    vendor: text('vendor').notNull(),
    operation: text('operation').notNull(),
    priceMicros: integer('price_micros'),
    unit: text('unit').$type<'call' | 'result'>().notNull(),
    singleResult: integer('single_result', { mode: 'boolean' }).notNull(),
    /** Price there divided by price here, thousandths; null when it cannot be told. */
    ratioMilli: integer('ratio_milli'),
    lastVerifiedAt: integer('last_verified_at'),
    /** Why the last verification failed; null: it did not. A sync after a stamp lifts it. */
    failure: text('failure'),
    enabled: integer('enabled', { mode: 'boolean' }).notNull(),
    disabledReason: text('disabled_reason'),
    syncedAt: integer('synced_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.aggregator] })],
);

/** The sync's stamp, raised when a route changes; isolates compare it. One row, id 1. */
export const overflowState = sqliteTable('overflow_state', {
  id: integer('id').primaryKey(),
  version: integer('version').notNull(),
  syncedAt: integer('synced_at').notNull(),
});
