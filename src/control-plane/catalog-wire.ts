/**
 * Catalog rows on the wire: what may be called, how, and what it costs.
 * Promises: everything that a caller needs to make a call that passes its contract. Must never: show the operator's accounts, the
 * settings that hold their credentials, or the bounds that only guard them. Called by `catalog.ts`.
 */
import * as z from 'zod/mini';
import { accessOf, type CatalogEndpoint, type Parameter } from '../domain/catalog/endpoint';
import type { BaseUrl, Provider } from '../domain/catalog/provider';
import { authorityOf } from '../domain/egress/target-url';
import type { Cost, PriceSelector, UsageTier } from '../domain/pricing/price';
import type { CatalogEntry } from '../ports/catalog';
import type { CatalogListing } from '../ports/store';

const costKinds = ['free', 'per_call', 'per_success', 'per_result', 'quota_rows', 'usage'] as const;

/** A row in a list. */
export const catalogRowAnswer = z.object({
  id: z.string(),
  provider: z.string(),
  provider_name: z.string(),
  capability: z.string(),
  summary: z.string(),
  method: z.string(),
  path: z.string(),
  access: z
    .enum(['account', 'anonymous', 'own'])
    .check(z.describe("Beyond your own credential: the operator's account, none needed, or none.")),
  cost: z.enum(costKinds),
  price_note: z.string(),
  status: z.enum(['live', 'retired', 'broken']),
  superseded_by: z.nullable(z.string()),
});

const parameterAnswer = z.object({
  in: z.enum(['path', 'query', 'body']),
  name: z.string(),
  required: z.boolean(),
  type: z.enum(['any', 'boolean', 'object', 'string', 'integer', 'number', 'array']),
  description: z.nullable(z.string()),
  enum: z.nullable(z.array(z.union([z.string(), z.number()]))),
  min: z.nullable(z.number()),
  max: z.nullable(z.number()),
  item_enum: z.nullable(z.array(z.string())),
  item_fields: z.nullable(z.object({ need: z.enum(['all', 'any']), names: z.array(z.string()) })),
});

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const whenAnswer = z.array(
  z.object({ in: z.enum(['query', 'body']), at: z.string(), one_of: z.array(scalar) }),
);
const priceAnswer = z.object({
  when: whenAnswer,
  micros: z.nullable(z.int()).check(z.describe('Micro-USD of a call.')),
  per_million_micros: z
    .nullable(z.record(z.string(), z.int()))
    .check(z.describe('Micro-USD of a million units, by meter.')),
  above: z
    .nullable(
      z.object({
        units: z.int(),
        meters: z.array(z.string()),
        per_million_micros: z.record(z.string(), z.int()),
      }),
    )
    .check(z.describe('All of a call with more than so many units of these meters together.')),
});

/** One row with all that a call needs. */
export const catalogDetailAnswer = z.extend(catalogRowAnswer, {
  note: z.nullable(z.string()),
  base_url: z.nullable(z.string()),
  grant_methods: z.array(z.string()),
  auth: z.array(z.object({ location: z.enum(['header', 'query', 'json']), name: z.string() })),
  required_headers: z.record(z.string(), z.string()),
  parameters: z.array(parameterAnswer),
  strict_query: z.boolean(),
  body_allowlist: z.boolean(),
  on_client_disconnect: z.enum(['drain', 'cancel']),
  prices: z.array(priceAnswer).check(z.describe('The first that matches is the price.')),
  fallback_micros: z.nullable(z.int()),
  reserve_micros: z.nullable(z.int()),
});

/** A row of a list. */
export function rowWire({
  endpoint,
  providerName,
}: CatalogListing): z.output<typeof catalogRowAnswer> {
  const { id, provider, capability, summary, method, path, cost, tombstone } = endpoint;
  return {
    id,
    provider,
    provider_name: providerName,
    capability,
    summary,
    method,
    path,
    access: accessOf(endpoint),
    cost: cost.kind,
    price_note: endpoint.priceNote,
    status: tombstone?.status ?? 'live',
    superseded_by: tombstone?.supersededBy ?? null,
  };
}

