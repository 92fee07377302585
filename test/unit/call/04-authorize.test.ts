/** 04 authorize: role and lists, deny rules, pure guards, in that order. */
import { describe, expect, it } from 'vitest';
import { jsonBindingBodyBytesMax } from '../../../src/base/limits';
import { err, ok } from '../../../src/base/result';
import { authorize } from '../../../src/call/04-authorize';
import type { ResolvedCall } from '../../../src/call/call';
import type { Refusal } from '../../../src/domain/refusal';
import { binding, denyRule, key, resolved, route, scan, tenant, upstream } from './calls';

const denying = (parts: Parameters<typeof denyRule>[0]) => tenant(ok([]), [denyRule(parts)]);
const json = upstream({ bindings: [binding({ location: 'json', name: 'api_key' })] });
const listed = { route: route({ queryAllowlist: ['a'] }) };

const refused: readonly (readonly [string, Partial<ResolvedCall>, Refusal])[] = [
  ['a viewer', { key: key({ role: 'viewer' }) }, { code: 'authz.forbidden', needs: 'call:invoke' }],
  [
    'a key without call:invoke',
    { key: key({ permissions: ['config:read'] }) },
    { code: 'authz.forbidden', needs: 'call:invoke' },
  ],
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
  ['a query of listed names', { ...listed, query: 'a=1&a=2' }],
  ['no query on a route that allows none', { route: route({ queryAllowlist: [] }) }],
  [
    'the largest body for a binding',
    { upstream: json, method: 'POST', declaredBytes: jsonBindingBodyBytesMax },
  ],
  ['a large body without a binding', { declaredBytes: jsonBindingBodyBytesMax + 1 }],
];

describe('authorize', () => {
  it.each(refused)('refuses %s', (_, parts, refusal) => {
    expect(authorize(resolved(parts))).toEqual(err(refusal));
  });

  it.each(allowed)('allows %s', (_, parts) => {
    const call = resolved(parts);
    expect(authorize(call)).toEqual(ok({ ...call, authorized: true }));
  });

  it('asks the lists before the deny rules: a hidden name shows no rule', () => {
    const call = resolved({ key: key({ upstreamAccess: [] }), tenant: denying({ path: '/' }) });
    expect(authorize(call)).toMatchObject({ error: { code: 'authz.upstream_forbidden' } });
  });
});
