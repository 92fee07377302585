/**
 * The overflow jobs over a real D1, with a scripted sender, scripted budgets and a clock that stands still. Used by the tests of the sync
 * and of the verification.
 */
import { env } from 'cloudflare:test';
import { CapacityStore } from '../../../src/adapters/d1/capacity-store';
import { OverflowStore } from '../../../src/adapters/d1/overflow-store';
import type { ReadAnswer } from '../../../src/adapters/egress/job-client';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import { type EgressAllowance, parseEgressAllow } from '../../../src/domain/egress/allowance';
import { usualAggregators } from '../../../src/domain/overflow/aggregators';
import type { ReserveAnswer } from '../../../src/domain/overflow/budget';
import type { RouteRow } from '../../../src/domain/overflow/routes';
import type { ReadyRequest } from '../../../src/domain/overflow/test-call';
import type { Bindings } from '../../../src/env';
import type { OverflowVerifyPorts } from '../../../src/jobs/overflow-verify';
import { endpoint, provider } from '../domain/catalog/rows';

export const db = (env as unknown as Bindings).DB;
export const store = new OverflowStore(db);
export const startMs = Date.UTC(2030, 0, 7, 4, 23);
export const background = (): void => undefined;

const nothingOpen = (): EgressAllowance => {
  const allow = parseEgressAllow('');
  if (!allow.ok) throw new Error(allow.error);
  return allow.value;
};

/** An answer of the other side; a text is sent as it is. */
export const answer = (
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): ReadAnswer => ({
  status,
  header: (name) => headers[name] ?? null,
  bytes: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
});

export type Reply = ReadAnswer | null;

export interface WorldOptions {
  /** By `METHOD URL`, without the query; a list is answered in order, its last one for ever. */
  readonly replies?: Readonly<Record<string, Reply | readonly Reply[]>>;
  readonly keys?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  readonly reserve?: ReserveAnswer | { readonly outcome: 'unavailable' };
  readonly parts?: Partial<OverflowVerifyPorts>;
}

/** Ports of both jobs, and what went through them. */
export function world(options: WorldOptions = {}) {
  const { replies = {}, keys = ['orthogonal', 'monid'], settings = {} } = options;
  const clock = { nowMs: startMs };
  const sent: ReadyRequest[] = [];
  const money: string[] = [];
  const reports: (readonly [string, unknown])[] = [];
  const turns = new Map<string, number>();
  const reply = (name: string): Reply => {
    const scripted = replies[name];
    if (scripted === undefined) return null;
    if (!Array.isArray(scripted)) return scripted as Reply;
    const turn = turns.get(name) ?? 0;
    turns.set(name, turn + 1);
    return scripted[Math.min(turn, scripted.length - 1)] ?? null;
  };
  const ports: OverflowVerifyPorts = {
    leases: new CapacityStore(db),
    store,
    client: {
      ask: async (request) => {
        sent.push(request);
        return reply(`${request.method} ${request.url.split('?')[0] ?? ''}`);
      },
    },
    budgets: {
      reserve: async (name, _id, micros) => {
        money.push(`reserve ${name} ${micros}`);
        return options.reserve ?? { outcome: 'reserved' };
      },
      close: (name, _id, end) => {
        if (end?.kind === 'reconcile') money.push(`reconcile ${name} ${end.micros}`);
        if (end?.kind === 'give_back') money.push(`give back ${name}`);
      },
    },
    aggregators: usualAggregators,
    keyOf: ({ name }) => (keys.includes(name) ? `key of ${name}` : null),
    settings: new Map(Object.entries(settings)),
    policy: { allow: nothingOpen(), gatewayHosts: [], httpsOnly: true },
    nowMs: () => clock.nowMs,
    sleep: async (ms) => {
      clock.nowMs += ms;
    },
    report: (event, facts) => void reports.push([event, facts]),
    ...options.parts,
  };
  return { ports, clock, sent, money, reports };
}

/** Empties what the jobs read and write. */
export async function cleared(): Promise<void> {
  const tables = [
    'overflow_routes',
    'overflow_state',
    'job_leases',
    'capacity_policies',
    'catalog_endpoints',
    'catalog_providers',
  ];
  await db.batch(tables.map((table) => db.prepare(`delete from ${table}`)));
}

/** A provider `vendor` with an account, and its rows; each costs 1,000 micro-USD and can be tested unless it says otherwise. */
export async function catalog(...rows: readonly Partial<CatalogEndpoint>[]): Promise<void> {
  const vendor = provider({
    accounts: [{ label: 'main', setting: 'VENDOR_KEY' }],
    bindings: [
      { location: 'header', name: 'x-key', injector: 'api_key', format: null, field: null },
    ],
  });
  await db
    .prepare('insert or ignore into catalog_providers (slug, name, document) values (?, ?, ?)')
    .bind('vendor', 'Vendor', JSON.stringify(vendor))
    .run();
  for (const parts of rows) {
    const row = endpoint({
      cost: { kind: 'per_call', prices: [{ when: [], priceMicros: 1_000 }] },
      testRequest: { query: 'q=test', bodyText: null },
      ...parts,
    });
    await db
      .prepare(
        `insert into catalog_endpoints (id, provider, capability, summary, access, guide_micros, retired, document)
         values (?, ?, ?, ?, 'account', null, 0, ?)`,
      )
      .bind(row.id, row.provider, row.capability, row.summary, JSON.stringify(row))
      .run();
  }
}

/** A route of `vendor.search`, enabled and verified an hour ago, unless it says otherwise. */
export const route = (parts: Partial<RouteRow> = {}): RouteRow => ({
  endpointId: 'vendor.search',
  aggregator: 'orthogonal',
  vendor: 'vendor-there',
  operation: '/v1/search',
  priceMicros: 2_000,
  unit: 'call',
  singleResult: false,
  ratioMilli: 2_000,
  lastVerifiedAtMs: startMs - 3_600_000,
  failure: null,
  enabled: true,
  disabledReason: null,
  ...parts,
});

/** Stores routes as they are. */
export async function stored(...rows: readonly RouteRow[]): Promise<void> {
  for (const row of rows)
    await db
      .prepare(
        `insert into overflow_routes (endpoint_id, aggregator, vendor, operation, price_micros, unit, single_result, ratio_milli,
           last_verified_at, failure, enabled, disabled_reason, synced_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
      )
      .bind(
        row.endpointId,
        row.aggregator,
        row.vendor,
        row.operation,
        row.priceMicros,
        row.unit,
        row.singleResult ? 1 : 0,
        row.ratioMilli,
        row.lastVerifiedAtMs,
        row.failure,
        row.enabled ? 1 : 0,
        row.disabledReason,
      )
      .run();
}

/** The version that isolates compare. */
export const version = async (): Promise<number> =>
  (await db.prepare('select version from overflow_state').first<number>('version')) ?? 0;
