/**
 * Price faults: what is wrong with the cost and settlement of a catalog row, beyond its types.
 * Promises: a row without faults never trips an assert of the pricing rules and never holds zero by
 * mistake. Must never: be skipped by an import. Pure. Called by the catalog's import
 * (`scripts/lib/catalog`).
 */
import { isPlural, parsePath } from '../../base/json-path';
import { metersMax, priceRowsMax } from '../../base/limits-money';
import { isAmount } from '../ledger/operations';
import type { Cost, Meter, PriceSelector, RequestValue, ReserveFactor, Settlement } from './price';

/** `at` is a dotted path into the row; the reason is for its author. */
export interface PriceFault {
  readonly at: string;
  readonly reason:
    | 'path'
    | 'not_whole'
    | 'amount'
    | 'no_rows'
    | 'too_many'
    | 'unreachable_row'
    | 'meter_name'
    | 'unknown_meter'
    | 'no_reserve'
    | 'bounds'
    | 'header_name';
}

type Faults = PriceFault[];

/** All faults, in the order of the row; empty: the row can be used. */
export function priceFaults(cost: Cost, settlement: Settlement): readonly PriceFault[] {
  const faults: Faults = [];
  if (cost.kind !== 'free') {
    const isReserved = settlement.reported !== null && settlement.reserveMicros !== null;
    if (cost.prices.length === 0 && !isReserved)
      faults.push({ at: 'cost.prices', reason: 'no_rows' });
    tableFaults(faults, cost.prices);
    rowFaults(faults, cost);
    kindFaults(faults, cost, settlement);
  }
  settlementFaults(faults, settlement);
  return faults;
}

function tableFaults(
  faults: Faults,
  prices: readonly { readonly when: readonly PriceSelector[] }[],
): void {
  if (prices.length > priceRowsMax) faults.push({ at: 'cost.prices', reason: 'too_many' });
  const last = prices.length - 1;
  for (const [index, { when }] of prices.entries()) {
    const at = `cost.prices.${index}.when`;
    if (when.length === 0 && index < last) faults.push({ at, reason: 'unreachable_row' });
    for (const [place, selector] of when.entries()) {
      requestFaults(faults, `${at}.${place}`, selector);
      if (selector.oneOf.length === 0) faults.push({ at: `${at}.${place}`, reason: 'no_rows' });
    }
  }
}

function rowFaults(faults: Faults, cost: Exclude<Cost, { kind: 'free' }>): void {
  if (cost.kind === 'usage') {
    const names = new Set(cost.meters.map((meter) => meter.name));
    for (const [index, { perMillionMicros, above }] of cost.prices.entries()) {
      const at = `cost.prices.${index}`;
      rateFaults(faults, at, perMillionMicros, names);
      if (above === undefined) continue;
      rateFaults(faults, `${at}.above`, above.perMillionMicros, names);
      if (!isCount(above.units)) faults.push({ at: `${at}.above`, reason: 'not_whole' });
      if (!above.meters.every((meter) => names.has(meter)))
        faults.push({ at: `${at}.above.meters`, reason: 'unknown_meter' });
      if (new Set(above.meters).size < above.meters.length)
        faults.push({ at: `${at}.above.meters`, reason: 'meter_name' });
    }
    return;
  }
  for (const [index, row] of cost.prices.entries()) {
    const isGood = 'priceMicros' in row ? isAmount(row.priceMicros) : isWhole(row.perMillionMicros);
    if (!isGood) faults.push({ at: `cost.prices.${index}`, reason: 'amount' });
  }
}

function rateFaults(
  faults: Faults,
  row: string,
  rates: Readonly<Record<string, number>>,
  names: ReadonlySet<string>,
): void {
  for (const [name, rate] of Object.entries(rates)) {
    const at = `${row}.perMillionMicros.${name}`;
    if (!names.has(name)) faults.push({ at, reason: 'unknown_meter' });
    if (!isWhole(rate)) faults.push({ at, reason: 'amount' });
  }
}

