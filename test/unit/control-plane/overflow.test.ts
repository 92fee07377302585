/** Overflow over the management API: routes and why they are off, what a day cost, the jobs by hand, and who may. */
import { beforeEach, describe, expect, it } from 'vitest';
import { OverflowStore } from '../../../src/adapters/d1/overflow-store';
import { overflowVerifyMicrosMax } from '../../../src/base/limits-capacity';
import { catalogIdCharsMax } from '../../../src/base/limits-money';
import { err, ok } from '../../../src/base/result';
import type { VerifyOptions, VerifyRun } from '../../../src/ports/overflow-jobs';
import { route, stored } from '../jobs/overflow-world';
import { db, makeApi, makeTenant } from './harness';

beforeEach(async () => {
  await db.prepare('delete from overflow_routes').run();
});

describe('the routes', () => {
  const api = makeApi({
    overflow: { routes: async (page) => ok(await new OverflowStore(db).list(page)) },
  });

  it('are shown with their prices, stamps and reasons', async () => {
    await stored(
      route({ lastVerifiedAtMs: null, enabled: false, disabledReason: 'not_verified' }),
      route({ endpointId: 'vendor.a', priceMicros: null, ratioMilli: null, failure: 'shape' }),
    );
    const { data, next_cursor } = await api.made('GET', '/overflow/routes');
    expect(next_cursor).toBeNull();
    expect(data).toEqual([
      {
        endpoint: 'vendor.a',
        aggregator: 'orthogonal',
        vendor: 'vendor-there',
        operation: '/v1/search',
        price_micros: null,
        unit: 'call',
        ratio: null,
        last_verified_at: '2030-01-07T03:23:00.000Z',
        enabled: true,
        disabled_reason: null,
        failure: 'shape',
      },
      expect.objectContaining({
        endpoint: 'vendor.search',
        price_micros: 2_000,
        ratio: 2,
        last_verified_at: null,
        enabled: false,
        disabled_reason: 'not_verified',
      }),
    ]);
  });

  it('are read page by page, each once, however long their ids are', async () => {
    const endpointId = 'vendor.'.padEnd(catalogIdCharsMax, 'x');
    const names = ['orthogonal', 'monid', 'third'];
    await stored(...names.map((aggregator) => route({ endpointId, aggregator })));
    const seen: string[] = [];
    for (let path = '/overflow/routes?limit=1'; path !== ''; ) {
      const { data, next_cursor } = await api.made('GET', path);
      seen.push(...data.map((row: { aggregator: string }) => row.aggregator));
      path =
        next_cursor === null
          ? ''
          : `/overflow/routes?limit=1&cursor=${encodeURIComponent(next_cursor)}`;
    }
    expect(seen).toEqual([...names].sort());
  });

  it.each(['x', btoa('vendor.a'), btoa('vendor.a monid x'), btoa("vendor.a '"), '%'])(
    'are not behind the cursor %j',
    async (cursor) => {
      const answer = await api.send('GET', `/overflow/routes?cursor=${encodeURIComponent(cursor)}`);
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'cursor' }] } });
    },
  );
});

describe('the spend', () => {
  it('is shown per aggregator and day beside the budget, and no key with it', async () => {
    const api = makeApi({
      vars: {
        OVERFLOW_MODE: 'shadow',
        OVERFLOW_DAILY_BUDGET_USD: '2.5',
        PLATFORM_SETTINGS: '{"OVERFLOW_KEY_MONID":"planted-key"}',
      },
      overflowBudgets: {
        days: async (name) =>
          name === 'monid'
            ? [{ day: '2030-01-01', spentMicros: 5, reservedMicros: 7, calls: 2 }]
            : null,
      },
    });
    const { body, text } = await api.send('GET', '/overflow/spend');
    expect(body).toEqual({
      mode: 'shadow',
      budget_micros: 2_500_000,
      data: [
        { aggregator: 'orthogonal', has_key: false, days: null },
        {
          aggregator: 'monid',
          has_key: true,
          days: [{ day: '2030-01-01', spent_micros: 5, reserved_micros: 7, calls: 2 }],
        },
      ],
    });
    expect(text).not.toContain('planted');
  });
});

