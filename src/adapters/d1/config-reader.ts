/**
 * ConfigReader: the D1 statements behind the road's configuration, each in one batch with the versions of the tenant chain, so that
 * what was read and the version it belongs to are one snapshot.
 * Promises: every statement is bound to a tenant chain; a store that does not answer in time is `null`, never a throw.
 * Must never: cache. Called by config.ts only.
 */
import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { tenantDepthMax } from '../../base/limits';
import { routeOrder } from '../../domain/catalog/route-match';
import type { DenyRule, Upstream } from '../../domain/catalog/upstream';
import type { LedgerAddress } from '../../domain/ledger/address';
import type { AccessKey } from '../../domain/tenancy/access';
import type { BoundSecrets } from '../../ports/config';
import type { Report } from '../../ports/report';
import type { SealedSecret } from '../../ports/vault';
import { answered } from './answered';
import { toAccessKey, toRoute, toUpstream } from './rows';
import {
  accessKeys,
  denyRules,
  principals,
  routes,
  secrets,
  tenantDataKeys,
  upstreams,
} from './schema';

/** The chain of a tenant, leaf first, with the versions that make up its state. */
export interface ChainState {
  readonly chain: readonly string[];
  /** Ids and versions of the whole chain as one comparable text. */
  readonly version: string;
  /** Where the leaf's money is; the region is the ledger tenant's own. */
  readonly ledger: LedgerAddress;
  /** Of the ledger tenant's first budget. */
  readonly primaryDimension: string | null;
  /** No tenant of the chain has opted out. */
  readonly allowsOverflow: boolean;
}

/** What a key look-up finds: the key, its tenant's chain, the chain's deny rules. */
export interface KeySnapshot extends ChainState {
  readonly key: AccessKey;
  readonly denyRules: readonly DenyRule[];
}

/** An upstream with the sealed secrets that its bindings may use. */
export interface LoadedUpstream {
  readonly upstream: Upstream;
  readonly secrets: BoundSecrets;
}

/** How upstreams are looked for. */
export type UpstreamQuery =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'alias'; readonly alias: string }
  | { readonly by: 'host'; readonly host: string; readonly port: number };

interface ChainRow {
  readonly id: string;
  readonly version: number;
  readonly ledgerTenantId: string;
  readonly homeRegion: string | null;
  readonly primaryDimension: string | null;
  readonly overflow: number;
}

export class ConfigReader {
  readonly #db: ReturnType<typeof drizzle>;

  readonly #report: Report;

  constructor(d1: D1Database, report: Report) {
    this.#db = drizzle(d1);
    this.#report = report;
  }

  /** The versions of one tenant's chain; `null` when the store does not answer, `'gone'` when there is no such tenant. */
  async chain(tenantId: string): Promise<ChainState | 'gone' | null> {
    const rows = await this.#within(this.#chain(tenantId).all());
    return rows === null ? null : chainOf(rows);
  }

