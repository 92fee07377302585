/** Caps: which "no" comes first, and what a configuration may say. */
import { describe, expect, it } from 'vitest';
import {
  ledgerAmountMicrosMax,
  ledgerBudgetRulesMax,
  ledgerTagCharsMax,
} from '../../../../src/base/limits-money';
import { judgeCaps } from '../../../../src/domain/ledger/caps';
import {
  type Budget,
  configFault,
  type LedgerConfig,
  noLimits,
} from '../../../../src/domain/ledger/config';
import type { LogOp } from '../../../../src/domain/ledger/entries';
import type { PlaceOp, Tags } from '../../../../src/domain/ledger/operations';
import { LedgerState } from '../../../../src/domain/ledger/state';
import { applyOp } from '../../../../src/domain/ledger/transitions';

const noonMs = Date.UTC(2026, 4, 7, 12);
const midnightMs = Date.UTC(2026, 4, 8);

const budget = (fields: Partial<Budget>): Budget => ({
  dimension: 'team',
  window: 'day',
  spendMaxMicros: null,
  callsMax: null,
  values: [],
  ...fields,
});

function books(config: Partial<LedgerConfig>, ...ops: LogOp[]): LedgerState {
  const state = new LedgerState();
  applyOp(state, ['top_up', 'pay', 100], noonMs);
  applyOp(state, ['configure', { ...noLimits, version: 1, ...config }], noonMs);
  for (const op of ops) applyOp(state, op, noonMs);
  return state;
}

const call = (micros: number, tags: Tags | null = null, cap: number | null = null): PlaceOp => [
  'place',
  'hld_new',
  micros,
  'key_1',
  cap,
  tags,
  null,
];

const held = (micros: number, tags: Tags | null = null): LogOp => [
  'place',
  'hld_old',
  micros,
  'key_1',
  tags,
  null,
];

describe('judgeCaps', () => {
  const evil = { value: 'evil', blocked: true, spendMaxMicros: null, callsMax: null };

  it.each([
    ['what fits', books({ dailyCapMicros: 100 }), call(100), null],
    [
      'a blocked tag before an empty purse',
      books({ budgets: [budget({ values: [evil] })] }),
      call(101, ['team', 'evil']),
      { code: 'tag_blocked', dimension: 'team', value: 'evil' },
    ],
    [
      'an empty purse before a cap',
      books({ dailyCapMicros: 1 }),
      call(101),
      { code: 'insufficient_balance', availableMicros: 100, requiredMicros: 101 },
    ],
    [
      'the cap of the day before the calls of the key',
      books({ dailyCapMicros: 50 }, held(40)),
      call(11, null, 1),
      { code: 'daily_cap', capMicros: 50, resetsAtMs: midnightMs },
    ],
    [
      'the calls of the key before its tags',
      books({ budgets: [budget({ callsMax: 0 })] }, held(1)),
      call(1, ['team', 'a'], 1),
      { code: 'key_call_cap', cap: 1, resetsAtMs: midnightMs },
    ],
    [
      'calls of a tag before its spend',
      books({ budgets: [budget({ callsMax: 1, spendMaxMicros: 1 })] }, held(1, ['team', 'a'])),
      call(1, ['team', 'a']),
      { code: 'tag_call_cap', dimension: 'team', value: 'a', resetsAtMs: midnightMs },
    ],
    [
      'a budget for all time never resets',
      books({ budgets: [budget({ window: 'total', spendMaxMicros: 5 })] }, held(5, ['team', 'a'])),
      call(1, ['team', 'a']),
      { code: 'tag_spend_cap', dimension: 'team', value: 'a', resetsAtMs: null },
    ],
    [
      'another value has its own budget',
      books({ budgets: [budget({ spendMaxMicros: 5 })] }, held(5, ['team', 'a'])),
      call(5, ['team', 'b']),
      null,
    ],
    [
      'a value with a rule of its own',
      books({
        budgets: [
          budget({
            spendMaxMicros: 5,
            values: [{ value: 'big', blocked: false, spendMaxMicros: 50, callsMax: null }],
          }),
        ],
      }),
      call(50, ['team', 'big']),
      null,
    ],
    ['a call without the tag', books({ budgets: [budget({ callsMax: 0 })] }), call(1), null],
  ])('%s', (_, state, op, refusal) => {
    expect(judgeCaps(state, op)).toEqual(refusal);
  });

  it('counts a call once, however many holds it had', () => {
    const tags = ['team', 'a'];
    const state = books({ budgets: [budget({ callsMax: 1 })] }, held(0, tags));
    const again: PlaceOp = ['place', 'hld_again', 5, 'key_1', 1, tags, null, true];
    expect(judgeCaps(state, again)).toBeNull();
    applyOp(state, ['place', 'hld_again', 5, 'key_1', tags, null, true], noonMs);
    expect(judgeCaps(state, call(1, null, 1))).toMatchObject({ code: 'key_call_cap' });
    expect(judgeCaps(state, call(1, null, 2))).toBeNull();
    expect(judgeCaps(state, call(1, tags))).toMatchObject({ code: 'tag_call_cap' });
    const fuller = books({ budgets: [budget({ callsMax: 2 })] }, held(0, tags));
    applyOp(fuller, ['place', 'hld_again', 5, 'key_1', tags, null, true], noonMs);
    expect(judgeCaps(fuller, call(1, tags))).toBeNull();
  });

  it('keeps what a budget counted when its limit changes; a new one counts open holds', () => {
    const state = books(
      { budgets: [budget({ spendMaxMicros: 50 })] },
      held(30, ['team', 'a', 'env', 'x']),
    );
    applyOp(state, ['settle', 'hld_old', 20, 30], noonMs);
    applyOp(state, ['place', 'hld_2', 7, 'key_1', ['team', 'a', 'env', 'x'], null], noonMs);
    const budgets = [
      budget({ spendMaxMicros: 30 }),
      budget({ dimension: 'env', spendMaxMicros: 10 }),
    ];
    applyOp(state, ['configure', { version: 2, dailyCapMicros: null, budgets }], noonMs);
    expect(judgeCaps(state, call(4, ['team', 'a']))).toMatchObject({ code: 'tag_spend_cap' });
    expect(judgeCaps(state, call(3, ['team', 'a']))).toBeNull();
    expect(judgeCaps(state, call(4, ['env', 'x']))).toMatchObject({ dimension: 'env' });
    expect(judgeCaps(state, call(3, ['env', 'x']))).toBeNull();
  });
});

