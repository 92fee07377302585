/** Which jobs a Cron runs: those of its own schedule, all of them, whatever becomes of one. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { snapshotRetentionMs } from '../../../src/base/limits-capacity';
import type { Bindings } from '../../../src/env';
import { runCron } from '../../../src/jobs/crons';
import type { Wired } from '../../../src/wiring';

const scheduledTime = Date.UTC(2030, 0, 1);

/** A database and a sweep that only say that they were asked; `down`: reads fail, `full`: writes too. */
function world({ down = false, full = false } = {}) {
  const ran: string[] = [];
  const bound: unknown[] = [];
  const statement = (text: string) => ({
    bind: (...values: unknown[]) => {
      bound.push([text.slice(0, 17), values[0]]);
      return statement(text);
    },
    run: async () => {
      if (full) throw new Error('full');
      ran.push(text.slice(0, 17));
      return { meta: { changes: 0 } };
    },
    all: async () => {
      if (down) throw new Error('down');
      ran.push(text.slice(0, 14));
      return { results: [] };
    },
  });
  const takeLease = async ({ job, scheduledAtMs }: { job: string; scheduledAtMs: number }) => {
    ran.push(`${job} ${scheduledAtMs}`);
    return false;
  };
  const takeDue = async () => {
    ran.push('tasks that are due');
    return [];
  };
  const wired = {
    env: { callRetentionMs: 1 },
    management: { ledgers: {} },
    sweepPorts: { nowMs: () => 0, store: { takeLease } },
    taskPorts: { nowMs: () => 0, index: { takeDue } },
  } as unknown as Wired;
  const bindings = { DB: { prepare: statement } } as unknown as Bindings;
  const fire = (cron: string) =>
    runCron(wired, bindings, { cron, scheduledTime, background: () => undefined });
  return { ran, bound, fire };
}

afterEach(() => void vi.restoreAllMocks());

describe('a Cron', () => {
  it.each([
    ['*/5 * * * *', ['delete from calls', 'update ledgers']],
    ['7 * * * *', ['delete from capac', `sweep ${scheduledTime}`]],
    ['* * * * *', ['tasks that are due']],
  ])('%s runs its own jobs and no other', async (cron, jobs) => {
    const { ran, fire } = world();
    await fire(cron);
    expect(ran.sort()).toEqual(jobs);
  });

  it.each([
    ['*/5 * * * *', 'delete from calls', 1],
    ['7 * * * *', 'delete from capac', snapshotRetentionMs],
  ])('%s keeps what is younger: %s', async (cron, text, keptMs) => {
    const { bound, fire } = world();
    await fire(cron);
    expect(bound).toContainEqual([text, scheduledTime - keptMs]);
  });

  it('that has a job which fails runs the others to their end, and fails', async () => {
    const { ran, fire } = world({ down: true });
    await expect(fire('*/5 * * * *')).rejects.toThrow('down');
    expect(ran).toEqual(['delete from calls']);
  });

  it('that has two jobs which fail tells both failures', async () => {
    const failure = world({ down: true, full: true }).fire('*/5 * * * *');
    await expect(failure).rejects.toThrow('Error: down; Error: full');
    await expect(failure).rejects.toMatchObject({
      errors: [{ message: 'down' }, { message: 'full' }],
    });
  });

  it.each(['0 0 * * *', '', 'toString', '__proto__'])(
    'that nobody knows (%j) runs nothing and says so',
    async (cron) => {
      const lines = vi.spyOn(console, 'log').mockImplementation(() => undefined);
      const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
      const warnings = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
      const { ran, fire } = world();
      await fire(cron);
      expect(ran).toEqual([]);
      const said = [...lines.mock.calls, ...errors.mock.calls, ...warnings.mock.calls].flat();
      expect(said.join('\n')).toContain('cron.unknown');
    },
  );
});
