/** Sweeps by hand and snapshots over the management API: what is asked, what is shown, who may. */
import { beforeAll, describe, expect, it } from 'vitest';
import { CapacityStore } from '../../../src/adapters/d1/capacity-store';
import { newId } from '../../../src/base/ids';
import { sweepOnlyMax } from '../../../src/base/limits-capacity';
import { err, ok } from '../../../src/base/result';
import { type CapacityPolicy, defaultPolicy } from '../../../src/domain/capacity/policy';
import type { SnapshotRecord, SweepRun } from '../../../src/ports/capacity-records';
import { type Api, db, makeApi, makeTenant, startMs } from './harness';

const record = (parts: Partial<SnapshotRecord> = {}): SnapshotRecord => ({
  id: newId('snp', parts.observedAtMs ?? startMs),
  provider: 'openrouter',
  account: 'primary',
  sweepAtMs: startMs,
  observedAtMs: startMs,
  state: 'ok',
  remaining: 12.5,
  total: 20,
  unit: 'usd',
  resetsAtMs: null,
  source: 'api',
  confidence: 'exact',
  note: null,
  error: null,
  ...parts,
});

describe('a sweep by hand', () => {
  const asked: unknown[] = [];
  const world = (run: SweepRun) =>
    makeApi({
      sweepByHand: async (only) => {
        asked.push(only);
        return ok(run);
      },
    });
  const done: SweepRun = {
    outcome: 'done',
    sweepAtMs: startMs,
    snapshots: [record(), record({ error: 'late', remaining: null, state: 'stale' })],
    unknown: ['strange'],
    notFound: ['nobody'],
    unpublished: ['apify'],
    unwritten: [],
    unusedAccounts: ['opnai/backup'],
  };

  it('reads all, or those that are named, and shows what came of it', async () => {
    const api = world(done);
    const ran = await api.made('POST', '/capacity/sweep', {});
    await api.made('POST', '/capacity/sweep', { only: ['openrouter', 'overflow:monid'] });
    expect(asked).toEqual([null, ['openrouter', 'overflow:monid']]);
    expect(ran).toMatchObject({
      outcome: 'done',
      data: [
        {
          provider: 'openrouter',
          remaining: 12.5,
          sweep_at: '2030-01-01T00:00:00.000Z',
          error: null,
        },
        { remaining: null, state: 'stale', error: 'late' },
      ],
      unknown: ['strange'],
      not_found: ['nobody'],
      unpublished: ['apify'],
      unwritten: [],
      unused_accounts: ['opnai/backup'],
    });
  });

  it('that found another one at work says so', async () => {
    const ran = await world({ outcome: 'skipped' }).made('POST', '/capacity/sweep', {});
    expect(ran).toMatchObject({ outcome: 'skipped', data: [] });
  });

  it.each([
    ['no list', { only: 'openai' }],
    ['an empty list', { only: [] }],
    ['no name', { only: ['Not A Name'] }],
    ['too many', { only: Array(sweepOnlyMax + 1).fill('a') }],
    ['another field', { all: true }],
  ])('is not run for %s', async (_, body) => {
    const before = asked.length;
    expect((await world(done).send('POST', '/capacity/sweep', { body })).status).toBe(400);
    expect(asked).toHaveLength(before);
  });

  it('without a store is 503', async () => {
    const api = makeApi({
      sweepByHand: async () => err({ code: 'config.unavailable', retryAfterMs: 1000 }),
    });
    expect((await api.send('POST', '/capacity/sweep', { body: {} })).status).toBe(503);
  });
});

describe('snapshots', () => {
  let api: Api;
  const ids: string[] = [];

  beforeAll(async () => {
    api = makeApi();
    const store = new CapacityStore(db);
    const policy = defaultPolicy('openrouter', null) as CapacityPolicy;
    await store.addPolicies([{ ...policy, usdPerUnitMicros: 1_000_000 }], startMs);
    for (let n = 0; n < 3; n += 1) {
      const made = record({
        sweepAtMs: startMs + n,
        observedAtMs: startMs + n,
        remaining: n + 0.5,
      });
      ids.unshift(made.id);
      await store.addSnapshot(made);
    }
    await store.addSnapshot(record({ provider: 'elevenlabs', unit: 'characters', remaining: 7 }));
    await db
      .prepare(
        "insert into calls (id, tenant_id, surface, method, outcome, status, started_at, latency_ms, tier, catalog_id, cost_micros) values ('spent', 't', 'call', 'POST', 'answered', 200, ?, 1, 4, 'openrouter.chat', 2500)",
      )
      .bind(startMs + 5)
      .run();
  });

  it('are listed newest first beside the spend of their day, dollars only where a unit has a worth', async () => {
    const page = await api.made('GET', '/capacity/snapshots?provider=openrouter');
    expect(page.data.map((row: { id: string }) => row.id)).toEqual(ids);
    expect(page.data[0]).toMatchObject({
      provider: 'openrouter',
      account: 'primary',
      remaining: 2.5,
      unit: 'usd',
      remaining_micros: 2_500_000,
      spent_micros: 2500,
    });
    const other = await api.made('GET', '/capacity/snapshots?provider=elevenlabs');
    expect(other.data).toMatchObject([{ remaining: 7, remaining_micros: null, spent_micros: 0 }]);
  });

  it('come page by page, each once', async () => {
    const seen: string[] = [];
    let cursor = '';
    for (let n = 0; n < 4; n += 1) {
      const page = await api.made(
        'GET',
        `/capacity/snapshots?provider=openrouter&limit=2${cursor}`,
      );
      seen.push(...page.data.map((row: { id: string }) => row.id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(seen).toEqual(ids);
    expect((await api.made('GET', '/capacity/snapshots')).data).toHaveLength(4);
  });

  it.each(['provider=Not%20One', 'cursor=x', `cursor=${btoa('key_1')}`, 'limit=0', 'tenant=ten_1'])(
    'with %s are refused',
    async (query) => {
      expect((await api.send('GET', `/capacity/snapshots?${query}`)).status).toBe(400);
    },
  );

  it('and sweeps are the operator’s alone', async () => {
    const { token: key } = await makeTenant(api);
    expect((await api.send('GET', '/capacity/snapshots', { key })).status).toBe(403);
    expect((await api.send('POST', '/capacity/sweep', { key, body: {} })).status).toBe(403);
  });
});
