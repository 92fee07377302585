/** 04 authorize: role and lists, deny rules, pure guards, in that order. */
import { describe, expect, it } from 'vitest';
import { jsonBindingBodyBytesMax } from '../../../src/base/limits';
import { capacityRequestCharsMax, overflowBodyBytesMax } from '../../../src/base/limits-capacity';
import { keyedBodyBytesMax, meteredBodyBytesMax } from '../../../src/base/limits-money';
import { err, ok } from '../../../src/base/result';
import { authorize } from '../../../src/call/04-authorize';
import type { CatalogCall, ResolvedCall, Tier } from '../../../src/call/call';
import { EncodedBody } from '../../../src/call/encoded-body';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import type { Provider } from '../../../src/domain/catalog/provider';
import { callMethods } from '../../../src/domain/catalog/upstream';
import type { Refusal } from '../../../src/domain/refusal';
import { parameter } from '../domain/catalog/rows';
import { chatCost, perCall } from '../domain/pricing/prices';
import {
  authorized,
  binding,
  brokenBody,
  catalogCall,
  denyRule,
  entryOf,
  key,
  resolved,
  route,
  scan,
  taken,
  tenant,
  upstream,
} from './calls';

const denying = (parts: Parameters<typeof denyRule>[0]) => tenant(ok([]), [denyRule(parts)]);
const json = upstream({ bindings: [binding({ location: 'json', name: 'api_key' })] });
const listed = { route: route({ queryAllowlist: ['a'] }) };

const refused: readonly (readonly [string, Partial<ResolvedCall>, Refusal])[] = [
  [
    'a name outside the key’s list, naming what the caller wrote',
    { key: key({ upstreamAccess: ['ups_2'] }) },
    { code: 'authz.upstream_forbidden', named: 'api' },
  ],
  [
    'an upstream outside the key’s projects',
    { key: key({ projectAccess: ['prj_1'] }), target: { kind: 'alias', alias: 'api.t' } },
    { code: 'authz.upstream_forbidden', named: 'api.t' },
  ],
  ['a denied path', { tenant: denying({ path: '/v1' }) }, { code: 'authz.denied', rule: 'den_1' }],
  [
    'a denied path in another spelling',
    { tenant: denying({ path: '/v1/x' }), sentPath: '/v1//%78' },
    { code: 'authz.denied', rule: 'den_1' },
  ],
  ...['/v1/x;a=1', '/v1;a/x/y', '/v1/;a/x', '/v1/%78%3ba'].map(
    (sentPath) =>
      [
        `a denied path with parameters, ${sentPath}`,
        { tenant: denying({ path: '/v1/x' }), sentPath },
        { code: 'authz.denied', rule: 'den_1' },
      ] as const,
  ),
  [
    'a denied path whose rule has parameters',
    { tenant: denying({ path: '/v1/x;a' }), sentPath: '/v1/x;a/y' },
    { code: 'authz.denied', rule: 'den_1' },
  ],
  [
    'a deny rule, for an owner too',
    { key: key({ role: 'owner' }), tenant: denying({ host: 'api.t' }) },
    { code: 'authz.denied', rule: 'den_1' },
  ],
  [
    'a denied principal',
    { tenant: denying({ principalId: 'prn_1' }) },
    { code: 'authz.denied', rule: 'den_1' },
  ],
  [
    'a query name off the list',
    { ...listed, query: 'a=1&b=2' },
    { code: 'guard.query_not_allowed', names: ['b'] },
  ],
  [
    'a query name off the list, percent-encoded',
    { ...listed, query: '%62=2' },
    { code: 'guard.query_not_allowed', names: ['b'] },
  ],
  [
    'a GET of an upstream that takes its credential in the body',
    { upstream: json },
    { code: 'binding.body_invalid', reason: 'method' },
  ],
  [
    'a HEAD of one that takes one of its credentials there',
    { upstream: { ...json, bindings: [binding(), ...json.bindings] }, method: 'HEAD' },
    { code: 'binding.body_invalid', reason: 'method' },
  ],
  [
    'a TRACE of an upstream with a credential',
    { method: 'TRACE', upstream: upstream({ bindings: [binding({ location: 'query' })] }) },
    { code: 'request.method_not_allowed', allowed: callMethods },
  ],
  [
    'a coded body that a binding has to read',
    { upstream: json, method: 'POST', headers: scan({ contentEncoding: true }) },
    { code: 'binding.body_invalid', reason: 'encoded' },
  ],
  [
    'a body that is too large for a binding',
    { upstream: json, method: 'POST', declaredBytes: jsonBindingBodyBytesMax + 1 },
    { code: 'payload.too_large', bytesMax: jsonBindingBodyBytesMax, what: 'json_binding_body' },
  ],
];

