/**
 * The world of the bench: a scripted origin that answers only to the injected credential, an SSE origin, D1 in a process of its own (as
 * deployed, where it is another machine's), and one `workerd serve` with the gateway, the bare pass-through and a floor side by side.
 * Called by bench.ts.
 */

import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build } from 'esbuild';
import { bundleWorker } from '../build.ts';
import { must, textField } from '../lib/management.ts';
import { migrationFiles, statementsOf } from '../lib/migrations.ts';
import { readWranglerConfig } from '../lib/wrangler-config.ts';
import {
  answers,
  folder,
  freePortRow,
  gatewayCore,
  installPeer,
  loadCore,
  Processes,
} from './machine.ts';

const first = await freePortRow(7);
/** Ports of everything, all on loopback. */
const ports = {
  origin: first,
  sse: first + 1,
  d1: first + 2,
  ours: first + 3,
  bare: first + 4,
  hello: first + 5,
  peer: first + 6,
} as const;
/** The binary that the `workerd` package brought: the one of dev and tests. */
const workerd = (createRequire(import.meta.url)('workerd') as { default: string }).default;
const credential = 'sk-origin-secret';
const operatorKey = `bench-${'operator'.repeat(4)}`;

/** One thing that is measured. */
export interface Target {
  readonly name: string;
  readonly pid: number;
  readonly base: string;
  readonly headers: readonly string[];
}

export interface World {
  readonly bare: Target;
  readonly ours: Target;
  readonly tracked: Target;
  readonly sse: Target;
  readonly many: Target;
  readonly peer: Target;
  readonly bundleGzipBytes: number;
  /** Statements that D1 has seen so far. */
  readonly queries: () => Promise<{
    reads: number;
    versions: number;
    writes: number;
    callBatches: number;
  }>;
  readonly stop: () => Promise<void>;
}

/** Builds and starts everything. */
export async function startWorld(): Promise<World> {
  const run = `${folder}/run-${first}`;
  rmSync(run, { recursive: true, force: true });
  mkdirSync(`${run}/d1`, { recursive: true });
  const { path, gzipBytes } = await bundleWorker();
  copyFileSync(path, `${run}/ours.js`);
  for (const name of ['bare', 'hello', 'd1'])
    await bundle(`scripts/bench/workers/${name}.ts`, `${run}/${name}.js`);
  writeFileSync(`${run}/blob.bin`, randomBytes(10 * 1024 * 1024));
  writeFileSync(`${run}/origin.conf`, originConf(run));
  writeFileSync(`${run}/gateway.capnp`, gatewayConf());
  writeFileSync(`${run}/d1.capnp`, d1Conf(run));
  const processes = new Processes(run);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void processes.stop().then(() => process.exit(130)));
  try {
    return await populate(processes, run, gzipBytes);
  } catch (fault) {
    await processes.stop();
    throw fault;
  }
}

