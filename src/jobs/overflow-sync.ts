/**
 * Overflow sync: derives every route again, from the aggregators' catalogs (live) or from what is stored, with the prices of today.
 * Promises: `enabled` is never set by hand; a catalog that cannot be read turns nothing off; what a catalog no longer has is off; one run at
 * a time, which a verification counts as. Must never: stamp a route. Called by hand through wiring.ts, and at the end of a verification.
 */
import type { OverflowStore } from '../adapters/d1/overflow-store';
import type { JobClient } from '../adapters/egress/job-client';
import { readJson } from '../base/json-path';
import { overflowCatalogBytesMax, overflowLeaseMs } from '../base/limits-capacity';
import { type Aggregator, authHeader } from '../domain/overflow/aggregators';
import { candidates, type OwnEndpoint, offersIn } from '../domain/overflow/offers';
import { derive, type RouteCandidate, type RouteRow } from '../domain/overflow/routes';
import type { Background } from '../ports/config';
import type { CatalogRead, SyncRun } from '../ports/overflow-jobs';
import { type Leases, leased } from './leased';

/** What a sync needs. */
export interface OverflowSyncPorts {
  readonly leases: Leases;
  readonly store: Pick<OverflowStore, 'rows' | 'endpoints' | 'providers' | 'barred' | 'write'>;
  readonly client: Pick<JobClient, 'ask'>;
  readonly aggregators: readonly Aggregator[];
  /** The operator's key of an aggregator; null: none. */
  readonly keyOf: (aggregator: Aggregator) => string | null;
  readonly nowMs: () => number;
}

/** One sync; throws when the store does not answer. */
export function overflowSync(
  ports: OverflowSyncPorts,
  live: boolean,
  background: Background,
): Promise<SyncRun> {
  return alone(ports, () => derived(ports, live, background));
}

/** Work on the routes: sync and verification share a lease, because they write the same rows. */
export function alone<T>(
  { leases, nowMs }: OverflowSyncPorts,
  work: () => Promise<T>,
): Promise<T | { readonly outcome: 'skipped' }> {
  const startedAtMs = nowMs();
  const firing = { job: 'overflow', scheduledAtMs: startedAtMs };
  return leased(leases, firing, { nowMs: startedAtMs, leaseMs: overflowLeaseMs }, work);
}

/** The same for whoever holds the lease. */
export async function derived(
  ports: OverflowSyncPorts,
  live: boolean,
  background: Background,
): Promise<SyncRun> {
  const { store, aggregators, keyOf, nowMs } = ports;
  const [current, endpoints, providers, barred] = await Promise.all([
    store.rows(),
    store.endpoints(),
    store.providers(),
    store.barred(),
  ]);
  const bySlug = new Map(providers.map((provider) => [provider.slug, provider]));
  const own = endpoints.flatMap((endpoint): OwnEndpoint[] => {
    const provider = bySlug.get(endpoint.provider);
    return provider === undefined ? [] : [{ endpoint, provider }];
  });
  const read = live ? await catalogsOf(ports, own, background) : [];
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  const usable = new Set(
    aggregators.filter((each) => keyOf(each) !== null).map(({ name }) => name),
  );
  const { rows, changed } = derive({
    current,
    found: read.flatMap(({ found }) => found ?? []),
    read: new Set(read.filter(({ found }) => found !== null).map(({ said }) => said.aggregator)),
    endpointOf: (id) => byId.get(id) ?? null,
    policyAllows: (provider) => !barred.has(provider),
    hasKey: (name) => usable.has(name),
    nowMs: nowMs(),
  });
  await store.write(changed, nowMs());
  return {
    outcome: 'done',
    rows: rows.length,
    enabled: rows.filter(({ enabled }) => enabled).length,
    changed: changed.length,
    off: countedOff(rows),
    catalogs: read.map(({ said }) => said),
  };
}

function countedOff(rows: readonly RouteRow[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { disabledReason } of rows)
    if (disabledReason !== null) counts.set(disabledReason, (counts.get(disabledReason) ?? 0) + 1);
  return Object.fromEntries([...counts].sort());
}

/** One catalog; `found` null: it could not be read, and turns nothing off. */
interface ReadCatalog {
  readonly said: CatalogRead;
  readonly found: readonly RouteCandidate[] | null;
}

async function catalogsOf(
  ports: OverflowSyncPorts,
  own: readonly OwnEndpoint[],
  background: Background,
): Promise<readonly ReadCatalog[]> {
  const read: ReadCatalog[] = [];
  // One at a time: each may be as large as its bound.
  for (const aggregator of ports.aggregators)
    read.push(await catalogOf(ports, aggregator, own, background));
  return read;
}

async function catalogOf(
  { client, keyOf }: OverflowSyncPorts,
  aggregator: Aggregator,
  own: readonly OwnEndpoint[],
  background: Background,
): Promise<ReadCatalog> {
  const unread = (outcome: Exclude<CatalogRead['outcome'], 'read'>): ReadCatalog => ({
    said: { aggregator: aggregator.name, outcome },
    found: null,
  });
  const key = keyOf(aggregator);
  if (key === null) return unread('no_key');
  const headers = [
    ['accept', 'application/json'],
    ['accept-encoding', 'identity'],
    authHeader(key),
  ] as const;
  const request = { method: 'GET', url: `${aggregator.baseUrl}/catalog`, headers, body: null };
  const answer = await client.ask(request, { bytesMax: overflowCatalogBytesMax, background });
  if (answer === null) return unread('unreachable');
  if (answer.status !== 200) return unread('refused');
  const document = readJson(answer.bytes);
  const offers = document.ok ? offersIn(aggregator.dialect, document.value) : null;
  if (offers === null) return unread('no_catalog');
  const found = candidates(aggregator, offers.offers, own);
  const counts = { offers: offers.offers.length, leftOut: offers.leftOut, matched: found.length };
  return { said: { aggregator: aggregator.name, outcome: 'read', ...counts }, found };
}
