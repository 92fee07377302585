/**
 * Costs and settlements as catalog files spell them: snake_case, what is usual may be left out. Promises: gives exactly the types of
 * `src/domain/pricing/price.ts`; amounts are whole micro-USD; every path parses. Called by schema.ts.
 */
import * as z from 'zod';
import { parsePath } from '../../../src/base/json-path.ts';
import { ledgerAmountMicrosMax } from '../../../src/base/limits-money.ts';
import type {
  Cost,
  Meter,
  PriceSelector,
  ReserveCount,
  ReserveFactor,
  Settlement,
  StreamEnd,
  UsagePriceRow,
  UsageTier,
} from '../../../src/domain/pricing/price.ts';
import { type PriceFault, priceFaults } from '../../../src/domain/pricing/price-faults.ts';

/** A whole number of micro-USD, at most what the ledger books. */
const micros = z.int().min(0).max(ledgerAmountMicrosMax);
/** Micro-USD of a million units: sums of them are exact whatever their size. */
const unitPrice = z.int().min(0);
const units = z.int().min(1).max(1_000_000_000);
const path = z.string().refine((text) => parsePath(text).ok, 'is no JSON path (docs/catalog.md)');
const meterName = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must be a lower-case word');

/** A query name, or a path into the body. */
const requestValue = { in: z.enum(['query', 'body']), at: z.string().min(1) };
const pathInBody = (value: { in: 'query' | 'body'; at: string }): boolean =>
  value.in === 'query' || parsePath(value.at).ok;
const noPath = { error: 'is no JSON path (docs/catalog.md)', path: ['at'] };

const selector = z
  .strictObject({
    ...requestValue,
    one_of: z.array(z.union([z.string(), z.number(), z.boolean()])).min(1),
  })
  .refine(pathInBody, noPath)
  .transform(({ one_of, ...rest }): PriceSelector => ({ ...rest, oneOf: one_of }));
const when = z.array(selector).default([]);

const callPrices = z
  .array(
    z
      .strictObject({ when, price_micros: micros })
      .transform((row) => ({ when: row.when, priceMicros: row.price_micros })),
  )
  .min(1);
const unitPrices = z
  .array(
    z
      .strictObject({ when, per_million_micros: unitPrice })
      .transform((row) => ({ when: row.when, perMillionMicros: row.per_million_micros })),
  )
  .min(1);
const rates = z.record(meterName, unitPrice);
const above = z
  .strictObject({ units, meters: z.array(meterName).min(1), per_million_micros: rates })
  .transform(
    ({ per_million_micros, ...rest }): UsageTier => ({
      ...rest,
      perMillionMicros: per_million_micros,
    }),
  );
const usagePrices = z
  .array(
    z
      .strictObject({ when, per_million_micros: rates, above: above.optional() })
      .transform((row): UsagePriceRow => {
        const plain = { when: row.when, perMillionMicros: row.per_million_micros };
        return row.above === undefined ? plain : { ...plain, above: row.above };
      }),
  )
  .min(1);

const fixed = z.strictObject({ kind: z.literal('fixed'), units });
const asked = z
  .strictObject({ kind: z.literal('request'), ...requestValue, default: units, max: units })
  .refine(pathInBody, noPath);
const bodyBytes = z
  .strictObject({ kind: z.literal('body_bytes'), bytes_per_unit: z.number().min(0.1) })
  .transform((factor) => ({ kind: factor.kind, bytesPerUnit: factor.bytes_per_unit }));
const count: z.ZodType<ReserveCount> = z.union([fixed, asked]);
const factor: z.ZodType<ReserveFactor> = z.union([fixed, asked, bodyBytes]);

const meter = z
  .strictObject({
    name: meterName,
    paths: z.array(path).min(1),
    keep: z.enum(['last', 'max', 'sum']).default('last'),
    includes: z.array(meterName).default([]),
    required: z.boolean().default(false),
    reserve: z.array(factor).default([]),
  })
  .transform(({ required, ...rest }): Meter => ({ ...rest, isRequired: required }));

