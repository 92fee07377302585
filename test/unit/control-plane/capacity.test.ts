/**
 * The operator's views of capacity over a real D1 and scripted objects: who is listed, what is said of each, why a call is refused, and
 * what a reset clears.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CapacityStore } from '../../../src/adapters/d1/capacity-store';
import { Breaker } from '../../../src/domain/capacity/breaker';
import type { CapacityState } from '../../../src/domain/capacity/operations';
import type { CapacityPolicy } from '../../../src/domain/capacity/policy';
import type { CapacityObjects } from '../../../src/ports/capacity';
import type { SnapshotRecord } from '../../../src/ports/capacity-records';
import { endpoint, provider } from '../domain/catalog/rows';
import { type ApiOptions, db, makeApi, makeTenant, startMs } from './harness';

/** Real breakers by provider, as the objects have them; `silent` ones do not answer. */
function scripted(silent: readonly string[] = []) {
  const breakers = new Map<string, Breaker>();
  const asked: string[] = [];
  const of = (name: string): Breaker => {
    const known = breakers.get(name) ?? new Breaker(name, []);
    breakers.set(name, known);
    return known;
  };
  const answer = <T>(what: string, name: string, value: () => T): Promise<T | null> => {
    asked.push(`${what} ${name}`);
    return Promise.resolve(silent.includes(name) ? null : value());
  };
  const objects: CapacityObjects = {
    observe: (name, reading) =>
      answer('observe', name, () => {
        of(name).observe(reading, startMs);
        return true as const;
      }),
    state: (name) => answer('state', name, (): CapacityState => of(name).state(startMs, [])),
    reset: (name, key) => answer('reset', name, () => of(name).reset(key, startMs)),
  };
  const lock = (name: string, endpointId: string, kind: 'balance' | 'quota' = 'balance'): void => {
    for (const [n, atMs] of [
      [1, startMs - 60_000],
      [2, startMs - 30_000],
    ] as const)
      of(name).strike(
        {
          id: `call_${name}_${kind}_${n}`,
          account: 'primary',
          endpointId,
          kind,
          resetsInMs: null,
          agoMs: 0,
          lastOkAgoMs: null,
        },
        atMs,
      );
  };
  return { objects, asked, lock };
}

const vars = {
  PLATFORM_SETTINGS: JSON.stringify({
    ALPHA_KEY: 'planted-alpha',
    BETA_KEY: 'planted-beta',
    GAMMA_KEY: 'planted-gamma',
    OVERFLOW_KEY_MONID: 'planted-monid',
  }),
  PLATFORM_ACCOUNTS: JSON.stringify({ beta: { backup: { BETA_KEY: 'planted-backup' } } }),
};
const apiWith = (capacity: CapacityObjects, options: ApiOptions = {}) =>
  makeApi({ vars, capacity, ...options });

const store = new CapacityStore(db);

async function putProvider(slug: string, setting: string | null): Promise<void> {
  const accounts = setting === null ? [] : [{ label: 'main', setting }];
  const document = JSON.stringify(provider({ slug, accounts }));
  await db
    .prepare('insert into catalog_providers (slug, name, document) values (?, ?, ?)')
    .bind(slug, slug, document)
    .run();
}

async function putEndpoint(id: string, cost: object): Promise<void> {
  const row = { ...endpoint({ id, provider: id.split('.')[0] ?? '' }), cost };
  await db
    .prepare(
      `insert into catalog_endpoints (id, provider, capability, summary, access, guide_micros, retired, document)
       values (?, ?, ?, ?, 'account', null, 0, ?)`,
    )
    .bind(id, row.provider, row.capability, row.summary, JSON.stringify(row))
    .run();
}

const policy = (name: string): CapacityPolicy => ({
  provider: name,
  capacityType: 'prepaid',
  fundingMode: 'manual',
  source: 'api',
  usdPerUnitMicros: null,
  lowRemaining: 10,
  overflowAllowed: true,
});

const snapshot = (n: number, parts: Partial<SnapshotRecord>): SnapshotRecord => ({
  id: `snp_01H${String(n).padStart(23, '0')}`,
  provider: 'alpha',
  account: 'primary',
  sweepAtMs: startMs + n,
  observedAtMs: startMs - 60_000 + n,
  state: 'ok',
  remaining: 42.5,
  total: 100,
  unit: 'credits',
  resetsAtMs: null,
  source: 'api',
  confidence: 'exact',
  note: null,
  error: null,
  ...parts,
});

beforeAll(async () => {
  await putProvider('alpha', 'ALPHA_KEY');
  await putProvider('beta', 'BETA_KEY');
  await putProvider('gamma', 'GAMMA_KEY');
  await putProvider('no-account', null);
  await putProvider('no-setting', 'MISSING_KEY');
  await putEndpoint('alpha.search', { kind: 'per_call', micros: 50 });
  await putEndpoint('alpha.status', { kind: 'free' });
  await putEndpoint('beta.search', { kind: 'per_call', micros: 50 });
  await store.addPolicies([policy('alpha')], startMs);
  await store.addSnapshot(snapshot(1, {}));
  await store.addSnapshot(snapshot(2, { remaining: null, state: 'stale', error: 'status' }));
});

