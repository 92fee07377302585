import { beforeAll, describe, expect, it } from 'vitest';
import { ConfigReader } from '../../../src/adapters/d1/config-reader';
import { tokenHash } from '../../../src/adapters/vault/token-check';
import type { LedgerConfig } from '../../../src/domain/ledger/config';
import type { PlaceOp } from '../../../src/domain/ledger/operations';
import type { Ledger, Ledgers } from '../../../src/ports/ledger';
import {
  type Api,
  db,
  makeApi,
  makeKey,
  makeTenant,
  objects,
  realLedgers,
  type Tenant,
} from './harness';

let api: Api;

beforeAll(() => {
  api = makeApi();
});

const put = (tenant: Tenant, fields: object, key?: string, via = api) =>
  via.send('PUT', `/tenants/${tenant.id}`, {
    body: { name: 'limited', ...fields },
    ...(key === undefined ? {} : { key }),
  });
const limitsOf = async (tenant: Tenant) =>
  (await api.made('GET', '/ledger', undefined, tenant.token)) as {
    daily_cap_micros: number | null;
    limits: { version: number; stored_version: number; in_force: boolean };
  };
const place = (id: string, tags: readonly string[] | null = null): PlaceOp => [
  'place',
  id,
  60,
  'key_1',
  null,
  tags,
  null,
];
const team = {
  dimension: 'team',
  window: 'day',
  spend_max_micros: 100,
  values: [{ value: 'a', blocked: true }],
};

/** Ledgers that answer `configure` as told, and the configurations that came. */
function scripted(answers: readonly unknown[]) {
  const seen: LedgerConfig[] = [];
  const configure: Ledger['configure'] = async (config) => {
    seen.push(config);
    return (answers[seen.length - 1] ?? {
      outcome: 'configured',
      version: config.version,
    }) as never;
  };
  const ledgers: Ledgers = { of: (address) => ({ ...viewOf(address), configure }) as Ledger };
  return { seen, ledgers };
}

const viewOf = (address: Parameters<Ledgers['of']>[0]) => ({
  view: () => realLedgers.of(address).view(),
});

const unavailable = { outcome: 'ledger_unavailable', retryAfterMs: 2_500 };

