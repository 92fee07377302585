import { beforeAll, describe, expect, it } from 'vitest';
import { secretBytesMax } from '../../../src/base/limits';
import { operations } from '../../../src/control-plane/operations';
import type { SealedSecret } from '../../../src/ports/vault';
import { type Api, db, makeApi, makeKey, makeTenant, type Tenant } from './harness';

const master = (version: number) => ({ version, secret: new Uint8Array(32).fill(version + 100) });
const planted = 'planted-secret-value';
let api: Api;
let tenant: Tenant;

beforeAll(async () => {
  api = makeApi({ masterKeys: [master(1)] });
  tenant = await makeTenant(api);
});

const store = (at: Tenant, name: string, value = planted) =>
  api.made('POST', at.at('/secrets'), { name, value });

/** The sealed row as the road reads it. */
async function sealedRow(id: string): Promise<SealedSecret> {
  const row = await db
    .prepare(
      `select s.id, s.tenant_id, s.sealed, k.version, k.master_version, k.wrapped from secrets s
       join tenant_data_keys k on k.tenant_id = s.tenant_id and k.version = s.data_key_version where s.id = ?`,
    )
    .bind(id)
    .first<{
      tenant_id: string;
      sealed: number[];
      version: number;
      master_version: number;
      wrapped: number[];
    }>();
  if (row === null) throw new Error('no row');
  return {
    id,
    tenantId: row.tenant_id,
    sealed: Uint8Array.from(row.sealed),
    dataKeyVersion: row.version,
    masterVersion: row.master_version,
    wrappedDataKey: Uint8Array.from(row.wrapped),
  };
}
const opened = async (id: string, by: Api = api) => by.services.vault.open(await sealedRow(id));

describe('a secret', () => {
  it('is sealed in the store and in no answer of any operation', async () => {
    const secret = await store(tenant, 'hidden');
    expect(await opened(secret.id)).toEqual({ ok: true, value: planted });
    const member = (await makeKey(api, tenant.id, 'member')).token;
    const bound = {
      name: 'bound',
      endpoints: [{ host: 'bound.example' }],
      bindings: [{ location: 'header', name: 'x', secret: 'cred://hidden' }],
    };
    await api.made('POST', tenant.at('/upstreams'), bound);
    for (const key of [member, tenant.token]) {
      for (const o of operations.filter((each) => each.method === 'GET')) {
        const answer = await api.send('GET', o.path.replace('{id}', secret.id), { key });
        expect(answer.text).not.toContain(planted);
      }
    }
    const put = await api.send('PUT', tenant.at(`/secrets/${secret.id}`), {
      body: { name: 'hidden', value: `${planted}-2` },
    });
    expect(put.text).not.toContain(planted);
    const dump = await db.prepare('select * from secrets').all();
    expect(JSON.stringify(dump.results)).not.toContain(planted);
    expect(await opened(secret.id)).toEqual({ ok: true, value: `${planted}-2` });
  });

  it('is shown to a member by name only', async () => {
    const secret = await store(tenant, 'named');
    const member = (await makeKey(api, tenant.id, 'member')).token;
    const shown = await api.made('GET', `/secrets/${secret.id}`, undefined, member);
    expect(Object.keys(shown).sort()).toEqual([
      'created_at',
      'id',
      'name',
      'reference',
      'tenant_id',
      'updated_at',
      'visibility',
    ]);
    expect(shown.reference).toBe('cred://named');
    const body = { name: 'named', value: 'x' };
    expect((await api.send('PUT', `/secrets/${secret.id}`, { key: member, body })).status).toBe(
      403,
    );
  });

  it('does not open once its row is moved to another tenant or another id', async () => {
    const other = await makeTenant(api);
    const moved = await store(tenant, 'moved');
    const swapped = await store(tenant, 'swapped', 'other value');
    await store(other, 'makes-a-data-key');
    await db
      .prepare('update secrets set tenant_id = ? where id = ?')
      .bind(other.id, moved.id)
      .run();
    expect(await opened(moved.id)).toEqual({ ok: false, error: { code: 'secret.not_found' } });
    await db
      .prepare('update secrets set tenant_id = ? where id = ?')
      .bind(tenant.id, moved.id)
      .run();
    expect((await opened(moved.id)).ok).toBe(true);
    await db
      .prepare('update secrets set sealed = (select sealed from secrets where id = ?) where id = ?')
      .bind(swapped.id, moved.id)
      .run();
    expect((await opened(moved.id)).ok).toBe(false);
  });

  it.each([
    ['an empty value', { value: '' }, 'value'],
    ['a value that is too long', { value: 'x'.repeat(secretBytesMax + 1) }, 'value'],
    ['too many bytes', { value: 'é'.repeat(secretBytesMax / 2 + 1) }, 'value'],
    ['a name with a slash', { name: 'a/b' }, 'name'],
    ['an unknown visibility', { visibility: 'public' }, 'visibility'],
  ])('with %s is refused', async (_, fields, path) => {
    const body = { name: 'ok', value: 'ok', ...fields };
    const answer = await api.send('POST', tenant.at('/secrets'), { body });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('may fill its limit to the byte', async () => {
    await store(tenant, 'full', 'é'.repeat(secretBytesMax / 2));
  });

  it('with a lone surrogate is refused: it has no bytes to seal', async () => {
    const body = '{"name":"lone","value":"\\ud800"}';
    const answer = await api.send('POST', tenant.at('/secrets'), { body });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'value' }] } });
  });

  it('of a new tenant agrees on one data key, however many are stored at the same time', async () => {
    const fresh = await makeTenant(api);
    const made = await Promise.all(Array.from({ length: 6 }, (_, i) => store(fresh, `first-${i}`)));
    for (const secret of made) expect((await opened(secret.id)).ok).toBe(true);
    const keys = await db
      .prepare('select version from tenant_data_keys where tenant_id = ?')
      .bind(fresh.id)
      .all();
    expect(keys.results).toEqual([{ version: 1 }]);
  });
});

