import { beforeAll, describe, expect, it } from 'vitest';
import {
  denyRulesPerTenantMax,
  routePriorityMax,
  routesPerUpstreamMax,
} from '../../../src/base/limits';
import { type Api, db, makeApi, makeTenant, type Tenant, upstreamFields } from './harness';

let api: Api;
let tenant: Tenant;
let count = 0;
const unique = () => `r${++count}`;
const post = (fields: object) =>
  api.send('POST', '/upstreams', { key: tenant.token, body: fields });

beforeAll(async () => {
  api = makeApi();
  tenant = await makeTenant(api);
});

describe('a route', () => {
  let upstreamId: string;
  beforeAll(async () => {
    upstreamId = (await post(upstreamFields(unique()))).body.id;
  });
  const route = (fields: object) =>
    api.send('POST', '/routes', {
      key: tenant.token,
      body: { upstream_id: upstreamId, methods: ['GET'], path: '/a', ...fields },
    });

  it('shares path, priority and method with no other enabled one', async () => {
    const first = await route({ methods: ['GET', 'POST'], path: '/same/' });
    expect(first.body).toMatchObject({
      path: '/same',
      query_allowlist: [],
      suffix_mode: 'append',
      priority: 0,
      enabled: true,
    });
    expect(await route({ methods: ['POST'], path: '/same' })).toMatchObject({
      status: 409,
      body: { field: 'path' },
    });
    expect((await route({ methods: ['POST'], path: '/same', priority: 1 })).status).toBe(201);
    expect((await route({ methods: ['PUT'], path: '/same' })).status).toBe(201);
    const off = await route({ methods: ['POST'], path: '/same', enabled: false });
    expect(off.status).toBe(201);
    const on = (id: string, fields: object) =>
      api.send('PUT', `/routes/${id}`, {
        key: tenant.token,
        body: { methods: ['POST'], path: '/same', ...fields },
      });
    expect((await on(off.body.id, {})).status).toBe(409);
    expect((await on(first.body.id, { methods: ['GET'] })).status).toBe(200);
    expect((await on(off.body.id, {})).status).toBe(200);
    expect((await on(first.body.id, { methods: ['GET', 'POST'] })).status).toBe(409);
  });

  it('of the same kind is stored once, however many ask at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => route({ path: '/race' })));
    expect(answers.map((a) => a.status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
  });

  it.each([
    [{ methods: [] }, 'methods'],
    [{ methods: ['GET', 'GET'] }, 'methods'],
    [{ methods: ['TRACE'] }, 'methods.0'],
    [{ path: 'a' }, 'path'],
    [{ path: '/a/../b' }, 'path'],
    [{ priority: 1.5 }, 'priority'],
    [{ query_allowlist: [''] }, 'query_allowlist.0'],
    [{ suffix_mode: 'maybe' }, 'suffix_mode'],
  ])('with %j is refused', async (fields, path) => {
    expect(await route(fields)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('is refused with what a number must be, and what a list must have', async () => {
    const message = `may be at most ${routePriorityMax}`;
    const errors = [
      { path: 'methods', message: 'must have at least 1 entries' },
      { path: 'priority', message },
    ];
    const refused = await route({ methods: [], priority: routePriorityMax + 1 });
    expect(refused).toMatchObject({ status: 400, body: { errors } });
  });

  it('is one of a bounded number, however many ask at the same time', async () => {
    const id = (await post(upstreamFields(unique()))).body.id;
    const rows = JSON.stringify(
      Array.from({ length: routesPerUpstreamMax - 1 }, (_, i) => `rte_${i}`),
    );
    await db
      .prepare(
        `insert into routes (id, tenant_id, upstream_id, methods, path, created_at, updated_at)
         select value, ?, ?, '["GET"]', '/' || value, 0, 0 from json_each(?)`,
      )
      .bind(tenant.id, id, rows)
      .run();
    const paths = Array.from({ length: 8 }, (_, i) => `/at-once-${i}`);
    const answers = await Promise.all(paths.map((path) => route({ upstream_id: id, path })));
    const [made, ...more] = answers.filter(({ status }) => status === 201);
    expect(more).toEqual([]);
    for (const answer of answers)
      if (answer !== made)
        expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'upstream_id' }] } });
    const own = { key: tenant.token };
    expect((await api.send('GET', `/routes/${made?.body.id}`, own)).body).toEqual(made?.body);
    const slots = 'select route_id from route_slots where upstream_id = ?';
    const { results } = await db.prepare(slots).bind(id).all();
    expect(results).toEqual([{ route_id: made?.body.id }]);
  });
});

describe('a deny rule', () => {
  const rule = (fields: object) =>
    api.send('POST', '/deny-rules', { key: tenant.token, body: fields });

  it.each([
    [{ host: '*.Example.COM' }, { host: '*.example.com' }],
    [
      { host: '10.0.0.1', path: '/admin/' },
      { host: '10.0.0.1', path: '/admin' },
    ],
    [{ host: '[::1]' }, { host: '::1' }],
    [{ host: 'LOCALHOST' }, { host: 'localhost' }],
    [
      { method: 'DELETE', note: 'no deletes' },
      { method: 'DELETE', note: 'no deletes', host: null },
    ],
    [{ path: '/' }, { path: '/' }],
  ])('%j is stored as %j', async (fields, stored) => {
    expect(await rule(fields)).toMatchObject({ status: 201, body: stored });
  });

  it.each([
    [{}, ''],
    [{ note: 'nothing' }, ''],
    [{ host: 'a b' }, 'host'],
    [{ host: '*.*.example' }, 'host'],
    [{ host: 'https://x' }, 'host'],
    [{ path: 'x' }, 'path'],
    [{ method: 'TRACE' }, 'method'],
  ])('%j is refused', async (fields, path) => {
    expect(await rule(fields)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('is one of a bounded number, however many ask at the same time', async () => {
    const full = await makeTenant(api);
    const rows = JSON.stringify(
      Array.from({ length: denyRulesPerTenantMax - 1 }, (_, i) => `den_full_${i}`),
    );
    await db
      .prepare(
        `insert into deny_rules (id, tenant_id, path, created_at, updated_at) select value, ?, '/', 0, 0 from json_each(?)`,
      )
      .bind(full.id, rows)
      .run();
    const body = { path: '/x', note: null };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => api.send('POST', full.at('/deny-rules'), { body })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(400)]);
    const made = answers.find(({ status }) => status === 201)?.body;
    const read = await api.send('GET', full.at(`/deny-rules/${made.id}`));
    expect(read.body).toEqual(made);
  });
});
