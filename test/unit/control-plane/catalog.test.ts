/** The catalog over the management API: who may read it, what a search finds, what a row shows and hides. */
import { beforeAll, describe, expect, it } from 'vitest';
import { catalogQueryCharsMax } from '../../../src/base/limits-money';
import { parameter, provider } from '../domain/catalog/rows';
import { type Api, db, makeApi, makeKey, makeTenant, type Tenant } from './harness';
import { makeCatalogRow } from './resources';

let api: Api;
let tenant: Tenant;
const ids = async (query: string): Promise<string[]> => {
  const page = await api.made('GET', `/catalog?${query}`, undefined, tenant.token);
  return page.data.map((row: { id: string }) => row.id);
};

beforeAll(async () => {
  api = makeApi();
  tenant = await makeTenant(api);
  const vendor = provider({
    slug: 'acme',
    name: 'Acme',
    bindings: [
      { location: 'header', name: 'x-acme', injector: 'api_key', format: null, field: null },
    ],
    requiredHeaders: [['x-version', '3']],
    accounts: [{ label: 'planted-label', setting: 'PLANTED_SETTING' }],
  });
  await db
    .prepare('insert into catalog_providers (slug, name, document) values (?, ?, ?)')
    .bind('acme', 'Acme', JSON.stringify(vendor))
    .run();
  await makeCatalogRow({ id: 'acme.search', provider: 'acme', summary: 'Finds 100% of pages' });
  await makeCatalogRow({ id: 'acme.mail', provider: 'acme', capability: 'email.send' });
  await makeCatalogRow({
    id: 'acme.chat',
    provider: 'acme',
    capability: 'chat.completion',
    method: 'POST',
    path: '/chat/{model}',
    bodyAllowlist: true,
    parameters: [
      parameter('path', 'model', { required: true }),
      parameter('body', 'kinds', {
        rule: {
          type: 'array',
          itemsMin: 1,
          itemsMax: 2,
          itemEnum: ['a'],
          itemFields: { need: 'any', names: ['x'] },
        },
      }),
      parameter('body', 'n', { rule: { type: 'integer', enum: [1, 2], min: 1, max: 2 } }),
    ],
    cost: {
      kind: 'usage',
      meters: [],
      prices: [
        {
          when: [{ in: 'body', at: 'model', oneOf: ['m'] }],
          perMillionMicros: { input: 150_000 },
        },
      ],
      ends: [],
    },
    platformRequest: [{ kind: 'refused', in: 'body', at: ['planted_option'] }],
    settlement: { basis: 'response', reported: null, fallbackMicros: 5, reserveMicros: 9 },
  });
  await makeCatalogRow({
    id: 'acme.old',
    provider: 'acme',
    platformAuth: null,
    tombstone: { status: 'retired', note: 'Gone.', supersededBy: 'acme.search' },
  });
});

describe('a search', () => {
  it.each([
    ['', ['acme.chat', 'acme.mail', 'acme.old', 'acme.search']],
    ['provider=acme', ['acme.chat', 'acme.mail', 'acme.old', 'acme.search']],
    ['provider=acm', []],
    ['capability=email.send', ['acme.mail']],
    ['capability=email', []],
    ['q=MAIL', ['acme.mail']],
    ['q=pages', ['acme.search']],
    ['q=100%25', ['acme.search']],
    ['q=%25', ['acme.search']],
    ['q=_', []],
    ["q='", []],
    ['q=&provider=&capability=', ['acme.chat', 'acme.mail', 'acme.old', 'acme.search']],
    ['q=acme&capability=web.search', ['acme.old', 'acme.search']],
  ])('for %j finds %j', async (query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  it('goes on where the page ended', async () => {
    const first = await api.made('GET', '/catalog?limit=3', undefined, tenant.token);
    expect(first.data).toHaveLength(3);
    const rest = await ids(`limit=3&cursor=${encodeURIComponent(first.next_cursor)}`);
    expect(rest).toEqual(['acme.search']);
  });

  it('refuses a text that is too long', async () => {
    const answer = await api.send('GET', `/catalog?q=${'x'.repeat(catalogQueryCharsMax + 1)}`, {
      key: tenant.token,
    });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'q' }] } });
  });

  it('is open to the operator without a tenant, and to no key without config:read', async () => {
    expect((await api.send('GET', '/catalog')).status).toBe(200);
    const { token } = await makeKey(api, tenant.id, 'member', { permissions: ['call:invoke'] });
    for (const path of ['/catalog', '/catalog/acme.chat'])
      expect(await api.send('GET', path, { key: token })).toMatchObject({
        status: 403,
        body: { needs: 'config:read' },
      });
  });
});

describe('a row', () => {
  it('shows what a call needs', async () => {
    expect(await api.made('GET', '/catalog/acme.chat', undefined, tenant.token)).toMatchObject({
      id: 'acme.chat',
      provider_name: 'Acme',
      method: 'POST',
      path: '/chat/{model}',
      access: 'account',
      cost: 'usage',
      status: 'live',
      base_url: 'https://api.vendor.example/v1',
      auth: [{ location: 'header', name: 'x-acme' }],
      required_headers: { 'x-version': '3' },
      grant_methods: ['api_key'],
      body_allowlist: true,
      parameters: [
        { in: 'path', name: 'model', required: true, type: 'string' },
        {
          type: 'array',
          min: 1,
          max: 2,
          item_enum: ['a'],
          item_fields: { need: 'any', names: ['x'] },
        },
        { type: 'integer', enum: [1, 2], min: 1, max: 2 },
      ],
      prices: [
        {
          when: [{ in: 'body', at: 'model', one_of: ['m'] }],
          micros: null,
          per_million_micros: { input: 150_000 },
        },
      ],
      fallback_micros: 5,
      reserve_micros: 9,
    });
  });

  it('that is retired says so, and what to call instead', async () => {
    expect(await api.made('GET', '/catalog/acme.old')).toMatchObject({
      status: 'retired',
      note: 'Gone.',
      superseded_by: 'acme.search',
      access: 'own',
    });
  });

  it("hides the operator's accounts, their settings and the bounds that guard them", async () => {
    for (const path of ['/catalog', '/catalog/acme.chat']) {
      const { text } = await api.send('GET', path, { key: tenant.token });
      expect(text.toLowerCase()).not.toContain('planted');
    }
  });

  it.each(['acme.none', 'acme', 'ACME.chat', 'acme.chat%2Fx', "acme.'"])(
    '%s is not found',
    async (id) => {
      expect((await api.send('GET', `/catalog/${id}`)).status).toBe(404);
    },
  );
});
