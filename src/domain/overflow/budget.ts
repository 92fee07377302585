/**
 * Budget words: what an aggregator's budget object is asked and answers. Amounts are micro-USD, days are UTC (`2030-01-31`).
 * Promises: plain data, as it travels. Read by `durable-objects/overflow-budget.ts`, its adapter, the road and the operator's views.
 */
import type { EnvelopeOutcome } from './envelope';

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

/** What ends a reservation; null: nothing, since nobody knows what the run cost. */
export type BudgetEnd =
  | { readonly kind: 'reconcile'; readonly micros: number }
  | { readonly kind: 'give_back' };

/** A cost that is known is booked, a run that was served for nothing among them: it ran. A failure that cost nothing was none. */
export function budgetEnd(outcome: EnvelopeOutcome): BudgetEnd | null {
  if (outcome.kind === 'pending' || outcome.costMicros === null) return null;
  return outcome.kind === 'failed' && outcome.costMicros === 0
    ? { kind: 'give_back' }
    : { kind: 'reconcile', micros: outcome.costMicros };
}

/** The UTC day of a time, epoch milliseconds. */
export const utcDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
