import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/base/ids';
import { managementBodyBytesMax, pageSizeMax } from '../../../src/base/limits';
import { operations } from '../../../src/control-plane/operations';
import { operatorKey } from '../../support/test-env';
import {
  type Api,
  db,
  makeApi,
  makeKey,
  makeTenant,
  startMs,
  type Tenant,
  upstreamFields,
} from './harness';
import { bodies, type Ids, makeCall, makeOneOfEach, nameOf, pathOf } from './resources';

const second = 'second-operator-key-for-tests-0123456789';
let api: Api;
let root: Tenant;
let own: Tenant;
let foreign: Tenant;
let ownIds: Ids;
let foreignIds: Ids;
let versions: unknown;

/** The configuration versions of the tenants that must not change. */
const untouched = async () =>
  (
    await db
      .prepare('select id, config_version from tenants where id in (?, ?) order by id')
      .bind(foreign.id, root.id)
      .all()
  ).results;

beforeAll(async () => {
  api = makeApi();
  root = await makeTenant(api);
  own = await makeTenant(api, { parentId: root.id });
  foreign = await makeTenant(api, { parentId: root.id });
  ownIds = await makeOneOfEach(api, own);
  foreignIds = await makeOneOfEach(api, foreign);
  versions = await untouched();
});

/** The rows that a key of a tenant may run at all: the operator's own answer it 403, whatever the id. */
const forKeys = operations.filter((operation) => operation.permission !== 'operator');
/** Every id but those of the catalog, which belong to no tenant. */
const withId = forKeys.filter(({ path }) => path.includes('{id}') && !path.startsWith('/catalog'));
const inTenant = forKeys.filter((operation) => operation.scope !== 'gateway');
const writes = operations.filter((operation) => operation.body !== null);
/** The operator's own lists have tests of their own. */
const lists = forKeys.filter((o) => Object.hasOwn(o.query, 'cursor'));
const call = (operation: (typeof operations)[number], path: string, key: string) => {
  const body = operation.body === null ? undefined : bodies(ownIds)[nameOf(operation)];
  return api.send(operation.method, path, { key, body });
};

