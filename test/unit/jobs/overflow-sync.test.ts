/** The sync over a real D1: what a live catalog adds and turns off, what a sync without one derives again, and when it does nothing. */
import { beforeEach, describe, expect, it } from 'vitest';
import { overflowStoreRowsMax, overflowVerifiedMsMax } from '../../../src/base/limits-capacity';
import { overflowSync } from '../../../src/jobs/overflow-sync';
import {
  answer,
  background,
  catalog,
  cleared,
  db,
  route,
  startMs,
  store,
  stored,
  version,
  type WorldOptions,
  world,
} from './overflow-world';

const orthogonalUrl = 'GET https://api.orthogonal.com/v1/catalog';
const monidUrl = 'GET https://api.monid.ai/v1/catalog';
const offer = {
  api: 'vendor-there',
  host: 'api.vendor.example',
  method: 'GET',
  path: '/v1/search',
  price_cents: 0.2,
};
const run = {
  provider: 'vendor',
  endpoint: '/v1/search',
  price: { type: 'PER_CALL', amount: { value: 0.003, currency: 'USD' } },
};

let syncs = 0;
async function synced(options: WorldOptions = {}, live = true) {
  const { ports, sent, clock } = world(options);
  // Two syncs of one millisecond are one firing.
  clock.nowMs += ++syncs;
  const done = await overflowSync(ports, live, background);
  if (done.outcome !== 'done') throw new Error('the sync was skipped');
  return { ...done, sent };
}

beforeEach(cleared);

describe('a live sync', () => {
  it('reads the catalogs with the key of each, and adds what it finds, off until it is verified', async () => {
    await catalog({});
    const { sent, catalogs, ...done } = await synced({
      replies: {
        [orthogonalUrl]: answer(200, { endpoints: [offer, { ...offer, path: '/v1/other' }, 7] }),
        [monidUrl]: answer(200, { endpoints: [run] }),
      },
    });
    expect(sent.map(({ headers }) => Object.fromEntries(headers).authorization)).toEqual([
      'Bearer key of orthogonal',
      'Bearer key of monid',
    ]);
    expect(catalogs).toEqual([
      { aggregator: 'orthogonal', outcome: 'read', offers: 2, leftOut: 1, matched: 1 },
      { aggregator: 'monid', outcome: 'read', offers: 1, leftOut: 0, matched: 1 },
    ]);
    expect(done).toMatchObject({ rows: 2, enabled: 0, changed: 2, off: { not_verified: 2 } });
    const off = { lastVerifiedAtMs: null, enabled: false, disabledReason: 'not_verified' };
    expect(await store.list({ after: null, limit: 9 })).toEqual([
      route({
        ...off,
        aggregator: 'monid',
        vendor: 'vendor',
        priceMicros: 3_000,
        ratioMilli: 3_000,
      }),
      route(off),
    ]);
  });

  it('takes the new price, keeps the stamp, and raises the version once', async () => {
    await catalog({});
    await stored(route());
    const replies = {
      [orthogonalUrl]: answer(200, { endpoints: [{ ...offer, price_cents: 0.4 }] }),
    };
    await synced({ replies });
    expect(await store.rows()).toEqual([route({ priceMicros: 4_000, ratioMilli: 4_000 })]);
    const raised = await version();
    expect(raised).toBeGreaterThanOrEqual(startMs);
    expect(await synced({ replies })).toMatchObject({ changed: 0, enabled: 1 });
    expect(await version()).toBe(raised);
  });

  it('turns off what a catalog no longer has', async () => {
    await catalog({});
    await stored(route());
    await synced({ replies: { [orthogonalUrl]: answer(200, { endpoints: [] }) } });
    const gone = route({ enabled: false, disabledReason: 'missing_from_sync' });
    expect(await store.rows()).toEqual([gone]);
    await synced({}, false);
    expect(await store.rows()).toEqual([gone]);
  });

  it('takes the stamp of a route that is spelled otherwise now', async () => {
    await catalog({});
    await stored(
      route({ failure: 'shape', enabled: false, disabledReason: 'verification_failed' }),
    );
    const replies = { [orthogonalUrl]: answer(200, { endpoints: [{ ...offer, api: 'renamed' }] }) };
    await synced({ replies });
    expect(await store.rows()).toEqual([
      route({
        vendor: 'renamed',
        lastVerifiedAtMs: null,
        enabled: false,
        disabledReason: 'not_verified',
      }),
    ]);
  });

  it.each([
    ['unreachable', null],
    ['refused', answer(401, {})],
    ['refused', answer(302, {}, { location: 'https://elsewhere.example' })],
    ['no_catalog', answer(200, '<html>')],
    ['no_catalog', answer(200, { items: [] })],
  ] as const)('that finds a catalog %s turns nothing off', async (outcome, reply) => {
    await catalog({});
    await stored(route());
    const done = await synced({ replies: { [orthogonalUrl]: reply } });
    expect(done.catalogs[0]).toEqual({ aggregator: 'orthogonal', outcome });
    expect(await store.rows()).toEqual([route()]);
  });

  it('asks no aggregator without a key', async () => {
    const { sent, catalogs } = await synced({ keys: [] });
    expect(sent).toEqual([]);
    expect(catalogs.map(({ outcome }) => outcome)).toEqual(['no_key', 'no_key']);
  });
});

