/**
 * The ladder of a catalog row: which ids reach it, which rung holds, what is refused before one is
 * looked for.
 */
import { describe, expect, it } from 'vitest';
import { err, ok } from '../../../src/base/result';
import { resolve } from '../../../src/call/03-resolve';
import type { IdentifiedCall, ResolvedCall } from '../../../src/call/call';
import type { LadderPorts } from '../../../src/call/catalog-target';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import type { Provider } from '../../../src/domain/catalog/provider';
import type { Upstream } from '../../../src/domain/catalog/upstream';
import type { Refusal } from '../../../src/domain/refusal';
import { parameter } from '../domain/catalog/rows';
import {
  backgroundOf,
  binding,
  entryOf,
  identified,
  key,
  route,
  tenant,
  unavailable,
  upstream,
} from './calls';
import { catalogPorts, near } from './catalog-ports';

const id = 'vendor.search';
const account = { label: 'main', setting: 'VENDOR_KEY' };
const bearer = {
  location: 'header',
  name: 'authorization',
  injector: 'bearer',
  format: null,
  field: null,
} as const;

/** One of each rung: what a tenant and a deployment may have for a row. */
interface Ladder {
  readonly row?: Partial<CatalogEndpoint>;
  readonly vendor?: Partial<Provider>;
  readonly own?: readonly Upstream[];
  readonly secretId?: string | null;
  readonly anonymous?: boolean;
  readonly settings?: readonly string[];
  readonly platformAccounts?: Readonly<Record<string, readonly string[]>>;
  readonly call?: Partial<IdentifiedCall>;
}

/** An upstream of the caller's own at the provider's host. */
const ownUpstream = (parts: Partial<Upstream> = {}): Upstream =>
  upstream({
    id: 'ups_own',
    endpoints: [{ host: 'api.vendor.example', port: 443 }],
    basePath: '/v1',
    bindings: [binding()],
    ...parts,
  });

async function climb(ladder: Ladder, target: IdentifiedCall['target'] = { kind: 'catalog', id }) {
  const looked: string[] = [];
  const view = tenant(ok([]));
  const ports: Partial<LadderPorts> = {
    anonymousProviders: new Set(ladder.anonymous ? ['vendor'] : []),
    hasSetting: (name) => ladder.settings?.includes(name) ?? false,
    platformAccounts: new Map(Object.entries(ladder.platformAccounts ?? {})),
  };
  const vendor = { bindings: [bearer], accounts: [account], ...ladder.vendor };
  const catalog = catalogPorts(entryOf(ladder.row, vendor), ports);
  const call = identified({
    surface: 'call',
    target,
    path: '',
    tenant: {
      ...view,
      at: (host, port) => {
        looked.push(`at ${host}:${port}`);
        return ok(ladder.own ?? []);
      },
      ownSecret: (_row, provider, make) => {
        looked.push(`secret ${provider}`);
        return ok(ladder.secretId == null ? null : make(ladder.secretId));
      },
    },
    ...ladder.call,
  });
  const result = await resolve(call, catalog.ports, backgroundOf());
  return { result, looked, asked: catalog.asked };
}

