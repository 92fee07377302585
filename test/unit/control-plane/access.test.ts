import { beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../../../src/control-plane/operations';
import { may, type Role, roles } from '../../../src/domain/tenancy/access';
import { type Api, db, makeApi, makeKey, makeTenant, startMs, type Tenant } from './harness';
import { bodies, type Ids, makeOneOfEach, nameOf, pathOf } from './resources';

let api: Api;
let tenant: Tenant;
let ids: Ids;
const tokens = new Map<Role, string>();

beforeAll(async () => {
  api = makeApi();
  tenant = await makeTenant(api);
  ids = await makeOneOfEach(api, tenant);
  for (const role of roles) tokens.set(role, (await makeKey(api, tenant.id, role)).token);
});

describe('the roles matrix', () => {
  const rows = roles.flatMap((role) => operations.map((o) => [role, nameOf(o), o] as const));
  it.each(rows)(
    '%s: %s is forbidden exactly when the role lacks the permission',
    async (role, name, o) => {
      const key = tokens.get(role) ?? '';
      const body = o.body === null ? undefined : bodies(ids)[name];
      const target =
        o.method === 'DELETE' || name.endsWith('/revoke') ? await makeOneOfEach(api, tenant) : ids;
      const answer = await api.send(o.method, pathOf(o, target), { key, body });
      const allowed = o.permission !== 'operator' && may({ role, permissions: null }, o.permission);
      if (!allowed) expect(answer).toMatchObject({ status: 403, body: { needs: o.permission } });
      else expect([200, 201, 204, 409]).toContain(answer.status);
    },
  );

  it('a narrowed key is forbidden what its list does not hold', async () => {
    const { token } = await makeKey(api, tenant.id, 'owner', { permissions: ['config:read'] });
    expect((await api.send('GET', '/upstreams', { key: token })).status).toBe(200);
    const write = await api.send('POST', '/projects', { key: token, body: { name: 'x' } });
    expect(write).toMatchObject({ status: 403, body: { needs: 'config:write' } });
    expect((await api.send('GET', '/calls', { key: token })).status).toBe(403);
  });
});

describe('principals and keys', () => {
  it('an admin neither makes, changes, deletes nor keys an owner', async () => {
    const key = tokens.get('admin') ?? '';
    const owner = await makeKey(api, tenant.id, 'owner');
    const member = await makeKey(api, tenant.id, 'member');
    const refused = [
      ['POST', '/principals', { name: 'usurper', role: 'owner' }],
      ['PUT', `/principals/${member.principalId}`, { name: 'raised', role: 'owner' }],
      ['PUT', `/principals/${owner.principalId}`, { name: 'lowered', role: 'viewer' }],
      ['DELETE', `/principals/${owner.principalId}`, undefined],
      ['POST', '/keys', { name: 'k', principal_id: owner.principalId }],
      ['PUT', `/keys/${owner.keyId}`, { name: 'k' }],
      ['POST', `/keys/${owner.keyId}/revoke`, undefined],
      ['DELETE', `/keys/${owner.keyId}`, undefined],
    ] as const;
    for (const [method, path, body] of refused) {
      expect((await api.send(method, path, { key, body })).status).toBe(403);
    }
    expect((await api.send('GET', '/projects', { key: owner.token })).status).toBe(200);
  });

  it('a key narrowed to access:write cannot free itself', async () => {
    const narrow = await makeKey(api, tenant.id, 'owner', { permissions: ['access:write'] });
    const { token: key, principalId: principal_id, keyId } = narrow;
    const send = (method: string, path: string, body: object) =>
      api.send(method, path, { key, body });
    expect((await send('POST', '/keys', { name: 'free', principal_id })).status).toBe(403);
    expect((await send('PUT', `/keys/${keyId}`, { name: 'free' })).status).toBe(403);
    expect((await send('POST', '/principals', { name: 'puppet', role: 'owner' })).status).toBe(403);
    const same = { name: 'same', principal_id, permissions: ['access:write'] };
    expect((await send('POST', '/keys', same)).status).toBe(201);
  });

  it('a token is shown once and stored as its SHA-256', async () => {
    const body = { name: 'shown', principal_id: tenant.principalId };
    const answer = await api.send('POST', tenant.at('/keys'), { body });
    const { token, hint, id } = answer.body;
    expect(token).toMatch(/^wk_[0-9A-Za-z]{43}$/);
    expect(token.startsWith(hint)).toBe(true);
    const reads = [`/keys/${id}`, '/keys?limit=100', `/keys?principal_id=${tenant.principalId}`];
    for (const path of reads) {
      const read = await api.send('GET', tenant.at(path));
      expect(read.text).not.toContain(token);
      expect(read.text).not.toContain('"token"');
    }
    const put = await api.send('PUT', tenant.at(`/keys/${id}`), { body: { name: 'renamed' } });
    expect(put.text).not.toContain(token);
    const row = await db.prepare('select * from access_keys where id = ?').bind(id).first();
    expect(JSON.stringify(row)).not.toContain(token);
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
    const hex = [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, '0')).join('');
    expect(row?.sha256).toBe(hex);
  });

  it('PUT replaces the whole key, and keeps its revocation', async () => {
    const key = await makeKey(api, tenant.id, 'member', {
      permissions: ['call:invoke'],
      upstream_access: [ids.upstreams],
      project_access: [ids.projects],
      expires_at: '2031-01-01T00:00:00+02:00',
    });
    const before = await api.made('GET', tenant.at(`/keys/${key.keyId}`));
    expect(before).toMatchObject({
      permissions: ['call:invoke'],
      upstream_access: [ids.upstreams],
      project_access: [ids.projects],
      expires_at: '2030-12-31T22:00:00.000Z',
    });
    await api.made('POST', tenant.at(`/keys/${key.keyId}/revoke`));
    api.clock.nowMs = startMs + 1000;
    const after = await api.made('PUT', tenant.at(`/keys/${key.keyId}`), { name: 'bare' });
    const again = await api.made('POST', tenant.at(`/keys/${key.keyId}/revoke`));
    api.clock.nowMs = startMs;
    const cleared = {
      permissions: null,
      upstream_access: null,
      project_access: null,
      expires_at: null,
    };
    expect(after).toMatchObject({
      ...cleared,
      name: 'bare',
      revoked_at: '2030-01-01T00:00:00.000Z',
    });
    expect(again.revoked_at).toBe('2030-01-01T00:00:00.000Z');
  });

  it('that ends makes no key that outlives it, and does not prolong itself', async () => {
    const expires_at = '2031-01-01T00:00:00.000Z';
    const ending = await makeKey(api, tenant.id, 'owner', { expires_at });
    const as = { key: ending.token };
    const later = { name: 'k', expires_at: '2031-01-01T00:00:00.001Z' };
    const no = { status: 403, body: { needs: 'expires_at of the new key' } };
    for (const body of [{ name: 'k' }, later]) {
      const made = { ...body, principal_id: ending.principalId };
      expect(await api.send('POST', '/keys', { ...as, body: made })).toMatchObject(no);
      expect(await api.send('PUT', `/keys/${ending.keyId}`, { ...as, body })).toMatchObject(no);
    }
    const body = { name: 'k', expires_at };
    expect((await api.send('PUT', `/keys/${ending.keyId}`, { ...as, body })).status).toBe(200);
  });

  it('DELETE ends a key, and deleting a principal ends all of its keys', async () => {
    const key = await makeKey(api, tenant.id, 'viewer');
    expect((await api.send('GET', '/projects', { key: key.token })).status).toBe(200);
    expect((await api.send('DELETE', tenant.at(`/keys/${key.keyId}`))).status).toBe(204);
    expect((await api.send('GET', '/projects', { key: key.token })).status).toBe(401);
    const other = await makeKey(api, tenant.id, 'viewer');
    expect((await api.send('GET', '/projects', { key: other.token })).status).toBe(200);
    expect((await api.send('DELETE', tenant.at(`/principals/${other.principalId}`))).status).toBe(
      204,
    );
    expect((await api.send('GET', '/projects', { key: other.token })).status).toBe(401);
    expect((await api.send('GET', tenant.at(`/keys/${other.keyId}`))).status).toBe(404);
  });

  it('a disabled principal has no working key', async () => {
    const key = await makeKey(api, tenant.id, 'viewer');
    const body = { name: 'off', role: 'viewer', enabled: false };
    await api.made('PUT', tenant.at(`/principals/${key.principalId}`), body);
    expect((await api.send('GET', '/projects', { key: key.token })).status).toBe(401);
  });

  it.each([
    [{ expires_at: '2029-12-31T23:59:59Z' }, 'expires_at'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ expires_at: '9999-12-31T23:59:59.999-00:01' }, 'expires_at'],
    [{ permissions: ['everything'] }, 'permissions.0'],
    [{ principal_id: 'prn_x' }, 'principal_id'],
    [{ upstream_access: ['ups_x'] }, 'upstream_access.0'],
    [{ project_access: ['prj_x'] }, 'project_access.0'],
  ])('a key with %j is refused', async (fields, path) => {
    const body = { name: 'k', principal_id: tenant.principalId, ...fields };
    const answer = await api.send('POST', tenant.at('/keys'), { body });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });
});

