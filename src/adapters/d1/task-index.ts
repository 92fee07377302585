/**
 * D1's list of tasks that wait for a poll. Promises: see `ports/tasks.ts`; a due task is taken by one firing, however many run at once.
 * Must never: hold an amount, or a task that is nobody's: its ledger knows both. Made by wiring.ts; read by `jobs/task-polls.ts`.
 */
import { eq, inArray, lte } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { taskPollFirstMs } from '../../base/limits-money';
import type { DueTask, TaskIndex } from '../../ports/tasks';
import { tasks } from './schema-ledger';
import type { Db } from './store/statements';

export class D1TaskIndex implements TaskIndex {
  readonly #db: Db;

  constructor(d1: D1Database) {
    this.#db = drizzle(d1);
  }

  async add(
    { holdId, address, provider, taskId }: Parameters<TaskIndex['add']>[0],
    nowMs: number,
  ): Promise<void> {
    const { ledgerTenantId, homeRegion } = address;
    await this.#db
      .insert(tasks)
      .values({
        holdId,
        ledgerTenantId,
        homeRegion,
        provider,
        taskId,
        nextPollAt: nowMs + taskPollFirstMs,
      })
      .onConflictDoNothing();
  }

  async takeDue(nowMs: number, limit: number, leaseMs: number): Promise<readonly DueTask[]> {
    const due = this.#db
      .select({ holdId: tasks.holdId })
      .from(tasks)
      .where(lte(tasks.nextPollAt, nowMs))
      .orderBy(tasks.nextPollAt)
      .limit(limit);
    const taken = await this.#db
      .update(tasks)
      .set({ nextPollAt: nowMs + leaseMs })
      .where(inArray(tasks.holdId, due))
      .returning();
    return taken.map(({ ledgerTenantId, homeRegion, nextPollAt: _, ...task }) => ({
      ...task,
      address: { ledgerTenantId, homeRegion },
    }));
  }

  async next(
    holdId: string,
    { atMs, polls, failures }: Parameters<TaskIndex['next']>[1],
  ): Promise<void> {
    await this.#db
      .update(tasks)
      .set({ nextPollAt: atMs, polls, failures })
      .where(eq(tasks.holdId, holdId));
  }

  async remove(holdId: string): Promise<void> {
    await this.#db.delete(tasks).where(eq(tasks.holdId, holdId));
  }
}