describe("a tenant's limits", () => {
  it('are in force in its ledger when the PUT answers', async () => {
    const tenant = await makeTenant(api);
    const answer = await put(tenant, { daily_cap_micros: 50, budgets: [team] }, tenant.token);
    expect(answer.body).toMatchObject({ daily_cap_micros: 50, budgets: [team] });
    const stub = objects.getByName(tenant.id);
    await stub.topUp('pay_1', 1_000);
    const applied = await stub.apply([], [place('hld_1')]);
    expect(applied).toMatchObject({ places: [{ refusal: { code: 'daily_cap', capMicros: 50 } }] });
    await put(tenant, { budgets: [team] });
    const tagged = await stub.apply([], [place('hld_2', ['team', 'a']), place('hld_3')]);
    expect(tagged).toMatchObject({
      places: [{ refusal: { code: 'tag_blocked' } }, { outcome: 'placed' }],
    });
    const shown = await limitsOf(tenant);
    expect(shown).toMatchObject({ daily_cap_micros: null, budgets: [team] });
    expect(shown.limits).toEqual({ version: 2, stored_version: 2, in_force: true });
  });

  it('given at its making are in force at once', async () => {
    const made = await api.made('POST', '/tenants', { name: 'capped', daily_cap_micros: 9 });
    expect(made.daily_cap_micros).toBe(9);
    expect((await objects.getByName(made.id).view()).config.dailyCapMicros).toBe(9);
  });

  it('are taken away by a PUT without them', async () => {
    const tenant = await makeTenant(api);
    await put(tenant, { daily_cap_micros: 50 });
    await put(tenant, {});
    expect(await limitsOf(tenant)).toMatchObject({ daily_cap_micros: null });
    expect((await limitsOf(tenant)).limits.in_force).toBe(true);
  });

  it('cost a tenant that has none no object call', async () => {
    const { seen, ledgers } = scripted([]);
    const tenant = await makeTenant(api);
    const answer = await put(tenant, {}, undefined, makeApi({ ledgers }));
    expect([answer.status, seen]).toEqual([200, []]);
  });

  it('that the ledger did not take are stored, reported, and repaired by the same PUT', async () => {
    const tenant = await makeTenant(api);
    const { ledgers } = scripted([unavailable]);
    const failed = await put(tenant, { daily_cap_micros: 50 }, undefined, makeApi({ ledgers }));
    expect(failed.status).toBe(503);
    expect(failed.headers.get('retry-after')).toBe('3');
    expect((await api.made('GET', `/tenants/${tenant.id}`)).daily_cap_micros).toBe(50);
    expect(await limitsOf(tenant)).toMatchObject({
      daily_cap_micros: null,
      limits: { version: 0, stored_version: 1, in_force: false },
    });
    expect((await put(tenant, { daily_cap_micros: 50 })).status).toBe(200);
    expect(await limitsOf(tenant)).toMatchObject({
      daily_cap_micros: 50,
      limits: { in_force: true },
    });
  });

  it('of the later of two writers stay, in whatever order the ledger hears of them', async () => {
    const tenant = await makeTenant(api);
    const { tenants } = api.services.store;
    const row = await tenants.get(tenant.id);
    if (!row.ok) throw new Error('the tenant is gone');
    await tenants.replace({ ...row.value, dailyCapMicros: 1 });
    const early = await tenants.raiseLimits(tenant.id, 0);
    await tenants.replace({ ...row.value, dailyCapMicros: 2 });
    const late = await tenants.raiseLimits(tenant.id, 0);
    if (!early.ok || !late.ok) throw new Error('the store did not answer');
    const stub = objects.getByName(tenant.id);
    await stub.configure(late.value);
    expect(await stub.configure(early.value)).toMatchObject({ outcome: 'outdated' });
    expect((await stub.view()).config).toMatchObject({ version: 2, dailyCapMicros: 2 });
  });

  it('overtake a ledger that has outlived a restore of D1', async () => {
    const tenant = await makeTenant(api);
    const old = { version: 41, dailyCapMicros: 1, budgets: [] };
    await objects.getByName(tenant.id).configure(old);
    expect((await put(tenant, { daily_cap_micros: 50 })).status).toBe(200);
    const shown = await limitsOf(tenant);
    expect(shown.daily_cap_micros).toBe(50);
    expect(shown.limits).toEqual({ version: 42, stored_version: 42, in_force: true });
  });

  it('try a ledger that is always ahead twice, then leave it to the other writer', async () => {
    const tenant = await makeTenant(api);
    const ahead = { outcome: 'outdated', version: 900 };
    const { seen, ledgers } = scripted([ahead, { ...ahead, version: 901 }]);
    const answer = await put(tenant, { daily_cap_micros: 50 }, undefined, makeApi({ ledgers }));
    expect(answer.status).toBe(200);
    expect(seen.map((config) => config.version)).toEqual([1, 901]);
  });

  const named = (dimension: string) => ({ dimension, window: 'day' });
  it.each([
    [{ daily_cap_micros: -1 }, 'daily_cap_micros'],
    [{ daily_cap_micros: 0.5 }, 'daily_cap_micros'],
    [{ daily_cap_micros: '5' }, 'daily_cap_micros'],
    [{ budgets: [named('a'), named('b'), named('c'), named('d')] }, 'budgets'],
    [{ budgets: [named('a'), named('a')] }, 'budgets.1.dimension'],
    [{ budgets: [named('')] }, 'budgets.0.dimension'],
    // No header can carry these, so that their limits would never apply.
    [{ budgets: [named('cost center')] }, 'budgets.0.dimension'],
    [{ budgets: [named('Größe')] }, 'budgets.0.dimension'],
    [{ budgets: [named('a=b')] }, 'budgets.0.dimension'],
    [{ budgets: [named('@team')] }, 'budgets.0.dimension'],
    [{ budgets: [{ ...named('a'), values: [{ value: 'x,y' }] }] }, 'budgets.0.values.0.value'],
    [{ budgets: [{ ...named('a'), values: [{ value: 'x ' }] }] }, 'budgets.0.values.0.value'],
    [{ budgets: [{ ...named('a'), values: [{ value: 'é' }] }] }, 'budgets.0.values.0.value'],
    [{ budgets: [{ ...named('a'), window: 'week' }] }, 'budgets.0.window'],
    [{ budgets: [{ ...named('a'), limit: 5 }] }, 'budgets.0.limit'],
    [{ budgets: [{ ...named('a'), calls_max: -1 }] }, 'budgets.0.calls_max'],
    [{ budgets: [{ ...named('a'), values: [{ value: '' }] }] }, 'budgets.0.values.0.value'],
    [
      { budgets: [{ ...named('a'), values: [{ value: 'x' }, { value: 'x' }] }] },
      'budgets.0.values.1.value',
    ],
  ])('%j are refused', async (fields, path) => {
    const tenant = await makeTenant(api);
    const answer = await put(tenant, fields);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    expect((await limitsOf(tenant)).limits.stored_version).toBe(0);
  });

  it('that could never apply are refused: an ancestor pays', async () => {
    const parent = await makeTenant(api);
    const child = await makeTenant(api, { parentId: parent.id });
    for (const [field, value] of [
      ['daily_cap_micros', 5],
      ['budgets', [team]],
    ] as const) {
      const answer = await put(child, { ledger_tenant_id: parent.id, [field]: value });
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: field }] } });
    }
  });
});

