/**
 * Gateway isolates that can be killed: N workers with sockets of their own, in one workerd, on ONE
 * OrgLedger namespace and one D1, kept in a folder that outlives the process.
 * Promises: `kill` is SIGKILL to this workerd and to no other process, and returns when it is gone;
 * `restart` starts the same isolates on the same ports and the same storage. Called by
 * `money-world.ts`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { freePorts } from '../../scripts/lib/ports.ts';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';

/** How long a killed process may take to go, milliseconds. */
const goneWithinMs = 10_000;

/** What every start of the isolates has in common. */
export type IsolateSet = Omit<GatewayOptions, 'ports' | 'isolates'> & { readonly isolates: number };

export class Isolates {
  readonly ports: readonly number[];
  readonly #options: IsolateSet;
  #gateway: Gateway;
  #pid: number;
  #isOver = false;

  private constructor(options: IsolateSet, ports: readonly number[], started: Started) {
    this.#options = options;
    this.ports = ports;
    this.#gateway = started.gateway;
    this.#pid = started.pid;
  }

  static async start(options: IsolateSet): Promise<Isolates> {
    const ports = await freePorts(options.isolates);
    return new Isolates(options, ports, await startOn(options, ports));
  }

  /** The gateway that runs now; another one after `restart`. */
  get gateway(): Gateway {
    return this.#gateway;
  }

  /** The process of this workerd. */
  get pid(): number {
    return this.#pid;
  }

  /** SIGKILL, now; gives a promise of its end. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    process.kill(this.#pid, signal);
    const deadline = performance.now() + goneWithinMs;
    while (isAlive(this.#pid)) {
      if (performance.now() > deadline) throw new Error(`workerd ${this.#pid} does not go`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** After `kill`; with another bundle when it is given. */
  async restart(bundle?: string): Promise<void> {
    await this.#gateway.dispose();
    const options = bundle === undefined ? this.#options : { ...this.#options, bundle };
    const { gateway, pid } = await startOn(options, this.ports);
    this.#gateway = gateway;
    this.#pid = pid;
  }

  /** Ends the process in good order; a second time does nothing. */
  async dispose(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#gateway.dispose();
  }
}

interface Started {
  readonly gateway: Gateway;
  readonly pid: number;
}

/** One start at a time in this process: the workerd that is new is the one that was started. */
let starting: Promise<unknown> = Promise.resolve();

function startOn(options: IsolateSet, ports: readonly number[]): Promise<Started> {
  const started = starting.then(async () => {
    const before = new Set(workerdsBelow(process.pid));
    const gateway = await startGateway({ ...options, ports });
    const pid = workerdsBelow(process.pid).find((one) => !before.has(one));
    if (pid === undefined) throw new Error('no new workerd runs');
    return { gateway, pid };
  });
  starting = started.catch(() => undefined);
  return started;
}

/** Processes named workerd below `parent`. */
function workerdsBelow(parent: number): number[] {
  return childrenOf(parent).flatMap((child) => {
    const isWorkerd = read(`/proc/${child}/cmdline`).split('\0')[0]?.endsWith('workerd') === true;
    return isWorkerd ? [child] : workerdsBelow(child);
  });
}

/** A child belongs to the thread that started it. */
function childrenOf(pid: number): number[] {
  return tasksOf(pid).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).trim().split(/\s+/).filter(Boolean).map(Number),
  );
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** A process may be gone between two reads. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** A zombie is gone: its parent only has not asked for its end yet. */
const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\s+[ZX]/m.test(read(`/proc/${pid}/status`));
