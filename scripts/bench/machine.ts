/**
 * The machine of the bench: its tools, its pinned processes, their CPU time.
 * Promises: what is missing is installed (nginx, wrk by apt; the peer by npm) or named in one sentence; every process that was started is
 * ended by its pid. Called by bench.ts and its modules.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Everything that the bench writes; ignored by git. */
export const folder = resolve('.weir/bench');
/** Gateways run here. */
export const gatewayCore = 0;
/** Origin, store and load run here. */
export const loadCore = 1;

/** Installs nginx and wrk where they are missing. */
export function installTools(): void {
  mkdirSync(`${folder}/run`, { recursive: true });
  const missing = [
    ['nginx', 'nginx-light'],
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
  ].filter(([command = '']) => spawnSync('which', [command]).status !== 0);
  if (missing.length === 0) return;
  const packages = missing.map(([, name = '']) => name);
  console.log(`installing ${packages.join(', ')} …`);
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
  console.log('installing the peer gateway …');
  mkdirSync(at, { recursive: true });
  writeFileSync(
    `${at}/package.json`,
    JSON.stringify({ private: true, dependencies: peerPackages }),
  );
  const run = spawnSync(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: at, stdio: 'inherit' },
  );
  if (run.status !== 0 || !existsSync(start))
    throw new Error('The peer gateway could not be installed by npm.');
  return start;
}

/** The processes of one bench. */
export class Processes {
  readonly #started: ChildProcess[] = [];

  /** Starts a command on one core; its output goes to a log in the bench folder. */
  start(
    name: string,
    core: number,
    command: readonly string[],
    env: Record<string, string> = {},
  ): number {
    const log = openSync(`${folder}/run/${name}.log`, 'w');
    const child = spawn('taskset', ['-c', String(core), ...command], {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...env },
    });
    this.#started.push(child);
    if (child.pid === undefined) throw new Error(`${name} did not start`);
    return child.pid;
  }

  stop(): void {
    for (const child of this.#started) child.kill('SIGTERM');
  }
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
  readonly bad: number;
}

/** Loads one URL for some seconds from the load core. */
export function wrk(
  url: string,
  options: { connections: number; seconds: number; headers: readonly string[] },
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
  const out = execFileSync('taskset', [...args, url], { encoding: 'utf8' });
  const find = (pattern: RegExp): string => pattern.exec(out)?.[1] ?? '0';
  return {
    requests: Number(find(/(\d+) requests in/)),
    perSecond: Number(find(/Requests\/sec:\s+([\d.]+)/)),
    mb: inUnits(find(/Transfer\/sec:\s+(\S+)/), { KB: 1e-3, MB: 1, GB: 1e3, B: 1e-6 }),
    p50: inUnits(find(/50%\s+(\S+)/), { us: 1e-3, ms: 1, s: 1e3 }),
    bad: Number(find(/Non-2xx or 3xx responses: (\d+)/)) + (/Socket errors/.test(out) ? 1 : 0),
  };
}

function inUnits(text: string, units: Record<string, number>): number {
  const parts = /^([\d.]+)([A-Za-z]+)$/.exec(text);
  return Number(parts?.[1] ?? 0) * (units[parts?.[2] ?? ''] ?? 0);
}
