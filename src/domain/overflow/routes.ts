/**
 * Routes: which catalog endpoints can be served through which aggregator, derived from facts and never set by hand.
 * Promises: every "no" has one reason, the first that applies; an unknown price is never a cheap one; a stamp belongs to one spelling of
 * one operation; what a sync no longer finds is off. Pure. Called by `jobs/overflow-sync.ts`; the road reads the enabled rows, and holds
 * each against its catalog row again.
 */
import { assertNever } from '../../base/assert';
import {
  overflowFreeMicrosMax,
  overflowRatioMax,
  overflowVerifiedMsMax,
} from '../../base/limits-capacity';
import type { CatalogEndpoint } from '../catalog/endpoint';
import type { Cost, ReserveFactor } from '../pricing/price';
import { overflowMethods } from './child';

/** What an aggregator charges for: a run, or each result of it. */
export type AggregatorUnit = 'call' | 'result';

/** An operation of an aggregator that is one of our catalog endpoints. */
export interface RouteCandidate {
  readonly endpointId: string;
  readonly aggregator: string;
  /** The aggregator's spelling. */
  readonly vendor: string;
  readonly operation: string;
  /** List price of one unit, micro-USD; null: it says none. */
  readonly priceMicros: number | null;
  readonly unit: AggregatorUnit;
  /** Whether a run gives one result at most. */
  readonly singleResult: boolean;
}

/** A row of `overflow_routes`. */
export interface RouteRow extends RouteCandidate {
  /** Price there by price here, thousandths, rounded up; null: it cannot be told. */
  readonly ratioMilli: number | null;
  readonly lastVerifiedAtMs: number | null;
  /** Why the last verification failed; null: it did not. */
  readonly failure: string | null;
  readonly enabled: boolean;
  /** A {@link RouteNo} of this version or an earlier one. */
  readonly disabledReason: string | null;
}

/** An enabled row as the road uses it. */
export interface OverflowRoute {
  readonly endpointId: string;
  readonly aggregator: string;
  readonly vendor: string;
  readonly operation: string;
  readonly priceMicros: number;
  readonly unit: AggregatorUnit;
  readonly singleResult: boolean;
}

/** Why a route is off. */
export type RouteNo =
  | 'missing_from_sync'
  | 'endpoint_gone'
  | 'retired'
  | 'not_platform'
  | 'method'
  | 'task'
  | 'policy'
  | 'no_key'
  | 'no_price'
  | 'our_price_unknown'
  | 'unit'
  | 'free_price'
  | 'ratio'
  | 'verification_failed'
  | 'not_verified'
  | 'verification_old';

/** What a route is judged by. */
export interface RouteFacts {
  readonly candidate: RouteCandidate;
  /** null: the catalog has no such row any more. */
  readonly endpoint: RouteEndpoint | null;
  /** Whether the provider's policy lets an aggregator serve it. */
  readonly policyAllows: boolean;
  /** Whether the operator has a key of the aggregator. */
  readonly hasKey: boolean;
  readonly lastVerifiedAtMs: number | null;
  readonly failure: string | null;
  readonly nowMs: number;
}

/** The part of a catalog row that routes are judged by. */
export type RouteEndpoint = Pick<
  CatalogEndpoint,
  'provider' | 'method' | 'platformAuth' | 'cost' | 'tombstone' | 'task' | 'taskId'
>;

/** Why this route is off; null: it is on. */
export function routeNo(facts: RouteFacts): RouteNo | null {
  const { endpoint, candidate } = facts;
  if (endpoint === null) return 'endpoint_gone';
  const no = kindNo(endpoint);
  if (no !== null) return no;
  if (!facts.policyAllows) return 'policy';
  if (!facts.hasKey) return 'no_key';
  return priceNo(candidate, ourPrice(endpoint.cost)) ?? verificationNo(facts);
}

