/**
 * The limits of a tenant's ledger: a cap per UTC day and budgets per tag. Promises: they are
 * written to D1 first, then given to the ledger under a version that only rises, so that of two
 * writers the later one's limits stay; when the ledger does not answer, the refusal says so and the
 * same PUT repeats the step. A limit that could never apply is refused. Called by `tenants.ts`,
 * `ledger.ts`.
 */
import * as z from 'zod/mini';
import {
  ledgerAmountMicrosMax,
  ledgerBudgetRulesMax,
  ledgerBudgetsMax,
  ledgerTagCharsMax,
} from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import { tagNamePattern, tagValuePattern } from '../domain/idempotency/meta';
import type { Budget } from '../domain/ledger/config';
import type { FieldIssue, Refusal } from '../domain/refusal';
import type { TenantRecord } from '../ports/store';
import { whole } from './fields';
import { booksOf } from './ledger-access';
import { fromLedger } from './ledger-refusals';
import type { Call } from './operation';

const tagName = z
  .string()
  .check(
    z.maxLength(ledgerTagCharsMax),
    z.regex(tagNamePattern, 'must be a key that X-Weir-Meta can carry: letters, digits, - _ .'),
  );
const tagValue = z
  .string()
  .check(
    z.maxLength(ledgerTagCharsMax),
    z.regex(
      tagValuePattern,
      'must be a value that X-Weir-Meta can carry: ASCII, no comma, no space at the end',
    ),
  );
const microsLimit = z._default(z.nullable(whole(0, ledgerAmountMicrosMax)), null);
const callsLimit = z._default(z.nullable(whole(0, ledgerAmountMicrosMax)), null);

const budgetValue = z.strictObject({
  value: tagValue,
  blocked: z._default(z.boolean(), false),
  spend_max_micros: microsLimit,
  calls_max: callsLimit,
});

const budget = z.strictObject({
  dimension: tagName,
  window: z.enum(['day', 'total']),
  spend_max_micros: microsLimit,
  calls_max: callsLimit,
  values: z._default(z.array(budgetValue).check(z.maxLength(ledgerBudgetRulesMax)), []),
});

/** The limits in a tenant's body. */
export const limitFields = {
  daily_cap_micros: microsLimit.check(
    z.describe('Micro-USD that the ledger may spend per UTC day; null is no cap.'),
  ),
  budgets: z
    ._default(z.array(budget).check(z.maxLength(ledgerBudgetsMax)), [])
    .check(
      z.describe(
        'Limits per value of a tag of X-Weir-Meta; the first also scopes Idempotency-Key.',
      ),
    ),
};

type BudgetWire = z.output<typeof budget>;

/** The limits on the wire. */
export const limitAnswer = {
  daily_cap_micros: z.nullable(z.int()),
  budgets: z.array(budget),
};

/** Budgets as they are stored. */
export const budgetsOf = (wire: readonly BudgetWire[]): readonly Budget[] =>
  wire.map(({ dimension, window, spend_max_micros, calls_max, values }) => ({
    dimension,
    window,
    spendMaxMicros: spend_max_micros,
    callsMax: calls_max,
    values: values.map((rule) => ({
      value: rule.value,
      blocked: rule.blocked,
      spendMaxMicros: rule.spend_max_micros,
      callsMax: rule.calls_max,
    })),
  }));

/** Stored budgets on the wire. */
export const budgetsWire = (budgets: readonly Budget[]): BudgetWire[] =>
  budgets.map(({ dimension, window, spendMaxMicros, callsMax, values }) => ({
    dimension,
    window,
    spend_max_micros: spendMaxMicros,
    calls_max: callsMax,
    values: values.map((rule) => ({
      value: rule.value,
      blocked: rule.blocked,
      spend_max_micros: rule.spendMaxMicros,
      calls_max: rule.callsMax,
    })),
  }));

/** What is wrong with a tenant's limits beyond their shape; `null`: nothing. */
export function limitsIssue(
  row: Pick<TenantRecord, 'id' | 'ledgerTenantId' | 'dailyCapMicros' | 'budgets'>,
): FieldIssue | null {
  const message = 'needs a ledger of its own: this tenant is paid for by an ancestor';
  if (row.ledgerTenantId !== row.id) {
    if (row.dailyCapMicros !== null) return { path: 'daily_cap_micros', message };
    return row.budgets.length === 0 ? null : { path: 'budgets', message };
  }
  const dimensions = row.budgets.map((b) => b.dimension);
  const twice = dimensions.findIndex((name, at) => dimensions.indexOf(name) !== at);
  if (twice >= 0) {
    return { path: `budgets.${twice}.dimension`, message: 'is named by another budget' };
  }
  return row.budgets.map(valuesIssue).find((issue) => issue !== null) ?? null;
}

function valuesIssue({ values }: Budget, at: number): FieldIssue | null {
  const names = values.map((rule) => rule.value);
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice < 0) return null;
  return { path: `budgets.${at}.values.${twice}.value`, message: 'has a rule already' };
}

/** Whether a ledger has to be told: one that never had limits starts without any. */
export const needsLimits = (row: TenantRecord): boolean =>
  row.ledgerConfigVersion > 0 || row.dailyCapMicros !== null || row.budgets.length > 0;

/**
 * Gives a tenant's stored limits to its ledger; the version that is in force. A ledger that knows
 * a higher version than D1 has outlived a restore of D1: the version is raised above it, once.
 */
export async function putInForce(call: Call, row: TenantRecord): Promise<Result<number, Refusal>> {
  let atLeast = 0;
  for (let tries = 0; tries < 2; tries += 1) {
    const limits = await call.services.store.tenants.raiseLimits(row.id, atLeast);
    if (!limits.ok) return limits;
    const answer = await fromLedger(booksOf(call, row).ledger.configure(limits.value));
    if (!answer.ok) return answer;
    if (answer.value.outcome === 'configured') return ok(answer.value.version);
    if (answer.value.outcome === 'invalid') return err(unusable(answer.value.field));
    atLeast = answer.value.version;
  }
  return ok(atLeast);
}

/** The schema above is as strict as the ledger: this needs a value that the two disagree on. */
const unusable = (field: string): Refusal => ({
  code: 'validation.error',
  issues: [
    {
      path: field.startsWith('budgets') ? 'budgets' : 'daily_cap_micros',
      message: 'is not usable',
    },
  ],
});