describe('the last expiry that can be said', () => {
  it('is accepted, and comes back as it can be sent again', async () => {
    const { token, keyId } = await makeKey(api, tenant.id, 'viewer', {
      expires_at: '9999-12-31T23:59:59.999Z',
    });
    expect((await api.send('GET', '/projects', { key: token })).status).toBe(200);
    const { name, expires_at } = await api.made('GET', tenant.at(`/keys/${keyId}`));
    const again = await api.made('PUT', tenant.at(`/keys/${keyId}`), { name, expires_at });
    expect(again.expires_at).toBe('9999-12-31T23:59:59.999Z');
  });
});

describe('what a body refers to', () => {
  it('exists in the tenant: a foreign id is refused like an unknown one', async () => {
    const foreign = await makeOneOfEach(api, await makeTenant(api));
    const cases = [
      ['/keys', { name: 'k', principal_id: foreign.principals }, 'principal_id'],
      [
        '/keys',
        { name: 'k', principal_id: tenant.principalId, upstream_access: [foreign.upstreams] },
        'upstream_access.0',
      ],
      [
        '/keys',
        { name: 'k', principal_id: tenant.principalId, project_access: [foreign.projects] },
        'project_access.0',
      ],
      ['/routes', { upstream_id: foreign.upstreams, methods: ['GET'], path: '/x' }, 'upstream_id'],
      ['/deny-rules', { principal_id: foreign.principals }, 'principal_id'],
      ['/deny-rules', { project_id: foreign.projects }, 'project_id'],
      [
        '/upstreams',
        { name: 'u', endpoints: [{ host: 'u.example' }], project_id: foreign.projects },
        'project_id',
      ],
      ['/tenants', { name: 't', parent_id: foreign.tenants }, 'parent_id'],
      ['/tenants', { name: 't', ledger_tenant_id: foreign.tenants }, 'ledger_tenant_id'],
    ] as const;
    for (const [path, body, field] of cases) {
      const answer = await api.send('POST', path, { key: tenant.token, body });
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: field }] } });
    }
  });
});

