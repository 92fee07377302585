/**
 * DurableOverflowBudgets: the budgets of aggregators, one object each.
 * Promises: bounded in time; a fault is tried once more on a fresh stub, because every operation carries an id; no answer to a reservation
 * means that nothing may be sent, and gives back what may have been reserved. Must never: keep a stub or try an overloaded object again.
 * Implements ports/overflow.ts.
 * Made by wiring.ts.
 */
import type { OverflowBudget } from '../../../durable-objects/overflow-budget';
import { overflowBudgetWaitMs } from '../../base/limits-capacity';
import type { BudgetDay, ReserveAnswer } from '../../domain/overflow/budget';
import type { Background } from '../../ports/config';
import type { OverflowBudgets } from '../../ports/overflow';
import type { Report } from '../d1/answered';
import { isOverloaded } from './ledger-call';

type Stub = Pick<DurableObjectStub<OverflowBudget>, 'reserve' | 'reconcile' | 'giveBack' | 'days'>;

/** What the adapter is made of. */
export interface OverflowBudgetsParts {
  /** A fresh stub. */
  readonly stubOf: (aggregator: string) => Stub;
  /** Micro-USD a UTC day and aggregator. */
  readonly budgetMicros: number;
  readonly report: Report;
  /** Calls `act` once after `ms`; gives back what cancels it. */
  readonly start: (ms: number, act: () => void) => () => void;
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
    this.giveBack(aggregator, id, background);
    return unavailable;
  }

  reconcile(aggregator: string, id: string, actualMicros: number, background: Background): void {
    background(this.#call(aggregator, 'reconcile', (stub) => stub.reconcile(id, actualMicros)));
  }

  giveBack(aggregator: string, id: string, background: Background): void {
    background(this.#call(aggregator, 'give_back', (stub) => stub.giveBack(id)));
  }

  days(aggregator: string): Promise<readonly BudgetDay[] | null> {
    return this.#call<readonly BudgetDay[]>(aggregator, 'days', (stub) => stub.days());
  }

  /** null: no answer in time, twice. */
  async #call<T>(
    aggregator: string,
    what: string,
    ask: (stub: Stub) => PromiseLike<T>,
  ): Promise<T | null> {
    const late = Promise.withResolvers<null>();
    const cancel = this.#parts.start(overflowBudgetWaitMs, () => late.resolve(null));
    const answer = await Promise.race([this.#twice(aggregator, ask), late.promise]);
    cancel();
    if (answer === null) this.#parts.report('overflow.budget_silent', { aggregator, what });
    return answer;
  }

  async #twice<T>(aggregator: string, ask: (stub: Stub) => PromiseLike<T>): Promise<T | null> {
    for (let tries = 1; tries <= 2; tries += 1) {
      try {
        return await ask(this.#parts.stubOf(aggregator));
      } catch (fault) {
        // The second stub is a fresh one; an object that fails twice is no answer.
        if (isOverloaded(fault)) break;
      }
    }
    return null;
  }
}
