/**
 * OverflowBudget: what one aggregator may cost the operator a UTC day. Id: `idFromName(aggregator)`.
 * Durable: everything. No alarm: what is old goes when a new day begins.
 * Promises: a reservation is placed only if all of the day's costs and estimates stay within the
 * budget, before anything is sent; an estimate whose cost nobody tells stays spent until its day
 * ends; one end per id, repeats give the first answer; methods are synchronous, so nothing comes
 * between read and write. Called by `src/adapters/durable/overflow-budgets.ts` only.
 */
import { DurableObject } from 'cloudflare:workers';
import { assert } from '../src/base/assert';
import {
  overflowDaysMax,
  overflowRepeatsMax,
  overflowReservationsMax,
} from '../src/base/limits-capacity';
import {
  type BudgetDay,
  type CloseAnswer,
  type ReserveAnswer,
  utcDay,
} from '../src/domain/overflow/budget';
import { migrate } from './migrate';
import { overflowBudgetSchema } from './schema/overflow-budget';
import { integer, type SqlRow, text } from './storage';

type State = 'open' | 'reconciled' | 'returned' | 'refused';

export class OverflowBudget extends DurableObject {
  readonly #storage: DurableObjectStorage;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#storage = ctx.storage;
    migrate(ctx.storage, overflowBudgetSchema);
  }

  /** Reserves `estimateMicros` of today if it fits into `budgetMicros`. */
  reserve(id: string, estimateMicros: number, budgetMicros: number): ReserveAnswer {
    checkAmount(estimateMicros);
    checkAmount(budgetMicros);
    return this.#storage.transactionSync(() => {
      const first = this.#find(id);
      if (first !== null) return firstAnswer(first, budgetMicros);
      const day = utcDay(this.nowMs());
      const { spent, open } = this.#begun(day);
      if (spent + estimateMicros > budgetMicros || open >= overflowReservationsMax) {
        this.#remember({ id, day, state: 'refused', micros: spent });
        return { outcome: 'refused', spentMicros: spent, budgetMicros };
      }
      this.#exec(
        'UPDATE day SET reserved = reserved + ?, open = open + 1 WHERE day = ?',
        estimateMicros,
        day,
      );
      this.#remember({ id, day, state: 'open', micros: estimateMicros });
      return { outcome: 'reserved' };
    });
  }

  /** The run cost so much: it takes the place of the estimate, in the day of the reservation. */
  reconcile(id: string, actualMicros: number): CloseAnswer {
    checkAmount(actualMicros);
    return this.#close(id, { state: 'reconciled', actualMicros, calls: 1 });
  }

  /** Nothing was charged. Of an id that never came it makes sure that it is not reserved later. */
  giveBack(id: string): CloseAnswer {
    return this.#close(id, { state: 'returned', actualMicros: 0, calls: 0 });
  }

  /** One day's totals; zeros for a day without a run. */
  view(day: string): BudgetDay {
    const row = this.#exec('SELECT * FROM day WHERE day = ?', day)[0];
    return row === undefined ? { day, spentMicros: 0, reservedMicros: 0, calls: 0 } : dayOf(row);
  }

  /** The days that are kept, the newest first, today among them. */
  days(): readonly BudgetDay[] {
    const today = utcDay(this.nowMs());
    const rows = this.#exec('SELECT * FROM day ORDER BY day DESC LIMIT ?', overflowDaysMax);
    const days = rows.map(dayOf);
    return days[0]?.day === today
      ? days
      : [this.view(today), ...days.slice(0, overflowDaysMax - 1)];
  }

  /** The object's only clock, epoch milliseconds. */
  protected nowMs(): number {
    return Date.now();
  }

  #close(
    id: string,
    end: { readonly state: State; readonly actualMicros: number; readonly calls: number },
  ): CloseAnswer {
    return this.#storage.transactionSync(() => {
      const found = this.#find(id);
      if (found === null) {
        // A lost answer is given back at once: its reservation may still be on the way.
        if (end.state === 'returned')
          this.#remember({ id, day: utcDay(this.nowMs()), state: 'returned', micros: 0 });
        return 'unknown';
      }
      if (found.state !== 'open') return 'closed';
      this.#exec(
        `UPDATE day SET reserved = reserved - ?, spent = spent + ?, calls = calls + ?, open = open - 1
         WHERE day = ?`,
        found.micros,
        end.actualMicros,
        end.calls,
        found.day,
      );
      this.#exec('UPDATE reservation SET state = ? WHERE id = ?', end.state, id);
      return 'done';
    });
  }

  /** Today's row, made when it is the first; then yesterday's reservations stay, older ones go. */
  #begun(day: string): { readonly spent: number; readonly open: number } {
    const row = this.#exec('SELECT spent + reserved AS spent, open FROM day WHERE day = ?', day)[0];
    if (row !== undefined) return { spent: integer(row, 'spent'), open: integer(row, 'open') };
    this.#exec('INSERT INTO day (day, spent, reserved, calls, open) VALUES (?, 0, 0, 0, 0)', day);
    this.#exec(
      'DELETE FROM day WHERE day NOT IN (SELECT day FROM day ORDER BY day DESC LIMIT ?)',
      overflowDaysMax,
    );
    this.#exec('DELETE FROM reservation WHERE day < ?', utcDay(this.nowMs() - dayMs));
    return { spent: 0, open: 0 };
  }

  #find(id: string): Reservation | null {
    const row = this.#exec('SELECT day, state, micros FROM reservation WHERE id = ?', id)[0];
    if (row === undefined) return null;
    return { day: text(row, 'day'), state: stateOf(row), micros: integer(row, 'micros') };
  }

  #remember({ id, day, state, micros }: Reservation & { readonly id: string }): void {
    this.#exec(
      'INSERT INTO reservation (id, day, state, micros) VALUES (?, ?, ?, ?)',
      id,
      day,
      state,
      micros,
    );
    // Open ones are bounded by the day, ended ones were open; these two anybody can make.
    if (state === 'open') return;
    this.#exec(
      `DELETE FROM reservation WHERE n <=
         (SELECT n FROM reservation WHERE state = ? ORDER BY n DESC LIMIT 1 OFFSET ?) AND state = ?`,
      state,
      overflowRepeatsMax,
      state,
    );
  }

  #exec(statement: string, ...values: (string | number)[]): readonly SqlRow[] {
    return this.#storage.sql.exec<SqlRow>(statement, ...values).toArray();
  }
}

interface Reservation {
  readonly day: string;
  readonly state: State;
  readonly micros: number;
}

const dayMs = 86_400_000;

function checkAmount(micros: number): void {
  assert(Number.isSafeInteger(micros) && micros >= 0, 'an amount is whole and not negative');
}

/** The first answer; but nothing is reserved any more for what was given back, maybe before it came. */
function firstAnswer({ state, micros }: Reservation, budgetMicros: number): ReserveAnswer {
  return state === 'refused' || state === 'returned'
    ? { outcome: 'refused', spentMicros: micros, budgetMicros }
    : { outcome: 'reserved' };
}

function stateOf(row: SqlRow): State {
  const state = text(row, 'state');
  assert(
    state === 'open' || state === 'reconciled' || state === 'returned' || state === 'refused',
    'a reservation has a state',
  );
  return state;
}

const dayOf = (row: SqlRow): BudgetDay => ({
  day: text(row, 'day'),
  spentMicros: integer(row, 'spent'),
  reservedMicros: integer(row, 'reserved'),
  calls: integer(row, 'calls'),
});
