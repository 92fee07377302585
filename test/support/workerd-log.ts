/**
 * What a workerd prints goes into a file of its own, not through pipes to this process.
 * The bug that was here: Miniflare's D1 proxy blocks Node's only thread in `Atomics.wait` until workerd answers, and that thread is also
 * the one that empties workerd's pipes; a burst that fills them (some 200 kB) leaves each waiting for the other, and no timeout fires.
 * Promises: workerd never waits for a reader; its pid is still the child's. Must never: change what the Worker does or says.
 * Called by startGateway.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A started workerd, and what it has printed. */
export interface Logged<T> {
  readonly started: T;
  /** Every line so far; of a structured line its message. */
  readonly output: () => string;
  /** Removes the file; call it when workerd is gone. */
  readonly forget: () => void;
}

/** Miniflare's variable for another binary; it is read when workerd is spawned. */
const binaryVariable = 'MINIFLARE_WORKERD_PATH';
/** The variable is the whole process's, so starts go one after the other. */
let lastStart: Promise<unknown> = Promise.resolve();

/** Runs `start`, which starts one workerd, so that this workerd prints into a file. Throws what `start` throws, with the lines. */
export function withOwnLog<T>(start: () => Promise<T>): Promise<Logged<T>> {
  const logged = lastStart.then(() => startLogged(start));
  lastStart = logged.catch(() => undefined);
  return logged;
}

async function startLogged<T>(start: () => Promise<T>): Promise<Logged<T>> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-workerd-'));
  const log = join(folder, 'log');
  const wrapper = join(folder, 'workerd');
  const before = process.env[binaryVariable];
  const binary = before ?? workerdBinary();
  writeFileSync(log, '');
  writeFileSync(wrapper, `#!/bin/sh\nexec '${binary}' "$@" >>'${log}' 2>&1\n`, { mode: 0o700 });
  const output = (): string => readFileSync(log, 'utf8').split('\n').map(messageOf).join('\n');
  const forget = (): void => rmSync(folder, { recursive: true, force: true });
  process.env[binaryVariable] = wrapper;
  try {
    return { started: await start(), output, forget };
  } catch (fault) {
    const said = output();
    forget();
    throw new Error(`workerd did not start: ${said}`, { cause: fault });
  } finally {
    if (before === undefined) delete process.env[binaryVariable];
    else process.env[binaryVariable] = before;
  }
}

/** The binary that Miniflare would take. */
function workerdBinary(): string {
  const ours = createRequire(import.meta.url);
  const { default: binary } = createRequire(ours.resolve('miniflare'))('workerd') as {
    default: string;
  };
  return binary;
}

/** The message of a structured line; any other line as it is. */
function messageOf(line: string): string {
  if (!line.startsWith('{')) return line;
  try {
    const { message } = JSON.parse(line) as { message?: unknown };
    return typeof message === 'string' ? message : line;
  } catch {
    return line;
  }
}
