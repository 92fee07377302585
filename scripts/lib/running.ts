/**
 * One Weir per state folder: two workerd processes on one database would damage it.
 * Promises: a note that was left by a killed process is no obstacle: only a living process whose port answers as Weir counts. Called by
 * start.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const noteOf = (state: string): string => `${state}/running`;

/** The port of the Weir that uses this folder now, or `null`. */
export async function portInUseBy(state: string): Promise<number | null> {
  if (!existsSync(noteOf(state))) return null;
  const [pid = 0, port = 0] = readFileSync(noteOf(state), 'utf8').split(' ').map(Number);
  return isAlive(pid) && (await answers(port)) ? port : null;
}

/** Notes that this process uses the folder. */
export function noteRunning(state: string, port: number): void {
  mkdirSync(state, { recursive: true });
  writeFileSync(noteOf(state), `${process.pid} ${port}\n`);
}

/** Takes the note back. */
export function noteStopped(state: string): void {
  rmSync(noteOf(state), { force: true });
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Whether a gateway is healthy on this loopback port. */
export async function answers(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false;
  }
}