/** Starts the processes, seeds the store. */
async function populate(processes: Processes, run: string, gzipBytes: number): Promise<World> {
  processes.start('origin', loadCore, ['nginx', '-p', run, '-c', `${run}/origin.conf`]);
  processes.start('sse', loadCore, [
    process.execPath,
    'scripts/bench/sse-origin.ts',
    String(ports.sse),
    credential,
  ]);
  processes.start('d1', loadCore, [workerd, 'serve', '--experimental', `${run}/d1.capnp`]);
  const gateway = processes.start('gateway', gatewayCore, [
    workerd,
    'serve',
    '--experimental',
    `${run}/gateway.capnp`,
  ]);
  const peer = processes.start(
    'peer',
    gatewayCore,
    [process.execPath, installPeer(), `--port=${ports.peer}`, '--headless'],
    { NODE_ENV: 'production' },
  );
  for (const port of [ports.d1, ports.ours, ports.bare, ports.peer])
    await answers(`http://127.0.0.1:${port}/`);
  await migrateBench();
  const one = await tenant('One', [
    ['origin', {}],
    ['tracked', { track_body: true }],
    ['sse', { endpoints: [{ host: '127.0.0.1', port: ports.sse }] }],
  ]);
  const crowd = await tenant('Crowd', [['origin', {}]]);
  await crowdUpstreams(crowd.tenantId, 10_000);
  const ours = (name: string, token: string, upstream = 'origin'): Target => ({
    name,
    pid: gateway,
    base: `http://127.0.0.1:${ports.ours}/call/${upstream}`,
    headers: [`x-weir-key: ${token}`],
  });
  const peerConfig = {
    provider: 'openai',
    api_key: credential,
    custom_host: `http://127.0.0.1:${ports.origin}/v1`,
  };
  return {
    bare: { name: 'bare', pid: gateway, base: `http://127.0.0.1:${ports.bare}`, headers: [] },
    ours: ours('ours', one.token),
    tracked: ours('tracked', one.token, 'tracked'),
    sse: ours('sse', one.token, 'sse'),
    many: ours('many', crowd.token),
    peer: {
      name: 'peer',
      pid: peer,
      base: `http://127.0.0.1:${ports.peer}`,
      headers: [`x-portkey-config: ${JSON.stringify(peerConfig)}`],
    },
    bundleGzipBytes: gzipBytes,
    queries: async () =>
      (await (
        await fetch(`http://127.0.0.1:${ports.d1}/`, { headers: { connection: 'close' } })
      ).json()) as Awaited<ReturnType<World['queries']>>,
    stop: () => processes.stop(),
  };
}

async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    external: ['cloudflare:*'],
    logLevel: 'warning',
  });
}

async function query(sql: string): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${ports.d1}/query`, {
    method: 'POST',
    headers: { connection: 'close' },
    body: JSON.stringify({ sql }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

async function migrateBench(): Promise<void> {
  const { migrationsDir } = readWranglerConfig();
  for (const name of migrationFiles(migrationsDir))
    for (const sql of statementsOf(`${migrationsDir}/${name}`)) await query(sql);
}

async function tenant(
  name: string,
  upstreams: readonly (readonly [string, object])[],
): Promise<{ tenantId: string; token: string }> {
  const post = (path: string, body: unknown) =>
    must({ port: ports.ours, key: operatorKey, method: 'POST', path: `/api/v1${path}`, body });
  const tenantId = textField(await post('/tenants', { name }), 'id');
  const at = (path: string): string => `${path}?tenant=${tenantId}`;
  const principal = textField(
    await post(at('/principals'), { name: 'bench', role: 'owner' }),
    'id',
  );
  const key = await post(at('/keys'), { name: 'bench', principal_id: principal });
  await post(at('/secrets'), { name: 'vendor', value: credential });
  for (const [upstream, extra] of upstreams) {
    const bindings = [
      { location: 'header', name: 'authorization', injector: 'bearer', secret: 'cred://vendor' },
    ];
    await post(at('/upstreams'), {
      name: upstream,
      alias: upstream,
      scheme: 'http',
      endpoints: [{ host: '127.0.0.1', port: ports.origin }],
      bindings,
      ...extra,
    });
  }
  return { tenantId, token: textField(key, 'token') };
}

/** Copies of the tenant's upstream under other names; by SQL, because ten thousand requests would take longer than the bench. */
async function crowdUpstreams(tenantId: string, count: number): Promise<void> {
  const columns =
    'tenant_id, project_id, scheme, endpoints, base_path, bindings, header_rules, first_byte_timeout_ms, idle_timeout_ms, visibility, enabled, track_body, needs_target_host, tags, created_at, updated_at';
  await query(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into upstreams (id, name, alias, ${columns})
    select printf('ups_%026d', i), 'u' || i, 'u' || i || '.test', ${columns} from n, upstreams
    where tenant_id = '${tenantId}' and name = 'origin'`);
}