const allowed: readonly (readonly [string, Partial<ResolvedCall>])[] = [
  ['a member without lists', {}],
  ['an owner, whatever its lists', { key: key({ role: 'owner', upstreamAccess: [] }) }],
  ['a key whose list has the upstream', { key: key({ upstreamAccess: ['ups_1'] }) }],
  ['a deny rule for another host', { tenant: denying({ host: 'b.t' }) }],
  ['a deny rule for another method', { tenant: denying({ host: 'api.t', method: 'POST' }) }],
  ['a deny rule at no segment boundary', { tenant: denying({ path: '/v' }) }],
  [
    'a deny rule for other parameters',
    { tenant: denying({ path: '/v1/x;a' }), sentPath: '/v1/x;b' },
  ],
  ['a TRACE where nothing is injected', { method: 'TRACE' }],
  [
    'a TRACE of an upstream with a constant',
    {
      method: 'TRACE',
      upstream: upstream({ bindings: [binding({ source: { kind: 'constant' } })] }),
    },
  ],
  ['a query of listed names', { ...listed, query: 'a=1&a=2' }],
  ['no query on a route that allows none', { route: route({ queryAllowlist: [] }) }],
  [
    'the largest body for a binding',
    { upstream: json, method: 'POST', declaredBytes: jsonBindingBodyBytesMax },
  ],
  ['a GET of an upstream with a credential', { upstream: upstream({ bindings: [binding()] }) }],
  ['a large body without a binding', { declaredBytes: jsonBindingBodyBytesMax + 1 }],
];

describe('authorize', () => {
  it.each(refused)('refuses %s', (_, parts, refusal) => {
    expect(authorize(resolved(parts))).toEqual(err(refusal));
  });

  it.each(allowed)('allows %s', (_, parts) => {
    const call = resolved(parts);
    expect(authorize(call)).toEqual(ok(authorized(call)));
  });

  it('asks the lists before the deny rules: a hidden name shows no rule', () => {
    const call = resolved({ key: key({ upstreamAccess: [] }), tenant: denying({ path: '/' }) });
    expect(authorize(call)).toMatchObject({ error: { code: 'authz.upstream_forbidden' } });
  });
});

// ── calls of catalog rows ──

/** A call of a row; its body, if there is one, is sent as it is. */
function ofRow(
  row: Partial<CatalogEndpoint>,
  {
    tier = 4,
    body,
    query = null,
    vendor = {},
    ...parts
  }: Omit<Partial<ResolvedCall>, 'catalog'> & {
    readonly tier?: Tier;
    readonly body?: BodyInit;
    readonly vendor?: Partial<Provider>;
  } = {},
): ResolvedCall {
  const init = body === undefined ? {} : { method: 'POST', body };
  const request = new Request('https://gw.test/call/vendor.search', init);
  const entry = entryOf({ method: request.method, ...row }, vendor);
  const catalog = catalogCall({}, { entry, tier, callersQuery: query });
  return resolved({ ...taken({ request }), query, catalog, ...parts });
}

const ruleOf = (fault: unknown): Refusal =>
  ({ code: 'catalog.parameter_invalid', fault }) as Refusal;