describe('GET /capacity', () => {
  it('lists the providers with an account, and aggregators, by name', async () => {
    const api = apiWith(scripted().objects);
    const { data, next_cursor } = await api.made('GET', '/capacity');
    expect(data.map((row: { provider: string }) => row.provider)).toEqual([
      'alpha',
      'beta',
      'gamma',
      'overflow:monid',
    ]);
    expect(data[1]).toMatchObject({ accounts: ['primary', 'backup'] });
    expect(next_cursor).toBeNull();
  });

  it('says in one word how each stands, and shows what is behind the word', async () => {
    const { objects, lock } = scripted(['gamma']);
    lock('beta', 'beta.search', 'quota');
    await objects.observe('alpha', {
      observedAtMs: startMs - 1_000,
      state: 'exhausted',
      resetsAtMs: startMs + 60_000,
    });
    const { data } = await apiWith(objects).made('GET', '/capacity');
    expect(data.map((row: { state: string }) => row.state)).toEqual([
      'exhausted',
      'locked',
      'unknown',
      // An aggregator whose balance can be read and was not.
      'stale',
    ]);
    expect(data[0].reading).toEqual({
      state: 'exhausted',
      observed_at: '2029-12-31T23:59:59.000Z',
      resets_at: '2030-01-01T00:01:00.000Z',
      lifted: false,
      stale: false,
      probe: null,
    });
    expect(data[1].locks).toEqual([
      {
        key: 'beta.search',
        id: 'lock:call_beta_quota_2',
        kind: 'quota',
        first_strike_at: '2029-12-31T23:59:00.000Z',
        since: '2029-12-31T23:59:30.000Z',
        until: '2030-01-01T00:59:30.000Z',
        until_stated: false,
        probe: null,
        next_probe_at: '2030-01-01T00:00:30.000Z',
      },
    ]);
    expect(data[2]).toMatchObject({ locks: [], strikes: [], reading: null });
  });

  it('shows policy and the newest snapshot, a failed one too; nothing where nothing is known', async () => {
    const { data } = await apiWith(scripted().objects).made('GET', '/capacity');
    expect(data[0].snapshot).toMatchObject({ remaining: null, state: 'stale', error: 'status' });
    expect(data[0].policy).toEqual({
      capacity_type: 'prepaid',
      funding_mode: 'manual',
      source: 'api',
      usd_per_unit_micros: null,
      low_remaining: 10,
      overflow_allowed: true,
    });
    // Its balance can be read and was not.
    expect(data[0].state).toBe('stale');
    expect([data[1].snapshot, data[1].policy, data[1].state]).toEqual([null, null, 'open']);
  });

  it('pages by cursor without a gap or a repeat, and asks only the objects that it shows', async () => {
    const { objects, asked } = scripted();
    const api = apiWith(objects);
    const first = await api.made('GET', '/capacity?limit=3');
    expect(asked).toEqual(['state alpha', 'state beta', 'state gamma']);
    const cursor = encodeURIComponent(first.next_cursor);
    const second = await api.made('GET', `/capacity?limit=3&cursor=${cursor}`);
    expect([second.data.length, second.data[0].provider, second.next_cursor]).toEqual([
      1,
      'overflow:monid',
      null,
    ]);
  });

  it.each(['limit=0', 'limit=101', 'cursor=!!', `cursor=${btoa('Not A Slug')}`])(
    'refuses %s',
    async (query) => {
      const answer = await apiWith(scripted().objects).send('GET', `/capacity?${query}`);
      expect(answer).toMatchObject({ status: 400, body: { errors: [{}] } });
    },
  );

  it('is the operator’s only, and shows no credential', async () => {
    const { objects, asked } = scripted();
    const api = apiWith(objects);
    const { token } = await makeTenant(api);
    for (const [method, path] of [
      ['GET', '/capacity'],
      ['GET', '/capacity/alpha/explain'],
      ['POST', '/capacity/alpha/reset'],
    ] as const) {
      const body = method === 'POST' ? {} : undefined;
      const answer = await api.send(method, path, { key: token, body });
      expect(answer).toMatchObject({ status: 403, body: { needs: 'operator' } });
    }
    expect(asked).toEqual([]);
    expect((await api.send('GET', '/capacity')).text).not.toContain('planted');
  });
});