describe('a ledger with open holds', () => {
  const holdsOpen = { status: 409, body: { type: 'urn:weir:problem:ledger.holds_open' } };

  it('is neither left nor deleted, until they have ended', async () => {
    const parent = await makeTenant(api);
    const child = await api.made('POST', '/tenants', { name: 'child', parent_id: parent.id });
    const stub = objects.getByName(child.id);
    await stub.topUp('pay_1', 100);
    await stub.apply([], [place('hld_1')]);
    const move = () =>
      api.send('PUT', `/tenants/${child.id}`, {
        body: { name: 'child', ledger_tenant_id: parent.id },
      });
    const remove = () => api.send('DELETE', `/tenants/${child.id}`);
    expect(await move()).toMatchObject(holdsOpen);
    expect(await remove()).toMatchObject(holdsOpen);
    await stub.apply([['release', 'hld_1', 'call_failed']], []);
    expect((await move()).status).toBe(200);
    expect((await remove()).status).toBe(204);
  });

  it('that does not answer is not left', async () => {
    const parent = await makeTenant(api);
    const child = await makeTenant(api, { parentId: parent.id });
    const down: Ledgers = { of: () => ({ view: async () => unavailable }) as unknown as Ledger };
    const via = makeApi({ ledgers: down });
    const answer = await put(child, { ledger_tenant_id: parent.id }, undefined, via);
    const type = 'urn:weir:problem:ledger_unavailable';
    expect(answer).toMatchObject({ status: 503, body: { type } });
    const row = await api.made('GET', `/tenants/${child.id}`);
    expect(row.ledger_tenant_id).toBe(child.id);
  });
});

describe('a ledger that is busy or away', () => {
  const absent = async () => ({ outcome: 'ledger_busy', retryAfterMs: 1_000 });
  const down: Ledgers = {
    of: () => new Proxy({}, { get: () => absent }) as unknown as Ledger,
  };
  it.each([
    ['GET', '/ledger', undefined],
    ['GET', '/ledger/holds', undefined],
    ['GET', '/ledger/entries', undefined],
    ['GET', '/ledger/entries?format=csv', undefined],
    ['GET', '/ledger/audit', undefined],
    ['GET', '/ledger/reviews', undefined],
    ['POST', '/ledger/reviews/hld_1/close', undefined],
    ['GET', '/idempotency', undefined],
    ['POST', '/idempotency/idm_1/resolve', { resolution: 'free' }],
    ['POST', '/ledger/topups', { id: 'pay_1', micros: 5 }],
    ['POST', '/ledger/grants', { id: 'pay_1', micros: 5, kind: 'earned' }],
  ])('%s %s is a 503 with Retry-After', async (method, path, body) => {
    const tenant = await makeTenant(api);
    const answer = await makeApi({ ledgers: down }).send(method, tenant.at(path), { body });
    const type = 'urn:weir:problem:ledger_busy';
    expect(answer).toMatchObject({ status: 503, body: { type, blame: 'gateway' } });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });

  it('a tenant with as many blocks as there may be takes no other', async () => {
    const tenant = await makeTenant(api);
    const full = async () => ({ outcome: 'too_many_blocks', blocksMax: 1_000 });
    const ledgers: Ledgers = { of: () => ({ topUp: full }) as unknown as Ledger };
    const body = { id: 'pay_1', micros: 5 };
    const answer = await makeApi({ ledgers }).send('POST', tenant.at('/ledger/topups'), { body });
    expect(answer).toMatchObject({
      status: 409,
      body: { type: 'urn:weir:problem:ledger.too_many_blocks', blocks_max: 1_000 },
    });
  });
});