function kindFaults(
  faults: Faults,
  cost: Exclude<Cost, { kind: 'free' }>,
  settlement: Settlement,
): void {
  if (cost.kind === 'per_result') {
    pathFault(faults, 'cost.results', cost.results);
    factorFaults(faults, 'cost.reserve', cost.reserve);
  } else if (cost.kind === 'quota_rows') {
    if (cost.rows !== null) pathFault(faults, 'cost.rows', cost.rows);
    if (cost.entities !== null) pathFault(faults, 'cost.entities', cost.entities);
    const { page } = cost;
    if (page === null) return;
    requestFaults(faults, 'cost.page', page);
    for (const rows of [page.default, page.max]) {
      if (rows !== null && !isCount(rows)) faults.push({ at: 'cost.page', reason: 'not_whole' });
    }
  } else if (cost.kind === 'usage') meterFaults(faults, cost, settlement);
}

function meterFaults(
  faults: Faults,
  cost: Extract<Cost, { kind: 'usage' }>,
  settlement: Settlement,
): void {
  const names = new Set(cost.meters.map((meter) => meter.name));
  if (cost.meters.length > metersMax) faults.push({ at: 'cost.meters', reason: 'too_many' });
  if (names.size < cost.meters.length) faults.push({ at: 'cost.meters', reason: 'meter_name' });
  for (const [index, meter] of cost.meters.entries()) {
    oneMeterFaults(faults, `cost.meters.${index}`, meter, names);
  }
  const isReserved = cost.meters.some((meter) => meter.reserve.length > 0);
  if (!isReserved && settlement.reserveMicros === null) {
    faults.push({ at: 'cost.meters', reason: 'no_reserve' });
  }
}

function oneMeterFaults(
  faults: Faults,
  at: string,
  meter: Meter,
  names: ReadonlySet<string>,
): void {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(meter.name)) {
    faults.push({ at: `${at}.name`, reason: 'meter_name' });
  }
  if (meter.paths.length === 0) faults.push({ at: `${at}.paths`, reason: 'path' });
  for (const path of meter.paths) pathFault(faults, `${at}.paths`, path);
  for (const part of meter.includes) {
    if (part === meter.name || !names.has(part)) {
      faults.push({ at: `${at}.includes`, reason: 'unknown_meter' });
    }
  }
  for (const factor of meter.reserve) factorFaults(faults, `${at}.reserve`, factor);
}

function settlementFaults(faults: Faults, settlement: Settlement): void {
  const { reported, fallbackMicros, reserveMicros } = settlement;
  for (const [name, micros] of Object.entries({ fallbackMicros, reserveMicros })) {
    // A hold of nothing asks no balance, and the charge comes all the same.
    const isNothing = name === 'reserveMicros' && micros === 0;
    if (micros !== null && (isNothing || !isAmount(micros))) {
      faults.push({ at: `settlement.${name}`, reason: 'amount' });
    }
  }
  for (const path of settlement.failed ?? []) pathFault(faults, 'settlement.failed', path);
  if (reported === null) return;
  const at = 'settlement.reported';
  if (reported.in === 'body') pathFault(faults, `${at}.at`, reported.at);
  else if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(reported.at)) {
    faults.push({ at: `${at}.at`, reason: 'header_name' });
  }
  if (!isWhole(reported.perMillionMicros)) faults.push({ at, reason: 'amount' });
  if (reported.times === null) return;
  const { min, max } = reported.times;
  pathFault(faults, `${at}.times.at`, reported.times.at);
  const isBounded = Number.isFinite(max) && min > 0 && min <= max;
  if (!isBounded) faults.push({ at: `${at}.times`, reason: 'bounds' });
}

function factorFaults(faults: Faults, at: string, factor: ReserveFactor): void {
  if (factor.kind === 'fixed') {
    if (!isCount(factor.units)) faults.push({ at, reason: 'not_whole' });
  } else if (factor.kind === 'body_bytes') {
    const isDivisor = Number.isFinite(factor.bytesPerUnit) && factor.bytesPerUnit > 0;
    if (!isDivisor) faults.push({ at, reason: 'bounds' });
  } else {
    requestFaults(faults, at, factor);
    const isBounded =
      isCount(factor.default) && isCount(factor.max) && factor.default <= factor.max;
    if (!isBounded) faults.push({ at, reason: 'bounds' });
  }
}

function requestFaults(faults: Faults, at: string, where: RequestValue): void {
  if (where.in === 'query') {
    if (where.at === '') faults.push({ at, reason: 'path' });
    return;
  }
  const path = parsePath(where.at);
  if (!path.ok || isPlural(path.value)) faults.push({ at, reason: 'path' });
}

function pathFault(faults: Faults, at: string, text: string): void {
  if (!parsePath(text).ok) faults.push({ at, reason: 'path' });
}

const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value > 0;
