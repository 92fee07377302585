/**
 * The built bundle in Miniflare with direct workerd sockets: nothing stands between a client and
 * the Worker, so no byte changes on the way (`wrangler dev` rewrites Accept-Encoding, compresses
 * answers and hides disconnects; never use it for Weir).
 * Promises: compatibility date, flags and the local database are those of wrangler.toml. Called by
 * start and the test gateway.
 */
import { existsSync, readFileSync } from 'node:fs';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import type { AuditStep, LedgerView } from '../../src/domain/ledger/views.ts';
import type { D1Like } from './migrations.ts';
import { readWranglerConfig } from './wrangler-config.ts';

/** One isolate with its own loopback port and environment; all of them share one D1. */
export interface IsolateOptions {
  readonly port: number;
  readonly bindings: Record<string, string>;
}

/** What to run. */
export interface WorkerdOptions {
  readonly bundle: string;
  readonly isolates: readonly IsolateOptions[];
  /**
   * Folder that keeps the state, as `wrangler --persist-to` has it; without it the state dies with
   * the process.
   */
  readonly persist?: string | undefined;
  /** Another compatibility date than wrangler.toml's. */
  readonly compatibilityDate?: string | undefined;
  /** Each line that the Worker or workerd prints. */
  readonly onLine: (line: string) => void;
}

/** The part of a ledger object that scripts and tests use from Node. */
export interface LedgerLike {
  view(): Promise<LedgerView>;
  audit(): Promise<AuditStep>;
}

/** A running workerd. */
export interface Workerd {
  readonly db: () => Promise<D1Like>;
  readonly ledgerOf: (ledgerTenantId: string) => Promise<LedgerLike>;
  /** Fires a Cron of wrangler.toml at one isolate, as the platform does at its time; throws when its jobs failed. */
  readonly cron: (cron: string, scheduledAtMs: number, isolate?: number) => Promise<void>;
  readonly dispose: () => Promise<void>;
}

/** The object classes by their bindings, as wrangler.toml has them. */
const objectClasses: Readonly<Record<string, string>> = {
  LEDGER: 'OrgLedger',
  CAPACITY: 'ProviderCapacity',
  OVERFLOW_BUDGET: 'OverflowBudget',
  METRICS: 'MetricsHub',
};

/**
 * The first isolate has the objects of all of them, so that each tenant has one ledger. A bundle of before a class was made runs without
 * it.
 */
function objectsOf(isolate: number, bundle: string) {
  const source = readFileSync(bundle, 'utf8');
  const where = isolate === 0 ? {} : { scriptName: 'gateway-0' };
  const exported = [...source.matchAll(/export\s*\{([^}]*)\}/g)].map(([, names]) => names).join();
  const isExported = (className: string) => new RegExp(`\\b${className}\\b`).test(exported);
  const known = Object.entries(objectClasses).filter(([, className]) => isExported(className));
  return Object.fromEntries(
    known.map(([name, className]) => [name, { className, useSQLite: true, ...where }]),
  );
}

/** Starts workerd; `dispose` it. Throws one sentence when the bundle is missing. */
export async function startWorkerd(options: WorkerdOptions): Promise<Workerd> {
  if (!existsSync(options.bundle))
    throw new Error(`${options.bundle} is missing: run npm run build`);
  const config = readWranglerConfig();
  const workers = options.isolates.map(({ port, bindings }, i) => ({
    name: `gateway-${i}`,
    modules: true,
    scriptPath: options.bundle,
    compatibilityDate: options.compatibilityDate ?? config.compatibilityDate,
    compatibilityFlags: [...config.compatibilityFlags],
    bindings,
    d1Databases: { DB: config.localDatabaseId },
    durableObjects: objectsOf(i, options.bundle),
    r2Buckets: { RECORDS: 'records' },
    // Otherwise every send would carry a CF-Worker header.
    stripCfConnectingIp: false,
    unsafeDirectSockets: [{ host: '127.0.0.1', port }],
  }));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers,
      cf: false,
      handleStructuredLogs: ({ message }) => options.onLine(message),
      ...(options.persist === undefined
        ? {}
        : { resourcePersistencePath: `${options.persist}/v3` }),
    }),
  );
  await miniflare.ready;
  return {
    db: async () => (await miniflare.getD1Database('DB', 'gateway-0')) as unknown as D1Like,
    ledgerOf: async (ledgerTenantId) => {
      const objects = await miniflare.getDurableObjectNamespace('LEDGER', 'gateway-0');
      return objects.get(objects.idFromName(ledgerTenantId)) as unknown as LedgerLike;
    },
    cron: async (cron, scheduledAtMs, isolate = 0) => {
      const worker = await miniflare.getWorker(`gateway-${isolate}`);
      const { outcome } = await worker.scheduled({ cron, scheduledTime: new Date(scheduledAtMs) });
      if (outcome !== 'ok') throw new Error(`the Cron ${cron} ended with ${outcome}`);
    },
    dispose: () => miniflare.dispose(),
  };
}
