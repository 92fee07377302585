import { beforeAll, describe, expect, it } from 'vitest';
import { bindingsMax, poolEndpointsMax } from '../../../src/base/limits';
import { type Api, db, makeApi, makeTenant, type Tenant, upstreamFields } from './harness';

let api: Api;
let tenant: Tenant;
let count = 0;
const unique = () => `u${++count}`;
const hosts = (...names: string[]) => names.map((host) => ({ host }));

beforeAll(async () => {
  const vars = {
    EGRESS_ALLOW: '127.0.0.1:9000 localhost:9000',
    PLATFORM_SETTINGS: '{"shared_key":"planted"}',
  };
  api = makeApi({ vars });
  tenant = await makeTenant(api);
});

const post = (fields: object, key = tenant.token) =>
  api.send('POST', '/upstreams', { key, body: { name: unique(), ...fields } });
const refusedAt = async (fields: object, path: string) => {
  const answer = await post(fields);
  expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, path]);
};

describe('an endpoint', () => {
  it.each([
    ['https://api.example'],
    ['api.example/v1'],
    ['user@api.example'],
    ['api.example:443'],
    ['10.0.0.1'],
    ['127.0.0.1'],
    ['169.254.169.254'],
    ['[::1]'],
    ['::ffff:10.0.0.1'],
    ['0x7f000001'],
    ['127.1'],
    ['localhost'],
    ['db.internal'],
    ['gateway.test'],
    ['a b.example'],
    ['db.blocked.test'],
    ['db.gone.test'],
  ])('%j is refused', (host) =>
    refusedAt({ alias: unique(), endpoints: hosts('ok.example', host) }, 'endpoints.1.host'),
  );

  it('of a development pair may be http and private, that pair only', async () => {
    const http = { scheme: 'http', alias: 'local', endpoints: [{ host: '127.0.0.1', port: 9000 }] };
    expect((await post(http)).status).toBe(201);
    await refusedAt({ ...http, endpoints: [{ host: '127.0.0.1', port: 9001 }] }, 'scheme');
    await refusedAt({ scheme: 'http', endpoints: hosts('plain.example') }, 'scheme');
    await refusedAt(
      { scheme: 'https', endpoints: [{ host: '127.0.0.1', port: 9001 }] },
      'endpoints.0.host',
    );
  });

  it('is stored in its normal form, and can be found by it', async () => {
    const made = await post({ endpoints: [{ host: 'API.Normal.Example.' }] });
    expect(made.body.endpoints).toEqual([{ host: 'api.normal.example', port: 443 }]);
    const rows = await db
      .prepare('select host, port from upstream_hosts where upstream_id = ?')
      .bind(made.body.id)
      .all();
    expect(rows.results).toEqual([{ host: 'api.normal.example', port: 443 }]);
  });

  it('stands in its pool once, and pools are bounded', async () => {
    await refusedAt({ endpoints: hosts('twice.example', 'TWICE.example.') }, 'endpoints.1.host');
    const many = Array.from({ length: poolEndpointsMax + 1 }, (_, i) => ({
      host: `h${i}.many.example`,
    }));
    await refusedAt({ endpoints: many }, 'endpoints');
    const most = await post({ endpoints: many.slice(1) });
    expect(most.status).toBe(201);
    expect(most.body.endpoints).toHaveLength(poolEndpointsMax);
    await refusedAt({ endpoints: [] }, 'endpoints');
  });
});

