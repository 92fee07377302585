/**
 * D1OverflowRoutes: the enabled routes in isolate memory.
 * Promises: a list younger than `overflowRoutesMsMax` answers without a query; from half of that on it is read again behind a call; an older
 * one is read before the answer, since only a call that has failed, or will, asks; while D1 does not answer the last good list serves for
 * `staleConfigMaxMs`; bounded. workerd trap: a promise of another request is never awaited. Implements ports/overflow.ts.
 */
import { and, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { configRetryMs, staleConfigMaxMs } from '../../base/limits';
import {
  overflowRoutesMax,
  overflowRoutesMsMax,
  overflowRoutesRefreshMs,
  overflowVerifiedMsMax,
} from '../../base/limits-capacity';
import { type MaybePromise, whenHere } from '../../base/result';
import type { OverflowRoute } from '../../domain/overflow/routes';
import type { LookupContext } from '../../ports/catalog';
import type { OverflowRoutes } from '../../ports/overflow';
import type { Report } from '../../ports/report';
import { answered } from './answered';
import { capacityPolicies, overflowRoutes, overflowState } from './schema-capacity';

/** An enabled route and its stamp, epoch milliseconds. */
export interface StampedRoute extends OverflowRoute {
  readonly verifiedAtMs: number;
}

/** The enabled routes as of one state of the routes and the policies. */
export interface RouteList {
  /** Another one: read the list again. */
  readonly stamp: string;
  readonly routes: readonly StampedRoute[];
}

/** The D1 statements; `null`: the store does not answer. */
export class OverflowRouteReader {
  readonly #db: ReturnType<typeof drizzle>;
  readonly #report: Report;

  constructor(d1: D1Database, report: Report) {
    this.#db = drizzle(d1);
    this.#report = report;
  }

  /** The version of the routes, which a write raises, and the barred providers, whom a person writes by hand. */
  async stamp(): Promise<string | null> {
    const rows = await answered(this.#state(), this.#report, 'overflow.read_failed');
    return rows === null ? null : stampOf(rows);
  }

  async list(): Promise<RouteList | null> {
    const work = this.#db.batch([
      this.#state(),
      this.#db
        .select({
          endpointId: overflowRoutes.endpointId,
          aggregator: overflowRoutes.aggregator,
          vendor: overflowRoutes.vendor,
          operation: overflowRoutes.operation,
          priceMicros: overflowRoutes.priceMicros,
          unit: overflowRoutes.unit,
          singleResult: overflowRoutes.singleResult,
          verifiedAtMs: overflowRoutes.lastVerifiedAt,
        })
        .from(overflowRoutes)
        .where(and(eq(overflowRoutes.enabled, true), sql`${vendor} not in ${this.#barred()}`))
        .orderBy(overflowRoutes.endpointId, overflowRoutes.aggregator)
        .limit(overflowRoutesMax),
    ]);
    const read = await answered(work, this.#report, 'overflow.read_failed');
    if (read === null) return null;
    const [state, rows] = read;
    const routes = rows.flatMap(({ priceMicros, verifiedAtMs, ...rest }) =>
      priceMicros === null || verifiedAtMs === null ? [] : [{ ...rest, priceMicros, verifiedAtMs }],
    );
    return { stamp: stampOf(state), routes };
  }

  #state() {
    return this.#db
      .select({
        version: overflowState.version,
        barred: sql<string | null>`(select group_concat(provider, ' ') from ${this.#barred()})`,
      })
      .from(overflowState)
      .where(eq(overflowState.id, 1));
  }

  /** Providers that no aggregator may serve; a sync turns their routes off, a person need not wait for it. */
  #barred() {
    return this.#db
      .select({ provider: capacityPolicies.provider })
      .from(capacityPolicies)
      .where(eq(capacityPolicies.overflowAllowed, false));
  }
}

/** The provider of a catalog id stands before its first point. */
const vendor = sql`substr(${overflowRoutes.endpointId}, 1, instr(${overflowRoutes.endpointId}, '.') - 1)`;

