/** The environment of overflow: off unless it is turned on, a budget that is an amount, and aggregators that may be called. */
import { describe, expect, it } from 'vitest';
import { overflowBudgetUsdMax } from '../../src/base/limits-capacity';
import { type Bindings, parseEnv } from '../../src/env';
import { testBindings } from '../support/test-env';

const parse = (vars: Record<string, string>) =>
  parseEnv({ ...testBindings, ...vars } as unknown as Bindings).overflow;

describe('overflow', () => {
  it('is off, with a budget of twenty dollars a day, unless the deployment says otherwise', () => {
    expect(parse({})).toMatchObject({ mode: 'off', dailyBudgetMicros: 20_000_000 });
    expect(parse({ OVERFLOW_MODE: 'on', OVERFLOW_DAILY_BUDGET_USD: '0.5' })).toMatchObject({
      mode: 'on',
      dailyBudgetMicros: 500_000,
    });
    expect(parse({ OVERFLOW_DAILY_BUDGET_USD: '0' }).dailyBudgetMicros).toBe(0);
  });

  it.each([
    ['OVERFLOW_MODE', 'maybe'],
    ['OVERFLOW_DAILY_BUDGET_USD', '-1'],
    ['OVERFLOW_DAILY_BUDGET_USD', String(overflowBudgetUsdMax + 1)],
    ['OVERFLOW_DAILY_BUDGET_USD', 'much'],
    ['OVERFLOW_AGGREGATORS', '{"monid":{"base_url":"http://planted.example"}}'],
    ['OVERFLOW_AGGREGATORS', '{"other":{"base_url":"https://planted.example"}}'],
  ])('is a start error that names %s for %j, and shows no value', (name, value) => {
    expect(() => parse({ [name]: value })).toThrow(name);
    expect(() => parse({ [name]: value })).toThrow(/^(?!.*planted)/);
  });
});
