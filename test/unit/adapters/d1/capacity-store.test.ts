/** The statements of capacity over a real D1: a firing once, policies untouched, snapshots added only, the spend beside them. */
import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { CapacityStore } from '../../../../src/adapters/d1/capacity-store';
import { newId } from '../../../../src/base/ids';
import { type CapacityPolicy, defaultPolicy } from '../../../../src/domain/capacity/policy';
import type { Bindings } from '../../../../src/env';
import type { SnapshotRecord } from '../../../../src/ports/capacity-records';

const db = (env as unknown as Bindings).DB;
const store = new CapacityStore(db);
const dayMs = 86_400_000;
const nowMs = Date.UTC(2030, 0, 1, 12);
const leaseMs = 1000;

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

const snapshot = (parts: Partial<SnapshotRecord> = {}): SnapshotRecord => ({
  id: newId('snp', parts.observedAtMs ?? nowMs),
  provider: 'vendor',
  account: 'primary',
  sweepAtMs: nowMs,
  observedAtMs: nowMs,
  state: 'ok',
  remaining: 1.5,
  total: 10,
  unit: 'usd',
  resetsAtMs: nowMs + 1,
  source: 'api',
  confidence: 'exact',
  note: 'Pro',
  error: null,
  ...parts,
});

describe('a firing of a job', () => {
  const take = (job: string, scheduledAtMs: number, atMs: number) =>
    store.takeLease({ job, scheduledAtMs }, atMs, leaseMs);

  it('is taken once, by however many at once, and never again', async () => {
    const at = { job: 'once', scheduledAtMs: nowMs };
    const taken = await Promise.all(Array.from({ length: 8 }, () => take('once', nowMs, nowMs)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    await store.endLease(at);
    expect(await take('once', nowMs, nowMs + 10 * leaseMs)).toBe(false);
  });

  it.each([
    ['waits for the one before it while that is at work', 1, 999, false, false],
    ['follows one that ended', 1, 1, true, true],
    ['follows one that died, once its lease is over', 1, leaseMs, false, true],
    ['is too late when a later one was taken', -1, leaseMs, true, false],
  ])('%s', async (job, later, afterMs, hasEnded, expected) => {
    await take(job, nowMs, nowMs);
    if (hasEnded) await store.endLease({ job, scheduledAtMs: nowMs });
    expect(await take(job, nowMs + later, nowMs + afterMs)).toBe(expected);
  });

  it('that ended late gives back nobody else’s lease', async () => {
    await take('late', nowMs, nowMs);
    await take('late', nowMs + 1, nowMs + leaseMs);
    await store.endLease({ job: 'late', scheduledAtMs: nowMs });
    expect(await take('late', nowMs + 2, nowMs + leaseMs + 1)).toBe(false);
  });

  it('of one job keeps no other job waiting', async () => {
    await take('a', nowMs, nowMs);
    expect(await take('b', nowMs, nowMs)).toBe(true);
  });
});

describe('a policy', () => {
  it('is added when it is missing, and one that a person edited stays', async () => {
    const policy = defaultPolicy('openai', null) as CapacityPolicy;
    await store.addPolicies([policy], nowMs);
    expect(value(await store.policies())).toEqual([policy]);
    await db
      .prepare("update capacity_policies set low_remaining = 5, funding_mode = 'manual'")
      .run();
    await store.addPolicies([policy, { ...policy, provider: 'brave' }], nowMs);
    expect(value(await store.policies())).toMatchObject([
      { provider: 'brave', lowRemaining: null },
      { provider: 'openai', lowRemaining: 5, fundingMode: 'manual' },
    ]);
    await store.addPolicies([], nowMs);
  });
});

describe('a snapshot', () => {
  it('is kept as it was made; a second one of the same sweep and account changes nothing', async () => {
    const first = snapshot();
    await store.addSnapshot(first);
    await store.addSnapshot(snapshot({ remaining: 99 }));
    await store.addSnapshot(snapshot({ account: 'backup', error: 'late', remaining: null }));
    const page = value(await store.snapshots('vendor', { after: null, limit: 10 }));
    expect(page).toHaveLength(2);
    expect(page.map((row) => row.snapshot)).toContainEqual(first);
  });

  it('is listed newest first, page by page, of one provider or of all', async () => {
    const made = [1, 2, 3].map((n) =>
      snapshot({ provider: 'paged', sweepAtMs: n, observedAtMs: nowMs + n }),
    );
    for (const each of made) await store.addSnapshot(each);
    const ids = made.map(({ id }) => id).reverse();
    const list = async (provider: string | null, after: string | null, limit: number) =>
      value(await store.snapshots(provider, { after, limit })).map((row) => row.snapshot.id);
    expect(await list('paged', null, 2)).toEqual(ids.slice(0, 2));
    expect(await list('paged', ids[1] ?? '', 2)).toEqual(ids.slice(2));
    expect(await list(null, null, 3)).toEqual(ids);
    expect(await list('page', null, 3)).toEqual([]);
    expect(await list('paged', ids[2] ?? '', 3)).toEqual([]);
  });

  it('that is the newest of its account is found', async () => {
    const [older, newer] = [
      snapshot({ provider: 'twice', sweepAtMs: 1, observedAtMs: nowMs - 5 }),
      snapshot({ provider: 'twice', sweepAtMs: 2 }),
    ];
    await store.addSnapshot(newer);
    await store.addSnapshot(older);
    const latest = value(await store.latest()).filter(({ provider }) => provider === 'twice');
    expect(latest).toEqual([newer]);
  });

  it('stands beside what that account’s calls cost on its UTC day', async () => {
    const day = Math.floor(nowMs / dayMs) * dayMs;
    const call = (parts: object) => ({
      at: day,
      tier: 4,
      catalog: 'spent.op',
      cost: 7,
      account: null,
      via: null,
      ...parts,
    });
    const rows = [
      call({}),
      call({ at: day + dayMs - 1, cost: 30, account: 'primary', catalog: 'spent.x.y' }),
      call({ cost: 100, account: 'backup' }),
      call({ at: day - 1, cost: 1000 }),
      call({ at: day + dayMs, cost: 10_000 }),
      call({ tier: 2, cost: 5 }),
      call({ catalog: 'spent2.op', cost: 5 }),
      call({ cost: null }),
      call({ cost: 400, via: 'overflow:monid' }),
    ];
    await db.batch(
      rows.map((row, n) =>
        db
          .prepare(
            "insert into calls (id, tenant_id, surface, method, outcome, status, started_at, latency_ms, tier, catalog_id, cost_micros, account, served_via) values (?, 't', 'call', 'GET', 'answered', 200, ?, 1, ?, ?, ?, ?, ?)",
          )
          .bind(`spent ${n}`, row.at, row.tier, row.catalog, row.cost, row.account, row.via),
      ),
    );
    const made = [
      snapshot({ provider: 'spent' }),
      snapshot({ provider: 'spent', account: 'backup' }),
      snapshot({ provider: 'spent', sweepAtMs: 5, observedAtMs: day - dayMs + 5 }),
      snapshot({ provider: 'spent', sweepAtMs: 6, observedAtMs: day + dayMs }),
      snapshot({ provider: 'overflow:monid' }),
      snapshot({ provider: 'unspent' }),
    ];
    for (const each of made) await store.addSnapshot(each);
    const spent = new Map<string, number>();
    for (const provider of ['spent', 'overflow:monid', 'unspent'])
      for (const row of value(await store.snapshots(provider, { after: null, limit: 10 })))
        spent.set(row.snapshot.id, row.spentMicros);
    expect(made.map(({ id }) => spent.get(id))).toEqual([37, 100, 1000, 10_000, 400, 0]);
  });
});
