/**
 * Overflow: the operator's routes through aggregators, what they cost a day, and the jobs that derive and verify them.
 * Promises: operator only; a verification by hand is a part of the routes at a time, and says where to go on; amounts are micro-USD.
 * Must never: turn a route on or off by itself, or show a key. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { overflowVerifyMicrosMax } from '../base/limits-capacity';
import { ok, type Result } from '../base/result';
import { isCatalogId } from '../domain/catalog/endpoint';
import type { RouteRow } from '../domain/overflow/routes';
import type { Refusal } from '../domain/refusal';
import { routeCursor, type SyncRun, type VerifyRun } from '../ports/overflow-jobs';
import type { Page } from '../ports/store';
import { time, timeOrNull } from './fields';
import { answering, type Call, type Operation, writing } from './operation';
import { cursorAsked, cursorOf, paged, pageOf, pageQuery } from './pagination';

const micros = z.nullable(z.int());

const routeAnswer = z.object({
  endpoint: z.string(),
  aggregator: z.string(),
  vendor: z.string(),
  operation: z.string(),
  price_micros: micros,
  unit: z.enum(['call', 'result']),
  ratio: z.nullable(z.number()).check(z.describe('Price there divided by price here.')),
  last_verified_at: z.nullable(time),
  enabled: z.boolean(),
  disabled_reason: z.nullable(z.string()),
  failure: z.nullable(z.string()).check(z.describe('Why its last verification failed.')),
});

const spendAnswer = z.object({
  mode: z.enum(['off', 'shadow', 'on']),
  budget_micros: z.int().check(z.describe('Of one aggregator and UTC day.')),
  data: z.array(
    z.object({
      aggregator: z.string(),
      has_key: z.boolean(),
      days: z
        .nullable(
          z.array(
            z.object({
              day: z.string(),
              spent_micros: z.int(),
              reserved_micros: z
                .int()
                .check(z.describe('Runs whose cost is not known; they count until the day ends.')),
              calls: z.int(),
            }),
          ),
        )
        .check(z.describe('The newest first; null: its object does not answer.')),
    }),
  ),
});

const syncAnswer = z.object({
  outcome: z
    .enum(['done', 'skipped'])
    .check(z.describe('skipped: another sync or a verification is at work.')),
  rows: z.int(),
  enabled: z.int(),
  changed: z.int(),
  off: z.record(z.string(), z.int()).check(z.describe('Rows that are off, by reason.')),
  catalogs: z.array(
    z.object({
      aggregator: z.string(),
      outcome: z.enum(['read', 'no_key', 'unreachable', 'refused', 'no_catalog']),
      offers: z.int(),
      left_out: z.int(),
      matched: z.int(),
    }),
  ),
});

const verifyAnswer = z.object({
  outcome: z.enum(['done', 'skipped']),
  data: z.array(
    z.object({
      endpoint: z.string(),
      aggregator: z.string(),
      verdict: z
        .nullable(z.enum(['passed', 'failed', 'aggregator', 'inconclusive']))
        .check(z.describe('null: not attempted, reason says why.')),
      reason: z.string(),
      stamped: z.boolean(),
      failure: z.nullable(z.string()),
      cost_micros: micros,
    }),
  ),
  alarm: z
    .nullable(z.enum(['our_key', 'our_balance', 'all_lost', 'nothing_attempted']))
    .check(z.describe('What makes this part a failed one; a route that failed does not.')),
  next_cursor: z.nullable(z.string()),
  sync: z.nullable(syncAnswer).check(z.describe('The sync behind the last part.')),
});

/** Body of a sync. */
const syncBody = z.strictObject({
  live: z
    ._default(z.boolean(), false)
    .check(z.describe("Read the aggregators' catalogs; else only derive again.")),
});

/** Body of a verification. */
const verifyBody = z.strictObject({
  all: z._default(z.boolean(), false).check(z.describe('Also routes that were never verified.')),
  max_micros: z
    ._default(z.int().check(z.gte(0), z.lte(1_000_000)), overflowVerifyMicrosMax)
    .check(z.describe('The dearest route that is paid for; a price cap, not a budget.')),
  cursor: z._default(z.nullable(z.string()), null),
});