describe('rotation of a data key', () => {
  it('goes in bounded steps, serves meanwhile, and forgets the old key at its end', async () => {
    const own = await makeTenant(api);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await store(own, `s${i}`, `value ${i}`)).id);
    const before = await Promise.all(ids.map(sealedRow));
    const step = (limit: number) =>
      api.made('POST', `/tenants/${own.id}/data-key/rotate`, { limit }, own.token);
    const versions = async () =>
      (
        await db
          .prepare('select version from tenant_data_keys where tenant_id = ? order by 1')
          .bind(own.id)
          .all()
      ).results;
    expect(await step(2)).toEqual({ resealed: 2, remaining: 3, unreadable: 0 });
    expect(await versions()).toEqual([{ version: 1 }, { version: 2 }]);
    for (const [i, id] of ids.entries())
      expect(await opened(id)).toEqual({ ok: true, value: `value ${i}` });
    const between = (await store(own, 'written-between', 'fresh')).id;
    expect((await sealedRow(between)).dataKeyVersion).toBe(2);
    expect(await step(2)).toEqual({ resealed: 2, remaining: 1, unreadable: 0 });
    expect(await step(2)).toEqual({ resealed: 1, remaining: 0, unreadable: 0 });
    expect(await versions()).toEqual([{ version: 2 }]);
    for (const [i, id] of ids.entries()) {
      expect(await opened(id)).toEqual({ ok: true, value: `value ${i}` });
      expect((await sealedRow(id)).sealed).not.toEqual(before[i]?.sealed);
    }
    expect(await opened(between)).toEqual({ ok: true, value: 'fresh' });
    expect(await step(100)).toEqual({ resealed: 6, remaining: 0, unreadable: 0 });
    expect(await versions()).toEqual([{ version: 3 }]);
  });

  it('of a tenant without secrets is nothing to do', async () => {
    const empty = await makeTenant(api);
    const done = await api.made('POST', `/tenants/${empty.id}/data-key/rotate`, {});
    expect(done).toEqual({ resealed: 0, remaining: 0, unreadable: 0 });
  });

  it('survives steps that run at the same time, and never undoes a write that comes between', async () => {
    const own = await makeTenant(api);
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push((await store(own, `s${i}`, 'old')).id);
    const step = () =>
      api.send('POST', `/tenants/${own.id}/data-key/rotate`, { body: { limit: 3 } });
    const write = (id: string, i: number) =>
      api.send('PUT', own.at(`/secrets/${id}`), { body: { name: `s${i}`, value: 'new' } });
    const work = [step(), ...ids.map(write), step(), step()];
    const answers = await Promise.all(work);
    for (const [i, id] of ids.entries()) {
      const written = answers[i + 1]?.status === 200;
      expect(await opened(id)).toEqual({ ok: true, value: written ? 'new' : 'old' });
    }
  });

  it('leaves a row alone that does not open, and says so', async () => {
    const own = await makeTenant(api);
    const broken = (await store(own, 'broken')).id;
    await store(own, 'whole');
    await db.prepare("update secrets set sealed = x'00' where id = ?").bind(broken).run();
    const done = await api.made('POST', `/tenants/${own.id}/data-key/rotate`, {});
    expect(done).toEqual({ resealed: 1, remaining: 1, unreadable: 1 });
  });
});

