/**
 * TaskStore: asynchronous tasks on disk, by the hold that pays for each. Which holds have one that is pending is in memory, so that a
 * call without a task costs no statement.
 * Promises: a vendor's id stands for one hold; a task is pending exactly as long as its hold is open. Called inside the core's transaction.
 */
import { taskKeptMs } from '../../src/base/limits-money';
import { IdMap } from '../../src/domain/ledger/id-map';
import type { OpenTask, TaskState, TaskView, WaitingTask } from '../../src/domain/tasks/task';
import { integer, integerOrNull, type ObjectSql, type Slice, type SqlRow, text } from '../storage';

export class TaskStore {
  readonly #sql: ObjectSql;
  /** Deadlines of the pending ones by hold, epoch milliseconds. */
  readonly #pending: IdMap<number>;

  constructor(sql: ObjectSql) {
    this.#sql = sql;
    const rows = sql.exec('SELECT hold_id, deadline FROM task WHERE closed_at IS NULL').toArray();
    this.#pending = new IdMap(rows.map((row) => [text(row, 'hold_id'), integer(row, 'deadline')]));
  }

  /** Whether a hold waits for a task. */
  isPending(holdId: string): boolean {
    return this.#pending.size > 0 && this.#pending.has(holdId);
  }

  /** Whether a hold waits for a task that has time left. */
  isRunning(holdId: string, nowMs: number): boolean {
    return (this.#pending.get(holdId) ?? 0) > nowMs;
  }

  ofHold(holdId: string): TaskView | null {
    return viewOrNull(this.#sql.exec('SELECT * FROM task WHERE hold_id = ?', holdId).toArray()[0]);
  }

  ofId(provider: string, taskId: string): TaskView | null {
    return viewOrNull(
      this.#sql
        .exec('SELECT * FROM task WHERE provider = ? AND task_id = ?', provider, taskId)
        .toArray()[0],
    );
  }

  /** Those that are pending, the newest first, `limit` at most. */
  waiting(limit: number): readonly WaitingTask[] {
    if (this.#pending.size === 0) return [];
    return this.#sql
      .exec(
        `SELECT hold_id, provider, task_id FROM task WHERE closed_at IS NULL
         ORDER BY opened_at DESC LIMIT ?`,
        limit,
      )
      .toArray()
      .map((row) => ({
        holdId: text(row, 'hold_id'),
        provider: text(row, 'provider'),
        taskId: text(row, 'task_id'),
      }));
  }

  /** A new one; the caller has seen that its hold is open and its id is new. */
  open(task: OpenTask, heldMicros: number, nowMs: number): void {
    const deadline = nowMs + task.deadlineMs;
    this.#sql.exec(
      `INSERT INTO task
         (hold_id, provider, task_id, endpoint_id, account, state, held, terms, opened_at, deadline)
       VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?)`,
      task.holdId,
      task.provider,
      task.taskId,
      task.endpointId,
      task.account,
      heldMicros,
      task.terms,
      nowMs,
      deadline,
    );
    this.#pending.set(task.holdId, deadline);
  }

  /** Its hold has ended. */
  close(holdId: string, state: Exclude<TaskState, 'pending'>, nowMs: number): void {
    if (!this.isPending(holdId)) return;
    this.#pending.delete(holdId);
    this.#sql.exec(
      'UPDATE task SET state = ?, closed_at = ? WHERE hold_id = ?',
      state,
      nowMs,
      holdId,
    );
  }

  /** It was given up, and has been paid for all the same. */
  settleLate(holdId: string, nowMs: number): void {
    this.#sql.exec(
      "UPDATE task SET state = 'settled', closed_at = ? WHERE hold_id = ?",
      nowMs,
      holdId,
    );
  }

  /** Tasks behind `after`, by hold. */
  list({ after, limit }: Slice): readonly TaskView[] {
    return this.#sql
      .exec('SELECT * FROM task WHERE hold_id > ? ORDER BY hold_id LIMIT ?', after ?? '', limit)
      .toArray()
      .map(viewOf);
  }

  /** Forgets what ended longer than `taskKeptMs` ago, `limit` at most. */
  prune(nowMs: number, limit: number): void {
    this.#sql.exec(
      `DELETE FROM task WHERE hold_id IN
         (SELECT hold_id FROM task WHERE closed_at < ? ORDER BY closed_at LIMIT ?)`,
      nowMs - taskKeptMs,
      limit,
    );
  }
}

const viewOrNull = (row: SqlRow | undefined): TaskView | null =>
  row === undefined ? null : viewOf(row);

function viewOf(row: SqlRow): TaskView {
  return {
    holdId: text(row, 'hold_id'),
    provider: text(row, 'provider'),
    taskId: text(row, 'task_id'),
    endpointId: text(row, 'endpoint_id'),
    account: text(row, 'account'),
    state: text(row, 'state') as TaskState,
    heldMicros: integer(row, 'held'),
    terms: text(row, 'terms'),
    openedAtMs: integer(row, 'opened_at'),
    deadlineAtMs: integer(row, 'deadline'),
    closedAtMs: integerOrNull(row, 'closed_at'),
  };
}