const end: z.ZodType<StreamEnd> = z.union([
  z.strictObject({ kind: z.literal('data'), text: z.string().min(1) }),
  z.strictObject({ kind: z.literal('event'), name: z.string().min(1) }),
]);

const quotaPage = z
  .strictObject({
    ...requestValue,
    default: units.nullable().default(null),
    max: units.nullable().default(null),
  })
  .refine(pathInBody, noPath);

const usage = z
  .strictObject({
    kind: z.literal('usage'),
    meters: z.array(meter).min(1),
    prices: usagePrices,
    ends: z.array(end).default([]),
  })
  .refine(({ meters }) => meters.some(({ isRequired }) => isRequired), {
    error: 'needs one that is required',
    path: ['meters'],
  });

/** What an endpoint costs. */
export const costSchema: z.ZodType<Cost> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('free') }),
  z.strictObject({ kind: z.literal('per_call'), prices: callPrices }),
  z.strictObject({ kind: z.literal('per_success'), prices: callPrices }),
  z.strictObject({
    kind: z.literal('per_result'),
    prices: unitPrices,
    results: path,
    reserve: count,
  }),
  z.strictObject({
    kind: z.literal('quota_rows'),
    prices: unitPrices,
    page: quotaPage.nullable().default(null),
    entities: path.nullable().default(null),
    rows: path.nullable().default(null),
  }),
  usage,
]);

const reported = z
  .strictObject({
    in: z.enum(['body', 'header']),
    at: z.string().min(1),
    per_million_micros: z.int().min(1),
    times: z
      .strictObject({ at: path, min: z.number().positive(), max: z.number().positive() })
      .refine(({ min, max }) => min <= max, 'has min above max')
      .nullable()
      .default(null),
  })
  .refine((value) => value.in === 'header' || parsePath(value.at).ok, noPath)
  .transform(({ per_million_micros, ...rest }) => ({
    ...rest,
    perMillionMicros: per_million_micros,
  }));

/** How the real charge is found; all of it may be left out. */
export const settlementSchema = z
  .strictObject({
    basis: z.enum(['response', 'terminal']).default('response'),
    reported: reported.nullable().default(null),
    fallback_micros: micros.nullable().default(null),
    reserve_micros: micros.nullable().default(null),
    failed: z.array(path).default([]),
  })
  .transform(
    (row): Settlement => ({
      basis: row.basis,
      reported: row.reported,
      fallbackMicros: row.fallback_micros,
      reserveMicros: row.reserve_micros,
      ...(row.failed.length === 0 ? {} : { failed: row.failed }),
    }),
  );

const reasons: Readonly<Record<PriceFault['reason'], string>> = {
  path: 'is no JSON path of one value (docs/catalog.md)',
  not_whole: 'must be a whole number above 0',
  amount: 'is no amount that can be booked',
  no_rows: 'needs at least one',
  too_many: 'has too many',
  unreachable_row: 'always holds, so no row below it is ever read',
  meter_name: 'must be lower-case words, each once',
  unknown_meter: 'is no meter here',
  no_reserve: 'need a reserve, or the row a settlement.reserve_micros',
  bounds: 'has bounds that hold nothing',
  header_name: 'is no header name',
};

/** What the pricing rules find wrong, at the fields of the file. */
export function* priceIssues(
  cost: Cost,
  settlement: Settlement,
): Generator<{ readonly path: (string | number)[]; readonly message: string }> {
  for (const { at, reason } of priceFaults(cost, settlement)) {
    const path = at.split('.').map((part) => (/^[0-9]+$/.test(part) ? Number(part) : snake(part)));
    yield { path, message: reasons[reason] };
  }
}

const snake = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The settlement of a row that says nothing. */
export const usualSettlement: Settlement = {
  basis: 'response',
  reported: null,
  fallbackMicros: null,
  reserveMicros: null,
};