const everyTier = [1, 2, 3, 4] as const;
const keyed = { headers: scan({ idempotencyKey: 'k1' }) };
const strict = { strictQuery: true, parameters: [parameter('query', 'q', { required: true })] };
const listedBody = { bodyAllowlist: true, parameters: [parameter('body', 'q')] };
const bounded = {
  platformRequest: [{ kind: 'count', in: 'query', at: ['n'], min: 1, max: 5 } as const],
};
const boundedBody = {
  platformRequest: [{ kind: 'count', in: 'body', at: ['n'], min: 1, max: 5 } as const],
};

describe('the contract of a row', () => {
  it.each(everyTier)('is held against tier %i', async (tier) => {
    const missing = ruleOf({ kind: 'missing', in: 'query', names: ['q'] });
    expect(await authorize(ofRow(strict, { tier }))).toEqual(err(missing));
    const undeclared = ruleOf({ kind: 'undeclared', in: 'body', names: ['x'] });
    const body = '{"x":1}';
    expect(await authorize(ofRow(listedBody, { tier, body }))).toEqual(err(undeclared));
    expect((await authorize(ofRow(strict, { tier, query: 'q=1' }))).ok).toBe(true);
  });

  it('sees the query that the caller sent, placeholders included', async () => {
    const row = { strictQuery: true, parameters: [parameter('path', 'user')] };
    const catalog = catalogCall(row, { callersQuery: 'user=a' });
    expect((await authorize(resolved({ catalog, query: null }))).ok).toBe(true);
  });

  const fixed = { query: 'depth=basic&f=a&f=b' };
  const exactly = (name: string, value: string) =>
    ruleOf({ kind: 'value', in: 'query', name, expected: { type: 'exactly', value } });
  const twice = (name: string) => ruleOf({ kind: 'repeated', in: 'query', names: [name] });

  it.each<[string, Refusal | null]>([
    ['q=1', null],
    ['depth=basic&q=1', null],
    ['%64epth=basic', null],
    ['f=b', null],
    ['depth=deep', exactly('depth', 'basic')],
    ['d%65pth=deep', exactly('depth', 'basic')],
    ['f=c', exactly('f', 'a')],
    ['Depth=deep', twice('depth')],
    ['depth=basic&depth=deep', twice('depth')],
    ['q=1;depth=deep', twice('depth')],
  ])(
    'the row’s own query is fixed on the platform account: a vendor may read the other pair: %s',
    async (query, refusal) => {
      const result = await authorize(ofRow(fixed, { tier: 4, query }));
      expect(result).toEqual(
        refusal === null ? expect.objectContaining({ ok: true }) : err(refusal),
      );
      for (const tier of [1, 2, 3] as const)
        expect((await authorize(ofRow(fixed, { tier, query }))).ok).toBe(true);
    },
  );

  it.each(everyTier)('a platform bound holds on tier 4 only: tier %i', async (tier) => {
    const result = await authorize(ofRow(bounded, { tier, query: 'n=6' }));
    expect(result).toMatchObject(
      tier === 4 ? { error: { code: 'catalog.parameter_invalid' } } : { ok: true },
    );
  });

  it.each([
    ['repeats a member', '{"n":1,"n":9}', 'duplicate_key'],
    ['is no JSON', 'n=1', 'syntax'],
  ])('refuses a judged body that %s', async (_, body, reason) => {
    const fault = ruleOf({ kind: 'body_unreadable', reason });
    expect(await authorize(ofRow(boundedBody, { body }))).toEqual(err(fault));
  });

  it('refuses a judged body that is coded', async () => {
    const call = ofRow(boundedBody, { body: '{"n":1}', headers: scan({ contentEncoding: true }) });
    const fault = ruleOf({ kind: 'body_unreadable', reason: 'opaque' });
    expect(await authorize(call)).toEqual(err(fault));
  });
});