/** The operations on overflow. */
export const overflowOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/overflow/routes',
    permission: 'operator',
    scope: 'gateway',
    summary: 'List the routes through aggregators, and why those are off that are',
    query: pageQuery,
    answer: pageOf(routeAnswer),
    handle: list,
  }),
  answering({
    method: 'GET',
    path: '/overflow/spend',
    permission: 'operator',
    scope: 'gateway',
    summary: 'What each aggregator cost a day, and the budget of a day',
    answer: spendAnswer,
    handle: spend,
  }),
  writing({
    method: 'POST',
    path: '/overflow/sync',
    permission: 'operator',
    scope: 'gateway',
    summary: 'Derive every route again',
    body: syncBody,
    status: 200,
    answer: syncAnswer,
    async handle(call, { live }) {
      const run = await call.services.overflow.sync(live, call.facts.background);
      return run.ok ? ok(syncWire(run.value)) : run;
    },
  }),
  writing({
    method: 'POST',
    path: '/overflow/verify',
    permission: 'operator',
    scope: 'gateway',
    summary: 'Call a part of the routes once, here and there, and compare; spends money',
    body: verifyBody,
    status: 200,
    answer: verifyAnswer,
    handle: verify,
  }),
];

function list(call: Call) {
  const { overflow } = call.services;
  const read = (page: Page) => overflow.routes(page);
  return paged(call, { names: routeNames, read, nameOf: routeCursor, toWire: routeWire });
}

const routeWire = (row: RouteRow): z.output<typeof routeAnswer> => ({
  endpoint: row.endpointId,
  aggregator: row.aggregator,
  vendor: row.vendor,
  operation: row.operation,
  price_micros: row.priceMicros,
  unit: row.unit,
  ratio: row.ratioMilli === null ? null : row.ratioMilli / 1_000,
  last_verified_at: timeOrNull(row.lastVerifiedAtMs),
  enabled: row.enabled,
  disabled_reason: row.disabledReason,
  failure: row.failure,
});

async function spend(call: Call): Promise<Result<z.output<typeof spendAnswer>, Refusal>> {
  const { env, overflowBudgets } = call.services;
  const { mode, dailyBudgetMicros, aggregators } = env.overflow;
  const data = aggregators.map(async ({ name, setting }) => {
    const days = await overflowBudgets.days(name);
    return {
      aggregator: name,
      has_key: env.platformSettings.has(setting),
      days:
        days?.map(({ day, spentMicros, reservedMicros, calls }) => ({
          day,
          spent_micros: spentMicros,
          reserved_micros: reservedMicros,
          calls,
        })) ?? null,
    };
  });
  return ok({ mode, budget_micros: dailyBudgetMicros, data: await Promise.all(data) });
}

function syncWire(run: SyncRun): z.output<typeof syncAnswer> {
  if (run.outcome === 'skipped') return { ...nothing, outcome: 'skipped' };
  const catalogs = run.catalogs.map((read) => ({
    aggregator: read.aggregator,
    outcome: read.outcome,
    ...(read.outcome === 'read'
      ? { offers: read.offers, left_out: read.leftOut, matched: read.matched }
      : { offers: 0, left_out: 0, matched: 0 }),
  }));
  return { ...run, off: { ...run.off }, catalogs };
}

const nothing = { rows: 0, enabled: 0, changed: 0, off: {}, catalogs: [] };

async function verify(
  call: Call,
  { all, max_micros: maxMicros, cursor }: z.output<typeof verifyBody>,
): Promise<Result<z.output<typeof verifyAnswer>, Refusal>> {
  const after = cursorAsked(cursor, routeNames);
  if (!after.ok) return after;
  const options = { all, maxMicros, after: after.value };
  const run = await call.services.overflow.verify(options, call.facts.background);
  return run.ok ? ok(verifyWire(run.value)) : run;
}

function verifyWire(run: VerifyRun): z.output<typeof verifyAnswer> {
  if (run.outcome === 'skipped')
    return { outcome: 'skipped', data: [], alarm: null, next_cursor: null, sync: null };
  return {
    outcome: 'done',
    data: run.entries.map((entry) => ({
      endpoint: entry.endpointId,
      aggregator: entry.aggregator,
      verdict: entry.verdict,
      reason: entry.reason,
      stamped: entry.stamped,
      failure: entry.failure,
      cost_micros: entry.costMicros,
    })),
    alarm: run.alarm,
    next_cursor: run.next === null ? null : cursorOf(run.next),
    sync: run.sync === null ? null : syncWire(run.sync),
  };
}

/** A catalog id and the name of an aggregator. */
const routeNames = {
  test(text: string): boolean {
    const [id = '', aggregator = '', rest] = text.split(' ');
    return isCatalogId(id) && /^[a-z0-9_-]{1,64}$/.test(aggregator) && rest === undefined;
  },
};