describe('a sync by hand', () => {
  it('reads catalogs only when it is told to, and shows what it did', async () => {
    const asked: boolean[] = [];
    const api = makeApi({
      overflow: {
        sync: async (live) => {
          asked.push(live);
          return ok({
            outcome: 'done',
            rows: 3,
            enabled: 1,
            changed: 2,
            off: { ratio: 2 },
            catalogs: [
              { aggregator: 'orthogonal', outcome: 'read', offers: 9, leftOut: 1, matched: 3 },
              { aggregator: 'monid', outcome: 'no_key' },
            ],
          });
        },
      },
    });
    expect(await api.made('POST', '/overflow/sync', {})).toEqual({
      outcome: 'done',
      rows: 3,
      enabled: 1,
      changed: 2,
      off: { ratio: 2 },
      catalogs: [
        { aggregator: 'orthogonal', outcome: 'read', offers: 9, left_out: 1, matched: 3 },
        { aggregator: 'monid', outcome: 'no_key', offers: 0, left_out: 0, matched: 0 },
      ],
    });
    await api.made('POST', '/overflow/sync', { live: true });
    expect(asked).toEqual([false, true]);
  });

  it('beside another one says so, and without a store is 503', async () => {
    expect(await makeApi().made('POST', '/overflow/sync', {})).toMatchObject({
      outcome: 'skipped',
    });
    const away = makeApi({
      overflow: { sync: async () => err({ code: 'config.unavailable', retryAfterMs: 1_000 }) },
    });
    expect((await away.send('POST', '/overflow/sync', { body: {} })).status).toBe(503);
  });
});

describe('a verification by hand', () => {
  const asked: VerifyOptions[] = [];
  const done: VerifyRun = {
    outcome: 'done',
    entries: [
      {
        endpointId: 'vendor.a',
        aggregator: 'monid',
        verdict: 'aggregator',
        reason: 'aggregator_auth',
        stamped: false,
        failure: 'aggregator_auth',
        costMicros: 0,
      },
    ],
    alarm: 'our_key',
    next: 'vendor.a monid',
    sync: null,
  };
  const api = makeApi({
    overflow: {
      verify: async (options) => {
        asked.push(options);
        return ok(done);
      },
    },
  });

  it('pays no more than two cents a route unless it is told to, and goes on where it stopped', async () => {
    const first = await api.made('POST', '/overflow/verify', {});
    expect(first).toMatchObject({
      outcome: 'done',
      alarm: 'our_key',
      data: [{ endpoint: 'vendor.a', verdict: 'aggregator', cost_micros: 0 }],
      sync: null,
    });
    await api.made('POST', '/overflow/verify', {
      all: true,
      max_micros: 5,
      cursor: first.next_cursor,
    });
    expect(asked).toEqual([
      { all: false, maxMicros: overflowVerifyMicrosMax, after: null },
      { all: true, maxMicros: 5, after: 'vendor.a monid' },
    ]);
    expect(overflowVerifyMicrosMax).toBe(20_000);
  });

  it.each([{ max_micros: -1 }, { max_micros: 0.5 }, { all: 'yes' }, { cursor: 'x' }, { limit: 1 }])(
    'takes no %j',
    async (body) => {
      expect((await api.send('POST', '/overflow/verify', { body })).status).toBe(400);
    },
  );
});

describe('overflow', () => {
  it.each([
    ['GET', '/overflow/routes'],
    ['GET', '/overflow/spend'],
    ['POST', '/overflow/sync'],
    ['POST', '/overflow/verify'],
  ])("%s %s is the operator's alone", async (method, path) => {
    const api = makeApi();
    const tenant = await makeTenant(api);
    const body = method === 'POST' ? { body: {} } : {};
    const answer = await api.send(method, path, { key: tenant.token, ...body });
    expect(answer.status).toBe(403);
    expect((await api.send(method, path, { key: null, ...body })).status).toBe(401);
  });
});
