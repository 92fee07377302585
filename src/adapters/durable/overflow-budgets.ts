/**
 * DurableOverflowBudgets: the budgets of aggregators, one object each.
 * Promises: bounded in time; a fault is tried once more on a fresh stub, because every operation carries an id; no answer to a reservation
 * means that nothing may be sent, and gives back what may have been reserved. Must never: keep a stub. Implements ports/overflow.ts.
 * Made by wiring.ts.
 */
import type { OverflowBudget } from '../../../durable-objects/overflow-budget';
import { overflowBudgetWaitMs } from '../../base/limits-capacity';
import type { BudgetDay, BudgetEnd, ReserveAnswer } from '../../domain/overflow/budget';
import type { Background } from '../../ports/config';
import type { DeskTime } from '../../ports/ledger';
import type { OverflowBudgets } from '../../ports/overflow';
import type { Report } from '../../ports/report';
import { callObject } from './object-call';

type Stub = Pick<DurableObjectStub<OverflowBudget>, 'reserve' | 'reconcile' | 'giveBack' | 'days'>;

/** What the adapter is made of. */
export interface OverflowBudgetsParts {
  /** A fresh stub. */
  readonly stubOf: (aggregator: string) => Stub;
  /** Micro-USD a UTC day and aggregator. */
  readonly budgetMicros: number;
  readonly report: Report;
  readonly time: DeskTime;
}

const unavailable = { outcome: 'unavailable' } as const;

export class DurableOverflowBudgets implements OverflowBudgets {
  readonly #parts: OverflowBudgetsParts;

  constructor(parts: OverflowBudgetsParts) {
    this.#parts = parts;
  }

  async reserve(
    aggregator: string,
    id: string,
    estimateMicros: number,
    background: Background,
  ): Promise<ReserveAnswer | typeof unavailable> {
    const { budgetMicros } = this.#parts;
    const answer = await this.#call<ReserveAnswer>(aggregator, 'reserve', (stub) =>
      stub.reserve(id, estimateMicros, budgetMicros),
    );
    if (answer !== null) return answer;
    this.close(aggregator, id, { kind: 'give_back' }, background);
    return unavailable;
  }

  close(aggregator: string, id: string, end: BudgetEnd | null, background: Background): void {
    if (end === null) return;
    const ask = (stub: Stub) =>
      end.kind === 'give_back' ? stub.giveBack(id) : stub.reconcile(id, end.micros);
    background(this.#call(aggregator, end.kind, ask));
  }

  days(aggregator: string): Promise<readonly BudgetDay[] | null> {
    return this.#call<readonly BudgetDay[]>(aggregator, 'days', (stub) => stub.days());
  }

  async #call<T>(
    aggregator: string,
    what: string,
    ask: (stub: Stub) => PromiseLike<T>,
  ): Promise<T | null> {
    const { stubOf, time, report } = this.#parts;
    const attempt = () => ask(stubOf(aggregator));
    const answer = await callObject(attempt, { time, ms: overflowBudgetWaitMs });
    if (answer === null) report('overflow.budget_silent', { aggregator, what });
    return answer;
  }
}
