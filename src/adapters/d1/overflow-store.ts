/**
 * OverflowStore: the routes as the jobs and the operator's views see them, and the catalog rows behind them.
 * Promises: a stamp belongs to one spelling of one operation, here too; the version that isolates compare is raised whenever a row
 * changes; D1's bound of 100 parameters is kept by one JSON parameter. Must never: enable a route; only a sync derives that.
 * Called by `jobs/overflow-*.ts`, and through wiring.ts by the operator's views.
 */
import { and, asc, eq, isNotNull, or, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { overflowRoutesMax, overflowStoreRowsMax } from '../../base/limits-capacity';
import { catalogEndpointsMax } from '../../base/limits-money';
import type { CatalogEndpoint } from '../../domain/catalog/endpoint';
import type { Provider } from '../../domain/catalog/provider';
import type { RouteEndpoint, RouteRow } from '../../domain/overflow/routes';
import { providersIn } from './catalog-store';
import { toCatalogEndpoint } from './rows';
import { catalogEndpoints } from './schema';
import { capacityPolicies, overflowRoutes, overflowState } from './schema-capacity';
import type { Db } from './store/statements';

const columns = {
  endpointId: overflowRoutes.endpointId,
  aggregator: overflowRoutes.aggregator,
  vendor: overflowRoutes.vendor,
  operation: overflowRoutes.operation,
  priceMicros: overflowRoutes.priceMicros,
  unit: overflowRoutes.unit,
  singleResult: overflowRoutes.singleResult,
  ratioMilli: overflowRoutes.ratioMilli,
  lastVerifiedAtMs: overflowRoutes.lastVerifiedAt,
  failure: overflowRoutes.failure,
  enabled: overflowRoutes.enabled,
  disabledReason: overflowRoutes.disabledReason,
};

/** What routes are matched and judged by, of one catalog row. */
export type KnownEndpoint = RouteEndpoint & Pick<CatalogEndpoint, 'id' | 'host' | 'path'>;

type RouteKey = Pick<RouteRow, 'endpointId' | 'aggregator'>;

export class OverflowStore {
  readonly #d1: D1Database;
  readonly #db: Db;

  constructor(d1: D1Database) {
    this.#d1 = d1;
    this.#db = drizzle(d1);
  }

  /** All rows. */
  rows(): Promise<readonly RouteRow[]> {
    return this.#db.select(columns).from(overflowRoutes).limit(overflowRoutesMax);
  }

  /** Rows behind `after` (`routeCursor`), in its order; `verifiable`: only enabled ones and those that were verified before. */
  list(
    { after, limit }: { readonly after: string | null; readonly limit: number },
    verifiable = false,
  ): Promise<readonly RouteRow[]> {
    return this.#db
      .select(columns)
      .from(overflowRoutes)
      .where(and(after === null ? undefined : behindKey(after), verifiable ? known : undefined))
      .orderBy(asc(overflowRoutes.endpointId), asc(overflowRoutes.aggregator))
      .limit(limit);
  }

  /** Those that were verified before or are enabled, the longest ago first. */
  oldest(limit: number): Promise<readonly RouteRow[]> {
    return this.#db
      .select(columns)
      .from(overflowRoutes)
      .where(known)
      .orderBy(asc(overflowRoutes.lastVerifiedAt), asc(overflowRoutes.endpointId))
      .limit(limit);
  }

  /** Every row of the catalog. */
  async endpoints(): Promise<readonly KnownEndpoint[]> {
    const found: KnownEndpoint[] = [];
    for (let after = ''; found.length < catalogEndpointsMax; ) {
      const rows = await this.#db
        .select({ document: catalogEndpoints.document })
        .from(catalogEndpoints)
        .where(sql`${catalogEndpoints.id} > ${after}`)
        .orderBy(catalogEndpoints.id)
        .limit(overflowStoreRowsMax);
      for (const { document } of rows) {
        const { id, provider, method, host, path, platformAuth, cost, tombstone, task, taskId } =
          toCatalogEndpoint(document);
        found.push({
          id,
          provider,
          method,
          host,
          path,
          platformAuth,
          cost,
          tombstone,
          task,
          taskId,
        });
      }
      after = found.at(-1)?.id ?? '';
      if (rows.length < overflowStoreRowsMax) break;
    }
    return found;
  }

  providers(): Promise<readonly Provider[]> {
    return providersIn(this.#db);
  }

  /** Providers that no aggregator may serve. */
  async barred(): Promise<ReadonlySet<string>> {
    const rows = await this.#db
      .select({ provider: capacityPolicies.provider })
      .from(capacityPolicies)
      .where(eq(capacityPolicies.overflowAllowed, false));
    return new Set(rows.map(({ provider }) => provider));
  }

  /** One catalog row, whole; null: there is none. */
  async endpoint(id: string): Promise<CatalogEndpoint | null> {
    const row = await this.#db
      .select({ document: catalogEndpoints.document })
      .from(catalogEndpoints)
      .where(eq(catalogEndpoints.id, id))
      .get();
    return row === undefined ? null : toCatalogEndpoint(row.document);
  }

  /** Writes derived rows. */
  async write(rows: readonly RouteRow[], nowMs: number): Promise<void> {
    const insert = this.#d1.prepare(upsert);
    const statements: D1PreparedStatement[] = [];
    for (let at = 0; at < rows.length; at += overflowStoreRowsMax) {
      const part = rows.slice(at, at + overflowStoreRowsMax).map(tupleOf);
      statements.push(insert.bind(JSON.stringify(part), nowMs));
    }
    await this.#d1.batch([...statements, this.#raise(rows.length > 0, nowMs)]);
  }

  /** It was verified. Only a sync turns it on. */
  async stamp(key: RouteKey, nowMs: number): Promise<void> {
    await this.#change(key, { lastVerifiedAt: nowMs, failure: null }, nowMs);
  }

  /** It failed its verification: off until it is stamped and a sync has run. */
  async disable(key: RouteKey, failure: string, nowMs: number): Promise<void> {
    const disabledReason = 'verification_failed';
    await this.#change(key, { enabled: false, disabledReason, failure }, nowMs);
  }

  async #change(
    { endpointId, aggregator }: RouteKey,
    values: Partial<typeof overflowRoutes.$inferInsert>,
    nowMs: number,
  ): Promise<void> {
    const one = and(
      eq(overflowRoutes.endpointId, endpointId),
      eq(overflowRoutes.aggregator, aggregator),
    );
    const raise = { version: sql`max(${overflowState.version} + 1, ${nowMs})` };
    await this.#db.batch([
      this.#db.update(overflowRoutes).set(values).where(one),
      this.#db
        .insert(overflowState)
        .values({ id: 1, version: nowMs, syncedAt: nowMs })
        .onConflictDoUpdate({ target: overflowState.id, set: raise }),
    ]);
  }

  /** At least to the time: a database that was set back must not come to a version again that isolates know with other routes. */
  #raise(isChanged: boolean, nowMs: number): D1PreparedStatement {
    return this.#d1
      .prepare(
        `insert into overflow_state (id, version, synced_at) values (1, iif(?1, ?2, 0), ?2)
         on conflict (id) do update set version = iif(?1, max(version + 1, ?2), version), synced_at = ?2`,
      )
      .bind(isChanged ? 1 : 0, nowMs);
  }
}

