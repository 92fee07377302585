/**
 * Overflow: what the road and the operator's views need of routes through aggregators and of their budgets.
 * Promises: a budget that does not answer is a no, never a yes: nothing is sent without a reservation; a route is at most
 * `overflowRoutesMsMax` old while the store answers. Implemented by `adapters/durable/overflow-budgets.ts` and `adapters/d1/overflow-routes.ts`.
 * Amounts are micro-USD.
 */
import type { MaybePromise } from '../base/result';
import type { BudgetDay, BudgetEnd, ReserveAnswer } from '../domain/overflow/budget';
import type { OverflowRoute } from '../domain/overflow/routes';
import type { LookupContext } from './catalog';
import type { Background } from './config';

/** The daily budgets; the amount of the budget is the deployment's. */
export interface OverflowBudgets {
  /** Before the network. `unavailable`: the object does not answer; nothing may be sent, and what it may have reserved is given back. */
  reserve(
    aggregator: string,
    id: string,
    estimateMicros: number,
    background: Background,
  ): Promise<ReserveAnswer | { readonly outcome: 'unavailable' }>;
  /** Ends a reservation; null: nobody knows what the run cost, and its estimate stays spent. */
  close(aggregator: string, id: string, end: BudgetEnd | null, background: Background): void;
  /** The newest day first; null: the object does not answer. */
  days(aggregator: string): Promise<readonly BudgetDay[] | null>;
}

/** The enabled routes. */
export interface OverflowRoutes {
  /** The first route of that row, in the order of preference, that `mayUse` takes; null: none, or the store does not answer. */
  routeFor(
    endpointId: string,
    context: LookupContext,
    mayUse?: (route: OverflowRoute) => boolean,
  ): MaybePromise<OverflowRoute | null>;
}
