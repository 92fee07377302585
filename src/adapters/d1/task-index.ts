/**
 * D1's list of tasks that wait for a poll. Promises: see `ports/tasks.ts`; a due task is taken by one firing, however many run at once.
 * Must never: hold an amount, or a task that is nobody's: its ledger knows both. Made by wiring.ts; read by `jobs/task-polls.ts`; `jobs/journal.ts` adds
 * what is missing.
 */
import { eq, inArray, lte } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { taskPollFirstMs } from '../../base/limits-money';
import type { LedgerAddress } from '../../domain/ledger/address';
import type { WaitingTask } from '../../domain/tasks/task';
import type { DueTask, TaskIndex } from '../../ports/tasks';
import { tasks } from './schema-ledger';
import type { Db } from './store/statements';

/** Has tasks of one ledger polled from here on; those that are listed stay as they are. At most `ledgerOutboxTasksMax`. */
export async function listTasks(
  d1: D1Database,
  { ledgerTenantId, homeRegion }: LedgerAddress,
  waiting: readonly WaitingTask[],
  nowMs: number,
): Promise<void> {
  const rows = waiting.map(({ holdId, provider, taskId }) => [holdId, provider, taskId]);
  await d1
    .prepare(
      `insert into tasks (hold_id, ledger_tenant_id, home_region, provider, task_id, next_poll_at)
       select value ->> 0, ?1, ?2, value ->> 1, value ->> 2, ?3
       from json_each(?4) where true on conflict do nothing`,
    )
    .bind(ledgerTenantId, homeRegion, nowMs + taskPollFirstMs, JSON.stringify(rows))
    .run();
}

export class D1TaskIndex implements TaskIndex {
  readonly #d1: D1Database;
  readonly #db: Db;

  constructor(d1: D1Database) {
    this.#d1 = d1;
    this.#db = drizzle(d1);
  }

  add(task: Parameters<TaskIndex['add']>[0], nowMs: number): Promise<void> {
    return listTasks(this.#d1, task.address, [task], nowMs);
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
