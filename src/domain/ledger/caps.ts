/**
 * Caps: may this call be placed? Judged in the same turn as the hold, in a fixed order: blocked
 * tag, balance, daily cap of the tenant, calls of the key, calls and spend of its tags. The first
 * "no" is the answer: what no waiting can change comes first.
 * Promises: changes nothing; a call that costs nothing is only counted, however low the balance. Must never: let open holds and settlements of a window pass its limit.
 * Pure. Called by the object's `turn.ts`.
 */
import { ledgerBudgetValuesMax } from '../../base/limits-money';
import type { LedgerConfig } from './config';
import { isAgain, type LedgerRefusal, type PlaceOp, type Tags } from './operations';
import { type BudgetCounters, type Counter, type Tally, tagValue } from './tally';

/** The books that a call is judged against. */
export interface Books {
  readonly availableMicros: number;
  readonly heldMicros: number;
  readonly config: LedgerConfig;
  /** Rolled to the time of the judgement. */
  readonly tally: Tally;
}

/** The first reason why a call may not be placed; `null` when it may. */
export function judgeCaps(books: Books, op: PlaceOp): LedgerRefusal | null {
  const [, , amountMicros, keyId, callCap, tags] = op;
  return (
    blockedTag(books, tags) ??
    balance(books, amountMicros) ??
    dailyCap(books, amountMicros) ??
    keyCalls(books, keyId, isAgain(op) ? null : callCap) ??
    budgets(books, op)
  );
}

function blockedTag({ tally }: Books, tags: Tags | null): LedgerRefusal | null {
  if (tags === null) return null;
  for (const { budget } of tally.budgets) {
    const value = tagValue(tags, budget.dimension);
    if (value !== null && budget.values.some((rule) => rule.value === value && rule.blocked)) {
      return { code: 'tag_blocked', dimension: budget.dimension, value };
    }
  }
  return null;
}

function balance({ availableMicros }: Books, requiredMicros: number): LedgerRefusal | null {
  if (requiredMicros === 0 || availableMicros >= requiredMicros) return null;
  return { code: 'insufficient_balance', availableMicros, requiredMicros };
}

function dailyCap(books: Books, amountMicros: number): LedgerRefusal | null {
  const { tally, heldMicros } = books;
  const capMicros = books.config.dailyCapMicros;
  if (capMicros === null || amountMicros === 0) return null;
  if (tally.settledTodayMicros + heldMicros + amountMicros <= capMicros) return null;
  return { code: 'daily_cap', capMicros, resetsAtMs: tally.endsAtMs };
}

function keyCalls({ tally }: Books, keyId: string, cap: number | null): LedgerRefusal | null {
  if (cap === null || (tally.callsToday.get(keyId) ?? 0) < cap) return null;
  return { code: 'key_call_cap', cap, resetsAtMs: tally.endsAtMs };
}

function budgets({ tally }: Books, op: PlaceOp): LedgerRefusal | null {
  const tags = op[5];
  if (tags === null) return null;
  const taking = { amountMicros: op[2], isAgain: isAgain(op) };
  for (const counters of tally.budgets) {
    const value = tagValue(tags, counters.budget.dimension);
    if (value === null) continue;
    const refusal = judgeValue(counters, { value, ...taking, dayEndsAtMs: tally.endsAtMs });
    if (refusal !== null) return refusal;
  }
  return null;
}

const untouched: Readonly<Counter> = { settledMicros: 0, heldMicros: 0, calls: 0 };

function judgeValue(
  { budget, values }: BudgetCounters,
  call: {
    readonly value: string;
    readonly amountMicros: number;
    readonly isAgain: boolean;
    readonly dayEndsAtMs: number;
  },
): LedgerRefusal | null {
  const { dimension } = budget;
  const { value } = call;
  const used = values.get(value);
  if (used === undefined && values.size >= ledgerBudgetValuesMax) {
    return { code: 'tag_budget_unavailable', dimension };
  }
  const { settledMicros, heldMicros, calls } = used ?? untouched;
  const { spendMaxMicros, callsMax } = budget.values.find((r) => r.value === value) ?? budget;
  const resetsAtMs = budget.window === 'day' ? call.dayEndsAtMs : null;
  if (callsMax !== null && !call.isAgain && calls >= callsMax) {
    return { code: 'tag_call_cap', dimension, value, resetsAtMs };
  }
  const spendMicros = settledMicros + heldMicros + call.amountMicros;
  if (call.amountMicros > 0 && spendMaxMicros !== null && spendMicros > spendMaxMicros) {
    return { code: 'tag_spend_cap', dimension, value, resetsAtMs };
  }
  return null;
}
