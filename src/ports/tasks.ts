/**
 * Tasks: the asynchronous jobs of the vendors, as the road (stages 06 and 09) and the job that polls them see them.
 * Promises: what is opened is on the ledger's disk before the caller learns its id; who polls is found in D1; the journal job adds a task
 * that is missing there. Implemented by `adapters/durable/task-desk.ts` and `adapters/d1/task-index.ts`.
 */
import type { OpenTask, OpenTaskAnswer, TaskView } from '../domain/tasks/task';
import type { Background } from './config';
import type { FromLedger, LedgerAddress } from './ledger';

/** What the road asks and tells. */
export interface TaskDesk {
  /** The task of a vendor's id; `null`: it is not this ledger's. */
  find(address: LedgerAddress, provider: string, taskId: string): FromLedger<TaskView | null>;
  /** The hold of a submission stays open for its task, which is polled from here on. */
  open(address: LedgerAddress, task: OpenTask, background: Background): FromLedger<OpenTaskAnswer>;
  /** It has ended: nobody has to poll it. */
  ended(holdId: string, background: Background): void;
}

/** A task that is to be polled now. */
export interface DueTask {
  readonly holdId: string;
  readonly address: LedgerAddress;
  readonly provider: string;
  readonly taskId: string;
  /** Polls that were answered, and polls in a row that were not. */
  readonly polls: number;
  readonly failures: number;
}

/** What came of one due task. `failed`: nobody answered; `gone`: it had ended before; `left`: for the next firing. */
export type PollOutcome = 'running' | 'settled' | 'released' | 'failed' | 'gone' | 'left';

/** How often each outcome came in one run. */
export type PollCounts = Readonly<Record<PollOutcome, number>>;

/** Which tasks wait for a poll, across all ledgers. Every method rejects when the store does not answer. */
export interface TaskIndex {
  /** A repeat changes nothing. */
  add(
    task: Pick<DueTask, 'holdId' | 'address' | 'provider' | 'taskId'>,
    nowMs: number,
  ): Promise<void>;
  /** Those whose time has come, the oldest first; nobody else gets them for `leaseMs`. */
  takeDue(nowMs: number, limit: number, leaseMs: number): Promise<readonly DueTask[]>;
  next(
    holdId: string,
    when: { readonly atMs: number; readonly polls: number; readonly failures: number },
  ): Promise<void>;
  remove(holdId: string): Promise<void>;
}