describe('the tenant tree', () => {
  it('has at most sixteen levels', async () => {
    let parent = (await api.made('POST', '/tenants', { name: 'level 1' })).id;
    for (let level = 2; level <= 16; level++) {
      const made = await api.made('POST', '/tenants', {
        name: `level ${level}`,
        parent_id: parent,
      });
      expect(made.depth).toBe(level);
      parent = made.id;
    }
    const answer = await api.send('POST', '/tenants', {
      body: { name: 'level 17', parent_id: parent },
    });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'parent_id' }] } });
  });

  it('has roots that only the operator makes, and parents that never change', async () => {
    const key = tenant.token;
    const root = await api.send('POST', '/tenants', {
      key,
      body: { name: 'root', parent_id: null },
    });
    expect(root).toMatchObject({ status: 403, body: { needs: 'operator' } });
    const child = await api.made('POST', '/tenants', { name: 'child' }, key);
    expect(child).toMatchObject({ parent_id: tenant.id, depth: 2, ledger_tenant_id: child.id });
    const body = { name: 'child', parent_id: child.id };
    expect((await api.send('PUT', `/tenants/${child.id}`, { key, body })).status).toBe(400);
  });

  it('lets a tenant pay from its own ledger, or from one that the actor commands', async () => {
    const parent = await makeTenant(api);
    const child = await makeTenant(api, { parentId: parent.id });
    const grandchild = await makeTenant(api, { parentId: child.id });
    const pays = (key: string, id: string, ledger: string | null) =>
      api.send('PUT', `/tenants/${id}`, { key, body: { name: 'n', ledger_tenant_id: ledger } });
    expect((await pays(child.token, child.id, parent.id)).status).toBe(403);
    expect((await pays(child.token, grandchild.id, child.id)).status).toBe(200);
    expect((await pays(child.token, grandchild.id, parent.id)).status).toBe(403);
    expect((await pays(parent.token, child.id, parent.id)).status).toBe(200);
    expect((await pays(child.token, child.id, parent.id)).status).toBe(200);
    expect((await pays(parent.token, child.id, grandchild.id)).status).toBe(400);
    const reset = await pays(child.token, child.id, null);
    expect(reset.body.ledger_tenant_id).toBe(child.id);
  });

  it('deletes only an empty tenant, whole', async () => {
    const parent = await api.made('POST', '/tenants', { name: 'parent' });
    const child = await api.made('POST', '/tenants', { name: 'child', parent_id: parent.id });
    const secret = await api.made('POST', `/secrets?tenant=${parent.id}`, {
      name: 's',
      value: 'v',
    });
    const keys = async () =>
      (await db.prepare('select * from tenant_data_keys where tenant_id = ?').bind(parent.id).all())
        .results.length;
    const gone = (id: string) => api.send('DELETE', `/tenants/${id}`);
    expect(await gone(parent.id)).toMatchObject({ status: 409, body: { field: 'resources' } });
    expect((await gone(child.id)).status).toBe(204);
    expect((await gone(parent.id)).status).toBe(409);
    expect(await keys()).toBe(1);
    await api.send('DELETE', `/secrets/${secret.id}?tenant=${parent.id}`);
    expect((await gone(parent.id)).status).toBe(204);
    expect(await keys()).toBe(0);
    expect((await gone(parent.id)).status).toBe(404);
  });

  it("knows Cloudflare's regions", async () => {
    const made = await api.made('POST', '/tenants', { name: 'eu', home_region: 'weur' });
    expect(made.home_region).toBe('weur');
    const answer = await api.send('POST', '/tenants', { body: { name: 'x', home_region: 'mars' } });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'home_region' }] } });
  });
});

