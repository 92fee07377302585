/**
 * Price: what a catalog endpoint costs and how its real charge is read, as data of a catalog row.
 * Promises: plain JSON; amounts are integers of micro-USD, prices of one unit (a token, a row) are
 * integers of micro-USD per MILLION units, so that sums are exact and are rounded up once, at the
 * end. Must never: hold a rule; those are in `estimate.ts`, `charge.ts` and `sse-usage-tap.ts`.
 * Paths are those of `base/json-path.ts`. Read by the catalog schema and stages 03, 06, 08, 09.
 */

/** Where one value of the caller's request is: a query name, or a path into its JSON body. */
export interface RequestValue {
  readonly in: 'query' | 'body';
  readonly at: string;
}

/** A condition of a price row: the request's value is one of these. Texts and numbers compare as texts. */
export interface PriceSelector extends RequestValue {
  readonly oneOf: readonly (string | number | boolean)[];
}

/** An amount for a whole call. All of `when` must hold; an empty one always holds. */
export interface CallPriceRow {
  readonly when: readonly PriceSelector[];
  readonly priceMicros: number;
}

/** A price of one unit: 2_500_000 is $2.50 for a million tokens, 1_000_000_000 is $0.001 a row. */
export interface UnitPriceRow {
  readonly when: readonly PriceSelector[];
  readonly perMillionMicros: number;
}

/** Prices of the meters of a usage cost, by meter name; a meter that is not named costs nothing. */
export interface UsagePriceRow {
  readonly when: readonly PriceSelector[];
  readonly perMillionMicros: Readonly<Record<string, number>>;
  /** Absent: the same at every size. */
  readonly above?: UsageTier;
}

/** Prices of a large call: all of it, when these meters together have more than so many units (long prompts). */
export interface UsageTier {
  readonly units: number;
  readonly meters: readonly string[];
  readonly perMillionMicros: Readonly<Record<string, number>>;
}

/** A number that the caller's request declares; without it `default`; never more than `max`. */
export interface RequestUnits extends RequestValue {
  readonly default: number;
  readonly max: number;
}

/**
 * One factor of what a meter or the number of results may reach. `fixed`: always so many. `request`: what the caller asks
 * for (`max_tokens`, `n`). `body_bytes`: the request body's bytes divided (about 3 a token).
 */
export type ReserveFactor =
  | { readonly kind: 'fixed'; readonly units: number }
  | ({ readonly kind: 'request' } & RequestUnits)
  | { readonly kind: 'body_bytes'; readonly bytesPerUnit: number };

/** How many results a call may ask for: known before the send, whatever the body's size. */
export type ReserveCount = Exclude<ReserveFactor, { readonly kind: 'body_bytes' }>;

/** One number of an answer that costs money. */
export interface Meter {
  /** Key into {@link UsagePriceRow.perMillionMicros}. */
  readonly name: string;
  /** The first that holds a number is read, in a JSON answer and in each event of a stream. */
  readonly paths: readonly string[];
  /** What several events of one stream mean: a running total (`last`, `max`), or parts (`sum`). */
  readonly keep: 'last' | 'max' | 'sum';
  /** Meters that this one counts too (cached input within input): they are taken out of it. */
  readonly includes: readonly string[];
  /** An answer without it has no usage: the fallback is charged. */
  readonly isRequired: boolean;
  /** Product of what is reserved for it; empty: nothing. */
  readonly reserve: readonly ReserveFactor[];
}

/** What ends a stream in good order: the data of an event (`[DONE]`) or its name (`message_stop`). */
export type StreamEnd =
  | { readonly kind: 'data'; readonly text: string }
  | { readonly kind: 'event'; readonly name: string };

/**
 * What an endpoint costs. Tables are read from the top, the first row that matches is the price; no
 * match is an unknown price, never a zero. `results` is a path into the answer, a number or `[*]`.
 */
export type Cost =
  | { readonly kind: 'free' }
  /** Any 2xx; a 4xx only where the vendor reports a charge for it. */
  | { readonly kind: 'per_call'; readonly prices: readonly CallPriceRow[] }
  /** A 2xx with content; 204 is free. */
  | { readonly kind: 'per_success'; readonly prices: readonly CallPriceRow[] }
  /** Each result of the answer; `reserve` is how many a call may ask for. */
  | {
      readonly kind: 'per_result';
      readonly prices: readonly UnitPriceRow[];
      readonly results: string;
      readonly reserve: ReserveCount;
    }
  /** Rows of a plan: page size times entities asked for. `rows`: where the answer counts them. */
  | {
      readonly kind: 'quota_rows';
      readonly prices: readonly UnitPriceRow[];
      readonly page: QuotaPage | null;
      /** Array of the request body; each entry is asked for with a page of its own. */
      readonly entities: string | null;
      readonly rows: string | null;
    }
  | {
      readonly kind: 'usage';
      readonly meters: readonly Meter[];
      readonly prices: readonly UsagePriceRow[];
      readonly ends: readonly StreamEnd[];
    };

/** The page size of a quota row; `null`: 20 by default, at most 100 (digest A9). */
export interface QuotaPage extends RequestValue {
  readonly default: number | null;
  readonly max: number | null;
}

/** Where the vendor says what it charged. */
export interface ReportedCharge {
  /** `body`: a path into the answer's JSON; `header`: a header name. */
  readonly in: 'body' | 'header';
  readonly at: string;
  /** Micro-USD for a million reported units; of a report in dollars 1e12. */
  readonly perMillionMicros: number;
  /** Another number of the answer that multiplies it; outside its bounds the report is malformed. */
  readonly times: { readonly at: string; readonly min: number; readonly max: number } | null;
}

/** How the real charge of a call is found. Amounts in micro-USD. */
export interface Settlement {
  /** `response`: with the answer; `terminal`: when an asynchronous task has ended. */
  readonly basis: 'response' | 'terminal';
  /** Overrides every table when it is there, zero included. */
  readonly reported: ReportedCharge | null;
  /** Charged when the answer does not say what it should; `null`: what was held. */
  readonly fallbackMicros: number | null;
  /** Held instead of an estimate; `null`: the estimate. */
  readonly reserveMicros: number | null;
  /**
   * Paths at which a 2xx, or an event of its stream, says that the vendor failed: anything but null is there. What it has not metered
   * or reported costs nothing then. Absent: nowhere.
   */
  readonly failed?: readonly string[];
}
