/**
 * Budget words: what an aggregator's budget object is asked and answers. Amounts are micro-USD, days are UTC (`2030-01-31`).
 * Promises: plain data, as it travels. Read by `durable-objects/overflow-budget.ts`, its adapter, the road and the operator's views.
 */

/** `refused`: nothing was reserved. `spentMicros`: what is spent or reserved of the day. */
export type ReserveAnswer =
  | { readonly outcome: 'reserved' }
  | {
      readonly outcome: 'refused';
      readonly spentMicros: number;
      readonly budgetMicros: number;
    };

/** `closed`: it was reconciled, returned or refused before; the first end stands. `unknown`: there is none of that id. */
export type CloseAnswer = 'done' | 'closed' | 'unknown';

/** One day. */
export interface BudgetDay {
  readonly day: string;
  /** Known costs. */
  readonly spentMicros: number;
  /** Estimates of runs whose cost is not known yet, or never was: they count until the day ends. */
  readonly reservedMicros: number;
  /** Runs whose cost is known. */
  readonly calls: number;
}

/** The UTC day of a time, epoch milliseconds. */
export const utcDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
