/**
 * TaskDesk: opens and finds tasks in their ledger, and has them polled. Promises: see `ports/tasks.ts`; an index that does not answer
 * delays no call and is reported. Must never: keep a stub. Made by wiring.ts.
 */
import type { OpenTask, OpenTaskAnswer, TaskView } from '../../domain/tasks/task';
import type { Background } from '../../ports/config';
import type { FromLedger, LedgerAddress, Ledgers } from '../../ports/ledger';
import type { Report } from '../../ports/report';
import type { TaskDesk, TaskIndex } from '../../ports/tasks';

/** What the desk is made of. */
export interface TaskDeskParts {
  readonly ledgers: Ledgers;
  readonly index: TaskIndex;
  readonly nowMs: () => number;
  readonly report: Report;
}

export class DurableTaskDesk implements TaskDesk {
  readonly #parts: TaskDeskParts;

  constructor(parts: TaskDeskParts) {
    this.#parts = parts;
  }

  find(address: LedgerAddress, provider: string, taskId: string): FromLedger<TaskView | null> {
    return this.#parts.ledgers.of(address).task(provider, taskId);
  }

  async open(
    address: LedgerAddress,
    task: OpenTask,
    background: Background,
  ): FromLedger<OpenTaskAnswer> {
    const { ledgers, index, nowMs } = this.#parts;
    const answer = await ledgers.of(address).openTask(task);
    const { holdId, provider } = task;
    if (answer.outcome === 'opened')
      background(this.#told(index.add({ ...task, address }, nowMs()), 'task.not_indexed', holdId));
    else
      this.#parts.report('task.not_recorded', { hold_id: holdId, provider, why: answer.outcome });
    return answer;
  }

  ended(holdId: string, background: Background): void {
    background(this.#told(this.#parts.index.remove(holdId), 'task.not_removed', holdId));
  }

  async #told(work: Promise<void>, event: string, holdId: string): Promise<void> {
    try {
      await work;
    } catch {
      this.#parts.report(event, { hold_id: holdId });
    }
  }
}
