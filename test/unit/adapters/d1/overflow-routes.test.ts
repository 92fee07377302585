/** Routes in isolate memory: how old they may be, what is read when, and what D1 gives. */
import { env } from 'cloudflare:test';
import { drizzle } from 'drizzle-orm/d1';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  D1OverflowRoutes,
  OverflowRouteReader,
  type RouteList,
  type StampedRoute,
} from '../../../../src/adapters/d1/overflow-routes';
import {
  capacityPolicies,
  overflowRoutes,
  overflowState,
} from '../../../../src/adapters/d1/schema-capacity';
import { staleConfigMaxMs } from '../../../../src/base/limits';
import {
  overflowRoutesMax,
  overflowRoutesMsMax,
  overflowRoutesRefreshMs,
  overflowVerifiedMsMax,
} from '../../../../src/base/limits-capacity';

const { DB } = env as unknown as { readonly DB: D1Database };
const startMs = Date.UTC(2030, 0, 1);

const route = (parts: Partial<StampedRoute> = {}): StampedRoute => ({
  endpointId: 'vendor.search',
  aggregator: 'monid',
  vendor: 'vendor',
  operation: '/v1/search',
  priceMicros: 5,
  unit: 'call',
  singleResult: false,
  verifiedAtMs: startMs,
  ...parts,
});

/** Routes over a scripted reader. */
function world(list: RouteList | null, usable = ['orthogonal', 'monid']) {
  const state = { list, asked: [] as string[], nowMs: startMs, works: [] as Promise<unknown>[] };
  const reader = {
    stamp: async () => {
      state.asked.push('stamp');
      return state.list?.stamp ?? null;
    },
    list: async () => {
      state.asked.push('list');
      return state.list;
    },
  };
  const routes = new D1OverflowRoutes({ reader, usable, nowMs: () => state.nowMs });
  const context = () => ({
    nowMs: state.nowMs,
    background: (work: Promise<unknown>) => void state.works.push(work),
  });
  const ask = (id = 'vendor.search', mayUse?: (route: { aggregator: string }) => boolean) =>
    routes.routeFor(id, context(), mayUse);
  return { state, ask };
}

describe('a route', () => {
  it('is read once and then known without a query', async () => {
    const { state, ask } = world({ stamp: '1', routes: [route()] });
    expect(await ask()).toMatchObject({ aggregator: 'monid' });
    state.nowMs += overflowRoutesRefreshMs - 1;
    expect(ask()).toMatchObject({ aggregator: 'monid' });
    expect(ask('vendor.other')).toBeNull();
    expect(state.asked).toEqual(['list']);
  });

  it('is read again behind a call from half its life on, and only the stamp while nothing changed', async () => {
    const { state, ask } = world({ stamp: '1', routes: [route()] });
    await ask();
    state.nowMs += overflowRoutesRefreshMs;
    expect(ask()).toMatchObject({ aggregator: 'monid' });
    expect(ask()).toMatchObject({ aggregator: 'monid' });
    await Promise.all(state.works);
    expect(state.asked).toEqual(['list', 'stamp']);
    state.list = { stamp: '2', routes: [] };
    state.nowMs += overflowRoutesRefreshMs;
    expect(ask()).toMatchObject({ aggregator: 'monid' });
    await Promise.all(state.works);
    expect(ask()).toBeNull();
  });

  it('that is a minute old is not used before it is read again', async () => {
    const { state, ask } = world({ stamp: '1', routes: [route()] });
    await ask();
    state.list = { stamp: '2', routes: [] };
    state.nowMs += overflowRoutesMsMax;
    expect(await ask()).toBeNull();
  });

  it('serves while D1 does not answer, for as long as configuration does', async () => {
    const { state, ask } = world({ stamp: '1', routes: [route()] });
    await ask();
    state.list = null;
    state.nowMs += overflowRoutesMsMax;
    expect(await ask()).toMatchObject({ aggregator: 'monid' });
    state.nowMs = startMs + staleConfigMaxMs;
    expect(await ask()).toBeNull();
  });

  it('is none in an isolate that starts while D1 is away, which asks again later, not on every call', async () => {
    const { state, ask } = world(null);
    expect(await ask()).toBeNull();
    expect(await ask()).toBeNull();
    expect(state.asked).toEqual(['list']);
    state.list = { stamp: '1', routes: [route()] };
    state.nowMs += overflowRoutesMsMax;
    expect(await ask()).toMatchObject({ aggregator: 'monid' });
  });

  it('of the preferred aggregator comes first, whatever their order', async () => {
    const both = [route(), route({ aggregator: 'orthogonal' })];
    const { ask } = world({ stamp: '1', routes: both });
    expect(await ask()).toMatchObject({ aggregator: 'orthogonal' });
    expect(ask('vendor.search', ({ aggregator }) => aggregator !== 'orthogonal')).toMatchObject({
      aggregator: 'monid',
    });
    expect(ask('vendor.search', () => false)).toBeNull();
  });

  it('of an aggregator without a key is none', async () => {
    expect(await world({ stamp: '1', routes: [route()] }, ['orthogonal']).ask()).toBeNull();
    const { ask, state } = world({ stamp: '1', routes: [route()] }, []);
    expect(ask()).toBeNull();
    expect(state.asked).toEqual([]);
  });

  it('whose verification is older than a week is none, whatever its row says', async () => {
    const verifiedAtMs = startMs - overflowVerifiedMsMax - 1;
    expect(await world({ stamp: '1', routes: [route({ verifiedAtMs })] }).ask()).toBeNull();
  });
});

