/**
 * Tally: what was spent and called today, per key and per budgeted tag value.
 * Promises: a day is a UTC day of the object's clock and ends for everything at once; open holds
 * count whichever day they were placed on; a call counts when it is placed, once, and stays counted.
 * Must never: count a refused call. Pure. Called by `transitions.ts`; judged by `caps.ts`.
 */
import type { Budget } from './config';
import { IdMap } from './id-map';
import type { Tags } from './operations';

/** One day, milliseconds; days of Unix time are UTC days. */
export const dayMs = 86_400_000;

/** The UTC day that a time is in. */
export const dayOf = (atMs: number): number => Math.floor(atMs / dayMs);

/** What one value of a budgeted dimension used in its window. */
export interface Counter {
  settledMicros: number;
  heldMicros: number;
  calls: number;
}

/** The counters of one budget. */
export interface BudgetCounters {
  readonly budget: Budget;
  readonly values: Map<string, Counter>;
}

/** The part of a hold that counters need. */
export interface Counted {
  readonly amountMicros: number;
  readonly tags: Tags | null;
}

export class Tally {
  day = 0;
  settledTodayMicros = 0;
  callsToday = new IdMap<number>();
  budgets: readonly BudgetCounters[] = [];

  /** Begins a new day when `atMs` is in one. */
  roll(atMs: number): void {
    const day = dayOf(atMs);
    if (day <= this.day) return;
    this.day = day;
    this.settledTodayMicros = 0;
    this.callsToday = new IdMap();
    for (const { budget, values } of this.budgets) {
      if (budget.window === 'day') rollValues(values);
    }
  }

  /** When today ends, epoch milliseconds. */
  get endsAtMs(): number {
    return (this.day + 1) * dayMs;
  }

  /** `calls`: 0 for a further hold of a call that is counted. */
  place(keyId: string, hold: Counted, calls: 0 | 1): void {
    if (calls > 0) this.callsToday.set(keyId, (this.callsToday.get(keyId) ?? 0) + calls);
    this.each(hold.tags, (counter) => {
      counter.heldMicros += hold.amountMicros;
      counter.calls += calls;
    });
  }

  /** A hold ended with this charge; 0 when it was released or expired. */
  end(hold: Counted, chargeMicros: number): void {
    this.settledTodayMicros += chargeMicros;
    this.each(hold.tags, (counter) => {
      counter.heldMicros -= hold.amountMicros;
      counter.settledMicros += chargeMicros;
    });
  }

  /** A charge came after its hold had ended. */
  late(tags: Tags | null, chargeMicros: number): void {
    this.settledTodayMicros += chargeMicros;
    this.each(tags, (counter) => {
      counter.settledMicros += chargeMicros;
    });
  }

  /** Takes new budgets; a dimension and window that stay keep what they counted. */
  configure(budgets: readonly Budget[], open: Iterable<Counted>): void {
    const before = this.budgets;
    this.budgets = budgets.map((budget) => ({ budget, values: keptValues(before, budget) }));
    for (const hold of open) {
      this.each(hold.tags, (counter) => {
        counter.heldMicros += hold.amountMicros;
      });
    }
  }

  /** The number of counters, for whoever bounds the work over them. */
  get size(): number {
    return this.budgets.reduce((sum, { values }) => sum + values.size, this.callsToday.size);
  }

  private each(tags: Tags | null, change: (counter: Counter) => void): void {
    if (tags === null) return;
    for (const { budget, values } of this.budgets) {
      const value = tagValue(tags, budget.dimension);
      if (value !== null) change(counterOf(values, value));
    }
  }
}

/** The value of a dimension in the tags of a call; `null` when it has none. */
export function tagValue(tags: Tags, dimension: string): string | null {
  for (let i = 0; i < tags.length; i += 2) {
    if (tags[i] === dimension) return tags[i + 1] ?? null;
  }
  return null;
}

function counterOf(values: Map<string, Counter>, value: string): Counter {
  const known = values.get(value);
  if (known !== undefined) return known;
  const counter = { settledMicros: 0, heldMicros: 0, calls: 0 };
  values.set(value, counter);
  return counter;
}

function rollValues(values: Map<string, Counter>): void {
  for (const [value, counter] of values) {
    counter.settledMicros = 0;
    counter.calls = 0;
    if (counter.heldMicros === 0) values.delete(value);
  }
}

/** The counters that a budget goes on with; open holds are counted again by the caller. */
function keptValues(before: readonly BudgetCounters[], budget: Budget): Map<string, Counter> {
  const same = before.find(
    (b) => b.budget.dimension === budget.dimension && b.budget.window === budget.window,
  );
  const values = same?.values ?? new Map<string, Counter>();
  for (const counter of values.values()) counter.heldMicros = 0;
  return values;
}
