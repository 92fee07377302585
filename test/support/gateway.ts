/**
 * A real gateway for e2e, fault and proof runs: the built bundle in Miniflare with direct workerd sockets, so that nothing between the
 * raw client and the Worker changes a byte (never `wrangler dev`). Several isolates may share one D1.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import type { Readable } from 'node:stream';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { operatorKey, testBindings } from './test-env.ts';

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
  readonly api: (method: string, path: string, body?: unknown, options?: { key?: string; isolate?: number }) => Promise<ApiAnswer>;
  readonly db: () => Promise<D1Like>;
  readonly dispose: () => Promise<void>;
  /** Process id of workerd, for fault runs. */
  readonly pid: () => number;
}

/** The part of D1 that tests use from Node. */
export interface D1Like {
  prepare(sql: string): { bind(...values: unknown[]): { all(): Promise<{ results: Record<string, unknown>[] }>; run(): Promise<unknown> }; all(): Promise<{ results: Record<string, unknown>[] }>; run(): Promise<unknown> };
}

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => new Promise<net.Server>((resolve) => {
      const server = net.createServer().listen(0, '127.0.0.1', () => resolve(server));
    })),
  );
  const ports = servers.map((s) => (s.address() as net.AddressInfo).port);
  await Promise.all(servers.map((s) => new Promise((resolve) => s.close(resolve))));
  return ports;
}

/** The statements of `d1-migrations/`, in order. */
export function migrationStatements(folder = 'd1-migrations'): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .flatMap((name) => readFileSync(`${folder}/${name}`, 'utf8').split('--> statement-breakpoint'))
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** Applies the migrations to a database that may already have them. */
export async function migrate(db: D1Like): Promise<void> {
  const { results } = await db.prepare("select name from sqlite_master where type = 'table' and name = 'tenants'").all();
  if (results.length > 0) return;
  for (const statement of migrationStatements()) await db.prepare(statement).run();
}

/** Starts a gateway; `dispose` it. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const bundle = options.bundle ?? 'dist/worker.js';
  if (!existsSync(bundle)) throw new Error(`${bundle} is missing: run npm run build`);
  const isolates = options.isolates ?? 1;
  const ports = options.ports ?? (await freePorts(isolates));
  let output = '';
  const collect = (stream: Readable): void => {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  };
  const bindings = { ...testBindings, EGRESS_ALLOW: (options.allow ?? []).join(','), ...options.bindings };
  const workers = Array.from({ length: isolates }, (_, i) => ({
    name: `gateway-${i}`,
    modules: true,
    scriptPath: bundle,
    compatibilityDate: options.compatibilityDate ?? '2026-11-02',
    compatibilityFlags: ['enable_request_signal', 'global_fetch_strictly_public'],
    bindings: { ...bindings, ISOLATE: String(i) },
    d1Databases: { DB: 'weir' },
    stripCfConnectingIp: false,
    unsafeDirectSockets: [{ host: '127.0.0.1', port: ports[i] }],
  }));
  const mf = new Miniflare(
    convertV4MiniflareOptions({
      workers,
      cf: false,
      handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
        collect(stdout);
        collect(stderr);
      },
      ...(options.persist === undefined ? {} : { d1Persist: `${options.persist}/d1` }),
    } as Parameters<typeof convertV4MiniflareOptions>[0]),
  );
  await mf.ready;
  const db = async (): Promise<D1Like> => (await mf.getD1Database('DB', 'gateway-0')) as unknown as D1Like;
  await migrate(await db());
  const api: Gateway['api'] = async (method, path, body, { key = operatorKey, isolate = 0 } = {}) => {
    const answer = await fetch(`http://127.0.0.1:${ports[isolate]}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text), headers: answer.headers };
  };
  return {
    ports,
    port: ports[0] as number,
    output: () => output,
    api,
    db,
    dispose: () => mf.dispose(),
    pid: () => workerdPid(process.pid),
  };
}

/** The workerd below a process. */
function workerdPid(parent: number): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number);
  for (const child of children) {
    if (readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('workerd')) return child;
    const below = workerdPid(child);
    if (below > 0) return below;
  }
  return -1;
}