describe('what the road reads with a key', () => {
  const read = async (token: string) => {
    const found = await new ConfigReader(db, () => undefined).key(await tokenHash(token));
    if (found === null || found === 'unknown') throw new Error('the key is not there');
    return found;
  };

  it('has its call cap', async () => {
    const tenant = await makeTenant(api);
    const capped = await makeKey(api, tenant.id, 'member', { daily_call_cap: 7 });
    expect((await read(capped.token)).key.callCap).toBe(7);
    expect((await read(tenant.token)).key.callCap).toBeNull();
    await api.made('PUT', tenant.at(`/keys/${capped.keyId}`), { name: 'key', daily_call_cap: 0 });
    expect((await read(capped.token)).key.callCap).toBe(0);
  });

  it("has the ledger of its tenant, in the ledger tenant's own region", async () => {
    const body = { name: 'payer', home_region: 'weur' };
    const payer = await api.made('POST', '/tenants', body);
    const child = await makeTenant(api, { parentId: payer.id });
    expect((await read(child.token)).ledger).toEqual({
      ledgerTenantId: child.id,
      homeRegion: null,
    });
    await put(child, { ledger_tenant_id: payer.id, home_region: 'apac' });
    const paid = { ledgerTenantId: payer.id, homeRegion: 'weur' };
    expect((await read(child.token)).ledger).toEqual(paid);
    const seen = await api.services.config.identify(child.token, api.clock.nowMs, () => undefined);
    expect(seen).toMatchObject({ value: { tenant: { ledger: paid } } });
  });

  it("has the dimension of that ledger's first budget", async () => {
    const payer = await makeTenant(api);
    const child = await makeTenant(api, { parentId: payer.id });
    expect((await read(child.token)).primaryDimension).toBeNull();
    await put(payer, { budgets: [team, { ...team, dimension: 'env' }] });
    expect((await read(payer.token)).primaryDimension).toBe(team.dimension);
    expect((await read(child.token)).primaryDimension).toBeNull();
    await put(child, { ledger_tenant_id: payer.id });
    expect((await read(child.token)).primaryDimension).toBe(team.dimension);
    const seen = await api.services.config.identify(child.token, api.clock.nowMs, () => undefined);
    expect(seen).toMatchObject({ value: { tenant: { primaryDimension: team.dimension } } });
  });
});

describe('a call cap', () => {
  const known = async (tenantId: string) => {
    const row = db.prepare('select home_region from ledgers where tenant_id = ?').bind(tenantId);
    return (await row.first<{ home_region: string | null }>()) ?? null;
  };

  it('makes the ledger that counts known to the journal, when its key is made, changed or paid for elsewhere', async () => {
    const body = { name: 'payer', home_region: 'weur' };
    const payer = await api.made('POST', '/tenants', body);
    const tenant = await makeTenant(api, { parentId: payer.id });
    const free = await makeKey(api, tenant.id, 'member');
    expect(await known(tenant.id)).toBeNull();
    const cap = { name: 'key', daily_call_cap: 7 };
    await api.made('PUT', tenant.at(`/keys/${free.keyId}`), cap);
    expect(await known(tenant.id)).toEqual({ home_region: null });
    expect(await known(payer.id)).toBeNull();
    await put(tenant, { ledger_tenant_id: payer.id });
    expect(await known(payer.id)).toEqual({ home_region: 'weur' });
    const other = await makeTenant(api);
    await makeKey(api, other.id, 'member', { daily_call_cap: 7 });
    expect(await known(other.id)).toEqual({ home_region: null });
  });

  it('is shown, and binds what its key may give', async () => {
    const tenant = await makeTenant(api);
    const capped = await makeKey(api, tenant.id, 'owner', { daily_call_cap: 7 });
    const give = (cap: number | null) =>
      api.send('POST', '/keys', {
        key: capped.token,
        body: { name: 'k', principal_id: tenant.principalId, daily_call_cap: cap },
      });
    expect((await give(7)).body.daily_call_cap).toBe(7);
    for (const cap of [8, null]) {
      expect(await give(cap)).toMatchObject({
        status: 403,
        body: { needs: 'daily_call_cap of the new key' },
      });
    }
    const itself = await api.send('PUT', `/keys/${capped.keyId}`, {
      key: capped.token,
      body: { name: 'k' },
    });
    expect(itself.status).toBe(403);
  });
});