describe('every operation', () => {
  it.each(withId.map((o) => [nameOf(o), o] as const))(
    '%s answers 404 for a foreign, unknown, malformed or other id, and for an ancestor',
    async (_, operation) => {
      const mixed = Object.fromEntries(
        Object.keys(ownIds).map((kind) => [kind, ownIds.calls ?? '']),
      );
      const isCall = operation.path.startsWith('/calls');
      const unknown = Object.fromEntries(
        Object.keys(ownIds).map((k) => [k, newId('ups', startMs)]),
      );
      const malformed = Object.fromEntries(Object.keys(ownIds).map((k) => [k, "x'%00--"]));
      const ancestor = { ...foreignIds, tenants: root.id };
      const ids = [foreignIds, unknown, malformed, ancestor, ...(isCall ? [] : [mixed])];
      for (const each of ids) {
        const answer = await call(operation, pathOf(operation, each), own.token);
        expect(answer).toMatchObject({
          status: 404,
          body: { type: 'urn:weir:problem:resource.not_found' },
        });
        expect(answer.body).not.toHaveProperty('errors');
      }
    },
  );

  it.each(inTenant.map((o) => [nameOf(o), o] as const))(
    '%s answers 404 in a foreign, unknown or malformed tenant and in an ancestor',
    async (_, operation) => {
      for (const tenant of [foreign.id, root.id, newId('ten', startMs), 'nonsense']) {
        for (const ids of [ownIds, foreignIds]) {
          const path = `${pathOf(operation, ids)}?tenant=${tenant}`;
          expect((await call(operation, path, own.token)).status).toBe(404);
        }
      }
    },
  );

  it('left the foreign tenant and the ancestor as they were', async () => {
    expect(await untouched()).toEqual(versions);
  });

  it.each(operations.map((o) => [nameOf(o), o] as const))(
    '%s needs a key',
    async (_, operation) => {
      for (const key of [null, 'wrong', `wk_${'0'.repeat(43)}`]) {
        const answer = await api.send(operation.method, pathOf(operation, ownIds), { key });
        expect(answer).toMatchObject({
          status: 401,
          body: { type: 'urn:weir:problem:auth.failed' },
        });
        expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="weir"/);
      }
    },
  );

  it.each(writes.map((o) => [nameOf(o), o] as const))(
    '%s refuses unknown fields',
    async (_, operation) => {
      const body = { ...bodies(ownIds)[nameOf(operation)], surprise: 'planted-value' };
      const path = pathOf(operation, ownIds);
      const tenant = operation.scope === 'gateway' ? '' : `?tenant=${own.id}`;
      const answer = await api.send(operation.method, path + tenant, { body });
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'surprise' }] } });
      expect(answer.text).not.toContain('planted-value');
      const proto = `{"__proto__":{},${JSON.stringify(body).slice(1)}`;
      expect((await api.send(operation.method, path + tenant, { body: proto })).status).toBe(400);
    },
  );

  it('__proto__ is no name in a record either, at any depth', async () => {
    const rules = '{"response":{"set":{"x-a":"1","__proto__":"2"}}}';
    const fields = JSON.stringify({ ...upstreamFields('proto'), header_rules: null });
    const body = fields.replace('"header_rules":null', `"header_rules":${rules}`);
    expect(await api.send('POST', `/upstreams?tenant=${own.id}`, { body })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'header_rules.response.set.__proto__' }] },
    });
  });

  it.each(writes.map((o) => [nameOf(o), o] as const))(
    '%s refuses a document that is not one object',
    async (_, operation) => {
      const path =
        pathOf(operation, ownIds) + (operation.scope === 'gateway' ? '' : `?tenant=${own.id}`);
      const deep = `${'['.repeat(40)}${']'.repeat(40)}`;
      for (const body of ['', '{', '[]', 'null', '{"name":"a","name":"b"}', '\ufeff{}', deep]) {
        const answer = await api.send(operation.method, path, { body });
        expect(answer).toMatchObject({
          status: 400,
          body: { type: 'urn:weir:problem:validation.error' },
        });
      }
    },
  );

  it.each(writes.map((o) => [nameOf(o), o] as const))(
    '%s refuses a body beyond the limit',
    async (_, operation) => {
      const path =
        pathOf(operation, ownIds) + (operation.scope === 'gateway' ? '' : `?tenant=${own.id}`);
      const body = JSON.stringify({ name: 'a'.repeat(managementBodyBytesMax) });
      expect((await api.send(operation.method, path, { body })).status).toBe(413);
    },
  );

  it.each(operations.map((o) => [nameOf(o), o] as const))(
    '%s refuses unknown and repeated query parameters',
    async (_, operation) => {
      const path = pathOf(operation, ownIds);
      expect((await api.send(operation.method, `${path}?surprise=1`)).status).toBe(400);
      if (operation.scope === 'gateway') return;
      expect(
        (await api.send(operation.method, `${path}?tenant=${own.id}&tenant=${own.id}`)).status,
      ).toBe(400);
    },
  );
});