  /** Everything a first call of a key needs; `'unknown'` when no key has the hash. */
  async key(sha256: string): Promise<KeySnapshot | 'unknown' | null> {
    const owner = await this.#within(
      this.#db
        .select({ tenantId: accessKeys.tenantId })
        .from(accessKeys)
        .where(eq(accessKeys.sha256, sha256))
        .get(),
    );
    if (owner === null) return null;
    if (owner === undefined) return 'unknown';
    const tenantId = owner.tenantId;
    const read = await this.#within(
      this.#db.batch([
        this.#db
          .select({ key: accessKeys, role: principals.role, enabled: principals.enabled })
          .from(accessKeys)
          .innerJoin(
            principals,
            and(
              eq(principals.id, accessKeys.principalId),
              eq(principals.tenantId, accessKeys.tenantId),
            ),
          )
          .where(and(eq(accessKeys.tenantId, tenantId), eq(accessKeys.sha256, sha256))),
        this.#chain(tenantId),
        this.#db
          .select()
          .from(denyRules)
          .where(sql`${denyRules.tenantId} in (select id from ${chainSql(tenantId)})`),
      ]),
    );
    if (read === null) return null;
    const [keys, chainRows, rules] = read;
    const found = keys[0];
    const state = chainOf(chainRows);
    if (found === undefined || state === 'gone') return 'unknown';
    return { ...state, key: toAccessKey(found.key, found.role, found.enabled), denyRules: rules };
  }

  /** Upstreams along a chain that the leaf may see, closest first, with routes and secrets, and the chain's state at that moment. */
  async upstreams(
    chain: readonly string[],
    query: UpstreamQuery,
  ): Promise<{ found: readonly LoadedUpstream[]; version: string } | null> {
    const leaf = chain[0] ?? '';
    const ids = matching(chain, query);
    const read = await this.#within(
      this.#db.batch([
        this.#db.select().from(upstreams).where(sql`${upstreams.id} in ${ids}`),
        this.#db
          .select()
          .from(routes)
          .where(and(eq(routes.enabled, true), sql`${routes.upstreamId} in ${ids}`)),
        this.#db
          .select(secretColumns)
          .from(secrets)
          .innerJoin(tenantDataKeys, sealingKey)
          .where(
            and(inChain(secrets.tenantId, chain), sql`${secrets.id} in ${boundSecretIds(ids)}`),
          ),
        this.#chain(leaf),
      ]),
    );
    if (read === null) return null;
    const [upstreamRows, routeRows, secretRows, chainRows] = read;
    const state = chainOf(chainRows);
    const found = upstreamRows
      .sort(
        (a, b) => chain.indexOf(a.tenantId) - chain.indexOf(b.tenantId) || (a.id < b.id ? -1 : 1),
      )
      .map((row) => {
        const own = routeRows
          .filter((r) => r.upstreamId === row.id && r.tenantId === row.tenantId)
          .map(toRoute)
          .sort(routeOrder);
        const upstream = toUpstream(row, own);
        return { upstream, secrets: boundSecrets(upstream, chain, secretRows) };
      });
    return { found, version: state === 'gone' ? '' : state.version };
  }

  /** The secret of that name that the leaf may use, its own or the closest ancestor's, and the chain's state at that moment. */
  async secretNamed(
    chain: readonly string[],
    name: string,
  ): Promise<{ found: SealedSecret | null; version: string } | null> {
    const leaf = chain[0] ?? '';
    const isUsable = sql`(${secrets.tenantId} = ${leaf} or ${secrets.visibility} = 'descendants')`;
    const read = await this.#within(
      this.#db.batch([
        this.#db
          .select(secretColumns)
          .from(secrets)
          .innerJoin(tenantDataKeys, sealingKey)
          .where(and(inChain(secrets.tenantId, chain), eq(secrets.name, name), isUsable)),
        this.#chain(leaf),
      ]),
    );
    if (read === null) return null;
    const [rows, chainRows] = read;
    const state = chainOf(chainRows);
    const [closest] = rows.sort((a, b) => chain.indexOf(a.tenantId) - chain.indexOf(b.tenantId));
    return {
      found: closest === undefined ? null : toSealed(closest),
      version: state === 'gone' ? '' : state.version,
    };
  }

  #within<T>(work: Promise<T>): Promise<T | null> {
    return answered(work, this.#report, 'config.read_failed');
  }

  #chain(tenantId: string) {
    return this.#db
      .select({
        id: sql<string>`id`,
        version: sql<number>`version`,
        ledgerTenantId: sql<string>`ledger_tenant_id`,
        homeRegion: sql<string | null>`home_region`,
        primaryDimension: sql<string | null>`primary_dimension`,
        overflow: sql<number>`overflow`,
      })
      .from(chainSql(tenantId))
      .orderBy(sql`level`);
  }
}

const firstDimension = (table: 'tenants' | 't') =>
  sql.raw(`json_extract(${table}.budgets, '$[0].dimension')`);

/** The tenant and its ancestors; the level bound only stops a damaged tree. */
const chainSql = (tenantId: string) => sql`(
  with recursive chain(id, parent_id, version, ledger_tenant_id, home_region, primary_dimension, overflow, level) as (
    select id, parent_id, config_version, ledger_tenant_id, home_region, ${firstDimension('tenants')}, platform_overflow, 0
      from tenants where id = ${tenantId}
    union all
    select t.id, t.parent_id, t.config_version, t.ledger_tenant_id, t.home_region, ${firstDimension('t')}, t.platform_overflow, c.level + 1
      from tenants t join chain c on t.id = c.parent_id
      where c.level < ${tenantDepthMax}
  ) select id, version, ledger_tenant_id, home_region, primary_dimension, overflow, level from chain)`;