describe('an alias', () => {
  it.each([
    ['one host', hosts('one.alias.test'), 443, 'one.alias.test', false],
    ['one host, another port', hosts('one.alias.test'), 8443, 'one.alias.test:8443', false],
    ['a shared suffix', hosts('us.vendor-a.com', 'eu.vendor-a.com'), 443, 'vendor-a.com', true],
    [
      'a shared suffix, another port',
      hosts('us.vendor-b.com', 'eu.vendor-b.com'),
      8443,
      'vendor-b.com:8443',
      true,
    ],
  ])('is derived for %s', async (_, endpoints, port, alias, needsTargetHost) => {
    const fields = { endpoints: endpoints.map((e) => ({ ...e, port })) };
    expect((await post(fields)).body).toMatchObject({ alias, needs_target_host: needsTargetHost });
    await refusedAt({ ...fields, alias: 'other' }, 'alias');
  });

  it.each([
    ['a bare public suffix', hosts('foo.co.uk', 'bar.co.uk')],
    ['a private suffix', hosts('a.pages.dev', 'b.pages.dev')],
    ['nothing in common', hosts('us.foo.com', 'eu.bar.com')],
    ['addresses', hosts('1.1.1.1', '8.8.8.8')],
  ])('has to be given for %s', async (_, endpoints) => {
    await refusedAt({ endpoints }, 'alias');
    const alias = unique();
    expect((await post({ endpoints, alias: alias.toUpperCase() })).body).toMatchObject({
      alias,
      needs_target_host: false,
    });
  });

  it('follows the update matrix', async () => {
    const name = unique();
    const { id } = (await post({ endpoints: hosts('first.matrix.test') })).body;
    const put = (fields: object) =>
      api.send('PUT', `/upstreams/${id}`, { key: tenant.token, body: { name, ...fields } });
    const derived = await put({ endpoints: hosts('second.matrix.test') });
    expect(derived.body.alias).toBe('second.matrix.test');
    expect((await put({ endpoints: hosts('second.matrix.test'), alias: 'other' })).status).toBe(
      400,
    );
    expect((await put({ endpoints: hosts('1.1.1.1') })).status).toBe(400);
    expect((await put({ endpoints: hosts('1.1.1.1'), alias: 'matrix' })).body.alias).toBe('matrix');
    expect((await put({ endpoints: hosts('8.8.8.8') })).body.alias).toBe('matrix');
    expect((await put({ endpoints: hosts('8.8.8.8'), alias: 'moved' })).body.alias).toBe('moved');
    const back = await put({ endpoints: hosts('second.matrix.test'), alias: 'moved' });
    expect(back.body.alias).toBe('second.matrix.test');
  });

  it('is refused where ports or kinds of hosts mix', async () => {
    await refusedAt(
      { endpoints: [{ host: 'a.mix.test' }, { host: 'b.mix.test', port: 8443 }] },
      'endpoints.1.port',
    );
    await refusedAt({ endpoints: hosts('a.mix.test', '1.1.1.1') }, 'endpoints');
  });
});

describe('bindings of a stored upstream', () => {
  it('find the closest secret of a name, and show names only', async () => {
    const parent = await makeTenant(api);
    const child = await makeTenant(api, { parentId: parent.id });
    const secret = (at: Tenant, name: string, visibility: string) =>
      api.made('POST', at.at('/secrets'), { name, value: 'planted-secret', visibility });
    await secret(parent, 'shown', 'descendants');
    await secret(parent, 'hidden', 'private');
    const near = await secret(child, 'both', 'private');
    await secret(parent, 'both', 'descendants');
    const bound = (name: string) => ({
      ...upstreamFields(unique()),
      bindings: [{ location: 'header', name: 'X-Api-Key', secret: `cred://${name}` }],
    });
    const make = (name: string) =>
      api.send('POST', '/upstreams', { key: child.token, body: bound(name) });
    expect(await make('hidden')).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'bindings.0.secret' }] },
    });
    expect(await make('absent')).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'bindings.0.secret' }] },
    });
    expect((await make('shown')).status).toBe(201);
    const both = await make('both');
    expect(both.text).not.toContain('planted-secret');
    expect(both.body.bindings).toEqual([
      { location: 'header', name: 'x-api-key', injector: 'api_key', secret: 'cred://both' },
    ]);
    const row = await db
      .prepare('select bindings from upstreams where id = ?')
      .bind(both.body.id)
      .first();
    expect(JSON.parse(String(row?.bindings))[0].source).toEqual({
      kind: 'secret',
      secretId: near.id,
      field: null,
    });
    expect((await api.send('DELETE', `/secrets/${near.id}`, { key: child.token })).status).toBe(
      409,
    );
  });

  it("with a platform setting are the operator's to make and to change", async () => {
    const fields = {
      ...upstreamFields(unique()),
      bindings: [{ location: 'header', name: 'x-key', platform_setting: 'shared_key' }],
    };
    expect(await post(fields)).toMatchObject({ status: 403, body: { needs: 'operator' } });
    const made = await api.made('POST', tenant.at('/upstreams'), fields);
    expect(JSON.stringify(made)).not.toContain('planted');
    const moved = upstreamFields(made.name, { endpoints: hosts('attacker.example') });
    expect(
      (await api.send('PUT', `/upstreams/${made.id}`, { key: tenant.token, body: moved })).status,
    ).toBe(403);
    expect(
      (await api.send('PUT', tenant.at(`/upstreams/${made.id}`), { body: moved })).status,
    ).toBe(200);
  });

  it('are bounded', async () => {
    const bindings = Array.from({ length: bindingsMax + 1 }, (_, i) => ({
      location: 'header',
      name: `x-${i}`,
      value: 'v',
    }));
    await refusedAt({ ...upstreamFields(unique()), bindings }, 'bindings');
  });
});