describe('a list', () => {
  beforeAll(async () => {
    for (let i = 0; i < 4; i++) await makeOneOfEach(api, own);
    for (let i = 0; i < 5; i++) await makeTenant(api, { parentId: own.id });
    await makeCall(own.id);
  });

  it.each(lists.map((o) => [o.path, o] as const))(
    'of %s paginates by id, without a gap or a repeat',
    async (path) => {
      const whole = await api.made('GET', `${path}?limit=100`, undefined, own.token);
      expect(whole.next_cursor).toBeNull();
      const ids: string[] = whole.data.map((row: { id: string }) => row.id);
      expect(ids.length).toBeGreaterThanOrEqual(5);
      expect(ids).toEqual([...ids].sort());
      const walked: string[] = [];
      let cursor: string | null = null;
      do {
        const next: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const page = await api.made('GET', `${path}?limit=2${next}`, undefined, own.token);
        expect(page.data.length).toBeLessThanOrEqual(2);
        walked.push(...page.data.map((row: { id: string }) => row.id));
        cursor = page.next_cursor;
      } while (cursor !== null && walked.length < 200);
      expect(walked).toEqual(ids);
    },
  );

  it.each(lists.map((o) => [o.path, o] as const))(
    'of %s refuses a wrong limit or cursor',
    async (path) => {
      for (const query of [
        'limit=0',
        `limit=${pageSizeMax + 1}`,
        'limit=-1',
        'limit=1e1',
        'limit=',
        'limit=x',
      ]) {
        const answer = await api.send('GET', `${path}?${query}`, { key: own.token });
        expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'limit' }] } });
      }
      for (const cursor of [
        'x',
        '%00',
        btoa('ten_x'),
        btoa(newId('prj', 0)).slice(2),
        'a'.repeat(999),
        '',
      ]) {
        const answer = await api.send('GET', `${path}?cursor=${encodeURIComponent(cursor)}`, {
          key: own.token,
        });
        expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'cursor' }] } });
      }
    },
  );

  it('holds fifty rows unless more are asked for', async () => {
    const crowded = await makeTenant(api);
    for (let i = 0; i < 51; i++) await api.made('POST', crowded.at('/projects'), { name: `p${i}` });
    expect((await api.made('GET', crowded.at('/projects'))).data).toHaveLength(50);
    expect((await api.made('GET', crowded.at('/projects?limit=100'))).data).toHaveLength(51);
  });

  it('filters routes by upstream and keys by principal', async () => {
    const routes = await api.made('GET', own.at(`/routes?upstream_id=${ownIds.upstreams}`));
    expect(routes.data.map((row: { id: string }) => row.id)).toContain(ownIds.routes);
    expect(
      (await api.made('GET', own.at(`/routes?upstream_id=${foreignIds.upstreams}`))).data,
    ).toEqual([]);
    const keys = await api.made('GET', own.at(`/keys?principal_id=${ownIds.principals}`));
    expect(keys.data.length).toBeGreaterThanOrEqual(1);
    expect(
      (await api.made('GET', own.at(`/keys?principal_id=${foreignIds.principals}`))).data,
    ).toEqual([]);
  });
});

describe('the operator key', () => {
  it('works in either header, and two different keys are refused', async () => {
    const direct = { 'x-weir-key': operatorKey };
    expect((await api.send('GET', '/tenants', { key: null, headers: direct })).status).toBe(200);
    expect((await api.send('GET', '/tenants', { headers: direct })).status).toBe(200);
    const other = await api.send('GET', '/tenants', { headers: { 'x-weir-key': own.token } });
    expect(other).toMatchObject({
      status: 400,
      body: { type: 'urn:weir:problem:auth.key_conflict' },
    });
  });

  it('or an access key is the only one of ours beside what a proxy in front put into the other header', async () => {
    for (const ours of [operatorKey, own.token]) {
      const direct = { 'x-weir-key': ours, authorization: 'Bearer eyJhbGciOi.of-a-proxy' };
      const bearer = { 'x-weir-key': 'of-a-proxy', authorization: `Bearer ${ours}` };
      for (const headers of [direct, bearer])
        expect((await api.send('GET', '/tenants', { key: null, headers })).status).toBe(200);
    }
    const neither = { 'x-weir-key': 'one', authorization: 'Bearer other' };
    expect(await api.send('GET', '/tenants', { key: null, headers: neither })).toMatchObject({
      status: 401,
      body: { type: 'urn:weir:problem:auth.failed' },
    });
  });

  it('rotates: both are valid meanwhile, and only the new one after', async () => {
    const during = makeApi({ vars: { OPERATOR_KEY: `${operatorKey},${second}` } });
    for (const key of [operatorKey, second]) {
      expect((await during.send('GET', '/tenants', { key })).status).toBe(200);
    }
    const after = makeApi({ vars: { OPERATOR_KEY: second } });
    expect((await after.send('GET', '/tenants', { key: operatorKey })).status).toBe(401);
    expect((await after.send('GET', '/tenants', { key: second })).status).toBe(200);
    for (const key of [second.slice(0, -1), `${second}x`, `${operatorKey},${second}`]) {
      expect((await during.send('GET', '/tenants', { key })).status).toBe(401);
    }
  });

  it('has to name a tenant, except on the tree', async () => {
    const answer = await api.send('GET', '/projects');
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'tenant' }] } });
    expect((await api.send('GET', '/tenants')).status).toBe(200);
    expect((await api.send('GET', `/tenants/${own.id}`)).status).toBe(200);
    expect((await api.send('GET', `/projects?tenant=${newId('ten', 0)}`)).status).toBe(404);
  });

  it('is needed to rotate the master key', async () => {
    const answer = await api.send('POST', '/vault/rotate', { key: own.token, body: {} });
    expect(answer).toMatchObject({ status: 403, body: { needs: 'operator' } });
  });
});