describe('rotation of the master key', () => {
  it('goes in bounded steps over all tenants, serves meanwhile, and the old master can go after', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++)
      ids.push((await store(await makeTenant(api), 'secret', `value ${i}`)).id);
    const during = makeApi({ masterKeys: [master(1), master(2)] });
    let remaining = Number.POSITIVE_INFINITY;
    for (let steps = 0; remaining > 0 && steps < 50; steps++) {
      const done = await during.made('POST', '/vault/rotate', { limit: 3 });
      expect(done.rewrapped).toBeLessThanOrEqual(3);
      expect(done.unreadable).toBe(0);
      expect(done.remaining).toBeLessThan(remaining);
      remaining = done.remaining;
      for (const [i, id] of ids.entries()) {
        expect(await opened(id, during)).toEqual({ ok: true, value: `value ${i}` });
      }
    }
    expect(remaining).toBe(0);
    expect(await during.made('POST', '/vault/rotate', {})).toEqual({
      rewrapped: 0,
      remaining: 0,
      unreadable: 0,
      master_version: 2,
    });
    const after = makeApi({ masterKeys: [master(2)] });
    for (const id of ids) expect((await opened(id, after)).ok).toBe(true);
    for (const id of ids)
      expect((await opened(id, makeApi({ masterKeys: [master(1)] }))).ok).toBe(false);
  });

  it('is not taken for done at an isolate that has not got the newest master key: the answer names the one it has', async () => {
    const secret = await store(await makeTenant(api), 'early');
    const [before, after] = [[master(1)], [master(1), master(2)]].map((masterKeys) =>
      makeApi({ masterKeys }),
    );
    const early = await before?.made('POST', '/vault/rotate', {});
    expect(early).toMatchObject({ remaining: 0, master_version: 1 });
    const done = await after?.made('POST', '/vault/rotate', {});
    expect([done.rewrapped > 0, done.master_version]).toEqual([true, 2]);
    expect((await opened(secret.id, makeApi({ masterKeys: [master(2)] }))).ok).toBe(true);
  });

  it('is not held up by keys whose master key is lost', async () => {
    for (let i = 0; i < 3; i++) await store(await makeTenant(api), 'lost');
    const under = makeApi({ masterKeys: [master(5)] });
    const late = await makeTenant(under);
    const { id } = await under.made('POST', late.at('/secrets'), { name: 's', value: planted });
    const during = makeApi({ masterKeys: [master(5), master(6)] });
    const first = await during.made('POST', '/vault/rotate', { limit: 2 });
    expect(first.rewrapped).toBe(1);
    expect((await opened(id, makeApi({ masterKeys: [master(6)] }))).ok).toBe(true);
    const then = await during.made('POST', '/vault/rotate', { limit: 2 });
    expect(then).toMatchObject({ rewrapped: 0, unreadable: 2 });
    expect(then.remaining).toBeGreaterThanOrEqual(3);
  });

  it.each([
    ['another version', master(4)],
    ['the same version', { version: 3, secret: master(4).secret }],
  ])(
    'that was lost and is followed by one of %s takes old values with it, and no new ones: they are stored again',
    async (_, follower) => {
      const before = makeApi({ masterKeys: [master(3)] });
      const of = await makeTenant(before);
      const { id } = await before.made('POST', of.at('/secrets'), { name: 's', value: 'old' });
      const lost = await before.made('POST', of.at('/secrets'), { name: 'lost', value: 'old' });
      const after = makeApi({ masterKeys: [follower] });
      expect((await opened(id, after)).ok).toBe(false);
      const again = { name: 's', value: 'again' };
      expect((await after.send('PUT', of.at(`/secrets/${id}`), { body: again })).status).toBe(200);
      expect(await opened(id, after)).toEqual({ ok: true, value: 'again' });
      const other = await after.made('POST', of.at('/secrets'), { name: 'other', value: 'new' });
      expect(await opened(other.id, after)).toEqual({ ok: true, value: 'new' });
      const step = await after.made('POST', `/tenants/${of.id}/data-key/rotate`, {});
      expect(step).toEqual({ resealed: 0, remaining: 1, unreadable: 1 });
      expect(await after.send('DELETE', of.at(`/secrets/${lost.id}`))).toMatchObject({
        status: 204,
      });
      const whole = await after.made('POST', `/tenants/${of.id}/data-key/rotate`, {});
      expect(whole).toEqual({ resealed: 2, remaining: 0, unreadable: 0 });
    },
  );

  it('is not undone by an isolate that does not have the new one yet: it waits', async () => {
    const ahead = makeApi({ masterKeys: [master(7), master(8)] });
    const of = await makeTenant(ahead);
    const { id } = await ahead.made('POST', of.at('/secrets'), { name: 's', value: planted });
    const behind = makeApi({ masterKeys: [master(7)] });
    const body = { name: 'late', value: planted };
    for (const [path, sent] of [
      [of.at('/secrets'), body],
      [`/tenants/${of.id}/data-key/rotate`, {}],
    ] as const) {
      const answer = await behind.send('POST', path, { body: sent });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    }
    expect((await opened(id, makeApi({ masterKeys: [master(8)] }))).ok).toBe(true);
  });

  it.each([0, 101, 1.5])('refuses steps of %d', async (limit) => {
    const answer = await api.send('POST', '/vault/rotate', { body: { limit } });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'limit' }] } });
  });
});
