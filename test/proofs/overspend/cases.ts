/**
 * What limits a rush, one case each: the balance, the day's cap, a budget, the calls of a key.
 * Called by test/proofs/overspend.ts.
 */
import { callMicros, usageHoldMicros } from '../../support/money-world-catalog.ts';
import type { Case } from './rush.ts';

const fiveTags = 'team=search,env=prod,app=crawler,user=u-17,job=nightly';
const muchMicros = 1_000_000;

/** A budget of each of the three dimensions that may have one. */
const budget = (dimension: string, limits: object = {}) => ({
  dimension,
  window: 'day',
  spend_max_micros: null,
  calls_max: null,
  values: [],
  ...limits,
});
const wide = { spend_max_micros: muchMicros, calls_max: 1_000 };

const paid = (
  topUp: number,
  price: number,
  hits: number,
): Pick<Case, 'hits' | 'during' | 'after'> => ({
  hits,
  during: { available: topUp - hits * price, held: hits * price, settled: 0 },
  after: { available: topUp - hits * price, held: 0, settled: hits * price },
});

const insufficient = (available: number, required: number): Case['refusal'] => ({
  status: 402,
  code: 'insufficient_balance',
  members: { available_micros: available, required_micros: required },
});

const common = { endpoint: 'lab.fixed', units: 1 } as const;

export const cases: readonly Case[] = [
  {
    name: 'balance 100, 200 calls of 60 at once: 1 reaches the vendor, 199 get 402',
    ...common,
    ...paid(100, callMicros, 1),
    tenant: { topUpMicros: 100 },
    call: {},
    refusal: insufficient(40, callMicros),
  },
  {
    name: 'balance 100, 200 calls of 60 through isolates that never heard of the tenant: 1 and 199 × 402',
    ...common,
    ...paid(100, callMicros, 1),
    tenant: { topUpMicros: 100 },
    isCold: true,
    call: {},
    refusal: insufficient(40, callMicros),
  },
  {
    name: 'balance 100 with 5 tags, 3 budgets and a daily cap that would allow more: 1 and 199 × 402',
    ...common,
    ...paid(100, callMicros, 1),
    tenant: {
      topUpMicros: 100,
      limits: {
        daily_cap_micros: 1_000,
        budgets: [budget('team', wide), budget('env', wide), budget('app', wide)],
      },
    },
    call: { meta: fiveTags },
    refusal: insufficient(40, callMicros),
  },
  {
    name: 'a daily cap of 100 and 5 tags, money enough: 1 reaches the vendor, 199 get 429',
    ...common,
    ...paid(muchMicros, callMicros, 1),
    tenant: {
      limits: {
        daily_cap_micros: 100,
        budgets: [budget('team', wide), budget('env', wide), budget('app', wide)],
      },
    },
    call: { meta: fiveTags },
    refusal: { status: 429, code: 'platform_daily_cap_reached', members: { cap_micros: 100 } },
  },
  {
    name: 'a budget of 100 for a team, 5 tags, money enough: 1 reaches the vendor, 199 get 429',
    ...common,
    ...paid(muchMicros, callMicros, 1),
    tenant: {
      limits: {
        budgets: [
          budget('env', wide),
          budget('team', { values: [{ value: 'search', spend_max_micros: 100 }] }),
        ],
      },
    },
    call: { meta: fiveTags },
    refusal: {
      status: 429,
      code: 'tag_spend_cap_reached',
      members: { dimension: 'team', value: 'search' },
    },
  },
  {
    name: '3 calls a day for a job: 3 reach the vendor, 197 get 429',
    ...common,
    ...paid(muchMicros, callMicros, 3),
    tenant: { limits: { budgets: [budget('job', { calls_max: 3 })] } },
    call: { meta: fiveTags },
    refusal: {
      status: 429,
      code: 'tag_call_cap_reached',
      members: { dimension: 'job', value: 'nightly' },
    },
  },
  {
    name: '5 calls a day for a key: 5 reach the vendor, 195 get 429',
    ...common,
    ...paid(muchMicros, callMicros, 5),
    tenant: { keyFields: { daily_call_cap: 5 } },
    call: {},
    refusal: { status: 429, code: 'key_daily_call_cap_reached', members: { cap: 5 } },
  },
  {
    name: 'balance 1,000, 200 calls of 60 at once: 16 reach the vendor, 184 get 402',
    ...common,
    ...paid(1_000, callMicros, 16),
    tenant: { topUpMicros: 1_000 },
    call: {},
    refusal: insufficient(40, callMicros),
  },
  {
    name: 'balance 1,050, 200 calls that may cost 100 and cost 1: 10 reach the vendor, 190 get 402',
    endpoint: 'lab.usage',
    units: 1,
    hits: 10,
    tenant: { topUpMicros: 1_050 },
    call: {},
    refusal: insufficient(50, usageHoldMicros),
    during: { available: 50, held: 1_000, settled: 0 },
    after: { available: 1_040, held: 0, settled: 10 },
  },
];
