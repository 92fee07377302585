/**
 * The stand of the child cycle: a vendor `dry` whose account is ours, two aggregators at the same origin, routes in D1, the mode as wanted.
 * Promises: who was asked what is kept in order; an aggregator answers with its real envelopes. Called by test/proofs/overflow.ts.
 */
import {
  type CallOptions,
  type MoneyTenant,
  type MoneyWorld,
  startMoneyWorld,
} from '../../support/money-world.ts';
import { fastBreaker, type Limits } from '../../support/money-world-bundle.ts';
import { perCall, providerFile, row } from '../../support/money-world-catalog.ts';
import { answers, type Plan, refuses, type VendorCall } from '../../support/priced-origin.ts';
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';

/** List price of the usual route, micro-USD. */
export const routeMicros = 90;
/** What the aggregator says that a run cost: cents of a hundredth, so micro-USD 80. */
const runCents = 0.008;
export const runMicros = 80;
/** The vendor's own price of a call, micro-USD (`money-world-catalog.ts`). */
export const directMicros = 60;

export type Mode = 'off' | 'shadow' | 'on';

export interface StandOptions {
  readonly mode: Mode;
  readonly budgetUsd?: number;
  readonly limits?: Limits;
  /** Price of every route, micro-USD; also ours then, since a route far dearer than its row is not taken. */
  readonly priceMicros?: number;
}

/** Marks end at once, waits and views are short. */
export const fastOverflow: Limits = {
  ...fastBreaker,
  strikeSpacingMs: 100,
  probeIntervalMs: 300,
  capacityViewMsMax: 300,
  capacityViewRefreshMs: 100,
  overflowMarkMs: 150,
  overflowAnswerWaitMs: 1_000,
  overflowPollMs: 20,
};

const keys = { orthogonal: 'orthogonal-key-0123456789', monid: 'monid-key-0123456789' };
const methods = { a: 'POST', look: 'GET', put: 'PUT', unrouted: 'POST' } as const;

export class RoadStand {
  readonly world: MoneyWorld;
  readonly tenant: MoneyTenant;
  /** Runs that arrived at the aggregators, in order. */
  readonly runs: VendorCall[] = [];
  readonly direct: VendorCall[] = [];
  #vendor: Plan = answers();
  #aggregator: Plan = runs();

  private constructor(world: MoneyWorld, tenant: MoneyTenant) {
    this.world = world;
    this.tenant = tenant;
    world.origin.plan((call) => this.#serve(call));
  }

  static async start(options: StandOptions): Promise<RoadStand> {
    const { mode, budgetUsd = 1_000, limits = fastOverflow, priceMicros = routeMicros } = options;
    const cost =
      priceMicros === routeMicros
        ? perCall
        : `{ kind: per_call, prices: [{ price_micros: ${priceMicros} }] }`;
    const endpoints = Object.entries(methods).map(([name, method]) =>
      row(name, method, `cost: ${cost}`),
    );
    const world = await startMoneyWorld({
      limits,
      settings: {
        DRY_KEY: 'dry-key-0123456789',
        OVERFLOW_KEY_ORTHOGONAL: keys.orthogonal,
        OVERFLOW_KEY_MONID: keys.monid,
      },
      bindings: (authority) => ({
        OVERFLOW_MODE: mode,
        OVERFLOW_DAILY_BUDGET_USD: String(budgetUsd),
        OVERFLOW_AGGREGATORS: JSON.stringify({
          orthogonal: { base_url: `http://${authority}/orthogonal` },
          monid: { base_url: `http://${authority}/monid` },
        }),
      }),
      providers: (authority) => [providerFile('dry', { authority, setting: 'DRY_KEY', endpoints })],
    });
    await routesInto(world, priceMicros);
    return new RoadStand(world, await world.tenant({ topUpMicros: 1e9 }));
  }

  vendor(plan: Plan): void {
    this.#vendor = plan;
  }

  aggregator(plan: Plan): void {
    this.#aggregator = plan;
  }

  forget(): void {
    this.runs.length = 0;
    this.direct.length = 0;
  }

  call(endpoint = 'dry.a', options: CallOptions = {}): Promise<RawAnswer> {
    return this.tenant.call(endpoint, options);
  }

  /** Rows of a call: its own and its child's. */
  async rows(callId: string): Promise<Record<string, unknown>[]> {
    const db = await this.world.gateway.db();
    const sql = 'select * from calls where id = ? or id = ? order by id';
    for (let looks = 0; ; looks += 1) {
      const { results } = await db.prepare(sql).bind(callId, `${callId}:overflow`).all();
      if (results.length > 0 || looks > 400) return results as Record<string, unknown>[];
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Lets time pass that is part of a case. */
  async pass(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  #serve(call: VendorCall): void | Promise<void> {
    const first = call.request.target.split('/')[1] ?? '';
    if (first === 'dry') {
      this.direct.push(call);
      return this.#vendor(call);
    }
    this.runs.push(call);
    const key = headerOf(call.request.lines, 'authorization');
    const wanted = first === 'orthogonal' ? keys.orthogonal : keys.monid;
    if (key !== `Bearer ${wanted}`) return envelope(401, { success: false, error: 'who' })(call);
    return this.#aggregator(call);
  }
}

async function routesInto(world: MoneyWorld, priceMicros: number): Promise<void> {
  const db = await world.gateway.db();
  const nowMs = Date.now();
  for (const name of ['a', 'look', 'put']) {
    await db
      .prepare(
        `insert into overflow_routes (endpoint_id, aggregator, vendor, operation, price_micros, unit, single_result, ratio_milli,
         last_verified_at, failure, enabled, disabled_reason, synced_at) values (?, 'orthogonal', 'dry', ?, ?, 'call', 1, 1500, ?, null, 1, null, ?)`,
      )
      .bind(`dry.${name}`, `/${name}`, priceMicros, nowMs, nowMs)
      .run();
  }
  await db
    .prepare('insert into overflow_state (id, version, synced_at) values (1, 1, ?)')
    .bind(nowMs)
    .run();
}

/** An envelope of the first aggregator. */
export const envelope =
  (status: number, body: object): Plan =>
  (call) =>
    call.complete(reply(`${status} X`, ['Content-Type: application/json'], JSON.stringify(body)));

/** A run that the vendor served. */
export const runs = (cents: number | null = runCents, data: unknown = { served: true }): Plan =>
  envelope(200, { success: true, ...(cents === null ? {} : { priceCents: cents }), data });

export const broke: Plan = refuses('402 Payment Required', { error: { message: 'no credit' } });

export const servedVia = (answer: RawAnswer): string | null =>
  headerOf(answer.lines, 'x-weir-served-via');