describe('the body of a call of a row', () => {
  const body = '{"model": "small"}';

  it.each<[string, ResolvedCall]>([
    ['that nobody asks for', ofRow({ cost: perCall(70) }, { body })],
    ['of tier 2, whatever its price asks for', ofRow({ cost: chatCost }, { body, tier: 2 })],
    ['of tier 2 with a key', ofRow({ cost: perCall(70) }, { body, tier: 2, ...keyed })],
    ['of a bound on the query', ofRow(bounded, { body, query: 'n=1' })],
  ])('%s is not read', async (_, call) => {
    const result = await authorize(call);
    expect(result).toMatchObject({ ok: true, value: { sentBytes: null } });
    expect(call.request.bodyUsed).toBe(false);
  });

  it.each<[string, ResolvedCall]>([
    ['its price', ofRow({ cost: chatCost }, { body })],
    ['its key', ofRow({ cost: perCall(70) }, { body, ...keyed })],
    ['its list', ofRow({ ...listedBody, parameters: [parameter('body', 'model')] }, { body })],
  ])('is read once for %s, and what it says is kept', async (_, call) => {
    const result = await authorize(call);
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    expect(new TextDecoder().decode(result.value.sentBytes ?? undefined)).toBe(body);
    expect(result.value.json).toEqual({ model: 'small' });
  });

  it.each([
    ['no JSON', 'n=1', scan({ idempotencyKey: 'k1' })],
    ['coded', '{"model":"small"}', scan({ idempotencyKey: 'k1', contentEncoding: true })],
  ])('that is %s passes a key: nobody reads it', async (_, text, headers) => {
    const result = await authorize(ofRow({ cost: perCall(70) }, { body: text, headers }));
    expect(result).toMatchObject({ ok: true, value: { json: undefined } });
    expect(result.ok && new TextDecoder().decode(result.value.sentBytes ?? undefined)).toBe(text);
  });

  it('that came encoded is read as what it is, and refused when it is not that', async () => {
    const encoded = (text: string): ResolvedCall => {
      const coded = new Blob([text]).stream();
      return {
        ...ofRow({ cost: chatCost }, { body }),
        encoded: new EncodedBody(coded, ['base64']),
      };
    };
    const result = await authorize(encoded(btoa(body)));
    expect(result.ok && new TextDecoder().decode(result.value.sentBytes ?? undefined)).toBe(body);
    const refusal = { code: 'request.body_encoding_invalid', reason: 'base64' } as const;
    expect(await authorize(encoded(body))).toEqual(err(refusal));
  });

  const kept = (call: ResolvedCall, more: Partial<CatalogCall>, declaredBytes: number | null) => {
    const { catalog } = call;
    return { ...call, declaredBytes, catalog: catalog === null ? null : { ...catalog, ...more } };
  };
  const lusha = { entry: entryOf({ cost: perCall(70) }, { slug: 'lusha' }) };

  it.each([
    ['C074: of a vendor that says in words that we are out', lusha, capacityRequestCharsMax, true],
    ['of such a vendor, and larger', lusha, capacityRequestCharsMax + 1, false],
    ['of such a vendor, and chunked', lusha, null, false],
    ['that an aggregator could need', { hasRoute: true }, overflowBodyBytesMax, true],
    ['that no envelope carries', { hasRoute: true }, overflowBodyBytesMax + 1, false],
    ['of such a vendor on the caller’s own credential', { ...lusha, tier: 2 as const }, 19, false],
  ])('%s is kept beside the send: %o', async (_, more, declaredBytes, isKept) => {
    const call = kept(ofRow({ cost: perCall(70) }, { body }), more, declaredBytes);
    const result = await authorize(call);
    expect(result.ok && result.value.sentBytes !== null).toBe(isKept);
    expect(call.request.bodyUsed).toBe(isKept);
  });

  it('that a price or a key needs cannot be that of a GET', async () => {
    const request = new Request('https://gw.test/call/vendor.search', { method: 'POST', body });
    const call = ofRow({ cost: chatCost }, { request, method: 'GET' });
    expect(await authorize(call)).toEqual(err(ruleOf({ kind: 'body_not_allowed' })));
  });

  const bounds = [
    ['keyed_body', keyedBodyBytesMax, { cost: perCall(70) }, keyed],
    ['metered_body', meteredBodyBytesMax, { cost: chatCost }, {}],
  ] as const;

  it.each(bounds)('%s of %i bytes passes', async (_, bytesMax, row, parts) => {
    const text = `{"model":"small","pad":"${'x'.repeat(bytesMax - 26)}"}`;
    const call = ofRow(row, { body: text, ...parts });
    const result = await authorize({ ...call, declaredBytes: bytesMax });
    expect(result.ok && result.value.sentBytes?.byteLength).toBe(bytesMax);
  });

  it.each(bounds)('%s of one byte more than %i is refused', async (what, bytesMax, row, parts) => {
    const refusal = err({ code: 'payload.too_large', bytesMax, what });
    const declared = ofRow(row, { body: 'x', ...parts, declaredBytes: bytesMax + 1 });
    expect(await authorize(declared)).toEqual(refusal);
    expect(declared.request.bodyUsed).toBe(false);
    const counted = ofRow(row, { body: new Uint8Array(bytesMax + 1), ...parts });
    expect(await authorize(counted)).toEqual(refusal);
  });

  it('that breaks is the caller’s fault', async () => {
    const call = ofRow({ cost: chatCost }, { body: brokenBody('{"mo') });
    expect(await authorize(call)).toEqual(err({ code: 'request.body_incomplete' }));
  });
});