/** One row whole. */
export function detailWire({
  endpoint,
  provider,
}: CatalogEntry): z.output<typeof catalogDetailAnswer> {
  const { settlement, grantMethod } = endpoint;
  return {
    ...rowWire({ id: endpoint.id, endpoint, providerName: provider.name }),
    note: endpoint.tombstone?.note ?? null,
    base_url: baseUrlOf(endpoint, provider),
    grant_methods: grantMethod === null ? [...provider.grantMethods] : [grantMethod],
    auth: provider.bindings.map(({ location, name }) => ({ location, name })),
    required_headers: Object.fromEntries(provider.requiredHeaders),
    parameters: endpoint.parameters.map(parameterWire),
    strict_query: endpoint.strictQuery,
    body_allowlist: endpoint.bodyAllowlist,
    on_client_disconnect: endpoint.onClientDisconnect,
    prices: pricesWire(endpoint.cost),
    fallback_micros: settlement.fallbackMicros,
    reserve_micros: settlement.reserveMicros,
  };
}

function baseUrlOf({ host }: CatalogEndpoint, provider: Provider): string | null {
  const base = provider.baseUrls.find((each) => host === null || each.host === host);
  return base === undefined ? null : baseUrlText(base);
}

const baseUrlText = ({ scheme, host, port, basePath }: BaseUrl): string =>
  `${scheme}://${authorityOf(scheme, host, port)}${basePath}`;

function parameterWire(parameter: Parameter): z.output<typeof parameterAnswer> {
  const { in: place, name, required, description, rule } = parameter;
  const open = { enum: null, min: null, max: null, item_enum: null, item_fields: null };
  const head = { in: place, name, required, description, type: rule.type, ...open };
  switch (rule.type) {
    case 'string':
      return { ...head, enum: copied(rule.enum), max: rule.charsMax };
    case 'integer':
    case 'number':
      return { ...head, enum: copied(rule.enum), min: rule.min, max: rule.max };
    case 'array': {
      const { itemsMin, itemsMax, itemEnum, itemFields } = rule;
      const fields =
        itemFields === null ? null : { need: itemFields.need, names: [...itemFields.names] };
      const items = { item_enum: copied(itemEnum), item_fields: fields };
      return { ...head, min: itemsMin, max: itemsMax, ...items };
    }
    default:
      return head;
  }
}

const copied = <T>(list: readonly T[] | null): T[] | null => (list === null ? null : [...list]);

function pricesWire(cost: Cost): z.output<typeof priceAnswer>[] {
  switch (cost.kind) {
    case 'free':
      return [];
    case 'per_call':
    case 'per_success':
      return cost.prices.map(({ when, priceMicros }) => ({
        when: when.map(selectorWire),
        micros: priceMicros,
        per_million_micros: null,
        above: null,
      }));
    case 'per_result':
    case 'quota_rows':
      return cost.prices.map(({ when, perMillionMicros }) => ({
        when: when.map(selectorWire),
        micros: null,
        per_million_micros: { [cost.kind === 'per_result' ? 'results' : 'rows']: perMillionMicros },
        above: null,
      }));
    case 'usage':
      return cost.prices.map(({ when, perMillionMicros, above }) => ({
        when: when.map(selectorWire),
        micros: null,
        per_million_micros: { ...perMillionMicros },
        above: above === undefined ? null : tierWire(above),
      }));
  }
}

const tierWire = ({ units, meters, perMillionMicros }: UsageTier) => ({
  units,
  meters: [...meters],
  per_million_micros: { ...perMillionMicros },
});

const selectorWire = ({ in: place, at, oneOf }: PriceSelector) => ({
  in: place,
  at,
  one_of: [...oneOf],
});