describe('an access key', () => {
  it('acts in its own tenant and in those below', async () => {
    const child = await makeTenant(api, { parentId: own.id });
    const project = await api.made('POST', child.at('/projects'), { name: 'below' }, root.token);
    expect(project.tenant_id).toBe(child.id);
    expect((await api.send('GET', `/projects/${project.id}`, { key: root.token })).status).toBe(
      404,
    );
    expect(
      (await api.send('GET', child.at(`/projects/${project.id}`), { key: own.token })).status,
    ).toBe(200);
    const named = await api.send('GET', `/projects?tenant=${own.id}`, { key: own.token });
    expect(named.status).toBe(200);
  });

  it('is refused once it has expired, and once it is revoked', async () => {
    const expiring = await makeKey(api, own.id, 'viewer', { expires_at: '2030-01-01T00:01:00Z' });
    expect((await api.send('GET', '/projects', { key: expiring.token })).status).toBe(200);
    api.clock.nowMs = startMs + 60_000;
    expect((await api.send('GET', '/projects', { key: expiring.token })).status).toBe(401);
    api.clock.nowMs = startMs;
    const revoked = await makeKey(api, own.id, 'viewer');
    expect((await api.send('GET', '/projects', { key: revoked.token })).status).toBe(200);
    const answer = await api.made('POST', own.at(`/keys/${revoked.keyId}/revoke`));
    expect(answer.revoked_at).toBe('2030-01-01T00:00:00.000Z');
    expect((await api.send('GET', '/projects', { key: revoked.token })).status).toBe(401);
  });
});

