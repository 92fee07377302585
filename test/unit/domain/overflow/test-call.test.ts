/** Test calls: one request, for the vendor with our credential and for an aggregator without it. */
import { describe, expect, it } from 'vitest';
import type { CatalogEndpoint } from '../../../../src/domain/catalog/endpoint';
import type { Provider, ProviderBinding } from '../../../../src/domain/catalog/provider';
import { parseEgressAllow } from '../../../../src/domain/egress/allowance';
import { directRequest, testCall } from '../../../../src/domain/overflow/test-call';
import { endpoint, provider } from '../catalog/rows';

const policy = () => {
  const allow = parseEgressAllow('127.0.0.1:4000');
  if (!allow.ok) throw new Error(allow.error);
  return { allow: allow.value, gatewayHosts: [], httpsOnly: true };
};
const row = (parts: Partial<CatalogEndpoint> = {}): CatalogEndpoint =>
  endpoint({ testRequest: { query: 'q=a%20b', bodyText: null }, ...parts });
const binding = (
  location: ProviderBinding['location'],
  name: string,
  injector: ProviderBinding['injector'] = 'api_key',
): ProviderBinding => ({ location, name, injector, format: null, field: null });

function direct(parts: Partial<CatalogEndpoint>, vendor: Partial<Provider>) {
  const owner = provider(vendor);
  const call = testCall(row(parts), owner, policy());
  if (!call.ok) throw new Error(call.error);
  const request = directRequest(call.value, owner, 'the-key');
  if (!request.ok) return request.error;
  const { url, body, headers, method } = request.value;
  return { url, body, method, headers: Object.fromEntries(headers) };
}

describe('a test call', () => {
  it('has the whole path and both queries, and no credential', () => {
    const vendor = provider({ bindings: [binding('query', 'key')] });
    const parts = { path: '/people/{id}', query: 'v=1' };
    const testRequest = { query: 'id=a%2Fb&q=x', bodyText: null };
    expect(testCall(row({ ...parts, testRequest }), vendor, policy())).toMatchObject({
      ok: true,
      value: { path: '/v1/people/a%2Fb', query: 'v=1&q=x', bodyText: null },
    });
  });

  it.each([
    ['no_test_request', row({ testRequest: null })],
    ['test_request', row({ path: '/people/{id}' })],
    ['base_unapproved', row({ host: 'elsewhere.example' })],
  ])('is none for %s', (error, tested) => {
    expect(testCall(tested, provider(), policy())).toEqual({ ok: false, error });
  });
});

describe('the request to the vendor', () => {
  it('has the credential in a header, and what every call needs', () => {
    expect(
      direct(
        {},
        {
          bindings: [binding('header', 'authorization', 'bearer')],
          requiredHeaders: [['x-version', '3']],
        },
      ),
    ).toEqual({
      url: 'https://api.vendor.example/v1/search?q=a%20b',
      body: null,
      method: 'GET',
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: 'Bearer the-key',
        'x-version': '3',
      },
    });
  });

  it('has it in the query, at the port of its base URL', () => {
    const baseUrls = [{ scheme: 'http', host: '127.0.0.1', port: 4000, basePath: '' }] as const;
    expect(direct({}, { baseUrls, bindings: [binding('query', 'key')] })).toMatchObject({
      url: 'http://127.0.0.1:4000/search?q=a%20b&key=the-key',
    });
  });

  it('has it in the body, beside the other bytes as they are', () => {
    const testRequest = { query: null, bodyText: '{"n":1.0}' };
    expect(
      direct({ method: 'POST', testRequest }, { bindings: [binding('json', 'key')] }),
    ).toMatchObject({
      url: 'https://api.vendor.example/v1/search',
      body: '{"n":1.0,"key":"the-key"}',
      headers: { 'content-type': 'application/json' },
    });
  });

  it('is none where the credential has no place', () => {
    expect(direct({}, { bindings: [binding('json', 'key')] })).toBe('credential');
  });
});