/** Ids of the upstreams along a chain that match and that its leaf may see. */
function matching(chain: readonly string[], query: UpstreamQuery): SQL {
  const leaf = chain[0] ?? '';
  return sql`(select u.id from upstreams u where u.tenant_id in (select value from json_each(${JSON.stringify(chain)}))
    and (u.tenant_id = ${leaf} or u.visibility = 'descendants') and ${matches(query)})`;
}

function matches(query: UpstreamQuery): SQL {
  switch (query.by) {
    case 'name':
      return sql`u.name = ${query.name}`;
    case 'alias':
      return sql`u.alias = ${query.alias}`;
    case 'host':
      return sql`u.id in (select h.upstream_id from upstream_hosts h where h.tenant_id = u.tenant_id
        and h.host = ${query.host} and h.port = ${query.port})`;
  }
}

/** The ids that bindings name, taken from their JSON so that no statement needs a list of parameters. */
const boundSecretIds = (upstreamIds: SQL) =>
  sql`(select json_extract(b.value, '$.source.secretId') from upstreams u, json_each(u.bindings) b where u.id in ${upstreamIds})`;

const inChain = (column: SQLWrapper, chain: readonly string[]) =>
  sql`${column} in (select value from json_each(${JSON.stringify(chain)}))`;

function chainOf(rows: readonly ChainRow[]): ChainState | 'gone' {
  const leaf = rows[0];
  if (leaf === undefined) return 'gone';
  const { ledgerTenantId } = leaf;
  const payer = rows.find((r) => r.id === ledgerTenantId);
  return {
    chain: rows.map((r) => r.id),
    version: rows.map((r) => `${r.id}:${r.version}`).join(' '),
    ledger: { ledgerTenantId, homeRegion: payer?.homeRegion ?? null },
    primaryDimension: payer?.primaryDimension ?? null,
    allowsOverflow: rows.every(({ overflow }) => overflow === 1),
  };
}

/** No two columns of one name: a D1 batch gives rows as objects, in which the second would replace the first. */
const secretColumns = {
  id: secrets.id,
  tenantId: secrets.tenantId,
  visibility: secrets.visibility,
  sealed: secrets.sealed,
  dataKeyVersion: secrets.dataKeyVersion,
  masterVersion: tenantDataKeys.masterVersion,
  wrapped: tenantDataKeys.wrapped,
};

/** The data key that a secret is sealed with. */
const sealingKey = and(
  eq(tenantDataKeys.tenantId, secrets.tenantId),
  eq(tenantDataKeys.version, secrets.dataKeyVersion),
);

type SecretRow = Pick<
  typeof secrets.$inferSelect,
  'id' | 'tenantId' | 'visibility' | 'sealed' | 'dataKeyVersion'
> &
  Pick<typeof tenantDataKeys.$inferSelect, 'masterVersion' | 'wrapped'>;

/** A secret may be used by its own tenant, and by tenants below it when its visibility says so. */
function boundSecrets(
  upstream: Upstream,
  chain: readonly string[],
  rows: readonly SecretRow[],
): BoundSecrets {
  const out = new Map<string, SealedSecret | 'denied'>();
  const level = chain.indexOf(upstream.tenantId);
  for (const secret of rows) {
    const own = secret.tenantId === upstream.tenantId;
    const lent = secret.visibility === 'descendants' && chain.indexOf(secret.tenantId) > level;
    out.set(secret.id, own || lent ? toSealed(secret) : 'denied');
  }
  return out;
}

const toSealed = (row: SecretRow): SealedSecret => ({
  id: row.id,
  tenantId: row.tenantId,
  sealed: new Uint8Array(row.sealed),
  dataKeyVersion: row.dataKeyVersion,
  masterVersion: row.masterVersion,
  wrappedDataKey: new Uint8Array(row.wrapped),
});
