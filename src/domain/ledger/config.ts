/**
 * Config: the limits of a ledger tenant: a cap per day, budgets per tag. Promises: what passes
 * {@link configFault} can be judged without a further check. Pure. Written by the control plane,
 * kept in the log, judged by `caps.ts`.
 */
import {
  ledgerAmountMicrosMax,
  ledgerBudgetRulesMax,
  ledgerBudgetsMax,
  ledgerTagCharsMax,
} from '../../base/limits-money';

/** What one value of a dimension may use in a window; `null`: no limit. */
export interface BudgetLimits {
  readonly spendMaxMicros: number | null;
  readonly callsMax: number | null;
}

/** A value with a rule of its own. */
export interface BudgetValue extends BudgetLimits {
  readonly value: string;
  readonly blocked: boolean;
}

/** The budget of one tag dimension: limits for each value, and the values that differ. */
export interface Budget extends BudgetLimits {
  readonly dimension: string;
  /** A UTC day, or all time since it was configured. */
  readonly window: 'day' | 'total';
  readonly values: readonly BudgetValue[];
}

/** A tenant's limits. A configuration with a `version` that is not higher changes nothing. */
export interface LedgerConfig {
  readonly version: number;
  readonly dailyCapMicros: number | null;
  readonly budgets: readonly Budget[];
}

/** What every ledger starts with: no limits but the money. */
export const noLimits: LedgerConfig = { version: 0, dailyCapMicros: null, budgets: [] };

/** The field of a configuration that breaks the contract; `null` when none does. */
export function configFault({ version, dailyCapMicros, budgets }: LedgerConfig): string | null {
  if (!isLimit(version)) return 'version';
  if (!isLimit(dailyCapMicros)) return 'dailyCapMicros';
  if (budgets.length > ledgerBudgetsMax) return 'budgets';
  if (!areNames(budgets.map((budget) => budget.dimension))) return 'budgets.dimension';
  return budgets.every(isBudget) ? null : 'budgets';
}

function isBudget({ window, values, ...limits }: Budget): boolean {
  if (window !== 'day' && window !== 'total') return false;
  if (values.length > ledgerBudgetRulesMax || !areNames(values.map((v) => v.value))) return false;
  return [limits, ...values].every((l) => isLimit(l.spendMaxMicros) && isLimit(l.callsMax));
}

const isLimit = (limit: number | null): boolean =>
  limit === null ||
  (Number.isSafeInteger(limit) && limit >= 0 && limit <= 1_000 * ledgerAmountMicrosMax);

const areNames = (names: readonly string[]): boolean =>
  new Set(names).size === names.length &&
  names.every((name) => name.length > 0 && name.length <= ledgerTagCharsMax);
