/**
 * Estimate: what to hold before a send, and the price that will settle it, chosen once.
 * Promises: an unknown price is never zero: it is refused, or the caller's explicit ceiling is
 * held; no amount is above that ceiling; the first matching row of a table is the price. Must
 * never: look at an answer. Pure. Called by stage 06, the overflow branch and `jobs/overflow-verify.ts`.
 */
import { assertNever } from '../../base/assert';
import { pathOf, readPath } from '../../base/json-path';
import {
  ledgerAmountMicrosMax,
  quotaPageDefault,
  quotaPageMax,
  quotaRowsMax,
} from '../../base/limits-money';
import {
  ceilMicros,
  compare,
  type Decimal,
  plus,
  type Term,
  times,
  wholeDecimal,
  zero,
} from './decimal';
import type {
  Cost,
  Meter,
  PriceSelector,
  ReserveCount,
  ReserveFactor,
  Settlement,
  UsageTier,
} from './price';
import { askedUnits, asker, isDisputed, type RequestFacts, selects } from './request-facts';

/** The price of one call, after the tables; plain data, may be stored. `null`: not known. */
export type FrozenPrice =
  | { readonly kind: 'free' }
  | { readonly kind: 'per_call' | 'per_success'; readonly priceMicros: number | null }
  | {
      readonly kind: 'per_result' | 'quota_rows';
      readonly perMillionMicros: number | null;
      /** Whether the answer says how many; else `asked` were. */
      readonly isCounted: boolean;
      readonly asked: number;
    }
  | {
      readonly kind: 'usage';
      readonly meters: readonly Meter[];
      readonly perMillionMicros: Readonly<Record<string, number>> | null;
      readonly above?: UsageTier;
    };

/** Why no amount can be told. */
export type UnknownPrice =
  /** No row of the table matches the request. */
  | 'no_price'
  /** A price by body size, and the size is not known before the send. */
  | 'no_body_size'
  /** A usage cost that says nothing about how much a call may use. */
  | 'no_reserve'
  /** More than one operation of the ledger carries. */
  | 'too_large';

/** What to hold, micro-USD. `isCeiling`: the price is unknown and the caller's ceiling is held. */
export type Estimate =
  | {
      readonly kind: 'known';
      readonly micros: number;
      readonly price: FrozenPrice;
      readonly isCeiling: boolean;
    }
  | { readonly kind: 'unknown'; readonly why: UnknownPrice }
  | { readonly kind: 'over_ceiling'; readonly micros: number; readonly ceilingMicros: number };

/** What to hold for a call. */
export function estimate(cost: Cost, settlement: Settlement, facts: RequestFacts): Estimate {
  const price = freeze(cost, facts);
  const table = tableAmount(price, facts);
  const amount = heldFor(price, settlement, table);
  const { ceilingMicros } = facts;
  if (typeof amount === 'number') {
    // What is set aside may be less than the price: a ceiling is about what the caller pays.
    const micros = typeof table === 'number' ? Math.max(table, amount) : amount;
    if (ceilingMicros !== null && micros > ceilingMicros) {
      return { kind: 'over_ceiling', micros, ceilingMicros };
    }
    return { kind: 'known', micros: amount, price, isCeiling: false };
  }
  if (ceilingMicros === null || ceilingMicros === 0) return { kind: 'unknown', why: amount };
  // A ceiling may say "whatever it costs"; one operation of the ledger carries no more than this.
  const micros = Math.min(ceilingMicros, ledgerAmountMicrosMax);
  return { kind: 'known', micros, price, isCeiling: true };
}

function heldFor(
  price: FrozenPrice,
  { reserveMicros, reported }: Settlement,
  table: number | UnknownPrice,
): number | UnknownPrice {
  if (reserveMicros === null || price.kind === 'free') return table;
  // a flat hold stands in for a price only where the vendor will say what it charged
  return table === 'no_price' && reported === null ? table : reserveMicros;
}

function tableAmount(price: FrozenPrice, facts: RequestFacts): number | UnknownPrice {
  switch (price.kind) {
    case 'free':
      return 0;
    case 'per_call':
    case 'per_success':
      return price.priceMicros ?? 'no_price';
    case 'per_result':
    case 'quota_rows':
      if (price.perMillionMicros === null) return 'no_price';
      return unitAmount(wholeDecimal(price.asked), price.perMillionMicros);
    case 'usage':
      return usageAmount(price, facts);
    default:
      return assertNever(price);
  }
}

const unitAmount = (units: Decimal, perMillionMicros: number): number | UnknownPrice =>
  ceilMicros([{ units, perMillionMicros }]) ?? 'too_large';

/** The prices of a call with so many units of each meter; null: none is known. */
export function ratesFor(
  { perMillionMicros, above }: Extract<FrozenPrice, { kind: 'usage' }>,
  unitsOf: (meter: string) => Decimal | null,
): Readonly<Record<string, number>> | null {
  if (perMillionMicros === null || above === undefined) return perMillionMicros;
  const units = above.meters.reduce((sum, meter) => plus(sum, unitsOf(meter) ?? zero), zero);
  const isAbove = compare(units, wholeDecimal(above.units)) > 0;
  return isAbove ? above.perMillionMicros : perMillionMicros;
}

