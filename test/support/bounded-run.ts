/**
 * Runs a program in a process group of its own that ends in time, whatever hangs in it.
 * Promises: asked at the limit, killed a little later (a blocked thread hears no request); nothing
 * of the group outlives the program; our own Ctrl-C reaches it.
 * Called by scripts/test.ts and scripts/ci.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { killGroup } from './commands.ts';

/** Between the request to end and the kill, milliseconds. */
const graceMs = 10_000;
/** For the last output of a program that has ended, milliseconds: a stray may hold its pipes open. */
const lastOutputMs = 2_000;

export interface BoundedOptions {
  readonly limitMs: number;
  /** Takes the output, both streams; without it the program writes to our own. */
  readonly onOutput?: (chunk: Buffer) => void;
}

export interface BoundedEnd {
  readonly code: number;
  /** Why it ended: by itself, at its limit, or because somebody stopped us. */
  readonly by: 'itself' | 'limit' | 'signal';
}

/** Runs `command` to its end or its limit; never throws: a program that cannot be started gives code 1. */
export async function runBounded(
  command: string,
  args: readonly string[],
  { limitMs, onOutput }: BoundedOptions,
): Promise<BoundedEnd> {
  const output = onOutput === undefined ? 'inherit' : 'pipe';
  const child = spawn(command, args, { detached: true, stdio: ['ignore', output, output] });
  if (onOutput !== undefined) {
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
  }
  let by: BoundedEnd['by'] = 'itself';
  let kill: NodeJS.Timeout | undefined;
  const end = (why: BoundedEnd['by'], signal: NodeJS.Signals): void => {
    if (by !== 'itself') return;
    by = why;
    killGroup(child, signal);
    kill = setTimeout(() => killGroup(child, 'SIGKILL'), graceMs);
  };
  const stop = (signal: NodeJS.Signals): void => end('signal', signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  const limit = setTimeout(() => end('limit', 'SIGTERM'), limitMs);
  const code = await ended(child);
  clearTimeout(limit);
  clearTimeout(kill);
  for (const signal of signals) process.off(signal, stop);
  return { code, by };
}

/** The exit code; the rest of the group is killed and the last output has come. */
function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', (fault) => {
      console.error(fault.message);
      resolve(1);
    });
    child.once('exit', (code) => {
      killGroup(child, 'SIGKILL');
      const late = setTimeout(() => resolve(code ?? 1), lastOutputMs);
      child.once('close', () => {
        clearTimeout(late);
        resolve(code ?? 1);
      });
    });
  });
}