describe('configFault', () => {
  const four = ['a', 'b', 'c', 'd'].map((dimension) => budget({ dimension }));
  const twice = { value: 'v', blocked: false, spendMaxMicros: 1, callsMax: 1 };
  const negative = { ...twice, callsMax: -1 };
  const rules = (more: number) =>
    Array.from({ length: ledgerBudgetRulesMax + more }, (_, i) => ({ ...twice, value: `${i}` }));
  const longest = 'd'.repeat(ledgerTagCharsMax);

  it.each<[string, Partial<LedgerConfig>, string | null]>([
    ['no limits', {}, null],
    ['three dimensions', { budgets: four.slice(1) }, null],
    ['four dimensions', { budgets: four }, 'budgets'],
    ['a dimension twice', { budgets: [budget({}), budget({})] }, 'budgets.dimension'],
    ['a value twice', { budgets: [budget({ values: [twice, twice] })] }, 'budgets'],
    ['a fraction', { dailyCapMicros: 0.5 }, 'dailyCapMicros'],
    ['a negative limit', { budgets: [budget({ spendMaxMicros: -1 })] }, 'budgets'],
    ['an empty name', { budgets: [budget({ dimension: '' })] }, 'budgets.dimension'],
    ['a negative version', { version: -1 }, 'version'],
    ['a fraction of a call', { budgets: [budget({ callsMax: 0.5 })] }, 'budgets'],
    ['a value with a negative limit', { budgets: [budget({ values: [negative] })] }, 'budgets'],
    ['another window', { budgets: [budget(JSON.parse('{"window":"week"}'))] }, 'budgets'],
    ['as many values as it may', { budgets: [budget({ values: rules(0) })] }, null],
    ['one value more', { budgets: [budget({ values: rules(1) })] }, 'budgets'],
    ['the longest name', { budgets: [budget({ dimension: longest })] }, null],
    ['a longer one', { budgets: [budget({ dimension: `${longest}x` })] }, 'budgets.dimension'],
    ['the highest limit', { dailyCapMicros: 1_000 * ledgerAmountMicrosMax }, null],
    ['a higher one', { dailyCapMicros: 1_000 * ledgerAmountMicrosMax + 1 }, 'dailyCapMicros'],
  ])('%s', (_, config, field) => {
    expect(configFault({ ...noLimits, version: 1, ...config })).toBe(field);
  });
});
