/**
 * The world of the bench: a scripted origin that answers only to the injected credential, an SSE origin, D1 in a process of its own (as
 * deployed, where it is another machine's), and one `workerd serve` with the gateway and its ledgers, the bare pass-through, a hand-made path
 * and a floor side by side. Called by bench.ts.
 */
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build, type Plugin } from 'esbuild';
import { bundleWorker } from '../build.ts';
import { writeCatalog } from '../lib/catalog/write.ts';
import {
  credential,
  d1Conf,
  dryFile,
  gatewayConf,
  handmadeKey,
  operatorKey,
  originConf,
  type Ports,
  providerFile,
} from './conf.ts';
import {
  answers,
  folder,
  freePortRow,
  gatewayCore,
  installPeer,
  loadCore,
  look,
  Processes,
} from './machine.ts';
import type { Target } from './measure.ts';
import { type Sized, startSized } from './sized.ts';
import { BenchStore } from './store.ts';
import { tenant } from './tenant.ts';

const first = await freePortRow(11);
const ports: Ports = {
  origin: first,
  sse: first + 1,
  d1: first + 2,
  ours: first + 3,
  bare: first + 4,
  hello: first + 5,
  peer: first + 6,
  handmade: first + 7,
  counted: first + 8,
  pair: first + 9,
  memory: first + 10,
};
/** The binary that the `workerd` package brought: the one of dev and tests. */
const workerd = (createRequire(import.meta.url)('workerd') as { default: string }).default;

/** What D1 has seen so far. */
export interface QueryCounts {
  readonly reads: number;
  readonly versions: number;
  readonly writes: number;
  readonly callBatches: number;
  /** The newest of `reads`. */
  readonly lastRead: string;
}

/** Calls of the counted gateway's objects so far, by class, and what is known of them; see `workers/counted.ts`. */
export interface ObjectCounts {
  readonly ledger: number;
  readonly capacity: number;
  readonly overflowBudget: number;
  readonly metrics: number;
  /** Those of `capacity` that only read the view, behind some call. */
  readonly capacityViews: number;
  /** Of the ledgers. */
  readonly batches: number;
  readonly batchesWithPlaces: number;
  readonly places: number;
  readonly ends: number;
}

/** The same, and rows of the tenant's log, as the management API says; the look at them is a ledger call of its own. */
export interface LedgerCounts extends ObjectCounts {
  readonly rows: number;
}

export interface World {
  readonly bare: Target;
  readonly handmade: Target;
  readonly ours: Target;
  readonly tracked: Target;
  readonly sse: Target;
  readonly many: Target;
  readonly peer: Target;
  /** Metered calls: one price; a price that is in the answer; a replay of a keyed call. */
  readonly fixed: Target;
  readonly usage: Target;
  readonly replay: Target;
  /** A request that makes one changing ledger call and nothing else. */
  readonly oneCall: Target;
  /** The gateway with counters, unmetered and metered. */
  readonly counted: Target;
  readonly countedFixed: Target;
  /** A provider whose account is empty, at both; and a worker that gives such a refusal from memory. */
  readonly dry: Target;
  readonly countedDry: Target;
  readonly memory: Target;
  readonly gatewayPid: number;
  readonly pairBase: string;
  readonly bundleGzipBytes: number;
  readonly queries: () => Promise<QueryCounts>;
  readonly objectCounts: () => Promise<ObjectCounts>;
  readonly ledgerCounts: () => Promise<LedgerCounts>;
  /** Requests that the origin has answered. */
  readonly originHits: () => Promise<number>;
  /** Starts gateways with catalogs of several sizes. */
  readonly sized: () => Promise<Sized>;
  readonly stop: () => Promise<void>;
}