describe('a WebSocket', () => {
  it.each(everyTier)('on tier %i', async (tier) => {
    const call = ofRow({}, { tier, headers: scan({ upgrade: true }) });
    const refusal = err({ code: 'catalog.websocket_not_metered' });
    expect(await authorize(call)).toEqual(
      tier === 4 ? refusal : expect.objectContaining({ ok: true }),
    );
  });
});

describe('a deny rule', () => {
  const legacy = {
    scheme: 'https',
    host: 'old.vendor.example',
    port: 443,
    basePath: '/api',
  } as const;
  const older = { ...legacy, host: 'older.vendor.example', basePath: '' };
  const vendor = { legacyBaseUrls: [legacy, older] };
  const standIn = upstream({ basePath: '/v1' });

  it.each<[string, Parameters<typeof denyRule>[0], boolean]>([
    [
      'for the place that the provider had before',
      { host: legacy.host, path: '/api/search' },
      true,
    ],
    ['for the one before that', { host: older.host, path: '/search' }, true],
    ['for another path there', { host: legacy.host, path: '/v1/search' }, false],
    ['for another principal there', { host: legacy.host, principalId: 'prn_2' }, false],
  ])('%s: %j refuses: %s', async (_, rule, isDenied) => {
    const parts = { vendor, upstream: standIn, sentPath: '/v1/search', tenant: denying(rule) };
    const refusal = err({ code: 'authz.denied', rule: 'den_1' });
    const result = await authorize(ofRow({}, parts));
    expect(result).toEqual(isDenied ? refusal : expect.objectContaining({ ok: true }));
  });

  it('binds an own upstream that begins above the provider’s base path', async () => {
    const own = upstream({ basePath: '' });
    const tenant = denying({ host: legacy.host, path: '/api/search' });
    const call = ofRow({}, { vendor, upstream: own, sentPath: '/v1/search', tenant, tier: 1 });
    expect(await authorize(call)).toEqual(err({ code: 'authz.denied', rule: 'den_1' }));
  });

  it('is asked before the contract: no body is read for it', async () => {
    const call = ofRow(listedBody, { body: '{"x":1}', tenant: denying({ path: '/' }) });
    expect(await authorize(call)).toMatchObject({ error: { code: 'authz.denied' } });
    expect(call.request.bodyUsed).toBe(false);
  });
});