describe('GET /capacity/{provider}/explain', () => {
  it('says that a call is not refused', async () => {
    const api = apiWith(scripted().objects);
    expect(await api.made('GET', '/capacity/alpha/explain?endpoint=alpha.search')).toEqual({
      provider: 'alpha',
      endpoint: 'alpha.search',
      accounts: ['primary'],
      refused: false,
      open_accounts: ['primary'],
      summary: 'alpha.search: not refused. Calls go out on primary.',
      cause: null,
    });
  });

  it('says why a call is refused, since when, until when, and who may probe next', async () => {
    const { objects, lock } = scripted();
    lock('alpha', 'alpha.search');
    const answer = await apiWith(objects).made('GET', '/capacity/alpha/explain');
    expect(answer).toMatchObject({ refused: true, endpoint: null, open_accounts: [] });
    expect(answer.cause).toEqual({
      kind: 'balance',
      account: 'primary',
      key: 'alpha',
      lock_id: 'lock:call_alpha_balance_2',
      first_strike_at: '2029-12-31T23:59:00.000Z',
      since: '2029-12-31T23:59:30.000Z',
      until: '2030-01-01T00:59:30.000Z',
      until_stated: false,
      probe: null,
      next_probe_at: '2030-01-01T00:00:30.000Z',
    });
    expect(answer.summary).toContain('Refused since 2029-12-31 23:59:30Z');
  });

  it('knows that a free endpoint spends no balance', async () => {
    const { objects, lock } = scripted();
    lock('alpha', 'alpha.search');
    const api = apiWith(objects);
    const refused = async (id: string) =>
      (await api.made('GET', `/capacity/alpha/explain?endpoint=${id}`)).refused;
    expect([await refused('alpha.status'), await refused('alpha.search')]).toEqual([false, true]);
  });

  it('asks about one account or about all of them', async () => {
    const { objects, lock } = scripted();
    lock('beta', 'beta.search');
    const api = apiWith(objects);
    const ask = (query: string) => api.made('GET', `/capacity/beta/explain${query}`);
    expect(await ask('')).toMatchObject({ refused: false, open_accounts: ['backup'] });
    expect(await ask('?account=primary')).toMatchObject({ refused: true, accounts: ['primary'] });
    expect(await ask('?account=backup')).toMatchObject({ refused: false });
  });

  it('explains an aggregator, and a vendor at it', async () => {
    const api = apiWith(scripted().objects);
    const answer = await api.made('GET', '/capacity/overflow:monid/explain?endpoint=hunter');
    expect(answer).toMatchObject({ provider: 'overflow:monid', refused: false });
  });

  it.each([
    ['an unknown provider', '/capacity/unknown/explain', 404],
    ['a provider without an account', '/capacity/no-account/explain', 404],
    ['an account whose setting is missing', '/capacity/no-setting/explain', 404],
    ['a name that is none', '/capacity/Not%20One/explain', 404],
    ['an endpoint of another provider', '/capacity/alpha/explain?endpoint=beta.search', 400],
    ['an endpoint that is none', '/capacity/alpha/explain?endpoint=alpha.nothing', 400],
    ['an account that is none', '/capacity/beta/explain?account=third', 400],
  ])('refuses %s', async (_, path, status) => {
    const { objects, asked } = scripted();
    expect((await apiWith(objects).send('GET', path)).status).toBe(status);
    expect(asked).toEqual([]);
  });
});

describe('POST /capacity/{provider}/reset', () => {
  const reset = (api: ReturnType<typeof apiWith>, name: string, body: object = {}) =>
    api.send('POST', `/capacity/${name}/reset`, { body });

  it('clears all, and says what it was', async () => {
    const { objects, lock } = scripted();
    lock('alpha', 'alpha.search');
    lock('alpha', 'alpha.search', 'quota');
    await objects.observe('alpha', { observedAtMs: startMs, state: 'exhausted', resetsAtMs: null });
    const api = apiWith(objects);
    expect((await reset(api, 'alpha')).body).toEqual({
      provider: 'alpha',
      cleared: 3,
      items: [
        { what: 'lock', key: 'alpha' },
        { what: 'lock', key: 'alpha.search' },
        { what: 'reading', key: 'reading' },
      ],
    });
    expect(await api.made('GET', '/capacity/alpha/explain')).toMatchObject({ refused: false });
    expect((await reset(api, 'alpha')).body).toMatchObject({ cleared: 0, items: [] });
  });

  it('clears one key and leaves the others', async () => {
    const { objects, lock } = scripted();
    lock('alpha', 'alpha.search');
    lock('alpha', 'alpha.search', 'quota');
    const api = apiWith(objects);
    const answer = await reset(api, 'alpha', { key: 'alpha.search' });
    expect(answer.body).toMatchObject({
      cleared: 1,
      items: [{ what: 'lock', key: 'alpha.search' }],
    });
    const { locks } = (await api.made('GET', '/capacity')).data[0];
    expect(locks.map(({ key }: { key: string }) => key)).toEqual(['alpha']);
  });

  it.each([
    ['unknown', {}, 404],
    ['alpha', { key: 5 }, 400],
    ['alpha', { key: 'x'.repeat(1_000) }, 400],
  ])('of %s with %j is refused with %i', async (name, body, status) => {
    const { objects, asked } = scripted();
    expect((await reset(apiWith(objects), name, body)).status).toBe(status);
    expect(asked).toEqual([]);
  });
});

describe('an object that does not answer', () => {
  it.each([
    ['GET', '/capacity/gamma/explain'],
    ['POST', '/capacity/gamma/reset'],
  ] as const)('is 503 for %s %s, with a time to come back', async (method, path) => {
    const api = apiWith(scripted(['gamma']).objects);
    const answer = await api.send(method, path, method === 'POST' ? { body: {} } : {});
    expect(answer).toMatchObject({
      status: 503,
      body: { type: 'urn:weir:problem:state.unavailable', what: 'capacity' },
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