const known: SQL | undefined = or(
  eq(overflowRoutes.enabled, true),
  isNotNull(overflowRoutes.lastVerifiedAt),
);

function behindKey(after: string): SQL {
  const [endpointId = '', aggregator = ''] = after.split(' ');
  return sql`(${overflowRoutes.endpointId}, ${overflowRoutes.aggregator}) > (${endpointId}, ${aggregator})`;
}

const tupleOf = (row: RouteRow) => [
  row.endpointId,
  row.aggregator,
  row.vendor,
  row.operation,
  row.priceMicros,
  row.unit,
  row.singleResult ? 1 : 0,
  row.ratioMilli,
  row.enabled ? 1 : 0,
  row.disabledReason,
];

const isSame =
  'excluded.vendor = overflow_routes.vendor and excluded.operation = overflow_routes.operation';

// A new row was never verified; one that is spelled otherwise now was not either.
const upsert = `
  insert into overflow_routes
    (endpoint_id, aggregator, vendor, operation, price_micros, unit, single_result, ratio_milli, enabled, disabled_reason, synced_at)
  select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9, ?2
  from json_each(?1) where true
  on conflict (endpoint_id, aggregator) do update set
    last_verified_at = iif(${isSame}, last_verified_at, null), failure = iif(${isSame}, failure, null),
    vendor = excluded.vendor, operation = excluded.operation, price_micros = excluded.price_micros, unit = excluded.unit,
    single_result = excluded.single_result, ratio_milli = excluded.ratio_milli, enabled = excluded.enabled,
    disabled_reason = excluded.disabled_reason, synced_at = excluded.synced_at`;