async function chosen(ladder: Ladder): Promise<ResolvedCall> {
  const { result } = await climb(ladder);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

async function refusalOf(ladder: Ladder): Promise<Refusal | null> {
  const { result } = await climb(ladder);
  return result.ok ? null : result.error;
}

const tierOf = async (ladder: Ladder) => (await chosen(ladder)).catalog?.tier;
const everything: Ladder = {
  own: [ownUpstream()],
  secretId: 'sec_1',
  anonymous: true,
  settings: ['VENDOR_KEY'],
};

describe('an id on /call', () => {
  const named = { kind: 'name', name: id } as const;
  const withName = (found: readonly Upstream[]): Ladder => ({
    settings: ['VENDOR_KEY'],
    call: { tenant: { ...tenant(ok(found)), ownSecret: () => ok(null), at: () => ok([]) } },
  });

  it('reaches its row', async () => {
    const { result } = await climb(withName([]), named);
    expect(result).toMatchObject({ ok: true, value: { catalog: { tier: 4 } } });
  });

  it('is never shadowed: an upstream of that name wins, and the catalog is not asked', async () => {
    const { result, asked } = await climb(withName([upstream()]), named);
    expect(result).toMatchObject({ ok: true, value: { catalog: null, upstream: { id: 'ups_1' } } });
    expect(asked).toEqual([]);
  });

  it('of an upstream that is switched off is not the row either', async () => {
    const { result, asked } = await climb(withName([upstream({ enabled: false })]), named);
    expect([result, asked]).toEqual([err({ code: 'routing.upstream_disabled' }), []]);
  });

  it('that has no shape of one costs the catalog nothing', async () => {
    const { result, asked } = await climb(withName([]), { kind: 'name', name: 'search' });
    expect([result, asked]).toEqual([err({ code: 'routing.not_found', surface: 'call' }), []]);
  });

  describe('that leads nowhere names the upstream of the caller’s own that its first word names', () => {
    const own = upstream({ id: 'ups_vendor', name: 'vendor' });
    const asked = (
      target: string,
      found: readonly Upstream[],
      parts: Partial<IdentifiedCall> = {},
    ) =>
      identified({
        target: { kind: 'name', name: target },
        path: '',
        tenant: {
          ...tenant(),
          named: (name) => ok(name === 'vendor' ? found : []),
          at: () => ok([]),
        },
        ...parts,
      });
    const refused = async (
      call: IdentifiedCall,
      entry: ReturnType<typeof entryOf> | null,
      ids: string[],
    ) => {
      const { ports } = catalogPorts(entry);
      const catalog = { ...ports.catalog, near: () => ok({ ...near, didYouMean: ids }) };
      const result = await resolve(call, { ...ports, catalog }, backgroundOf());
      return result.ok ? null : result.error;
    };
    const none = { ...tenant(), named: () => ok([]), at: () => ok([]), ownSecret: () => ok(null) };

    it.each<[string, readonly Upstream[], Partial<IdentifiedCall>, string | null]>([
      ['one that can be called', [own], {}, 'vendor'],
      ['the closest that is switched on', [{ ...own, enabled: false }, own], {}, 'vendor'],
      ['none', [], {}, null],
      ['none that is switched on', [{ ...own, enabled: false }], {}, null],
      ['none that the key may use', [own], { key: key({ upstreamAccess: ['ups_2'] }) }, null],
    ])('%s', async (_, found, parts, ownUpstream) => {
      expect(await refused(asked('vendor.models', found, parts), null, ['other.models'])).toEqual({
        code: 'catalog.not_found',
        didYouMean: ['other.models'],
        ownUpstream,
      });
    });

    it('but a near id of that vendor goes first', async () => {
      const refusal = await refused(asked('vendor.serch', [own]), null, ['vendor.search']);
      expect(refusal).toMatchObject({ didYouMean: ['vendor.search'], ownUpstream: null });
    });

    it('a row that nobody can call too; any other no says nothing of upstreams', async () => {
      const call = asked(id, [own]);
      const noRung = { ...call, tenant: { ...call.tenant, ownSecret: () => ok(null) } };
      expect(await refused(noRung, entryOf({}), [])).toEqual({
        code: 'catalog.no_credential',
        alternatives: near.alternatives,
        ownUpstream: 'vendor',
      });
      const gone = entryOf({ tombstone: { status: 'retired', note: 'gone', supersededBy: null } });
      expect(await refused(asked(id, [own]), gone, [])).not.toHaveProperty('ownUpstream');
    });

    it('/catalog/call knows none', async () => {
      const call = asked('vendor.models', [own], { surface: 'catalog' });
      const target = { kind: 'catalog', id: 'vendor.models' } as const;
      expect(await refused({ ...call, target }, null, [])).toMatchObject({ ownUpstream: null });
      expect(await refused({ ...call, tenant: none, target }, entryOf({}), [])).toMatchObject({
        code: 'catalog.no_credential',
        ownUpstream: null,
      });
    });
  });

  it('is no alias', async () => {
    const { asked } = await climb(withName([]), { kind: 'alias', alias: id });
    expect(asked).toEqual([]);
  });
});

describe('the rungs', () => {
  it.each<[string, number, Ladder]>([
    ['own upstream', 1, everything],
    ['own secret', 2, { ...everything, own: [] }],
    [
      'anonymous',
      3,
      { ...everything, own: [], secretId: null, row: { platformAuth: 'anonymous' } },
    ],
    ['platform account', 4, { ...everything, own: [], secretId: null }],
  ])('%s is tier %i, and the first that holds', async (_, tier, ladder) => {
    expect(await tierOf(ladder)).toBe(tier);
  });

  it('that hold end the look-up', async () => {
    const { looked } = await climb(everything);
    expect(looked).toEqual(['at api.vendor.example:443']);
  });

  it('of /catalog/call leave out upstreams of the caller’s own', async () => {
    const { result, looked } = await climb({ ...everything, call: { surface: 'catalog' } });
    expect(looked).toEqual(['secret vendor']);
    expect(result).toMatchObject({ ok: true, value: { catalog: { tier: 2 } } });
  });

  it('that are not there leave the alternatives, cheapest first', async () => {
    const { alternatives } = near;
    const refusal = { code: 'catalog.no_credential', alternatives, ownUpstream: null };
    expect(await refusalOf({})).toEqual(refusal);
    expect(await refusalOf({ row: { platformAuth: null }, settings: ['VENDOR_KEY'] })).toEqual(
      refusal,
    );
  });

  it('of a store that does not answer are not skipped', async () => {
    const down = err(unavailable);
    const views = [
      { ...tenant(), at: () => down },
      { ...tenant(ok([])), ownSecret: () => down },
    ];
    for (const view of views)
      expect(await refusalOf({ ...everything, call: { tenant: view } })).toEqual(unavailable);
  });
});

describe('an own upstream', () => {
  it('takes the call with its own base path, route, endpoint and bindings', async () => {
    const own = ownUpstream({ basePath: '', routes: [route({ path: '/v1' })] });
    const call = await chosen({ own: [own] });
    expect(call.upstream).toBe(own);
    expect([call.sentPath, call.route?.id, call.endpoint.host]).toEqual([
      '/v1/search',
      'rte_1',
      'api.vendor.example',
    ]);
  });

  it('with routes is judged below its own base path', async () => {
    const own = ownUpstream({ routes: [route({ path: '/search' })] });
    expect(await chosen({ own: [own] })).toMatchObject({ sentPath: '/v1/search', upstream: own });
  });

  it('that is a pool is called at the provider’s host and port, whichever of it would be next', async () => {
    const ofProvider = { host: 'api.vendor.example', port: 443 };
    const near = [
      { ...ofProvider, port: 8443 },
      { ...ofProvider, host: 'other.vendor.example' },
    ];
    for (const endpoints of [near.concat(ofProvider), [ofProvider, ...near]])
      expect((await chosen({ own: [ownUpstream({ endpoints })] })).endpoint).toEqual(ofProvider);
  });

  it('whose routes do not have the call refuses it: no rung below is laxer', async () => {
    const own = ownUpstream({ routes: [route({ path: '/other' })] });
    expect(await refusalOf({ ...everything, own: [own] })).toEqual({ code: 'route.not_found' });
  });

  it('with the longest base path wins', async () => {
    const own = [ownUpstream({ id: 'ups_short', basePath: '' }), ownUpstream({ id: 'ups_long' })];
    expect((await chosen({ own })).upstream.id).toBe('ups_long');
  });

  it('among equals is the one with the secret that is named like the provider: two vendors may share a host', async () => {
    const bound = (id: string, secretId: string) =>
      ownUpstream({
        id,
        bindings: [binding({ source: { kind: 'secret', secretId, field: null } })],
      });
    const own = [bound('ups_other', 'sec_other'), bound('ups_vendor', 'sec_vendor')];
    expect((await chosen({ own, secretId: 'sec_vendor' })).upstream.id).toBe('ups_vendor');
    expect((await chosen({ own, secretId: 'sec_third' })).upstream.id).toBe('ups_other');
    expect((await chosen({ own, secretId: null })).upstream.id).toBe('ups_other');
    const closer = ownUpstream({ id: 'ups_closer', tenantId: 'ten_below' });
    const chain = [closer, ...own];
    expect((await chosen({ own: chain, secretId: 'sec_vendor' })).upstream.id).toBe('ups_closer');
  });

  it('at a base URL that the provider had before takes the call there, when there is none at the one it has now', async () => {
    const before = { scheme: 'https', host: 'old.vendor.example', port: 443 } as const;
    const legacyBaseUrls = [
      { ...before, host: 'older.vendor.example', basePath: '' },
      { ...before, basePath: '/api' },
    ];
    const old = ownUpstream({
      id: 'ups_old',
      endpoints: [{ host: before.host, port: 443 }],
      basePath: '/api',
    });
    const at = (host: string) =>
      ok(host === before.host ? [old] : host === 'api.vendor.example' ? now : []);
    let now: readonly Upstream[] = [];
    const call = { tenant: { ...tenant(), at, ownSecret: () => ok(null) } };
    const ladder = { ...everything, vendor: { legacyBaseUrls }, call };
    expect(await chosen(ladder)).toMatchObject({
      upstream: old,
      endpoint: old.endpoints[0],
      sentPath: '/api/search',
      catalog: { tier: 1, path: '/search' },
    });
    now = [ownUpstream()];
    expect((await chosen(ladder)).upstream.id).toBe('ups_own');
  });

  it.each<[string, Partial<Upstream>, Partial<IdentifiedCall>]>([
    ['without a credential', { bindings: [] }, {}],
    ['that is switched off', { enabled: false }, {}],
    ['of another scheme', { scheme: 'http' }, {}],
    ['whose base path ends inside a segment', { basePath: '/v1/sea' }, {}],
    ['that the key may not use', {}, { key: key({ upstreamAccess: ['ups_2'] }) }],
  ])('%s is no rung', async (_, parts, call) => {
    const ladder = { ...everything, secretId: null, own: [ownUpstream(parts)], call };
    const { result } = await climb(ladder);
    expect(result.ok && result.value.catalog?.tier).toBe(4);
  });
});

describe('a stand-in', () => {
  it('injects the secret, or the account’s setting, and the required headers', async () => {
    const vendor = { requiredHeaders: [['x-version', '3'] as const] };
    const constant = { name: 'x-version', source: { kind: 'constant' }, format: '3' };
    const tier2 = await chosen({ vendor, secretId: 'sec_1' });
    expect(tier2.upstream.bindings).toMatchObject([
      { name: 'authorization', source: { kind: 'secret', secretId: 'sec_1' } },
      constant,
    ]);
    const tier4 = await chosen({ vendor, settings: ['VENDOR_KEY'] });
    expect(tier4.upstream.bindings).toMatchObject([
      { name: 'authorization', source: { kind: 'platform_setting', setting: 'VENDOR_KEY' } },
      constant,
    ]);
  });

  it('is one object as long as its row is', async () => {
    const entry = entryOf({}, { accounts: [account] });
    const { ports } = catalogPorts(entry, { hasSetting: () => true });
    const ask = async () => {
      const call = identified({
        target: { kind: 'catalog', id },
        path: '',
        tenant: tenant(ok([])),
      });
      const result = await resolve(call, ports, backgroundOf());
      return result.ok ? result.value.upstream : null;
    };
    expect(await ask()).toBe(await ask());
  });

  it('has the primary account and those that the operator added, each with its own value', async () => {
    const call = await chosen({ settings: ['VENDOR_KEY'], platformAccounts: { vendor: ['b'] } });
    const settings = call.catalog?.accounts.map(({ label, upstream }) => [
      label,
      upstream.id,
      upstream.bindings.map(({ source }) => source.kind === 'platform_setting' && source.setting),
    ]);
    expect(settings).toEqual([
      ['primary', 'catalog:vendor.search:primary', ['VENDOR_KEY']],
      ['b', 'catalog:vendor.search:b', ['vendor/b/VENDOR_KEY']],
    ]);
  });

  it('is not there without the primary account, whatever further ones are', async () => {
    const call = chosen({ settings: [], platformAccounts: { vendor: ['b'] } });
    await expect(call).rejects.toThrow('catalog.no_credential');
  });

  it('goes to the provider’s base URL, with the row’s own query before the caller’s', async () => {
    const row = { path: '/users/{user}', query: 'v=1' };
    const query = 'a=1&user=u%2F1';
    const call = await chosen({ row, settings: ['VENDOR_KEY'], call: { query } });
    expect([call.endpoint, call.sentPath, call.query, call.catalog?.callersQuery]).toEqual([
      { host: 'api.vendor.example', port: 443 },
      '/v1/users/u%2F1',
      'v=1&a=1',
      query,
    ]);
  });
});

describe('anonymous', () => {
  const open: Ladder = { row: { platformAuth: 'anonymous' }, anonymous: true };
  const brought = (headers: HeadersInit, query: string | null = null): Ladder => ({
    ...open,
    call: { request: new Request('https://gw.test/call/vendor.search', { headers }), query },
  });

  it('injects nothing, the provider’s constants neither: the caller’s own headers stay', async () => {
    const requiredHeaders = [['x-version', '3'] as const];
    const call = await chosen({ ...open, vendor: { requiredHeaders } });
    expect([call.catalog?.tier, call.upstream.bindings]).toEqual([3, []]);
  });

  it.each<[string, Ladder]>([
    ['a provider that the deployment does not allow', { ...open, anonymous: false }],
    ['a credential in the provider’s header', brought({ authorization: 'Bearer mine' })],
    [
      'a credential in the provider’s query pair',
      {
        ...brought({}, 'key=mine'),
        vendor: { bindings: [{ ...bearer, location: 'query', name: 'key' }] },
      },
    ],
  ])('is not for %s', async (_, ladder) => {
    expect(await refusalOf(ladder)).toMatchObject({ code: 'catalog.no_credential' });
  });

  it('is never paid by us: such a row has no platform account', async () => {
    const ladder = { ...open, anonymous: false, settings: ['VENDOR_KEY'] };
    expect(await refusalOf(ladder)).toMatchObject({ code: 'catalog.no_credential' });
  });
});

describe('what is refused before a rung is looked for', () => {
  const tombstone = { status: 'retired', note: 'gone', supersededBy: null } as const;
  const didYouMean = near.didYouMean;

  it.each<[string, Ladder, Refusal]>([
    [
      'a retired row, with what else does the same',
      { row: { tombstone } },
      {
        code: 'catalog.retired',
        status: 'retired',
        note: 'gone',
        supersededBy: null,
        alternatives: near.alternatives,
      },
    ],
    [
      'a retired row that has a successor, with that alone',
      { row: { tombstone: { ...tombstone, status: 'broken', supersededBy: 'vendor.find' } } },
      {
        code: 'catalog.retired',
        status: 'broken',
        note: 'gone',
        supersededBy: 'vendor.find',
        alternatives: [],
      },
    ],
    [
      'a path behind the id',
      { call: { path: '/x' } },
      { code: 'catalog.path_not_allowed', parameters: [] },
    ],
    [
      'a slash behind the id of a row with parameters, which are named',
      {
        row: {
          path: '/users/{user}',
          parameters: [
            parameter('path', 'user'),
            parameter('query', 'limit'),
            parameter('body', 'text'),
          ],
        },
        call: { path: '/' },
      },
      { code: 'catalog.path_not_allowed', parameters: ['user', 'limit'] },
    ],
    [
      'another method',
      { call: { method: 'POST' } },
      { code: 'request.method_not_allowed', allowed: ['GET'] },
    ],
    [
      'a host that is none of the provider’s',
      { row: { host: 'evil.example' } },
      { code: 'catalog.base_unapproved' },
    ],
    [
      'a private base URL',
      { vendor: { baseUrls: [{ scheme: 'https', host: '10.0.0.1', port: 443, basePath: '' }] } },
      { code: 'catalog.base_unapproved' },
    ],
    [
      'a base URL that is our own',
      { vendor: { baseUrls: [{ scheme: 'https', host: 'self.t', port: 443, basePath: '' }] } },
      { code: 'catalog.base_unapproved' },
    ],
    [
      'a missing placeholder',
      { row: { path: '/users/{user}' } },
      { code: 'catalog.placeholder_invalid', kind: 'missing', name: 'user' },
    ],
    ...(
      [
        ['repeated', 'user=a&user=b'],
        ['empty', 'user='],
        ['unsafe', 'user=..'],
        ['unsafe', 'user=a%5Cb'],
      ] as const
    ).map(([kind, query]): [string, Ladder, Refusal] => [
      `a placeholder that is ${kind}: ${query}`,
      { row: { path: '/users/{user}' }, call: { query } },
      { code: 'catalog.placeholder_invalid', kind, name: 'user' },
    ]),
  ])('%s', async (_, ladder, refusal) => {
    const { result, looked } = await climb({ ...ladder, settings: ['VENDOR_KEY'] });
    expect([result, looked]).toEqual([err(refusal), []]);
  });

  it('an id that no row has, with near ones', async () => {
    const { ports, asked } = catalogPorts(null);
    const call = identified({ target: { kind: 'catalog', id: 'vendor.serch' } });
    const result = await resolve(call, ports, backgroundOf());
    expect(result).toEqual(err({ code: 'catalog.not_found', didYouMean, ownUpstream: null }));
    expect(asked).toEqual(['endpoint vendor.serch', 'near vendor.serch']);
  });

  it('a catalog that does not answer', async () => {
    const { ports } = catalogPorts('down');
    const call = identified({ target: { kind: 'catalog', id } });
    expect(await resolve(call, ports, backgroundOf())).toEqual(err(unavailable));
  });
});