describe('D1', () => {
  const db = drizzle(DB);
  const stored = {
    endpointId: 'vendor.search',
    aggregator: 'monid',
    vendor: 'vendor',
    operation: '/v1/search',
    priceMicros: 5,
    unit: 'call',
    singleResult: false,
    lastVerifiedAt: startMs,
    enabled: true,
    syncedAt: startMs,
  } as const;

  beforeEach(() =>
    DB.batch(
      [db.delete(overflowRoutes), db.delete(overflowState), db.delete(capacityPolicies)].map((q) =>
        DB.prepare(q.toSQL().sql),
      ),
    ),
  );

  it('gives the enabled rows and their stamp', async () => {
    const reader = new OverflowRouteReader(DB, () => undefined);
    expect(await reader.stamp()).toBe('');
    await db.insert(overflowState).values({ id: 1, version: 7, syncedAt: startMs });
    await db
      .insert(overflowRoutes)
      .values([
        stored,
        { ...stored, endpointId: 'vendor.off', enabled: false, disabledReason: 'ratio' },
        { ...stored, endpointId: 'vendor.unpriced', priceMicros: null },
      ]);
    expect(await reader.list()).toEqual({ stamp: '7 ', routes: [route()] });
    expect(await reader.stamp()).toBe('7 ');
  });

  it('gives no row of a provider that a person has just barred, and another stamp', async () => {
    const reader = new OverflowRouteReader(DB, () => undefined);
    await db.insert(overflowState).values({ id: 1, version: 7, syncedAt: startMs });
    await db
      .insert(overflowRoutes)
      .values([stored, { ...stored, endpointId: 'vendor2.search', vendor: 'vendor' }]);
    const kind = { capacityType: 'prepaid', fundingMode: 'manual', source: 'api' } as const;
    const policy = { provider: 'vendor', ...kind, overflowAllowed: true, createdAt: startMs };
    await db.insert(capacityPolicies).values([policy, { ...policy, provider: 'vendor3' }]);
    const before = await reader.list();
    expect(before?.routes).toHaveLength(2);
    expect(await reader.stamp()).toBe(before?.stamp);
    await db.update(capacityPolicies).set({ overflowAllowed: false });
    const after = await reader.list();
    expect(after?.routes.map(({ endpointId }) => endpointId)).toEqual(['vendor2.search']);
    expect(after?.stamp).not.toBe(before?.stamp);
    expect(await reader.stamp()).toBe(after?.stamp);
  });

  it('gives no more than overflowRoutesMax of them', async () => {
    await DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i <= ${overflowRoutesMax})
       insert into overflow_routes (endpoint_id, aggregator, vendor, operation, price_micros, unit, single_result, last_verified_at, enabled, synced_at)
       select 'vendor.r' || i, 'monid', 'vendor', '/x', 5, 'call', 0, ${startMs}, 1, ${startMs} from n`,
    ).run();
    const list = await new OverflowRouteReader(DB, () => undefined).list();
    expect(list?.routes).toHaveLength(overflowRoutesMax);
  });
});
