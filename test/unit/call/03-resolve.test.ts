/**
 * 03 resolve: which upstream, endpoint, route and path a call gets; whom a name does not exist for.
 */
import { describe, expect, it } from 'vitest';
import { ok } from '../../../src/base/result';
import { resolve } from '../../../src/call/03-resolve';
import type { IdentifiedCall } from '../../../src/call/call';
import type { Upstream } from '../../../src/domain/catalog/upstream';
import type { TargetUrl } from '../../../src/domain/egress/target-url';
import type { Refusal } from '../../../src/domain/refusal';
import {
  backgroundOf,
  downTenant,
  identified,
  key,
  route,
  scan,
  tenant,
  unavailable,
  upstream,
} from './calls';
import { catalogPorts } from './catalog-ports';

/** No name here is a catalog id: the catalog must not be asked. */
const noCatalog = catalogPorts(null).ports;

const url: TargetUrl = {
  scheme: 'https',
  host: 'api.t',
  port: 443,
  defaultPort: true,
  authority: 'api.t',
  rest: '',
  judged: { kind: 'allowed', host: 'api.t' },
};

const among = (found: readonly Upstream[], parts: Partial<IdentifiedCall> = {}): IdentifiedCall =>
  identified({ tenant: tenant(ok(found)), ...parts });
const byUrl = (found: readonly Upstream[], path: string, parts: Partial<IdentifiedCall> = {}) =>
  among(found, { target: { kind: 'url', url }, path, ...parts });

async function refusalOf(call: IdentifiedCall): Promise<Refusal | null> {
  const result = await resolve(call, noCatalog, backgroundOf());
  return result.ok ? null : result.error;
}

