/**
 * D1OverflowRoutes: the enabled routes in isolate memory.
 * Promises: a list younger than `overflowRoutesMsMax` answers without a query; from half of that on it is read again behind a call; an older
 * one is read before the answer, since only a call that has failed, or will, asks; while D1 does not answer the last good list serves for
 * `staleConfigMaxMs`; bounded. workerd trap: a promise of another request is never awaited. Implements ports/overflow.ts.
 */
import { and, eq } from 'drizzle-orm';
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
import { answered, type Report } from './answered';
import { overflowRoutes, overflowState } from './schema-capacity';

/** An enabled route and its stamp, epoch milliseconds. */
export interface StampedRoute extends OverflowRoute {
  readonly verifiedAtMs: number;
}

/** The enabled routes as of one version. */
export interface RouteList {
  readonly version: number;
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

  /** The version, 0 before the first sync. */
  async version(): Promise<number | null> {
    const rows = await answered(this.#state().all(), this.#report, 'overflow.read_failed');
    return rows === null ? null : (rows[0]?.version ?? 0);
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
        .where(and(eq(overflowRoutes.enabled, true)))
        .orderBy(overflowRoutes.endpointId, overflowRoutes.aggregator)
        .limit(overflowRoutesMax),
    ]);
    const read = await answered(work, this.#report, 'overflow.read_failed');
    if (read === null) return null;
    const [state, rows] = read;
    const routes = rows.flatMap(({ priceMicros, verifiedAtMs, ...rest }) =>
      priceMicros === null || verifiedAtMs === null ? [] : [{ ...rest, priceMicros, verifiedAtMs }],
    );
    return { version: state[0]?.version ?? 0, routes };
  }

  #state() {
    return this.#db
      .select({ version: overflowState.version })
      .from(overflowState)
      .where(eq(overflowState.id, 1));
  }
}

interface Held {
  readonly version: number;
  readonly byEndpoint: ReadonlyMap<string, readonly StampedRoute[]>;
  readonly checkedAtMs: number;
}

export class D1OverflowRoutes implements OverflowRoutes {
  readonly #reader: Pick<OverflowRouteReader, 'version' | 'list'>;
  /** Aggregators with a key, the preferred one first. */
  readonly #usable: readonly string[];
  readonly #nowMs: () => number;
  #held: Held | null = null;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #refreshingUntilMs = 0;

  constructor(options: {
    reader: Pick<OverflowRouteReader, 'version' | 'list'>;
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

  /** Asks the version first: the list is read only when it is another one. Never rejects. */
  async #refresh(nowMs: number): Promise<void> {
    const held = this.#held;
    const version = held === null ? null : await this.#reader.version();
    if (held !== null && version === held.version) {
      this.#held = { ...held, checkedAtMs: nowMs };
    } else {
      const list = held === null || version !== null ? await this.#reader.list() : null;
      if (list === null) this.#failedAtMs = this.#nowMs();
      else this.#held = { ...this.#indexed(list), checkedAtMs: nowMs };
    }
    this.#refreshingUntilMs = 0;
  }

  #indexed({ version, routes }: RouteList): Omit<Held, 'checkedAtMs'> {
    const byEndpoint = new Map<string, StampedRoute[]>();
    for (const route of routes) {
      if (!this.#usable.includes(route.aggregator)) continue;
      const list = byEndpoint.get(route.endpointId) ?? [];
      list.push(route);
      byEndpoint.set(route.endpointId, list);
    }
    const rank = ({ aggregator }: StampedRoute): number => this.#usable.indexOf(aggregator);
    for (const list of byEndpoint.values()) list.sort((a, b) => rank(a) - rank(b));
    return { version, byEndpoint };
  }
}
