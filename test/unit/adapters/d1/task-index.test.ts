/** D1's list of tasks: who is due, and that one firing gets each. */
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { D1TaskIndex, listTasks } from '../../../../src/adapters/d1/task-index';
import { taskPollFirstMs } from '../../../../src/base/limits-money';

const { DB } = env as { readonly DB: D1Database };
const index = new D1TaskIndex(DB);
const task = (holdId: string) => ({
  holdId,
  address: { ledgerTenantId: 'ten_1', homeRegion: 'weur' },
  provider: 'lab',
  taskId: `job of ${holdId}`,
});
const ids = (found: readonly { readonly holdId: string }[]) =>
  found.map(({ holdId }) => holdId).sort();

describe('the list of tasks', () => {
  it('gives what is due, with its ledger, once per lease, however many ask', async () => {
    for (const [at, holdId] of ['hld_a', 'hld_b', 'hld_c'].entries())
      await index.add(task(holdId), at);
    await index.add({ ...task('hld_a'), taskId: 'another' }, 99);
    const dueMs = taskPollFirstMs + 1;
    const both = await Promise.all([
      index.takeDue(dueMs, 10, 1_000),
      index.takeDue(dueMs, 10, 1_000),
    ]);
    expect(ids(both.flat())).toEqual(['hld_a', 'hld_b']);
    expect(both.flat().find(({ holdId }) => holdId === 'hld_a')).toEqual({
      ...task('hld_a'),
      polls: 0,
      failures: 0,
    });
    expect(ids(await index.takeDue(dueMs + 999, 10, 1_000))).toEqual(['hld_c']);
    expect(ids(await index.takeDue(dueMs + 1_000, 1, 1_000))).toHaveLength(1);
  });

  it('lists what a ledger waits for, and leaves alone what is listed', async () => {
    const { address } = task('');
    await index.add(task('hld_l'), 10_000_000);
    await index.next('hld_l', { atMs: 20_000_000, polls: 2, failures: 0 });
    await listTasks(DB, address, [task('hld_l'), task('hld_m')], 10_000_000);
    const due = await index.takeDue(20_000_000, 10, 1);
    const of = (id: string) => due.find(({ holdId }) => holdId === id);
    expect(of('hld_l')).toMatchObject({ ...task('hld_l'), polls: 2 });
    expect(of('hld_m')).toMatchObject({ ...task('hld_m'), polls: 0 });
  });

  it('remembers when the next poll is, and forgets what has ended', async () => {
    await index.add(task('hld_x'), 10_000_000);
    await index.next('hld_x', { atMs: 20_000_000, polls: 3, failures: 2 });
    const find = async (nowMs: number) =>
      (await index.takeDue(nowMs, 10, 1)).find(({ holdId }) => holdId === 'hld_x');
    expect(await find(19_999_999)).toBeUndefined();
    expect(await find(20_000_000)).toMatchObject({ polls: 3, failures: 2 });
    await index.remove('hld_x');
    expect(await find(30_000_000)).toBeUndefined();
  });
});