function originConf(run: string): string {
  const item = (i: number): string => `{"i":${i},"name":"item-${i + 1}","ok":true}`;
  const json = `{"id":"x-11111111","object":"list","data":[${Array.from({ length: 26 }, (_, i) => item(i)).join(',')}],"pad":"${'p'.repeat(52)}"}`;
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${run}/tmp_${kind};`)
    .join(' ');
  return `worker_processes 1; pid ${run}/origin.pid; error_log ${run}/origin.err; daemon off;
events { worker_connections 4096; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 300; keepalive_requests 100000000; ${temp} open_file_cache max=100;
  server { listen 127.0.0.1:${ports.origin} backlog=4096; root ${run};
    if ($http_authorization != "Bearer ${credential}") { return 401; }
    location = /v1/json { default_type application/json; return 200 '${json}'; }
    location = /v1/blob { default_type application/octet-stream; alias ${run}/blob.bin; } } }
`;
}

const flags = (): string =>
  readWranglerConfig()
    .compatibilityFlags.map((flag) => JSON.stringify(flag))
    .join(', ');

function gatewayConf(): string {
  const date = readWranglerConfig().compatibilityDate;
  const key = Buffer.alloc(32, 7).toString('base64');
  const env: Record<string, string> = {
    WEIR_ENV: 'development',
    OPERATOR_KEY: operatorKey,
    KEY_CHECK_SECRETS: `1:${key}`,
    MASTER_KEYS: `1:${key}`,
    GATEWAY_HOSTS: 'bench.invalid',
    EGRESS_RESOLVER: 'http://127.0.0.1:9/dns-query',
    EGRESS_ALLOW: `127.0.0.1:${ports.origin},127.0.0.1:${ports.sse}`,
  };
  const text = (vars: Record<string, string>): string =>
    Object.entries(vars)
      .map(([name, value]) => `(name = "${name}", text = ${JSON.stringify(value)})`)
      .join(', ');
  const bareEnv = {
    ORIGIN: `127.0.0.1:${ports.origin}`,
    SSE_ORIGIN: `127.0.0.1:${ports.sse}`,
    CREDENTIAL: `Bearer ${credential}`,
  };
  const socket = (name: string, port: number): string =>
    `(name = "${name}", address = "127.0.0.1:${port}", http = (), service = "${name}")`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "ours", worker = .ours), (name = "bare", worker = .bare), (name = "hello", worker = .hello),
    (name = "d1", external = (address = "127.0.0.1:${ports.d1}", http = ())),
    (name = "internet", network = (allow = ["public", "private", "local"])) ],
  sockets = [ ${socket('ours', ports.ours)}, ${socket('bare', ports.bare)}, ${socket('hello', ports.hello)} ]
);
const ours :Workerd.Worker = (modules = [(name = "w", esModule = embed "ours.js")], compatibilityDate = "${date}", compatibilityFlags = [${flags()}],
  bindings = [${text(env)}, (name = "DB", wrapped = (moduleName = "cloudflare-internal:d1-api", innerBindings = [(name = "fetcher", service = "d1")]))]);
const bare :Workerd.Worker = (modules = [(name = "w", esModule = embed "bare.js")], compatibilityDate = "${date}", bindings = [${text(bareEnv)}]);
const hello :Workerd.Worker = (modules = [(name = "w", esModule = embed "hello.js")], compatibilityDate = "${date}");
`;
}

function d1Conf(run: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "d1", worker = .d1), (name = "disk", disk = (path = "${run}/d1", writable = true)) ],
  sockets = [ (name = "s", address = "127.0.0.1:${ports.d1}", http = (), service = "d1") ]
);
const d1 :Workerd.Worker = (modules = [(name = "w", esModule = embed "d1.js")], compatibilityDate = "${readWranglerConfig().compatibilityDate}",
  durableObjectNamespaces = [(className = "Database", uniqueKey = "d1", enableSql = true)], durableObjectStorage = (localDisk = "disk"),
  bindings = [(name = "DATABASE", durableObjectNamespace = "Database")]);
`;
}
