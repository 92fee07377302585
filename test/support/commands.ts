/**
 * Commands as a person would run them: in an environment without anything that npm, vitest or this
 * repo added to ours.
 * Promises: nothing outlives `stop` or the time limit; a command's whole process group ends with
 * it. Called by proofs that drive real programs (npm, curl, git).
 */
import { type ChildProcess, spawn } from 'node:child_process';

export interface CommandOptions {
  readonly cwd?: string;
  /** Added to the clean environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that keeps running. */
export interface RunningCommand {
  /** Everything that it printed, both streams. */
  readonly output: () => string;
  /** Waits for a line that matches; fails when the program ends first or the time is over. */
  readonly line: (pattern: RegExp, timeoutMs: number) => Promise<string>;
  /** Asks the whole process group to end and waits until the program has; gives its exit code. */
  readonly stop: () => Promise<number | null>;
}

/** What npm, vitest and we ourselves put into an environment. */
const ours = [
  /^(npm_|VITEST|WEIR_|EGRESS_)/,
  /^(NODE|NODE_ENV|NODE_OPTIONS|INIT_CWD|PORT)$/,
  /^(TEST|DEV|PROD|MODE|BASE_URL|SSR)$/,
];

/**
 * The environment of a login shell: ours without the additions, and without any node_modules on
 * PATH.
 */
function cleanEnv(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !ours.some((pattern) => pattern.test(name)),
  );
  const path = (process.env.PATH ?? '').split(':').filter((part) => !part.includes('node_modules'));
  return { ...(Object.fromEntries(kept) as Record<string, string>), PATH: path.join(':') };
}

/** Runs a command to its end; killed after `timeoutMs` (60 s), which fails. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { timeoutMs = 60_000 } = options;
  const child = launch(command, args, options);
  const stdout = collect(child, 'stdout');
  const stderr = collect(child, 'stderr');
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      killGroup(child, 'SIGKILL');
      reject(new Error(`${command} did not end within ${timeoutMs} ms: ${stdout()}${stderr()}`));
    }, timeoutMs);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout: stdout(), stderr: stderr() });
    });
  });
}

/** Starts a command that keeps running; `stop` it. */
export function startCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): RunningCommand {
  const child = launch(command, args, options);
  const [stdout, stderr] = [collect(child, 'stdout'), collect(child, 'stderr')];
  const output = (): string => stdout() + stderr();
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    output,
    async line(pattern, timeoutMs) {
      const found = (): string | undefined =>
        output()
          .split('\n')
          .find((line) => pattern.test(line));
      await Promise.race([
        until(() => found() !== undefined, child, timeoutMs),
        ended,
        late(timeoutMs),
      ]);
      const line = found();
      if (line === undefined)
        throw new Error(
          `${command} ${args.join(' ')} printed no ${pattern}: ${output().slice(-2000)}`,
        );
      return line;
    },
    async stop() {
      if (child.exitCode === null) killGroup(child, 'SIGTERM');
      const code = await Promise.race([ended, late(20_000)]);
      if (code === 'late') {
        killGroup(child, 'SIGKILL');
        throw new Error(`${command} did not stop within 20 s`);
      }
      return code;
    },
  };
}

/** Groups that run now; they end with us, however we end. */
const running = new Set<ChildProcess>();
let watched = false;

function endWithUs(): void {
  watched = true;
  process.on('exit', () => {
    for (const child of running) killGroup(child, 'SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}

function launch(command: string, args: readonly string[], options: CommandOptions): ChildProcess {
  if (!watched) endWithUs();
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...cleanEnv(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that it can be ended as a whole, like a terminal does.
    detached: true,
  });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

function collect(child: ChildProcess, stream: 'stdout' | 'stderr'): () => string {
  let text = '';
  child[stream]?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  return () => text;
}

/** Resolves when `done` holds after some output. */
function until(done: () => boolean, child: ChildProcess, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (done()) finish();
    };
    const timer = setTimeout(finish, timeoutMs);
    function finish(): void {
      clearTimeout(timer);
      child.stdout?.off('data', check);
      child.stderr?.off('data', check);
      resolve();
    }
    child.stdout?.on('data', check);
    child.stderr?.on('data', check);
    check();
  });
}

const late = (ms: number): Promise<'late'> =>
  new Promise((resolve) => {
    setTimeout(() => resolve('late'), ms).unref();
  });

/** Signals a child's whole process group; the child was started `detached`. */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // The group has ended already.
  }
}
