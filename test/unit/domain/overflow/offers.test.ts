/** Catalogs of aggregators: what is read of them, and which of our rows it is. */
import { describe, expect, it } from 'vitest';
import { overflowOffersMax } from '../../../../src/base/limits-capacity';
import { candidates, type OwnEndpoint, offersIn } from '../../../../src/domain/overflow/offers';
import { endpoint, provider } from '../catalog/rows';

const apiEntry = (parts: object = {}) => ({
  api: 'vendor-there',
  host: 'api.vendor.example',
  method: 'GET',
  path: '/v1/search',
  price_cents: 0.25,
  ...parts,
});
const runEntry = (parts: object = {}) => ({
  provider: 'vendor',
  endpoint: '/v1/search',
  price: { type: 'PER_CALL', amount: { value: 0.0025, currency: 'USD' } },
  ...parts,
});

const offered = (dialect: 'api_path' | 'provider_endpoint', entry: object) =>
  offersIn(dialect, { endpoints: [entry] })?.offers[0] ?? null;

describe('an entry', () => {
  it.each([
    ['its price in cents', apiEntry(), { priceMicros: 2_500, unit: 'call', singleResult: false }],
    ['no price', apiEntry({ price_cents: null }), { priceMicros: null }],
    ['a price that is no amount', apiEntry({ price_cents: '$1' }), { priceMicros: null }],
    [
      'a price per result',
      apiEntry({ unit: 'result', single_result: true }),
      { unit: 'result', singleResult: true },
    ],
  ])('of {api, host, method, path} is read with %s', (_, entry, want) => {
    expect(offered('api_path', entry)).toMatchObject(want);
  });

  it.each([
    ['its price in dollars', runEntry(), { priceMicros: 2_500, unit: 'call' }],
    [
      'a price per result',
      runEntry({ price: { type: 'PER_RESULT', amount: { value: 1, currency: 'USD' } } }),
      { priceMicros: 1_000_000, unit: 'result' },
    ],
    [
      'another currency',
      runEntry({ price: { type: 'PER_CALL', amount: { value: 1, currency: 'EUR' } } }),
      { priceMicros: null },
    ],
    [
      'a flat fee beside it',
      runEntry({
        price: {
          type: 'PER_RESULT',
          amount: { value: 1, currency: 'USD' },
          flatFee: { value: 1, currency: 'USD' },
        },
      }),
      { priceMicros: null },
    ],
    [
      'a metered price',
      runEntry({ price: { type: 'METERED', amount: { value: 1, currency: 'USD' } } }),
      { priceMicros: null },
    ],
    ['no price', runEntry({ price: null }), { priceMicros: null }],
  ])('of {provider, endpoint} is read with %s', (_, entry, want) => {
    expect(offered('provider_endpoint', entry)).toMatchObject(want);
  });

  it.each([
    ['api_path', apiEntry({ host: 7 })],
    ['api_path', apiEntry({ path: '' })],
    ['api_path', apiEntry({ api: 'x'.repeat(1_025) })],
    ['provider_endpoint', runEntry({ provider: null })],
    ['provider_endpoint', null],
  ] as const)('of %s that cannot be read is left out and counted', (dialect, entry) => {
    expect(offersIn(dialect, { endpoints: [entry] })).toEqual({ offers: [], leftOut: 1 });
  });

  it.each([null, [], {}, { endpoints: {} }, 'x'])('in %j is in no catalog', (document) => {
    expect(offersIn('api_path', document)).toBeNull();
  });

  it('beyond the bound is left out and counted', () => {
    const endpoints = Array.from({ length: overflowOffersMax + 2 }, () => apiEntry());
    expect(offersIn('api_path', { endpoints })?.leftOut).toBe(2);
  });
});

const own = (parts: Parameters<typeof endpoint>[0] = {}): OwnEndpoint => ({
  endpoint: endpoint(parts),
  provider: provider(),
});
const orthogonal = { name: 'orthogonal', dialect: 'api_path' } as const;
const monid = { name: 'monid', dialect: 'provider_endpoint' } as const;
const found = (
  aggregator: typeof orthogonal | typeof monid,
  entries: object[],
  rows: OwnEndpoint[],
) =>
  candidates(
    aggregator,
    offersIn(aggregator.dialect, { endpoints: entries })?.offers ?? [],
    rows,
  ).map(({ endpointId, vendor, priceMicros }) => [endpointId, vendor, priceMicros]);

describe('a row', () => {
  const hit = ['vendor.search', 'vendor-there', 2_500];
  it('of that host, method and path is a candidate', () => {
    expect(found(orthogonal, [apiEntry()], [own()])).toEqual([hit]);
    expect(
      found(orthogonal, [apiEntry({ host: 'API.Vendor.Example', method: 'get' })], [own()]),
    ).toEqual([hit]);
  });

  it.each([
    ['host', { host: 'vendor.example' }],
    ['method', { method: 'POST' }],
    ['path', { path: '/search' }],
    ['letter case of the path', { path: '/v1/Search' }],
    ['slash at the end', { path: '/v1/search/' }],
  ])('of another %s is none', (_, parts) => {
    expect(found(orthogonal, [apiEntry(parts)], [own()])).toEqual([]);
  });

  it('that two offers name has the first one', () => {
    const offers = [apiEntry(), apiEntry({ api: 'second', price_cents: 0.01 })];
    expect(found(orthogonal, offers, [own()])).toEqual([hit]);
  });

  it('of that provider and path is a candidate', () => {
    expect(found(monid, [runEntry()], [own()])).toEqual([['vendor.search', 'vendor', 2_500]]);
    expect(found(monid, [runEntry({ provider: 'other' })], [own()])).toEqual([]);
  });

  it('that shares its path with another method is a candidate only where the method is said', () => {
    const rows = [own(), own({ id: 'vendor.post', method: 'POST' })];
    expect(found(monid, [runEntry()], rows)).toEqual([]);
    expect(found(monid, [runEntry({ method: 'POST' })], rows)).toEqual([
      ['vendor.post', 'vendor', 2_500],
    ]);
  });
});