/** Whether a route that a sync turned on still fits the catalog row as it is now: the row may have changed since. */
export const stillFits = (route: OverflowRoute, endpoint: RouteEndpoint): boolean =>
  kindNo(endpoint) === null && priceNo(route, ourPrice(endpoint.cost)) === null;

function kindNo(endpoint: RouteEndpoint): RouteNo | null {
  if (endpoint.tombstone !== null) return 'retired';
  if (endpoint.platformAuth !== 'account') return 'not_platform';
  if (!overflowMethods.has(endpoint.method)) return 'method';
  // A task lives where it was submitted.
  return endpoint.task !== null || endpoint.taskId !== null ? 'task' : null;
}

type Priced = Pick<RouteCandidate, 'priceMicros' | 'unit' | 'singleResult'>;

function priceNo(candidate: Priced, ours: OurPrice | null): RouteNo | null {
  const { priceMicros, unit, singleResult } = candidate;
  if (priceMicros === null) return 'no_price';
  if (ours === null) return 'our_price_unknown';
  if (ours.kind === 'free') {
    const isBounded = unit === 'call' || singleResult;
    if (!isBounded) return 'unit';
    return priceMicros <= overflowFreeMicrosMax ? null : 'free_price';
  }
  const isSame = unit === ours.unit || (unit === 'result' && singleResult);
  if (!isSame) return 'unit';
  const ratio = ratioMilli(candidate, ours);
  return ratio === null || ratio > 1_000 * overflowRatioMax ? 'ratio' : null;
}

function verificationNo({ failure, lastVerifiedAtMs, nowMs }: RouteFacts): RouteNo | null {
  if (failure !== null) return 'verification_failed';
  if (lastVerifiedAtMs === null) return 'not_verified';
  return nowMs - lastVerifiedAtMs > overflowVerifiedMsMax ? 'verification_old' : null;
}

// ── prices ──

/** What one event costs here, micro-USD for a million of them: a call, or a result. */
export type OurPrice =
  | { readonly kind: 'free' }
  | {
      readonly kind: 'priced';
      readonly unit: AggregatorUnit;
      readonly perMillionMicros: number;
    };

/** The price of one event of a row, the cheapest of its table; null: there is none (usage prices have no event). */
export function ourPrice(cost: Cost): OurPrice | null {
  switch (cost.kind) {
    case 'free':
      return { kind: 'free' };
    case 'per_call':
    case 'per_success':
      return priced('call', cheapest(cost.prices.map((row) => 1_000_000 * row.priceMicros)));
    case 'per_result': {
      // A row that gives one result at most is a price per call too.
      const unit = unitsMax(cost.reserve) === 1 ? 'call' : 'result';
      return priced(unit, cheapest(cost.prices.map((row) => row.perMillionMicros)));
    }
    case 'quota_rows':
      return priced('result', cheapest(cost.prices.map((row) => row.perMillionMicros)));
    case 'usage':
      return null;
    default:
      return assertNever(cost);
  }
}

function priced(unit: AggregatorUnit, perMillionMicros: number | null): OurPrice | null {
  if (perMillionMicros === null) return null;
  return perMillionMicros === 0 ? { kind: 'free' } : { kind: 'priced', unit, perMillionMicros };
}

const cheapest = (prices: readonly number[]): number | null =>
  prices.length === 0 ? null : Math.min(...prices);

function unitsMax(factor: ReserveFactor): number | null {
  if (factor.kind === 'fixed') return factor.units;
  return factor.kind === 'request' ? factor.max : null;
}

/** Price there by price here, thousandths, rounded up; null: one is not known, or ours is free. */
export function ratioMilli(
  { priceMicros }: Pick<RouteCandidate, 'priceMicros'>,
  ours: OurPrice | null,
): number | null {
  if (priceMicros === null || ours === null || ours.kind === 'free') return null;
  const here = BigInt(ours.perMillionMicros);
  const milli = (BigInt(priceMicros) * 1_000_000_000n + here - 1n) / here;
  return milli > BigInt(Number.MAX_SAFE_INTEGER) ? null : Number(milli);
}

