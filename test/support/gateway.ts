/**
 * A real gateway for e2e, fault and proof runs: the built bundle in Miniflare with direct workerd
 * sockets, so that nothing between the raw client and the Worker changes a byte (never `wrangler
 * dev`). Several isolates may share one D1.
 */
import { readFileSync } from 'node:fs';
import { callManagement } from '../../scripts/lib/management.ts';
import { type D1Like, migrate } from '../../scripts/lib/migrations.ts';
import { startWorkerd } from '../../scripts/lib/miniflare.ts';
import { freePorts } from '../../scripts/lib/ports.ts';
import { operatorKey, testBindings } from './test-env.ts';
import { withOwnLog } from './workerd-log.ts';

export interface GatewayOptions {
  /** Overrides of the test environment. */
  readonly bindings?: Record<string, string>;
  /** `host:port` pairs that egress may reach; scripted origins on loopback. */
  readonly allow?: readonly string[];
  /** Isolates on one D1; each has its own port. */
  readonly isolates?: number;
  /** Folder that keeps the state; without it the state dies with the gateway. */
  readonly persist?: string;
  readonly ports?: readonly number[];
  /** Another entry than dist/worker.js, e.g. one that injects store faults. */
  readonly bundle?: string;
  readonly compatibilityDate?: string;
  /** Folder of the schema, when it is not that of the work tree. */
  readonly migrations?: string;
}

export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly body: any;
  readonly headers: Headers;
}

export interface Gateway {
  readonly ports: readonly number[];
  readonly port: number;
  /** Everything that workerd printed. */
  readonly output: () => string;
  /** A management call; as the operator unless `key` is given. */
  readonly api: (
    method: string,
    path: string,
    body?: unknown,
    options?: { key?: string; isolate?: number },
  ) => Promise<ApiAnswer>;
  readonly db: () => Promise<D1Like>;
  /** Fires a Cron at one isolate; ends when its jobs have. */
  readonly cron: (cron: string, scheduledAtMs: number, isolate?: number) => Promise<void>;
  readonly dispose: () => Promise<void>;
  /** Process id of workerd, for fault runs. */
  readonly pid: () => number;
}

/** Starts a gateway; `dispose` it. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const ports = options.ports ?? (await freePorts(options.isolates ?? 1));
  const bindings = {
    ...testBindings,
    EGRESS_ALLOW: (options.allow ?? []).join(','),
    ...options.bindings,
  };
  const {
    started: workerd,
    output,
    close,
  } = await withOwnLog(() =>
    startWorkerd({
      bundle: options.bundle ?? 'dist/worker.js',
      isolates: ports.map((port, i) => ({ port, bindings: { ...bindings, ISOLATE: String(i) } })),
      persist: options.persist,
      compatibilityDate: options.compatibilityDate,
      // Nothing comes this way: the lines are in the log.
      onLine: () => undefined,
    }),
  );
  await migrate(await workerd.db(), options.migrations);
  return {
    ports,
    port: ports[0] as number,
    output,
    api: (method, path, body, { key = operatorKey, isolate = 0 } = {}) =>
      callManagement({ port: ports[isolate] as number, key, method, path, body }),
    db: workerd.db,
    cron: workerd.cron,
    dispose: () => workerd.dispose().finally(close),
    pid: () => workerdPid(process.pid),
  };
}

/** The workerd below a process. */
function workerdPid(parent: number): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map(Number);
  for (const child of children) {
    if (readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('workerd')) return child;
    const below = workerdPid(child);
    if (below > 0) return below;
  }
  return -1;
}