describe('a sync without catalogs', () => {
  it.each([
    ['endpoint_gone', async () => undefined],
    ['retired', () => catalog({ tombstone: { status: 'broken', note: 'x', supersededBy: null } })],
    ['not_platform', () => catalog({ platformAuth: null })],
    [
      'ratio',
      () => catalog({ cost: { kind: 'per_call', prices: [{ when: [], priceMicros: 1 }] } }),
    ],
    [
      'policy',
      async () => {
        await catalog({});
        await db
          .prepare(
            `insert into capacity_policies (provider, capacity_type, funding_mode, source, overflow_allowed, created_at)
             values ('vendor', 'prepaid', 'manual', 'api', 0, 0)`,
          )
          .run();
      },
    ],
  ])('turns a route off for %s', async (reason, given) => {
    await given();
    await stored(route());
    expect(await synced({}, false)).toMatchObject({ enabled: 0, off: { [reason]: 1 } });
    expect((await store.rows())[0]).toMatchObject({ enabled: false, disabledReason: reason });
  });

  it('turns off what is without a key, or decayed', async () => {
    await catalog({});
    const lastVerifiedAtMs = startMs - overflowVerifiedMsMax - 1;
    await stored(route({ lastVerifiedAtMs }), route({ aggregator: 'monid' }));
    const { off, sent } = await synced({ keys: ['orthogonal'] }, false);
    expect(off).toEqual({ no_key: 1, verification_old: 1 });
    expect(sent).toEqual([]);
  });

  it('turns a stamped route on again', async () => {
    await catalog({});
    await stored(route({ enabled: false, disabledReason: 'verification_old' }));
    expect(await synced({}, false)).toMatchObject({ enabled: 1, changed: 1 });
    expect(await store.rows()).toEqual([route()]);
  });

  it('reads a catalog of more rows than one page, and writes as many routes', async () => {
    const ids = Array.from({ length: overflowStoreRowsMax + 2 }, (_, i) => `vendor.r${1_000 + i}`);
    await catalog({});
    const like = await db
      .prepare("select document from catalog_endpoints where id = 'vendor.search'")
      .first<string>('document');
    const insert = db.prepare(
      `insert into catalog_endpoints (id, provider, capability, summary, access, guide_micros, retired, document)
       select value, 'vendor', 'web.search', 'x', 'account', null, 0, json_set(?2, '$.id', value) from json_each(?1)`,
    );
    await insert.bind(JSON.stringify(ids), like).run();
    const endpoints = ids.map(() => offer).map((each, i) => ({ ...each, path: `/v1/${i}` }));
    await db
      .prepare(
        `update catalog_endpoints set document = json_set(document, '$.path', '/' || (cast(substr(id, 9) as integer) - 1000))
         where id <> 'vendor.search'`,
      )
      .run();
    const done = await synced({ replies: { [orthogonalUrl]: answer(200, { endpoints }) } });
    expect(done).toMatchObject({ rows: ids.length, changed: ids.length });
    expect(await store.rows()).toHaveLength(ids.length);
  });
});

describe('two at once', () => {
  it('are one: the other does nothing', async () => {
    await catalog({});
    await stored(route({ enabled: false, disabledReason: 'verification_old' }));
    const { ports } = world();
    const both = await Promise.all([
      overflowSync(ports, false, background),
      overflowSync(ports, false, background),
    ]);
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['done', 'skipped']);
    expect(await version()).toBe(startMs);
  });

  it('in a row are two', async () => {
    const { ports, clock } = world();
    await overflowSync(ports, false, background);
    clock.nowMs += 1;
    expect((await overflowSync(ports, false, background)).outcome).toBe('done');
  });

  it('of which the first broke are two: its lease ends with it', async () => {
    const broken = {
      ...world().ports,
      store: {
        rows: () => Promise.reject(new Error('D1')),
        endpoints: async () => [],
        providers: async () => [],
        barred: async () => new Set<string>(),
        write: async () => undefined,
      },
    };
    await expect(overflowSync(broken, false, background)).rejects.toThrow('D1');
    const { ports, clock } = world();
    clock.nowMs += 1;
    expect((await overflowSync(ports, false, background)).outcome).toBe('done');
  });
});
