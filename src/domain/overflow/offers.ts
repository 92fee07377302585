/**
 * Offers: an aggregator's catalog, read from its JSON, and which of our endpoints its operations are.
 * Promises: a match is exact: host, method and path (`api_path`), or provider, path and, where it is said, method (`provider_endpoint`); what
 * is ambiguous matches nothing; an entry that cannot be read is counted and left out. Must never: guess a price. Pure.
 * Called by `jobs/overflow-sync.ts`; the document's shape is in docs/operations.md.
 */
import { assertNever } from '../../base/assert';
import { memberOf } from '../../base/json-path';
import { overflowOffersMax } from '../../base/limits-capacity';
import type { CatalogEndpoint } from '../catalog/endpoint';
import type { Provider } from '../catalog/provider';
import { ceilMicros, decimalOf } from '../pricing/decimal';
import type { Aggregator, EnvelopeDialect } from './aggregators';
import type { AggregatorUnit, RouteCandidate } from './routes';

/** One operation that an aggregator offers. */
export interface Offer {
  readonly vendor: string;
  readonly operation: string;
  /** What our catalog is asked with. `method` null: the aggregator does not say. */
  readonly match: { readonly key: string; readonly method: string | null };
  readonly priceMicros: number | null;
  readonly unit: AggregatorUnit;
  readonly singleResult: boolean;
}

/** What a catalog document holds; null: it is none. */
export interface Offers {
  readonly offers: readonly Offer[];
  /** Entries that could not be read, and those beyond the bound. */
  readonly leftOut: number;
}

/** Reads `{endpoints: […]}`. */
export function offersIn(dialect: EnvelopeDialect, document: unknown): Offers | null {
  const list = memberOf(document, 'endpoints');
  if (!Array.isArray(list)) return null;
  const offers: Offer[] = [];
  for (const entry of list.slice(0, overflowOffersMax)) {
    const offer = offerOf(dialect, entry);
    if (offer !== null) offers.push(offer);
  }
  return { offers, leftOut: list.length - offers.length };
}

function offerOf(dialect: EnvelopeDialect, entry: unknown): Offer | null {
  switch (dialect) {
    case 'api_path':
      return apiPathOffer(entry);
    case 'provider_endpoint':
      return endpointOffer(entry);
    default:
      return assertNever(dialect);
  }
}

/** `{api, host, method, path, price_cents, unit, single_result}` */
function apiPathOffer(entry: unknown): Offer | null {
  const [vendor, host, method, operation] = ['api', 'host', 'method', 'path'].map((name) =>
    textOf(entry, name),
  );
  if (vendor == null || host == null || method == null || operation == null) return null;
  return {
    vendor,
    operation,
    match: { key: `${host.toLowerCase()} ${operation}`, method: method.toUpperCase() },
    priceMicros: microsOf(memberOf(entry, 'price_cents'), 10_000),
    unit: memberOf(entry, 'unit') === 'result' ? 'result' : 'call',
    singleResult: memberOf(entry, 'single_result') === true,
  };
}

/** `{provider, endpoint, method?, price: {type, amount: {value, currency}, flatFee?}, single_result}` */
function endpointOffer(entry: unknown): Offer | null {
  const [vendor, operation] = ['provider', 'endpoint'].map((name) => textOf(entry, name));
  if (vendor == null || operation == null) return null;
  const price = memberOf(entry, 'price');
  const type = memberOf(price, 'type');
  const amount = memberOf(price, 'amount');
  const isPlain =
    (type === 'PER_CALL' || type === 'PER_RESULT') &&
    memberOf(price, 'flatFee') === undefined &&
    memberOf(amount, 'currency') === 'USD';
  return {
    vendor,
    operation,
    match: {
      key: `${vendor} ${operation}`,
      method: textOf(entry, 'method')?.toUpperCase() ?? null,
    },
    priceMicros: isPlain ? microsOf(memberOf(amount, 'value'), 1_000_000) : null,
    unit: type === 'PER_RESULT' ? 'result' : 'call',
    singleResult: memberOf(entry, 'single_result') === true,
  };
}

/** One of our rows, with the provider that it belongs to. */
export interface OwnEndpoint {
  readonly endpoint: Pick<CatalogEndpoint, 'id' | 'host' | 'method' | 'path'>;
  readonly provider: Pick<Provider, 'slug' | 'baseUrls'>;
}

/** Those of our rows that `offers` name, one candidate each: of two offers for one row the first counts. */
export function candidates(
  aggregator: Pick<Aggregator, 'name' | 'dialect'>,
  offers: readonly Offer[],
  own: readonly OwnEndpoint[],
): readonly RouteCandidate[] {
  const rows = new Map<string, OwnEndpoint[]>();
  for (const each of own) {
    const key = ownKey(aggregator.dialect, each);
    if (key !== null) rows.set(key, [...(rows.get(key) ?? []), each]);
  }
  const found = new Map<string, RouteCandidate>();
  for (const offer of offers) {
    const at = (rows.get(offer.match.key) ?? []).filter(
      ({ endpoint }) => offer.match.method === null || endpoint.method === offer.match.method,
    );
    const [row] = at;
    if (row === undefined || at.length > 1 || found.has(row.endpoint.id)) continue;
    const { vendor, operation, priceMicros, unit, singleResult } = offer;
    found.set(row.endpoint.id, {
      endpointId: row.endpoint.id,
      aggregator: aggregator.name,
      ...{ vendor, operation, priceMicros, unit, singleResult },
    });
  }
  return [...found.values()];
}

function ownKey(dialect: EnvelopeDialect, { endpoint, provider }: OwnEndpoint): string | null {
  const base = provider.baseUrls.find(
    ({ host }) => endpoint.host === null || endpoint.host === host,
  );
  if (base === undefined) return null;
  const where = dialect === 'api_path' ? base.host : provider.slug;
  return `${where} ${base.basePath}${endpoint.path}`;
}

const microsOf = (value: unknown, unitMicros: number): number | null => {
  const units = decimalOf(value);
  return units === null ? null : ceilMicros([{ units, perMillionMicros: unitMicros * 1_000_000 }]);
};

/** A text of a length that a column may have. */
function textOf(value: unknown, name: string): string | null {
  const text = memberOf(value, name);
  return typeof text === 'string' && text.length > 0 && text.length <= 1_024 ? text : null;
}
