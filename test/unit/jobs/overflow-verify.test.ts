/** The verification over a real D1, with scripted aggregators and vendors: every verdict and what it does, every exit, its bounds. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { CapacityStore } from '../../../src/adapters/d1/capacity-store';
import { OverflowStore } from '../../../src/adapters/d1/overflow-store';
import {
  overflowPollMs,
  overflowPollsMax,
  overflowStoreRowsMax,
  overflowVerifyMicrosMax,
  overflowVerifyMsMax,
  overflowVerifyRoutesMax,
  overflowVerifyStepMax,
  overflowVerifyTogetherMax,
} from '../../../src/base/limits-capacity';
import { catalogEndpointsMax } from '../../../src/base/limits-money';
import { overflowVerify, overflowWeekly } from '../../../src/jobs/overflow-verify';
import type { VerifyOptions } from '../../../src/ports/overflow-jobs';
import { countedD1, queriesPerEventMax } from './counted-d1';
import {
  answer,
  background,
  catalog,
  cleared,
  db,
  type Reply,
  route,
  startMs,
  store,
  stored,
  version,
  type WorldOptions,
  world,
} from './overflow-world';

const orthogonal = 'POST https://api.orthogonal.com/v1/run';
const monid = 'POST https://api.monid.ai/v1/run';
const monidRun = 'GET https://api.monid.ai/v1/runs/01RUN';
const direct = 'GET https://api.vendor.example/v1/search';
const vendorKey = { VENDOR_KEY: 'vendor-key' };
const body = { hits: [{ id: 1 }] };
const served = (data: unknown, status = 200) =>
  answer(status, { success: status < 300, priceCents: 0.2, data });
const direct200 = answer(200, { hits: [{ id: 9 }, { id: 8 }] });
const all: VerifyOptions = { all: true, maxMicros: overflowVerifyMicrosMax, after: null };

async function verified(options: WorldOptions, wanted: VerifyOptions = all) {
  const all_ = world({ settings: vendorKey, ...options });
  const run = await overflowVerify(all_.ports, wanted, background);
  if (run.outcome !== 'done') throw new Error('the verification was skipped');
  return { ...all_, ...run };
}

beforeEach(async () => {
  await cleared();
  await catalog({});
});

describe('one route', () => {
  const before = route({ lastVerifiedAtMs: 5 });
  const stamped = { lastVerifiedAtMs: startMs };
  const off = (failure: string) => ({
    failure,
    enabled: false,
    disabledReason: 'verification_failed',
  });
  // Five milliseconds after the epoch is long ago: the sync behind it turns the route off for that.
  const old = { enabled: false, disabledReason: 'verification_old' };

  it.each<[string, Reply, Reply, string, string, object, string | null]>([
    ['passes: stamped, and on', served(body), direct200, 'passed', 'passed', stamped, null],
    [
      'of another shape fails',
      served({ hits: [{ name: 1 }] }),
      direct200,
      'failed',
      'shape',
      off('shape'),
      null,
    ],
    [
      'that the relay refuses fails',
      served({ error: 'x' }, 404),
      direct200,
      'failed',
      'relay_status_404',
      off('relay_status_404'),
      null,
    ],
    [
      'that breaks its contract fails',
      answer(400, { success: false, error: 'q' }),
      direct200,
      'failed',
      'contract',
      off('contract'),
      null,
    ],
    [
      'with a stale request is left as it is',
      served({ error: 'x' }, 400),
      answer(400, {}),
      'inconclusive',
      'direct_status_400',
      old,
      null,
    ],
    [
      'whose vendor refuses our key is left as it is',
      served(body),
      answer(401, {}),
      'inconclusive',
      'direct_status_401',
      old,
      null,
    ],
    [
      'whose vendor is away is left as it is',
      served(body),
      null,
      'inconclusive',
      'direct_unreachable',
      old,
      null,
    ],
    [
      'whose own account is dry is stamped where the relay serves',
      served(body),
      answer(402, { error: 'pay' }),
      'inconclusive',
      'direct_dry',
      stamped,
      null,
    ],
    [
      'whose own account is dry is left where the relay refuses',
      served({ error: 'x' }, 404),
      answer(402, {}),
      'inconclusive',
      'direct_dry',
      old,
      null,
    ],
    [
      'that refuses our key there is left as it is',
      answer(401, { success: false, code: 'UNAUTHORIZED' }),
      direct200,
      'aggregator',
      'aggregator_auth',
      old,
      'our_key',
    ],
    [
      'for which our balance is out is left as it is',
      answer(402, { success: false, code: 'INSUFFICIENT_CREDITS' }),
      direct200,
      'aggregator',
      'aggregator_balance',
      old,
      'our_balance',
    ],
    [
      'whose vendor is dry there is left as it is',
      served({ error: 'pay' }, 402),
      direct200,
      'aggregator',
      'vendor_dry',
      old,
      null,
    ],
    [
      'without an envelope is left as it is',
      answer(502, 'bad gateway'),
      direct200,
      'aggregator',
      'malformed',
      old,
      'all_lost',
    ],
    [
      'without an answer is left as it is',
      null,
      direct200,
      'aggregator',
      'unreachable',
      old,
      'all_lost',
    ],
  ])('%s', async (_, relay, other, verdict, reason, change, alarm) => {
    await stored(before);
    const run = await verified({ replies: { [orthogonal]: relay, [direct]: other } });
    expect(run.entries).toMatchObject([{ verdict, reason }]);
    expect(run.alarm).toBe(alarm);
    expect(await store.rows()).toEqual([{ ...before, ...change }]);
    expect(run.next).toBeNull();
    expect(run.sync).toMatchObject({ outcome: 'done', catalogs: [] });
  });

  it('is asked for once there and once here, with its own keys and no other', async () => {
    await stored(before);
    const { sent } = await verified({
      replies: { [orthogonal]: served(body), [direct]: direct200 },
    });
    expect(sent).toMatchObject([
      {
        method: 'POST',
        url: 'https://api.orthogonal.com/v1/run',
        body: '{"api":"vendor-there","path":"/v1/search","query":{"q":"test"}}',
      },
      { method: 'GET', url: 'https://api.vendor.example/v1/search?q=test', body: null },
    ]);
    const [there, here] = sent.map(({ headers }) => Object.fromEntries(headers));
    expect(there?.authorization).toBe('Bearer key of orthogonal');
    expect(here?.['x-key']).toBe('vendor-key');
    expect(JSON.stringify(there)).not.toContain('vendor-key');
    expect(JSON.stringify(here)).not.toContain('orthogonal');
  });

  it('is not paid for directly where the relay has said enough', async () => {
    await stored(before);
    const { sent } = await verified({ replies: { [orthogonal]: null, [direct]: direct200 } });
    expect(sent).toHaveLength(1);
  });

  it('is inconclusive where we hold no key, and is not stamped', async () => {
    await stored(before);
    const { entries, sent } = await verified({
      settings: {},
      replies: { [orthogonal]: served(body) },
    });
    expect(entries).toMatchObject([{ verdict: 'inconclusive', reason: 'no_key', stamped: false }]);
    expect(sent).toHaveLength(1);
  });

  it('that fails stays off through the syncs behind it, until it passes', async () => {
    await stored(before);
    await verified({ replies: { [orthogonal]: served([]), [direct]: direct200 } });
    expect((await store.rows())[0]).toMatchObject({ enabled: false });
    const again = world({
      settings: vendorKey,
      replies: { [orthogonal]: served(body), [direct]: direct200 },
    });
    again.clock.nowMs += 1;
    await overflowVerify(again.ports, { ...all, all: false }, background);
    expect((await store.rows())[0]).toMatchObject({ enabled: true, failure: null });
  });

  it('that goes on is asked about every second and a half', async () => {
    const there = { aggregator: 'monid', vendor: 'vendor' };
    await stored({ ...before, ...there });
    const done = answer(200, {
      runId: '01RUN',
      status: 'COMPLETED',
      providerResponse: { httpStatus: 200 },
      output: body,
      cost: { value: 0.003, currency: 'USD' },
    });
    const running = answer(202, { runId: '01RUN', status: 'RUNNING' });
    const { entries, clock, money } = await verified({
      replies: { [monid]: running, [monidRun]: [running, null, done], [direct]: direct200 },
    });
    expect(entries).toMatchObject([{ verdict: 'passed', costMicros: 3_000 }]);
    expect(clock.nowMs).toBe(startMs + 3 * overflowPollMs);
    expect(money).toEqual(['reserve monid 2000', 'reconcile monid 3000']);
  });

  it('that never ends is inconclusive, and its estimate stays spent', async () => {
    await stored({ ...before, aggregator: 'monid' });
    const running = answer(202, { runId: '01RUN', status: 'RUNNING' });
    const { entries, sent, money } = await verified({
      replies: { [monid]: running, [monidRun]: running },
    });
    expect(entries).toMatchObject([
      { verdict: 'inconclusive', reason: 'pending', costMicros: null },
    ]);
    expect(sent).toHaveLength(1 + overflowPollsMax);
    expect(money).toEqual(['reserve monid 2000']);
  });
});

describe('the money of a route', () => {
  it.each<[string, Reply, string[]]>([
    ['is its charge', served(body), ['reconcile orthogonal 2000']],
    [
      'is given back where nothing was charged',
      answer(401, { success: false, code: 'UNAUTHORIZED' }),
      ['give back orthogonal'],
    ],
    ['stays reserved where nobody knows it', null, []],
    ['stays reserved where no price is said', answer(200, { success: true, data: body }), []],
  ])('%s', async (_, relay, end) => {
    await stored(route());
    const { money } = await verified({ replies: { [orthogonal]: relay, [direct]: direct200 } });
    expect(money).toEqual(['reserve orthogonal 2000', ...end]);
  });

  it.each([
    { outcome: 'refused', spentMicros: 20, budgetMicros: 20 } as const,
    { outcome: 'unavailable' } as const,
  ])('is not spent when the budget says %j', async (reserve) => {
    await stored(route());
    const { sent, entries, alarm } = await verified({ reserve });
    expect(sent).toEqual([]);
    expect(entries).toMatchObject([{ verdict: null, reason: 'budget' }]);
    expect(alarm).toBe('nothing_attempted');
  });
});

describe('a price per result', () => {
  const perResult = {
    cost: {
      kind: 'per_result',
      prices: [{ when: [], perMillionMicros: 1_000_000_000 }],
      results: 'hits[*]',
      reserve: { kind: 'request', in: 'query', at: 'limit', default: 10, max: 100 },
    },
    testRequest: { query: 'q=test&limit=3', bodyText: null },
  } as const;
  const each = { endpointId: 'vendor.rows', unit: 'result', operation: '/v1/rows' } as const;

  it('is reserved for every result that the test request may give', async () => {
    await catalog({ id: 'vendor.rows', path: '/v1/rows', ...perResult });
    await stored(route(each));
    const { money } = await verified({ replies: { [orthogonal]: served(body) } });
    expect(money[0]).toBe('reserve orthogonal 6000');
  });

  it('is too dear when all of them are, and for one where a run gives no more', async () => {
    await catalog({ id: 'vendor.rows', path: '/v1/rows', ...perResult });
    await stored(
      route({ ...each, priceMicros: 7_000 }),
      route({ ...each, priceMicros: 7_000, aggregator: 'monid', singleResult: true }),
    );
    const { money, entries } = await verified({ replies: { [monid]: null } });
    expect(entries.map(({ aggregator, reason }) => [aggregator, reason])).toEqual([
      ['monid', 'unreachable'],
      ['orthogonal', 'too_dear'],
    ]);
    expect(money).toEqual(['reserve monid 7000']);
  });
});

describe('a route is skipped', () => {
  it.each([
    ['no_price', { priceMicros: null }, {}],
    ['too_dear', { priceMicros: overflowVerifyMicrosMax + 1 }, {}],
    ['no_key', { aggregator: 'other' }, {}],
    ['no_key', {}, { keys: ['monid'] }],
    ['endpoint_gone', { endpointId: 'vendor.gone' }, {}],
    ['no_test_request', { endpointId: 'vendor.untested' }, {}],
    ['test_request', { endpointId: 'vendor.unfilled' }, {}],
    ['base_unapproved', { endpointId: 'vendor.elsewhere' }, {}],
    [
      'not_relayable',
      { endpointId: 'vendor.people', aggregator: 'monid', operation: '/other/{id}/x' },
      {},
    ],
  ])('for %s, before anything is reserved or sent', async (reason, parts, options) => {
    await catalog(
      { id: 'vendor.untested', testRequest: null },
      { id: 'vendor.unfilled', path: '/people/{id}' },
      { id: 'vendor.elsewhere', host: 'elsewhere.example' },
      { id: 'vendor.people', path: '/people/{id}', testRequest: { query: 'id=7', bodyText: null } },
    );
    await stored(route(parts));
    const { entries, sent, money } = await verified(options);
    expect(entries).toMatchObject([{ verdict: null, reason }]);
    expect([sent, money]).toEqual([[], []]);
  });
});

describe('a run', () => {
  const fine = { [orthogonal]: served(body), [direct]: direct200 };

  it('without --all visits what is on or was verified before, and nothing else', async () => {
    await catalog({ id: 'vendor.a' }, { id: 'vendor.b' }, { id: 'vendor.c' });
    const never = { lastVerifiedAtMs: null, enabled: false, disabledReason: 'not_verified' };
    await stored(
      route({ endpointId: 'vendor.a' }),
      route({ endpointId: 'vendor.b', enabled: false, disabledReason: 'verification_old' }),
      route({ endpointId: 'vendor.c', ...never }),
    );
    const { entries } = await verified({ replies: fine }, { ...all, all: false });
    expect(entries.map(({ endpointId }) => endpointId)).toEqual(['vendor.a', 'vendor.b']);
    expect(
      (await verified({ replies: fine, parts: { nowMs: () => startMs + 1 } })).entries,
    ).toHaveLength(3);
  });

  it('goes on where it stopped, and is followed by a sync only at its end', async () => {
    const ids = Array.from({ length: overflowVerifyStepMax + 1 }, (_, i) => `vendor.r${100 + i}`);
    await catalog(...ids.map((id) => ({ id, path: '/search' })));
    await stored(...ids.map((endpointId) => route({ endpointId })));
    const first = await verified({ replies: fine });
    expect(first.entries).toHaveLength(overflowVerifyStepMax);
    expect(first.sync).toBeNull();
    const rest = await verified(
      { replies: fine, parts: { nowMs: () => startMs + 1 } },
      { ...all, after: first.next },
    );
    expect(rest.entries.map(({ endpointId }) => endpointId)).toEqual([ids.at(-1)]);
    expect(rest.sync).toMatchObject({ outcome: 'done', enabled: ids.length });
  });

  it('that visits nothing says so', async () => {
    expect((await verified({})).alarm).toBe('nothing_attempted');
  });

  it('beside another one does nothing', async () => {
    await stored(route());
    const { ports, sent } = world({ settings: vendorKey, replies: fine });
    const both = await Promise.all([
      overflowVerify(ports, all, background),
      overflowVerify(ports, all, background),
    ]);
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['done', 'skipped']);
    expect(sent).toHaveLength(2);
  });

  it('raises the version that isolates compare', async () => {
    await stored(route());
    await verified({ replies: fine });
    expect(await version()).toBeGreaterThan(0);
  });

  it('begins no route after its time', async () => {
    const ids = Array.from({ length: overflowVerifyTogetherMax + 1 }, (_, i) => `vendor.s${i}`);
    await catalog(...ids.map((id) => ({ id })));
    await stored(...ids.map((endpointId) => route({ endpointId })));
    const slow = world({ settings: vendorKey });
    const run = await overflowVerify(
      {
        ...slow.ports,
        client: {
          ask: async () => {
            slow.clock.nowMs += overflowVerifyMsMax;
            return null;
          },
        },
      },
      all,
      background,
    );
    expect(run.outcome === 'done' && run.entries).toHaveLength(overflowVerifyTogetherMax);
  });
});

describe('the weekly firing', () => {
  const fine = { [orthogonal]: served(body), [direct]: direct200 };
  const firing = { scheduledAtMs: startMs, background };

  it('verifies what waited longest first, and a sync follows', async () => {
    await catalog({ id: 'vendor.a' }, { id: 'vendor.b' });
    await stored(
      route({ endpointId: 'vendor.a' }),
      route({ endpointId: 'vendor.b', lastVerifiedAtMs: 5 }),
    );
    const { ports, reports } = world({ settings: vendorKey, replies: fine });
    const run = await overflowWeekly(ports, firing);
    expect(run).toMatchObject({ outcome: 'done', alarm: null, sync: { enabled: 2 } });
    expect(run.outcome === 'done' && run.entries.map(({ endpointId }) => endpointId)).toEqual([
      'vendor.b',
      'vendor.a',
    ]);
    expect(reports).toEqual([
      [
        'overflow.verified',
        { passed: 2, failed: 0, aggregator_errors: 0, inconclusive: 0, skipped: 0, alarm: null },
      ],
    ]);
  });

  it('looks at overflowVerifyRoutesMax of them', async () => {
    const { ports } = world({ settings: vendorKey, replies: fine });
    const looked = vi.spyOn(store, 'oldest');
    await expect(overflowWeekly(ports, firing)).rejects.toThrow('nothing_attempted');
    expect(looked.mock.calls).toEqual([[overflowVerifyRoutesMax]]);
    looked.mockRestore();
  });

  it.each(['endpoint', 'stamp'] as const)(
    'of which D1 loses one %s verifies the others, says so, and a sync follows',
    async (what) => {
      await catalog({ id: 'vendor.a' }, { id: 'vendor.b' });
      await stored(route({ endpointId: 'vendor.a' }), route({ endpointId: 'vendor.b' }));
      const { ports, reports } = world({ settings: vendorKey, replies: fine });
      vi.spyOn(store, what).mockRejectedValueOnce(new Error('D1_ERROR: Network connection lost.'));
      const run = await overflowWeekly(ports, firing);
      vi.restoreAllMocks();
      expect(run.outcome === 'done' && run.entries.map(({ reason }) => reason).sort()).toEqual([
        'passed',
        'store',
      ]);
      expect(run).toMatchObject({ outcome: 'done', sync: { outcome: 'done' } });
      expect(reports.map(([event]) => event).sort()).toEqual([
        'overflow.not_verified',
        'overflow.verified',
      ]);
    },
  );

  it('of overflowVerifyRoutesMax routes stays within the queries of an event', async () => {
    const perRun = async (ids: readonly string[]): Promise<number> => {
      await cleared();
      await catalog(...ids.map((id) => ({ id })));
      await stored(...ids.map((endpointId) => route({ endpointId })));
      const { db: countedDb, made } = countedD1(db);
      const leases = new CapacityStore(countedDb);
      const parts = { store: new OverflowStore(countedDb), leases };
      const { ports } = world({ settings: vendorKey, replies: fine, parts });
      expect(await overflowWeekly(ports, firing)).toMatchObject({ outcome: 'done', alarm: null });
      return made();
    };
    const two = await perRun(['vendor.a', 'vendor.b']);
    const four = await perRun(['vendor.a', 'vendor.b', 'vendor.c', 'vendor.d']);
    const each = (four - two) / 2;
    // A full sync reads and writes in parts of overflowStoreRowsMax.
    const parts = 2 * Math.ceil(catalogEndpointsMax / overflowStoreRowsMax);
    expect(two - 2 * each + parts + each * overflowVerifyRoutesMax).toBeLessThan(
      queriesPerEventMax,
    );
  });

  it('that comes twice spends once', async () => {
    await stored(route());
    const { ports, sent } = world({ settings: vendorKey, replies: fine });
    const both = await Promise.all([overflowWeekly(ports, firing), overflowWeekly(ports, firing)]);
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['done', 'skipped']);
    expect(await overflowWeekly(ports, firing)).toEqual({ outcome: 'skipped' });
    expect(sent).toHaveLength(2);
  });

  it('fails where somebody has to look, after its sync', async () => {
    await stored(route({ lastVerifiedAtMs: 5 }));
    const refused = answer(401, { success: false, code: 'UNAUTHORIZED' });
    const { ports } = world({ settings: vendorKey, replies: { [orthogonal]: refused } });
    await expect(overflowWeekly(ports, firing)).rejects.toThrow('our_key');
    expect((await store.rows())[0]).toMatchObject({ disabledReason: 'verification_old' });
  });

  it('does not fail for a route that failed', async () => {
    await stored(route());
    const { ports } = world({
      settings: vendorKey,
      replies: { ...fine, [orthogonal]: served([]) },
    });
    expect(await overflowWeekly(ports, firing)).toMatchObject({ alarm: null });
  });

  it('does nothing in a deployment without a key of any aggregator', async () => {
    await stored(route());
    const { ports, sent } = world({ keys: [] });
    expect(await overflowWeekly(ports, firing)).toEqual({ outcome: 'skipped' });
    expect(sent).toEqual([]);
  });
});