/** Builds and starts everything. */
export async function startWorld(): Promise<World> {
  const run = `${folder}/run-${first}`;
  rmSync(run, { recursive: true, force: true });
  for (const part of ['d1', 'state']) mkdirSync(`${run}/${part}`, { recursive: true });
  const { path, gzipBytes } = await bundleWorker();
  copyFileSync(path, `${run}/ours.js`);
  for (const name of ['bare', 'hello', 'd1', 'handmade', 'counted', 'memory', 'ledger-pair'])
    await bundle(`scripts/bench/workers/${name}.ts`, `${run}/${name}.js`);
  writeFileSync(`${run}/blob.bin`, randomBytes(10 * 1024 * 1024));
  writeFileSync(`${run}/origin.conf`, originConf(run, ports));
  writeFileSync(`${run}/gateway.capnp`, gatewayConf(ports, `${run}/state`));
  writeFileSync(`${run}/d1.capnp`, d1Conf(run, [['d1', ports.d1]]));
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

/** Starts the processes; gives the pids that are measured. */
async function startProcesses(
  processes: Processes,
  run: string,
): Promise<{ gateway: number; peer: number }> {
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
  return { gateway, peer };
}

/** Starts the processes, seeds the store. */
async function populate(processes: Processes, run: string, gzipBytes: number): Promise<World> {
  const { gateway, peer } = await startProcesses(processes, run);
  const store = new BenchStore(ports.d1);
  const authority = `127.0.0.1:${ports.origin}`;
  await store.migrate();
  await writeCatalog(store, authority, [
    { name: 'bench.yaml', text: providerFile(authority) },
    { name: 'dry.yaml', text: dryFile(authority) },
  ]);
  const atOurs = { port: ports.ours, originPort: ports.origin };
  const atCounted = { port: ports.counted, originPort: ports.origin };
  const one = await tenant('One', atOurs, [
    ['origin', {}],
    ['tracked', { track_body: true }],
    ['sse', { endpoints: [{ host: '127.0.0.1', port: ports.sse }] }],
  ]);
  const crowd = await tenant('Crowd', atOurs, [['origin', {}]]);
  await store.copyUpstreams(crowd.tenantId, 10_000);
  // Without upstreams: an own one at the provider's address would be called instead, unmetered.
  const money = await tenant('Money', atOurs, []);
  const counted = await tenant('Counted', atCounted, [['origin', {}]]);
  const countedMoney = await tenant('Counted money', atCounted, []);
  const at = (
    name: string,
    port: number,
    surface = '',
    headers: readonly string[] = [],
  ): Target => ({
    name,
    pid: gateway,
    base: `http://127.0.0.1:${port}${surface}`,
    headers,
  });
  const keyOf = ({ token }: { token: string }): string => `x-weir-key: ${token}`;
  const ours = (name: string, from: { token: string }, upstream = 'origin'): Target =>
    at(name, ports.ours, `/call/${upstream}`, [keyOf(from)]);
  const metered = (name: string, endpoint: string, port: number, headers: string[]): Target => ({
    ...at(name, port, '/call/', headers),
    path: endpoint,
  });
  const replay = metered('replay', 'bench.usage', ports.ours, [
    keyOf(money),
    'idempotency-key: bench-replay',
  ]);
  await recordOnce(replay);
  const peerConfig = {
    provider: 'openai',
    api_key: credential,
    custom_host: `http://${authority}/v1`,
  };
  return {
    bare: at('bare', ports.bare),
    handmade: at('handmade', ports.handmade, '/call/origin', [`x-weir-key: ${handmadeKey}`]),
    ours: ours('ours', one),
    tracked: ours('tracked', one, 'tracked'),
    sse: ours('sse', one, 'sse'),
    many: ours('many', crowd),
    peer: {
      name: 'peer',
      pid: peer,
      base: `http://127.0.0.1:${ports.peer}`,
      headers: [`x-portkey-config: ${JSON.stringify(peerConfig)}`],
    },
    fixed: metered('fixed', 'bench.fixed', ports.ours, [keyOf(money)]),
    usage: metered('usage', 'bench.usage', ports.ours, [keyOf(money)]),
    replay,
    oneCall: { ...at('one object call', ports.pair, '/'), path: 'one' },
    counted: at('counted', ports.counted, '/call/origin', [keyOf(counted)]),
    countedFixed: metered('counted fixed', 'bench.fixed', ports.counted, [keyOf(countedMoney)]),
    dry: { ...metered('dry', 'dry.fixed', ports.ours, [keyOf(money)]), isRefused: true },
    countedDry: {
      ...metered('counted dry', 'dry.fixed', ports.counted, [keyOf(countedMoney)]),
      isRefused: true,
    },
    memory: { ...at('memory', ports.memory, '/'), path: '', isRefused: true },
    gatewayPid: gateway,
    pairBase: `http://127.0.0.1:${ports.pair}`,
    bundleGzipBytes: gzipBytes,
    queries: () => store.counts<QueryCounts>(),
    objectCounts,
    ledgerCounts: () => ledgerCounts(countedMoney.tenantId),
    originHits,
    sized: () => startSized(processes, run, ports),
    stop: async () => {
      await processes.stop();
      // A million entries are worth nothing afterwards.
      rmSync(`${run}/state`, { recursive: true, force: true });
    },
  };
}

/** Makes the tenant's ledger known and its record durable, so that every later call with the key is a replay. */
async function recordOnce({ base, path = '', headers }: Target): Promise<void> {
  const pairs = headers.map((line) => line.split(': ') as [string, string]);
  const answer = await fetch(`${base}${path}`, { headers: Object.fromEntries(pairs) });
  if (!answer.ok || answer.headers.get('x-weir-cost-micro') === null)
    throw new Error(`the call to be replayed: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

const countedBase = `http://127.0.0.1:${ports.counted}`;

async function objectCounts(): Promise<ObjectCounts> {
  return JSON.parse(await look(`${countedBase}/bench-counts`)) as ObjectCounts;
}

async function ledgerCounts(tenantId: string): Promise<LedgerCounts> {
  const counts = await objectCounts();
  const view = await look(`${countedBase}/api/v1/ledger?tenant=${tenantId}`, {
    authorization: `Bearer ${operatorKey}`,
  });
  return { ...counts, rows: (JSON.parse(view) as { seq: number }).seq };
}

async function originHits(): Promise<number> {
  const text = await look(`http://127.0.0.1:${ports.origin}/status`, {
    authorization: `Bearer ${credential}`,
  });
  const [, requests] = /\n\s*\d+\s+\d+\s+(\d+)/.exec(text) ?? [];
  return Number(requests ?? Number.NaN);
}

/** `src/worker` is the gateway's own bundle, which stands beside the module. */
const besideTheBundle: Plugin = {
  name: 'beside-the-bundle',
  setup: (bundler) => {
    bundler.onResolve({ filter: /src\/worker$/ }, () => ({ path: 'ours', external: true }));
  },
};

async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    external: ['cloudflare:*'],
    logLevel: 'warning',
    plugins: [besideTheBundle],
  });
}