describe('every write', () => {
  it('raises the configuration version of its own tenant and of no other; money raises none', async () => {
    const own = await makeTenant(api);
    const version = async (id: string) =>
      (
        await db
          .prepare('select config_version v from tenants where id = ?')
          .bind(id)
          .first<{ v: number }>()
      )?.v ?? 0;
    const made = await makeOneOfEach(api, own);
    const others = await version(tenant.id);
    for (const o of operations.filter((each) => each.method !== 'GET' && each.scope === 'tenant')) {
      const target = o.method === 'DELETE' ? await makeOneOfEach(api, own) : made;
      const before = await version(own.id);
      const body = o.body === null ? undefined : bodies(made)[nameOf(o)];
      const answer = await api.send(o.method, own.at(pathOf(o, target)), { body });
      expect([nameOf(o), answer.status]).toEqual([nameOf(o), o.status]);
      const isMoney = /^\/(?:ledger|idempotency)\//.test(o.path);
      const after = await version(own.id);
      expect([nameOf(o), Math.sign(after - before)]).toEqual([nameOf(o), isMoney ? 0 : 1]);
    }
    expect(await version(tenant.id)).toBe(others);
  });

  it('gets a version that no isolate knows by other rows, also after the database was set back', async () => {
    const own = await makeTenant(api);
    const leaked = await makeKey(api, own.id, 'owner');
    const other = makeApi();
    const seen = () => other.send('GET', '/projects', { key: leaked.token });
    const configVersion = async () =>
      await db.prepare('select config_version v from tenants where id = ?').bind(own.id).first('v');
    const backup = await configVersion();
    const lost = await api.made('POST', own.at('/projects'), { name: 'later' });
    expect((await seen()).status).toBe(200);
    await db.batch([
      db.prepare('delete from projects where id = ?').bind(lost.id),
      db.prepare('update tenants set config_version = ? where id = ?').bind(backup, own.id),
    ]);
    await api.made('POST', own.at(`/keys/${leaked.keyId}/revoke`));
    other.clock.nowMs += 60_000;
    expect((await seen()).status).toBe(401);
  });
});
