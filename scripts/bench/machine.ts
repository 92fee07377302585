/**
 * The machine of the bench: its tools, its pinned processes, their CPU time.
 * Promises: what is missing is installed (nginx, wrk by apt; the peer by npm) or named in one sentence; every process that was started is
 * ended by its pid. Called by bench.ts and its modules.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { resolve } from 'node:path';

/** Everything that the bench writes; ignored by git. */
export const folder = resolve('.weir/bench');
/** Gateways run here. */
export const gatewayCore = 0;
/** Origin, store and load run here. */
export const loadCore = 1;

/** Installs nginx and wrk where they are missing. */
export function installTools(): void {
  const missing = [
    ['nginx', 'nginx-light'],
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
  ].filter(([command = '']) => spawnSync('which', [command]).status !== 0);
  if (missing.length === 0) return;
  const packages = missing.map(([, name = '']) => name);
  console.error(`installing ${packages.join(', ')} …`);
  spawnSync('apt-get', ['update', '-q'], { stdio: 'ignore' });
  const run = spawnSync(
    'apt-get',
    ['install', '-y', '-q', '--no-install-recommends', ...packages],
    { stdio: 'ignore' },
  );
  if (run.status !== 0)
    throw new Error(
      `The bench needs ${packages.join(' and ')}; install them (apt-get install ${packages.join(' ')}).`,
    );
}

/** The peer gateway on node, in the versions in which its GET relay works. */
const peerPackages = {
  '@portkey-ai/gateway': '1.15.2',
  hono: '4.9.7',
  '@hono/node-server': '1.13.5',
  '@hono/node-ws': '1.2.0',
};

/** Installs the peer; gives its start script. */
export function installPeer(): string {
  const at = `${folder}/peer`;
  const start = `${at}/node_modules/@portkey-ai/gateway/build/start-server.js`;
  if (existsSync(start)) return start;
  console.error('installing the peer gateway …');
  mkdirSync(at, { recursive: true });
  writeFileSync(
    `${at}/package.json`,
    JSON.stringify({ private: true, dependencies: peerPackages }),
  );
  const run = spawnSync(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: at, stdio: ['ignore', 2, 2] },
  );
  if (run.status !== 0 || !existsSync(start))
    throw new Error('The peer gateway could not be installed by npm.');
  return start;
}

/** The first of `count` ports in a row that nobody holds, so that a second bench meets neither the ports nor the state of the first. */
export async function freePortRow(count: number): Promise<number> {
  for (let first = firstPort; first < lastPort; first += count) {
    const row = Array.from({ length: count }, (_, i) => first + i);
    if ((await Promise.all(row.map(isFree))).every(Boolean)) return first;
  }
  throw new Error(`No ${count} free ports in a row between ${firstPort} and ${lastPort}.`);
}

/** Below the range from which Linux takes the ports of outgoing connections. */
const [firstPort, lastPort] = [21_800, 22_800];

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, () => probe.close(() => resolve(true)));
  });
}

/** How long a process may take to end by itself, milliseconds. */
const gracefulEndMs = 2_000;

/** The processes of one bench. */
export class Processes {
  readonly #started: ChildProcess[] = [];
  readonly #logs: string;
  #isStopping = false;

  /** `logs` is the folder for what the processes print. */
  constructor(logs: string) {
    this.#logs = logs;
  }

  /** Starts a command on one core; one that ends before its time ends the bench. */
  start(
    name: string,
    core: number,
    command: readonly string[],
    env: Record<string, string> = {},
  ): number {
    const log = openSync(`${this.#logs}/${name}.log`, 'w');
    const child = spawn('taskset', ['-c', String(core), ...command], {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...env },
    });
    this.#started.push(child);
    child.once('exit', (code) => {
      if (this.#isStopping) return;
      console.error(`${name} ended with ${code}; see ${this.#logs}/${name}.log`);
      void this.stop().then(() => process.exit(1));
    });
    if (child.pid === undefined) throw new Error(`${name} did not start`);
    return child.pid;
  }

  /** Ends every process; one that does not listen (the peer waits for its connections) is killed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#started.map(ended));
  }
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const force = setTimeout(() => child.kill('SIGKILL'), gracefulEndMs);
    child.once('exit', () => {
      clearTimeout(force);
      resolve();
    });
    child.kill('SIGTERM');
  });
}

/** CPU time of a process and its children so far, microseconds. */
export function cpuUs(pid: number): number {
  return familyOf(pid).reduce((sum, one) => sum + threadsUs(one), 0);
}

function threadsUs(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
      const ns = Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
      return sum + ns / 1000;
    }, 0);
  } catch {
    return 0;
  }
}

function familyOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(/\s+/)
      .filter(Boolean);
    return [pid, ...children.flatMap((child) => familyOf(Number(child)))];
  } catch {
    return [pid];
  }
}

/**
 * The text of a 200 answer, on a connection of its own: one of `fetch`'s pool could end while a load runs and Node stands still. Throws
 * otherwise.
 */
export function look(url: string, headers: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`${url}: ${answer.statusCode} ${text}`));
      });
    });
    request.on('error', reject);
  });
}

/** Waits until a URL answers at all. */
export async function answers(url: string, timeoutMs = 20_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch {
      if (Date.now() > deadline) throw new Error(`nothing answers at ${url}`);
      await new Promise((wake) => setTimeout(wake, 50));
    }
  }
}

/** One run of wrk. Times in milliseconds, `mb` in megabytes a second. */
export interface Load {
  readonly requests: number;
  readonly perSecond: number;
  readonly mb: number;
  readonly p50: number;
  /** Answers that were neither 2xx nor 3xx. */
  readonly refused: number;
  /** Whether connections broke. */
  readonly isBroken: boolean;
}

/** Loads one URL for some seconds from the load core; `script`: a file of Lua that makes the requests. */
export function wrk(
  url: string,
  options: {
    connections: number;
    seconds: number;
    headers: readonly string[];
    script?: string | null;
  },
): Load {
  const args = [
    '-c',
    String(loadCore),
    'wrk',
    '-t1',
    `-c${options.connections}`,
    `-d${options.seconds}s`,
    '--latency',
    '--timeout',
    '10s',
  ];
  for (const header of options.headers) args.push('-H', header);
  if (options.script != null) args.push('-s', options.script);
  const out = execFileSync('taskset', [...args, url], { encoding: 'utf8' });
  const find = (pattern: RegExp): string => pattern.exec(out)?.[1] ?? '0';
  return {
    requests: Number(find(/(\d+) requests in/)),
    perSecond: Number(find(/Requests\/sec:\s+([\d.]+)/)),
    mb: inUnits(find(/Transfer\/sec:\s+(\S+)/), { KB: 1e-3, MB: 1, GB: 1e3, B: 1e-6 }),
    p50: inUnits(find(/50%\s+(\S+)/), { us: 1e-3, ms: 1, s: 1e3 }),
    refused: Number(find(/Non-2xx or 3xx responses: (\d+)/)),
    isBroken: /Socket errors/.test(out),
  };
}

function inUnits(text: string, units: Record<string, number>): number {
  const parts = /^([\d.]+)([A-Za-z]+)$/.exec(text);
  return Number(parts?.[1] ?? 0) * (units[parts?.[2] ?? ''] ?? 0);
}
