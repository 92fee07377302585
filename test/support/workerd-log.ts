/**
 * What a workerd prints goes into a file of its own, not through pipes to this process.
 * The bug that was here: Miniflare's D1 proxy blocks Node's only thread in `Atomics.wait` until workerd answers, and that thread is also
 * the one that empties workerd's pipes; a burst that fills them (some 200 kB) leaves each waiting for the other, and no timeout fires.
 * Promises: workerd never waits for a reader; its pid is still the child's; however we end, no file stays. Must never: change what the
 * Worker does or says.
 * Called by startGateway.
 */
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A started workerd, and what it has printed. */
export interface Logged<T> {
  readonly started: T;
  /** Every line so far, of a structured line its message. */
  readonly output: () => string;
  /** Closes the file; call it when workerd is gone. The lines stay. */
  readonly close: () => void;
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
  const file = openSync(log, 'w+');
  writeFileSync(wrapper, `#!/bin/sh\nexec '${binary}' "$@" >>'${log}' 2>&1\n`, { mode: 0o700 });
  let last: string | undefined;
  const output = (): string => last ?? linesOf(file);
  const close = (): void => {
    if (last !== undefined) return;
    last = linesOf(file);
    closeSync(file);
  };
  process.env[binaryVariable] = wrapper;
  try {
    return { started: await start(), output, close };
  } catch (fault) {
    close();
    throw new Error(`workerd did not start: ${output()}`, { cause: fault });
  } finally {
    if (before === undefined) delete process.env[binaryVariable];
    else process.env[binaryVariable] = before;
    // workerd and we have it open: it lives, without a name, as long as one of us does.
    rmSync(folder, { recursive: true });
  }
}

function linesOf(file: number): string {
  const bytes = Buffer.alloc(fstatSync(file).size);
  readSync(file, bytes, 0, bytes.length, 0);
  return bytes.toString('utf8').split('\n').map(messageOf).join('\n');
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