describe('an upstream', () => {
  it('sent back as it was read is unchanged', async () => {
    const made = (
      await post({
        endpoints: hosts('round.trip.test'),
        base_path: '/v1/',
        bindings: [{ location: 'query', name: 'v', value: '2' }],
        header_rules: {
          request: { set: { 'X-A': '1' }, add: { 'X-B': '2' }, remove: ['X-C'] },
          response: {},
        },
        first_byte_timeout_ms: 1000,
        visibility: 'descendants',
        track_body: true,
        tags: ['a', 'b'],
      })
    ).body;
    expect(made).toMatchObject({
      base_path: '/v1',
      header_rules: { request: { set: { 'x-a': '1' } } },
    });
    const { id, tenant_id, needs_target_host, created_at, updated_at, ...body } = made;
    const put = await api.made('PUT', tenant.at(`/upstreams/${id}`), body);
    expect(put).toEqual(made);
    expect(await api.made('GET', tenant.at(`/upstreams/${id}`))).toEqual(made);
    const bare = await api.made('PUT', tenant.at(`/upstreams/${id}`), {
      name: made.name,
      endpoints: made.endpoints,
    });
    expect(bare).toMatchObject({
      base_path: '',
      bindings: [],
      header_rules: null,
      visibility: 'private',
      track_body: false,
      tags: [],
    });
  });

  it.each([
    ['a name with a slash', { name: 'a/b' }, 'name'],
    ['a base path with a query', { base_path: '/v1?x' }, 'base_path'],
    ['an encoded dot segment', { base_path: '/v1/%2e%2E' }, 'base_path'],
    ['a timeout of nothing', { first_byte_timeout_ms: 0 }, 'first_byte_timeout_ms'],
    ['a timeout without end', { idle_timeout_ms: 1e12 }, 'idle_timeout_ms'],
    ['an unknown scheme', { scheme: 'ftp' }, 'scheme'],
    ['a tag with a space', { tags: ['a b'] }, 'tags.0'],
    [
      'an unknown field of an endpoint',
      { endpoints: [{ host: 'x.example', weight: 1 }] },
      'endpoints.0.weight',
    ],
    [
      'an unknown field of a binding',
      { bindings: [{ location: 'header', name: 'x', value: 'v', extra: 1 }] },
      'bindings.0.extra',
    ],
    [
      'an unknown field of header rules',
      { header_rules: { surprise: {} } },
      'header_rules.surprise',
    ],
    [
      'a rule for host',
      { header_rules: { request: { set: { Host: 'x' } } } },
      'header_rules.request.set.Host',
    ],
    [
      'a rule that breaks a line',
      { header_rules: { response: { add: { a: 'x\r\ny: z' } } } },
      'header_rules.response.add.a',
    ],
    [
      'a rule that sets a cookie of ours',
      { header_rules: { response: { set: { 'set-cookie': '__Host-weir_session=x' } } } },
      'header_rules.response.set.set-cookie',
    ],
    [
      'a rule for x-weir',
      { header_rules: { request: { remove: ['X-Weir-Key'] } } },
      'header_rules.request.remove.0',
    ],
    [
      'a header twice',
      { header_rules: { request: { set: { a: '1', A: '2' } } } },
      'header_rules.request.set.A',
    ],
  ])('with %s is refused', async (_, fields, path) => {
    await refusedAt({ ...upstreamFields(unique()), ...fields }, path);
  });

  it('takes its routes and endpoint rows with it', async () => {
    const { id } = (await post(upstreamFields(unique()))).body;
    await api.made(
      'POST',
      '/routes',
      { upstream_id: id, methods: ['GET'], path: '/' },
      tenant.token,
    );
    expect((await api.send('DELETE', `/upstreams/${id}`, { key: tenant.token })).status).toBe(204);
    for (const table of ['routes', 'route_slots', 'upstream_hosts']) {
      const rows = await db.prepare(`select * from ${table} where upstream_id = ?`).bind(id).all();
      expect(rows.results).toEqual([]);
    }
  });
});