async function chosen(call: IdentifiedCall) {
  const result = await resolve(call, noCatalog, backgroundOf());
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

describe('a key that may not call at all', () => {
  it.each([
    ['a viewer', key({ role: 'viewer' })],
    ['a key without call:invoke', key({ permissions: ['config:read'] })],
  ])('%s is told so before anything is looked up, whatever it names', async (_, narrowed) => {
    const refusal = { code: 'authz.forbidden', needs: 'call:invoke' };
    const nowhere = { ...tenant(), named: never, aliased: never, at: never };
    const targets: readonly IdentifiedCall['target'][] = [
      { kind: 'name', name: 'api' },
      { kind: 'alias', alias: 'api.t' },
      { kind: 'url', url },
      { kind: 'catalog', id: 'vendor.search' },
      { kind: 'private_url', host: '10.0.0.1' },
    ];
    for (const target of targets)
      expect(await refusalOf(identified({ key: narrowed, tenant: nowhere, target }))).toEqual(
        refusal,
      );
  });
});

const never = (): never => {
  throw new Error('was looked up');
};

describe('an upstream outside the lists of the key', () => {
  const narrowed = { key: key({ upstreamAccess: ['ups_2'] }) };
  const endpoints = ['a', 'b'].map((name) => ({ host: `${name}.hidden.t`, port: 443 }));
  const pool = upstream({ endpoints, needsTargetHost: true });

  it.each([
    ['a pool that wants a host named', pool, scan()],
    ['a pool that has not the named host', pool, scan({ targetHost: 'c.hidden.t' })],
    ['a host that is none', pool, scan({ targetHost: 'a b' })],
    ['routes that do not match', upstream({ routes: [route({ path: '/other' })] }), scan()],
    ['that it is switched off', upstream({ enabled: false }), scan()],
  ])('is one 403 that tells nothing of it: %s', async (_, one, headers) => {
    for (const target of [
      { kind: 'name', name: 'api' },
      { kind: 'alias', alias: 'api' },
    ] as const) {
      const refusal = { code: 'authz.upstream_forbidden', named: 'api' };
      expect(await refusalOf(among([one], { ...narrowed, headers, target }))).toEqual(refusal);
    }
  });
});

describe('by name and alias', () => {
  it('the base path goes in front of the path as sent', async () => {
    const call = await chosen(among([upstream({ basePath: '/base' })], { path: '/a%2Fb' }));
    expect(call.sentPath).toBe('/base/a%2Fb');
  });

  it('C085 the closest enabled one wins over a closer disabled one', async () => {
    const own = upstream({ id: 'ups_own', enabled: false });
    const above = upstream({ id: 'ups_above', tenantId: 'ten_root' });
    expect((await chosen(among([own, above]))).upstream.id).toBe('ups_above');
  });

  it('C085 disabled everywhere visible is 503', async () => {
    const call = among([upstream({ enabled: false })]);
    expect(await refusalOf(call)).toEqual({ code: 'routing.upstream_disabled' });
    const found = ['ups_1', 'ups_2'].map((id) => upstream({ id, enabled: false }));
    const narrowed = among(found, { key: key({ upstreamAccess: ['ups_2'] }) });
    expect(await refusalOf(narrowed)).toEqual({ code: 'routing.upstream_disabled' });
  });

  it.each(['call', 'proxy'] as const)('no such name on /%s is 404', async (surface) => {
    expect(await refusalOf(among([], { surface }))).toEqual({ code: 'routing.not_found', surface });
  });

  it.each([
    [{ kind: 'name', name: 'one' } as const, 'name one'],
    [{ kind: 'alias', alias: 'one' } as const, 'alias one'],
  ])('each is looked up among its own: %j', async (target, found) => {
    const none = () => ok([]);
    const named = (name: string) => ok([upstream({ id: `name ${name}` })]);
    const aliased = (alias: string) => ok([upstream({ id: `alias ${alias}` })]);
    const call = identified({ tenant: { ...tenant(), named, aliased, at: none }, target });
    expect((await chosen(call)).upstream.id).toBe(found);
  });

  it('an alias that looks like a catalog id is none', async () => {
    const { ports, asked } = catalogPorts(null);
    const target = { kind: 'alias', alias: 'vendor.search' } as const;
    const call = among([], { target, surface: 'proxy' });
    const refusal = { code: 'routing.not_found', surface: 'proxy' };
    expect(await resolve(call, ports, backgroundOf())).toEqual({ ok: false, error: refusal });
    expect(asked).toEqual([]);
  });

  it.each([
    { kind: 'name', name: 'api' } as const,
    { kind: 'alias', alias: 'api.t' } as const,
    { kind: 'url', url } as const,
  ])('a store that does not answer is passed on: %j', async (target) => {
    expect(await refusalOf(identified({ tenant: downTenant(), target }))).toEqual(unavailable);
  });
});

it('a URL that is never called is refused without a look-up', async () => {
  const call = identified({
    tenant: downTenant(),
    target: { kind: 'private_url', host: '10.0.0.1' },
  });
  expect(await refusalOf(call)).toEqual({ code: 'egress.blocked', host: '10.0.0.1' });
});

describe('routes', () => {
  const routed = upstream({ routes: [route({ path: '/v1' })] });

  it('guard an upstream on every surface', async () => {
    for (const surface of ['call', 'proxy'] as const) {
      const call = await chosen(among([routed], { surface, path: '/v1/x' }));
      expect(call.route?.id).toBe('rte_1');
      const refusal = await refusalOf(among([routed], { surface, path: '/v2' }));
      expect(refusal).toEqual({ code: 'route.not_found' });
    }
  });

  it('that are missing leave /call open and /proxy closed', async () => {
    expect((await chosen(among([upstream()]))).route).toBeNull();
    const proxied = among([upstream()], { surface: 'proxy' });
    expect(await refusalOf(proxied)).toEqual({ code: 'route.not_found' });
  });

  it.each(['/v10', '/v1%2f..', '/%76%32', '//v1/x'])('%s is not below /v1', async (path) => {
    const two = upstream({ routes: [route({ path: '/v1' }), route({ id: 'rte_2', path: '/v2' })] });
    const result = await resolve(among([two], { path }), noCatalog, backgroundOf());
    expect(result.ok && result.value.route?.id === 'rte_1').toBe(false);
  });
});

describe('routes whose path holds escapes', () => {
  const routed = upstream({
    routes: [
      route({ id: 'rte_escaped', path: '/v1/%7Bme%7D%20now' }),
      route({ id: 'rte_scoped', path: '/@a%2fb' }),
      route({ id: 'rte_v1', path: '/v1' }),
      route({ id: 'rte_all', path: '/' }),
    ],
  });

  it.each([
    ['/v1/%7Bme%7D%20now', 'rte_escaped'],
    ['/v1/%7Bme%7D%20now/x%20y', 'rte_escaped'],
    ['/@a%2fb', 'rte_scoped'],
    ['/v1/x%20y', 'rte_v1'],
  ])('guard %s', async (path, id) => {
    expect((await chosen(among([routed], { path }))).route?.id).toBe(id);
  });

  it.each(['/v1/{me}%20now', '/v1/%7bme%7d%20now', '/@a%2Fb', '/%761/x'])(
    'are not slipped by %s, which an origin may read the same',
    async (path) => {
      const refusal = await refusalOf(among([routed], { path }));
      expect(refusal).toEqual({ code: 'route.not_found' });
    },
  );

  it('are measured decoded: the longest as it stands need not be the longest as it reads', async () => {
    const two = upstream({
      routes: [
        route({ id: 'rte_1', path: '/%61%61%61' }),
        route({ id: 'rte_2', path: '/aaa/b', queryAllowlist: [] }),
      ],
    });
    expect((await chosen(among([two], { path: '/%61%61%61/c' }))).route?.id).toBe('rte_1');
    const refusal = await refusalOf(among([two], { path: '/%61%61%61/b' }));
    expect(refusal).toEqual({ code: 'route.not_found' });
  });
});

describe('a path with parameters in its segments', () => {
  const narrow = route({ id: 'rte_admin', path: '/v1/admin', queryAllowlist: [] });
  const matrix = route({ id: 'rte_matrix', path: '/v1/a;b' });
  const deep = route({ id: 'rte_deep', path: '/v1/a;b/admin', queryAllowlist: [] });
  const guarded = upstream({ routes: [narrow, matrix, deep, route({ path: '/v1' })] });

  it.each(['/v1/admin;x', '/v1/;x/admin', '/v1/admin%3bx/y', '/v1/a;b//admin'])(
    '%s, which an origin may read as another route’s, is nobody’s',
    async (path) => {
      const refusal = await refusalOf(among([guarded], { path }));
      expect(refusal).toEqual({ code: 'route.not_found' });
    },
  );

  it.each([
    ['/v1/x;y=1/z', 'rte_1'],
    ['/v1/admin/x;y', 'rte_admin'],
    ['/v1/a;b/c', 'rte_matrix'],
  ])('%s stays with its route', async (path, id) => {
    const call = await chosen(among([guarded], { path }));
    expect([call.route?.id, call.sentPath]).toEqual([id, path]);
  });
});

describe('by URL', () => {
  it('a base path that holds escapes is matched as it is sent', async () => {
    const found = [upstream({ id: 'ups_a', basePath: '/my%20api' }), upstream({ id: 'ups_b' })];
    expect((await chosen(byUrl(found, '/my%20api/x'))).sentPath).toBe('/my%20api/x');
    expect((await chosen(byUrl(found, '/my%20api/x'))).upstream.id).toBe('ups_a');
  });

  it('the longest base path wins, at a segment boundary', async () => {
    const found = [
      upstream({ id: 'ups_v1', name: 'v1', basePath: '/v1' }),
      upstream({ id: 'ups_v10', name: 'v10', basePath: '/v10' }),
      upstream({ id: 'ups_all', name: 'all' }),
    ];
    expect((await chosen(byUrl(found, '/v10/x'))).upstream.id).toBe('ups_v10');
    expect((await chosen(byUrl(found, '/v1/x'))).sentPath).toBe('/v1/x');
    expect((await chosen(byUrl(found, '/v2'))).upstream.id).toBe('ups_all');
  });

  it.each(['/v1%2fx', '//v1/x', '/%76%31/x'])(
    'a path that only reads as one below the base path is not below it: %s',
    async (path) => {
      const refusal = { code: 'routing.not_found', surface: 'call' };
      expect(await refusalOf(byUrl([upstream({ basePath: '/v1' })], path))).toEqual(refusal);
    },
  );

  it('one that is switched off does not take it; when all that match are, it is 503', async () => {
    const off = upstream({ id: 'ups_off', basePath: '/v1', enabled: false });
    const found = [off, upstream({ id: 'ups_on' })];
    expect((await chosen(byUrl(found, '/v1/x'))).upstream.id).toBe('ups_on');
    expect(await refusalOf(byUrl([off], '/v1/x'))).toEqual({ code: 'routing.upstream_disabled' });
  });

  it('of a pool the named endpoint is called, whichever would be next or is wished for', async () => {
    const named = { host: url.host, port: url.port };
    const near = [
      { ...named, port: 8443 },
      { ...named, host: 'b.api.t' },
    ];
    for (const endpoints of [near.concat(named), [named, ...near]])
      for (const targetHost of [null, 'b.api.t']) {
        const pool = upstream({ endpoints, needsTargetHost: true });
        const call = byUrl([pool], '/x', { headers: scan({ targetHost }) });
        expect((await chosen(call)).endpoint).toEqual(named);
      }
  });

  it('a real tie is 409 with the names', async () => {
    const found = [upstream({ id: 'ups_a', name: 'a' }), upstream({ id: 'ups_b', name: 'b' })];
    const refusal = { code: 'routing.ambiguous', names: ['a', 'b'] };
    expect(await refusalOf(byUrl(found, '/x'))).toEqual(refusal);
  });

  it('the closer tenant breaks a tie', async () => {
    const found = [upstream({ id: 'ups_a' }), upstream({ id: 'ups_b', tenantId: 'ten_root' })];
    expect((await chosen(byUrl(found, '/x'))).upstream.id).toBe('ups_a');
  });

  it('an upstream that the key may not use neither wins nor ties', async () => {
    const found = [upstream({ id: 'ups_a', name: 'a' }), upstream({ id: 'ups_b', name: 'b' })];
    const narrowed = { key: key({ upstreamAccess: ['ups_b'] }) };
    expect((await chosen(byUrl(found, '/x', narrowed))).upstream.id).toBe('ups_b');
  });

  it('only forbidden ones: 403 that names the caller’s own host', async () => {
    const narrowed = { key: key({ upstreamAccess: [] }) };
    const refusal = { code: 'authz.upstream_forbidden', named: 'api.t' };
    expect(await refusalOf(byUrl([upstream()], '/x', narrowed))).toEqual(refusal);
  });

  it.each([
    ['another scheme', upstream({ scheme: 'http' })],
    ['another base path', upstream({ basePath: '/v1' })],
  ])('%s is no match: 404', async (_, one) => {
    const refusal = { code: 'routing.not_found', surface: 'call' };
    expect(await refusalOf(byUrl([one], '/v10'))).toEqual(refusal);
  });
});

describe('the endpoint of a pool', () => {
  const pool = upstream({
    endpoints: [
      { host: 'a.api.t', port: 443 },
      { host: 'b.api.t', port: 8443 },
    ],
  });
  const naming = (targetHost: string) => among([pool], { headers: scan({ targetHost }) });

  it('goes round robin', async () => {
    const hosts: string[] = [];
    for (let i = 0; i < 4; i++) hosts.push((await chosen(among([pool]))).endpoint.host);
    expect(hosts).toEqual(['a.api.t', 'b.api.t', 'a.api.t', 'b.api.t']);
  });

  it.each(['b.api.t', 'B.API.T', ' b.api.t ', 'b.api.t:8443', 'b.api.t.'])(
    'is named: %s',
    async (name) => {
      expect((await chosen(naming(name))).endpoint.port).toBe(8443);
    },
  );

  it.each(['[2606:4700::1]', '[2606:4700::1]:443'])('is named by an address: %s', async (name) => {
    const address = { host: '2606:4700::1', port: 443 };
    const pool = upstream({ endpoints: [{ ...address, host: '2606:4700::2' }, address] });
    const call = among([pool], { headers: scan({ targetHost: name }) });
    expect((await chosen(call)).endpoint).toEqual(address);
  });

  it.each([
    ['c.api.t', { code: 'routing.unknown_target_host' }],
    ['b.api.t:443', { code: 'routing.unknown_target_host' }],
    ['https://b.api.t', { code: 'routing.invalid_target_host' }],
    ['b.api.t/x', { code: 'routing.invalid_target_host' }],
    ['', { code: 'routing.invalid_target_host' }],
  ])('%s is refused', async (name, refusal) => {
    expect(await refusalOf(naming(name))).toEqual(refusal);
  });

  it('must be named where the alias is a suffix', async () => {
    const needs = upstream({ ...pool, needsTargetHost: true });
    const hosts = ['a.api.t:443', 'b.api.t:8443'];
    expect(await refusalOf(among([needs]))).toEqual({ code: 'routing.missing_target_host', hosts });
  });
});