/** What to reserve of the aggregator's budget and to hold, micro-USD. `results`: how many the call may give. */
export const routeEstimate = (
  { priceMicros, unit, singleResult }: Pick<OverflowRoute, 'priceMicros' | 'unit' | 'singleResult'>,
  results: number,
): number => (unit === 'call' || singleResult ? priceMicros : priceMicros * Math.max(1, results));

// ── derivation ──

/** What a sync knows. */
export interface SyncFacts {
  readonly current: readonly RouteRow[];
  /** Of every aggregator in `read`; what they do not name is off. */
  readonly found: readonly RouteCandidate[];
  /** Aggregators whose catalog was read in this sync; rows of the others are derived again from what is stored. */
  readonly read: ReadonlySet<string>;
  readonly endpointOf: (id: string) => RouteEndpoint | null;
  readonly policyAllows: (provider: string) => boolean;
  readonly hasKey: (aggregator: string) => boolean;
  readonly nowMs: number;
}

/** All rows as they have to be now; `changed`: those that differ from what is stored. */
export interface Derived {
  readonly rows: readonly RouteRow[];
  readonly changed: readonly RouteRow[];
}

/** Derives every row again. */
export function derive(facts: SyncFacts): Derived {
  const stored = new Map(facts.current.map((row) => [keyOf(row), row]));
  const wanted = new Map(facts.found.map((candidate) => [keyOf(candidate), candidate]));
  const rows: RouteRow[] = [];
  for (const row of facts.current) {
    const key = keyOf(row);
    if (wanted.has(key)) continue;
    const isMissing = facts.read.has(row.aggregator) || row.disabledReason === 'missing_from_sync';
    rows.push(
      isMissing
        ? { ...row, enabled: false, disabledReason: 'missing_from_sync' }
        : judged(row, row, facts),
    );
  }
  for (const [key, candidate] of wanted)
    rows.push(judged(candidate, stored.get(key) ?? null, facts));
  return { rows, changed: rows.filter((row) => differs(row, stored.get(keyOf(row)))) };
}

/** A row is one pair of endpoint and aggregator. */
export const keyOf = (row: Pick<RouteCandidate, 'endpointId' | 'aggregator'>): string =>
  `${row.aggregator} ${row.endpointId}`;

function judged(candidate: RouteCandidate, stored: RouteRow | null, facts: SyncFacts): RouteRow {
  const isSameOperation =
    stored?.vendor === candidate.vendor && stored.operation === candidate.operation;
  const lastVerifiedAtMs = isSameOperation ? (stored?.lastVerifiedAtMs ?? null) : null;
  const failure = isSameOperation ? (stored?.failure ?? null) : null;
  const endpoint = facts.endpointOf(candidate.endpointId);
  const disabledReason = routeNo({
    candidate,
    endpoint,
    policyAllows: endpoint !== null && facts.policyAllows(endpoint.provider),
    hasKey: facts.hasKey(candidate.aggregator),
    lastVerifiedAtMs,
    failure,
    nowMs: facts.nowMs,
  });
  const { endpointId, aggregator, vendor, operation, priceMicros, unit, singleResult } = candidate;
  return {
    ...{ endpointId, aggregator, vendor, operation, priceMicros, unit, singleResult },
    ratioMilli: ratioMilli(candidate, endpoint === null ? null : ourPrice(endpoint.cost)),
    lastVerifiedAtMs,
    failure,
    enabled: disabledReason === null,
    disabledReason,
  };
}

function differs(row: RouteRow, stored: RouteRow | undefined): boolean {
  if (stored === undefined) return true;
  return fields.some((field) => row[field] !== stored[field]);
}

const fields = [
  'vendor',
  'operation',
  'priceMicros',
  'unit',
  'singleResult',
  'ratioMilli',
  'lastVerifiedAtMs',
  'failure',
  'enabled',
  'disabledReason',
] as const satisfies readonly (keyof RouteRow)[];