describe('the wire', () => {
  it('answers 405 with Allow on a known path and 404 on an unknown one', async () => {
    const known = await api.send('PATCH', '/upstreams/x');
    expect(known.status).toBe(405);
    expect(known.headers.get('allow')).toBe('GET, PUT, DELETE');
    expect((await api.send('DELETE', '/tenants')).headers.get('allow')).toBe('GET, POST');
    expect((await api.send('GET', '/vault/rotate')).headers.get('allow')).toBe('POST');
    expect((await api.send('GET', '/nothing')).status).toBe(404);
    expect((await api.send('GET', '/projects/')).status).toBe(404);
  });

  it('names the new resource, and is never cached', async () => {
    const body = { name: 'located' };
    const answer = await api.send('POST', '/projects', { key: own.token, body });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`/api/v1/projects/${answer.body.id}`);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const problem = await api.send('GET', own.at('/projects/x'));
    expect(problem.headers.get('content-type')).toBe('application/problem+json');
    expect(problem.headers.get('x-weir-error-source')).toBe('gateway');
  });

  it.each([
    ['operator', () => operatorKey],
    ['key of a tenant above', () => root.token],
  ])('names it so that the %s that made it can read it', async (who, key) => {
    const body = { name: `made by the ${who}` };
    const made = await api.send('POST', own.at('/projects'), { key: key(), body });
    const at = made.headers.get('location') ?? '';
    const read = await api.send('GET', at.replace('/api/v1', ''), { key: key() });
    expect([read.status, read.body.id]).toEqual([200, made.body.id]);
  });

  it('names a tenant without the one that it was made in', async () => {
    const made = await api.send('POST', own.at('/tenants'), { body: { name: 'below' } });
    expect(made.headers.get('location')).toBe(`/api/v1/tenants/${made.body.id}`);
  });

  it('takes JSON under any content type, and no other bytes', async () => {
    const send = (body: string, type: string) =>
      api.send('POST', own.at('/projects'), { body, headers: { 'content-type': type } });
    expect((await send('{"name":"typed"}', 'text/plain')).status).toBe(201);
    expect((await send('name=typed', 'application/x-www-form-urlencoded')).status).toBe(400);
  });

  it('says which field is wrong, once for each, and never what was sent', async () => {
    const body = upstreamFields('Bad Name', {
      enabled: 'planted-1',
      tags: [7],
      base_path: 9,
      bindings: [{ location: 'planted-2' }],
    });
    const answer = await api.send('POST', own.at('/upstreams'), { body });
    expect(answer.status).toBe(400);
    const paths = answer.body.errors.map((issue: { path: string }) => issue.path);
    expect(paths).toEqual([
      'name',
      'base_path',
      'bindings.0.location',
      'bindings.0.name',
      'enabled',
      'tags.0',
    ]);
    expect(answer.text).not.toMatch(/planted|Bad Name/);
  });
});

describe('a lone surrogate', () => {
  const lone = '\ud800';
  const upstream = (binding: object) => ({
    ...upstreamFields('lone'),
    bindings: [{ location: 'query', name: 'q', value: 'v', ...binding }],
  });
  it.each([
    ['/deny-rules', { host: 'deny.example', note: lone }, 'note'],
    ['/deny-rules', { host: lone }, 'host'],
    ['/upstreams', upstream({ name: lone }), 'bindings.0.name'],
    ['/upstreams', upstream({ value: `a${lone}` }), 'bindings.0.value'],
    ['/routes', { methods: ['GET'], path: '/lone', query_allowlist: [lone] }, 'query_allowlist.0'],
    ['/projects', { name: lone }, 'name'],
  ])('in %s is refused, since no UTF-8 could keep it: %j', async (path, fields, field) => {
    const body = path === '/routes' ? { ...fields, upstream_id: ownIds.upstreams } : fields;
    const answer = await api.send('POST', own.at(path), { body });
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, field]);
  });

  it('is not what a pair is: both halves come back as they went in', async () => {
    const body = { host: 'deny.example', note: '\u{1f980}' };
    const { id } = await api.made('POST', own.at('/deny-rules'), body);
    expect((await api.made('GET', own.at(`/deny-rules/${id}`))).note).toBe(body.note);
  });
});

describe('a name', () => {
  it.each([
    ['/projects', { name: 'taken' }, 'name'],
    ['/principals', { name: 'taken', role: 'viewer' }, 'name'],
    ['/secrets', { name: 'taken', value: 'x' }, 'name'],
    ['/upstreams', { name: 'taken', endpoints: [{ host: 'other.vendor.example' }] }, 'name'],
    ['/upstreams', { name: 'other', endpoints: [{ host: 'taken.vendor.example' }] }, 'alias'],
  ])('in %s is taken once in a tenant: %j', async (path, body, field) => {
    await api.send('POST', own.at(path), {
      body: path === '/upstreams' ? upstreamFields('taken') : body,
    });
    const answer = await api.send('POST', own.at(path), { body });
    expect(answer).toMatchObject({
      status: 409,
      body: { type: 'urn:weir:problem:resource.conflict', field },
    });
    expect((await api.send('POST', (await makeTenant(api)).at(path), { body })).status).toBe(201);
  });
});
