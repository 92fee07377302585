/**
 * `npm run catalog -- policy PROVIDER`: what kind of account the operator has at a vendor, as a row of `capacity_policies`.
 * Promises: only what was given changes; a first row needs type, funding and source, since code never guesses them; without an option
 * nothing is written and the row is shown. Called by main.ts.
 */
import type {
  BalanceSource,
  CapacityType,
  FundingMode,
} from '../../../src/domain/capacity/policy.ts';
import type { Arguments } from '../arguments.ts';
import type { CatalogDatabase } from './database.ts';
import type { Row, Statement } from './plan.ts';

const types: readonly CapacityType[] = ['prepaid', 'quota', 'postpaid', 'unlimited'];
const fundings: readonly FundingMode[] = ['manual', 'auto_topup', 'subscription'];
const sources: readonly BalanceSource[] = ['api', 'dashboard'];
const noteCharsMax = 512;

/** Options of the command; no other one takes them. */
export const policyOptions = [
  'type',
  'funding',
  'source',
  'low',
  'usd-per-unit',
  'overflow',
  'note',
] as const;

type Option = (typeof policyOptions)[number];
type Column = readonly [column: string, value: string | number | null];

const oneOf =
  (column: string, words: readonly string[]) =>
  (text: string): Column | string =>
    words.includes(text) ? [column, text] : `is ${words.join(', ')}`;

/** A number from 0; `none` takes it away. */
const quantity =
  (column: string, storedAs: (number: number) => number) =>
  (text: string): Column | string => {
    if (text === 'none') return [column, null];
    const isPlain = /^\d{1,12}(?:\.\d{1,6})?$/.test(text);
    return isPlain ? [column, storedAs(Number(text))] : 'is a number from 0, or none';
  };

/** What each option sets, or what is wrong with its value. */
const columns: Readonly<Record<Option, (text: string) => Column | string>> = {
  type: oneOf('capacity_type', types),
  funding: oneOf('funding_mode', fundings),
  source: oneOf('source', sources),
  low: quantity('low_remaining', (units) => units),
  'usd-per-unit': quantity('usd_per_unit_micros', (usd) => Math.round(usd * 1_000_000)),
  overflow: (text) => {
    if (text !== 'yes' && text !== 'no') return 'is yes or no';
    return ['overflow_allowed', text === 'yes' ? 1 : 0];
  },
  note: (text) =>
    text.length <= noteCharsMax ? ['note', text] : `has at most ${noteCharsMax} characters`,
};

/** What a person asked for. */
export interface PolicyChoice {
  readonly provider: string;
  /** Columns to set; none: the row is only shown. */
  readonly sets: readonly Column[];
}

/** The choice, or the sentence that says what is wrong with it. Pure. */
export function policyChoice(
  provider: string | undefined,
  { text }: Pick<Arguments, 'text'>,
): PolicyChoice | string {
  if (provider === undefined) return 'Which provider?';
  if (!/^(?:overflow:)?[a-z0-9][a-z0-9_-]{0,127}$/.test(provider))
    return `"${provider}" is no provider: openai, overflow:monid, ….`;
  const sets: Column[] = [];
  for (const name of policyOptions) {
    const given = text(name);
    if (given === undefined) continue;
    const column = columns[name](given);
    if (typeof column === 'string') return `--${name} ${column}.`;
    sets.push(column);
  }
  return { provider, sets };
}

const needed = ['capacity_type', 'funding_mode', 'source'];

/** The statement that brings a row to what was asked for, or why a first row cannot be made. `nowMs` is epoch milliseconds. Pure. */
export function policyStatement(
  { provider, sets }: PolicyChoice,
  stored: Row | null,
  nowMs: number,
): Statement | string {
  if (stored !== null) {
    return {
      sql: `UPDATE capacity_policies SET ${sets.map(([name]) => `${name} = ?`).join(', ')} WHERE provider = ?`,
      params: [...sets.map(([, value]) => value), provider],
    };
  }
  if (needed.some((name) => !sets.some(([set]) => set === name)))
    return `${provider} has no policy yet: give --type, --funding and --source.`;
  const row: readonly Column[] = [['provider', provider], ...sets, ['created_at', nowMs]];
  return {
    sql: `INSERT INTO capacity_policies (${row.map(([name]) => name).join(', ')}) VALUES (${row.map(() => '?').join(', ')})`,
    params: row.map(([, value]) => value),
  };
}

/** Sets and reads again; the row, or the sentence that says why not. */
export async function runPolicy(
  choice: PolicyChoice,
  database: Pick<CatalogDatabase, 'policy' | 'apply'>,
  nowMs: number,
): Promise<Row | string> {
  const stored = await database.policy(choice.provider);
  if (choice.sets.length === 0) return stored ?? `${choice.provider} has no policy.`;
  const statement = policyStatement(choice, stored, nowMs);
  if (typeof statement === 'string') return statement;
  await database.apply([statement]);
  return (await database.policy(choice.provider)) ?? `${choice.provider} has no policy.`;
}

/** A row for people. */
export const policyText = (row: Row): string =>
  Object.entries(row)
    .filter(([name]) => name !== 'created_at')
    .map(([name, value]) => `${name.padEnd(20)}${value ?? '-'}`)
    .join('\n');