function usageAmount(
  price: Extract<FrozenPrice, { kind: 'usage' }>,
  facts: RequestFacts,
): number | UnknownPrice {
  const reserved = new Map<string, Decimal>();
  for (const { name, reserve } of price.meters) {
    const units = reserve.length === 0 ? null : reservedUnits(reserve, facts);
    if (typeof units === 'string') return price.perMillionMicros === null ? 'no_price' : units;
    if (units !== null) reserved.set(name, units);
  }
  const rates = ratesFor(price, (meter) => reserved.get(meter) ?? null);
  if (rates === null) return 'no_price';
  const terms: Term[] = [];
  for (const [name, units] of reserved) terms.push({ units, perMillionMicros: rates[name] ?? 0 });
  const isPriced = Object.values(rates).some((rate) => rate > 0);
  if (isPriced && !terms.some((term) => term.perMillionMicros > 0)) return 'no_reserve';
  return ceilMicros(terms) ?? 'too_large';
}

function reservedUnits(
  factors: readonly ReserveFactor[],
  facts: RequestFacts,
): Decimal | 'no_body_size' {
  let product = wholeDecimal(1);
  for (const factor of factors) {
    const units = factorUnits(factor, facts);
    if (units === null) return 'no_body_size';
    product = times(product, wholeDecimal(units));
  }
  return product;
}

function factorUnits(factor: ReserveFactor, facts: RequestFacts): number | null {
  if (factor.kind !== 'body_bytes') return countOf(factor, facts);
  return facts.bodyBytes === null ? null : Math.ceil(facts.bodyBytes / factor.bytesPerUnit);
}

const countOf = (count: ReserveCount, facts: RequestFacts): number =>
  count.kind === 'fixed' ? count.units : askedUnits(facts, count);

// ── tables ──

/** The price of this request: the first row of each table that matches. */
function freeze(cost: Cost, facts: RequestFacts): FrozenPrice {
  switch (cost.kind) {
    case 'free':
      return { kind: 'free' };
    case 'per_call':
    case 'per_success': {
      const priceMicros = matching(cost.prices, facts)?.priceMicros ?? null;
      return { kind: cost.kind, priceMicros };
    }
    case 'per_result':
    case 'quota_rows': {
      const perMillionMicros = matching(cost.prices, facts)?.perMillionMicros ?? null;
      const isCounted = cost.kind === 'per_result' || cost.rows !== null;
      return { kind: cost.kind, perMillionMicros, isCounted, asked: askedCount(cost, facts) };
    }
    case 'usage': {
      const row = matching(cost.prices, facts);
      const perMillionMicros = row?.perMillionMicros ?? null;
      const frozen = { kind: 'usage', meters: cost.meters, perMillionMicros } as const;
      return row?.above === undefined ? frozen : { ...frozen, above: row.above };
    }
    default:
      return assertNever(cost);
  }
}

/**
 * The first row that matches; none when a value that any row asks for is there twice, in whatever
 * letter case: a cheap catch-all must not be reached by `?model=cheap&Model=dear`.
 */
function matching<T extends { readonly when: readonly PriceSelector[] }>(
  rows: readonly T[],
  facts: RequestFacts,
): T | undefined {
  const asked = asker(facts);
  if (rows.some(({ when }) => when.some((selector) => asked(selector).kind === 'ambiguous')))
    return undefined;
  return rows.find(({ when }) => when.every((selector) => selects(asked(selector), selector)));
}

/** How many results a call may give: what a price per result is multiplied with before the send; 1 where no price counts them. */
export const resultsAsked = (cost: Cost, facts: RequestFacts): number =>
  cost.kind === 'per_result' || cost.kind === 'quota_rows' ? askedCount(cost, facts) : 1;

function askedCount(
  cost: Extract<Cost, { kind: 'per_result' | 'quota_rows' }>,
  facts: RequestFacts,
): number {
  if (cost.kind === 'per_result') return countOf(cost.reserve, facts);
  const rows = pageRows(cost.page, facts) * entityCount(cost.entities, facts);
  return Math.min(rows, quotaRowsMax);
}

function pageRows(
  page: Extract<Cost, { kind: 'quota_rows' }>['page'],
  facts: RequestFacts,
): number {
  if (page === null) return quotaPageDefault;
  const max = page.max ?? quotaPageMax;
  return askedUnits(facts, { ...page, default: page.default ?? quotaPageDefault, max });
}

/** Entities that the body lists; one when it lists none, the most where the vendor may read another list. */
function entityCount(entities: string | null, facts: RequestFacts): number {
  if (entities === null) return 1;
  const path = pathOf(entities);
  if (isDisputed(facts.body, path)) return quotaRowsMax;
  const found = readPath(facts.body, path);
  if (found.kind === 'count') return Math.max(1, found.count);
  const list = found.kind === 'values' ? found.values[0] : null;
  return Array.isArray(list) ? Math.max(1, list.length) : 1;
}
