/**
 * Guide price: one number by which rows of one capability can be put in order, cheapest first.
 * Must never: be charged, held or shown as a price; what a call costs is `domain/pricing`'s. Pure. Called by `scripts/catalog.ts`,
 * which stores it beside the row.
 */
import type { CallPriceRow, Cost, UnitPriceRow } from '../pricing/price';

/** What a smallest usual call is taken to use: a yardstick, the same for every row. */
const usual = { meterUnits: 1_000, results: 10, rows: 20 } as const;

/** Micro-USD of a smallest usual call, rounded up; null when the table has no price. */
export function guideMicros(cost: Cost): number | null {
  switch (cost.kind) {
    case 'free':
      return 0;
    case 'per_call':
    case 'per_success':
      return plainRow<CallPriceRow>(cost.prices)?.priceMicros ?? null;
    case 'per_result':
      return unitsAt(plainRow<UnitPriceRow>(cost.prices)?.perMillionMicros, usual.results);
    case 'quota_rows':
      return unitsAt(plainRow<UnitPriceRow>(cost.prices)?.perMillionMicros, usual.rows);
    case 'usage': {
      const row = plainRow(cost.prices);
      if (row === null) return null;
      // What only some calls use (a cache, a search) is no part of a usual one.
      const meters = cost.meters.filter(
        ({ isRequired, reserve }) => isRequired || reserve.length > 0,
      );
      const prices = meters.map(({ name }) => row.perMillionMicros[name] ?? 0);
      const perUnit = prices.reduce((sum, price) => sum + price, 0);
      return unitsAt(perUnit, usual.meterUnits);
    }
  }
}

/** The row that needs nothing of the request, else the first. */
const plainRow = <R extends { readonly when: readonly unknown[] }>(rows: readonly R[]): R | null =>
  rows.find(({ when }) => when.length === 0) ?? rows[0] ?? null;

const unitsAt = (perMillionMicros: number | undefined, units: number): number | null =>
  perMillionMicros === undefined ? null : Math.ceil((perMillionMicros * units) / 1_000_000);