/** Before the first sync there is neither a state nor a route. */
const stampOf = ([state]: readonly {
  readonly version: number;
  readonly barred: string | null;
}[]): string => (state === undefined ? '' : `${state.version} ${state.barred ?? ''}`);

interface Held {
  readonly stamp: string;
  readonly byEndpoint: ReadonlyMap<string, readonly StampedRoute[]>;
  readonly checkedAtMs: number;
}

export class D1OverflowRoutes implements OverflowRoutes {
  readonly #reader: Pick<OverflowRouteReader, 'stamp' | 'list'>;
  /** Aggregators with a key, the preferred one first. */
  readonly #usable: readonly string[];
  readonly #nowMs: () => number;
  #held: Held | null = null;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #refreshingUntilMs = 0;

  constructor(options: {
    reader: Pick<OverflowRouteReader, 'stamp' | 'list'>;
    usable: readonly string[];
    nowMs: () => number;
  }) {
    this.#reader = options.reader;
    this.#usable = options.usable;
    this.#nowMs = options.nowMs;
  }

  routeFor(
    endpointId: string,
    context: LookupContext,
    mayUse: (route: OverflowRoute) => boolean = () => true,
  ): MaybePromise<OverflowRoute | null> {
    if (this.#usable.length === 0) return null;
    return whenHere(this.#current(context), (held) => {
      const routes = held?.byEndpoint.get(endpointId) ?? [];
      const isFresh = (route: StampedRoute): boolean =>
        context.nowMs - route.verifiedAtMs <= overflowVerifiedMsMax;
      return routes.find((route) => isFresh(route) && mayUse(route)) ?? null;
    });
  }

  #current(context: LookupContext): MaybePromise<Held | null> {
    const { nowMs } = context;
    const ageMs = this.#ageMs(nowMs);
    if (ageMs < overflowRoutesRefreshMs) return this.#held;
    const isFailing = this.#failedAtMs + configRetryMs > nowMs;
    if (ageMs < overflowRoutesMsMax || isFailing) {
      this.#refreshBehind(context);
      return this.#lastGood(nowMs);
    }
    return this.#refresh(nowMs).then(() => this.#lastGood(nowMs));
  }

  #lastGood(nowMs: number): Held | null {
    return this.#ageMs(nowMs) < staleConfigMaxMs ? this.#held : null;
  }

  #ageMs(nowMs: number): number {
    return this.#held === null ? Number.POSITIVE_INFINITY : nowMs - this.#held.checkedAtMs;
  }

  #refreshBehind({ nowMs, background }: LookupContext): void {
    if (this.#refreshingUntilMs > nowMs || this.#failedAtMs + configRetryMs > nowMs) return;
    this.#refreshingUntilMs = nowMs + overflowRoutesRefreshMs;
    background(this.#refresh(nowMs));
  }

  /** Asks the stamp first: the list is read only when it is another one. Never rejects. */
  async #refresh(nowMs: number): Promise<void> {
    const held = this.#held;
    const stamp = held === null ? null : await this.#reader.stamp();
    if (held !== null && stamp === held.stamp) {
      this.#held = { ...held, checkedAtMs: nowMs };
    } else {
      const list = held === null || stamp !== null ? await this.#reader.list() : null;
      if (list === null) this.#failedAtMs = this.#nowMs();
      else this.#held = { ...this.#indexed(list), checkedAtMs: nowMs };
    }
    this.#refreshingUntilMs = 0;
  }

  #indexed({ stamp, routes }: RouteList): Omit<Held, 'checkedAtMs'> {
    const byEndpoint = new Map<string, StampedRoute[]>();
    for (const route of routes) {
      if (!this.#usable.includes(route.aggregator)) continue;
      const list = byEndpoint.get(route.endpointId) ?? [];
      list.push(route);
      byEndpoint.set(route.endpointId, list);
    }
    const rank = ({ aggregator }: StampedRoute): number => this.#usable.indexOf(aggregator);
    for (const list of byEndpoint.values()) list.sort((a, b) => rank(a) - rank(b));
    return { stamp, byEndpoint };
  }
}
