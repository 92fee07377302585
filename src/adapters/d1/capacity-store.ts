/**
 * D1's part of capacity: leases of jobs, policies, snapshots, and what calls spent beside them.
 * Promises: a firing is taken once, whoever fires it how often; a stored policy is never changed; a snapshot is added once per sweep and
 * account and never changed. Must never: hold more than numbers, words of ours and a note that was let through. Called by `jobs/sweep.ts`,
 * and through wiring.ts by the operator's views.
 */
import { and, desc, eq, gte, inArray, isNotNull, lt, max, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { catalogProvidersMax } from '../../base/limits-money';
import { ok } from '../../base/result';
import type { SweptProvider } from '../../domain/capacity/collect';
import type { CapacityPolicy } from '../../domain/capacity/policy';
import { primaryAccount } from '../../domain/capacity/signal';
import type {
  CapacityRecords,
  SnapshotBesideSpend,
  SnapshotRecord,
} from '../../ports/capacity-records';
import { providersIn } from './catalog-store';
import { calls } from './schema';
import { capacityPolicies, capacitySnapshots, jobLeases } from './schema-capacity';
import { type Db, stored } from './store/statements';

const dayMs = 86_400_000;
/** Policies outlive their providers. */
const policiesMax = 2 * catalogProvidersMax;

const policyColumns = {
  provider: capacityPolicies.provider,
  capacityType: capacityPolicies.capacityType,
  fundingMode: capacityPolicies.fundingMode,
  source: capacityPolicies.source,
  usdPerUnitMicros: capacityPolicies.usdPerUnitMicros,
  lowRemaining: capacityPolicies.lowRemaining,
  overflowAllowed: capacityPolicies.overflowAllowed,
};

const snapshotColumns = {
  id: capacitySnapshots.id,
  provider: capacitySnapshots.provider,
  account: capacitySnapshots.account,
  sweepAtMs: capacitySnapshots.sweepAt,
  observedAtMs: capacitySnapshots.observedAt,
  state: capacitySnapshots.state,
  remaining: capacitySnapshots.remaining,
  total: capacitySnapshots.total,
  unit: capacitySnapshots.unit,
  resetsAtMs: capacitySnapshots.resetsAt,
  source: capacitySnapshots.source,
  confidence: capacitySnapshots.confidence,
  note: capacitySnapshots.note,
  error: capacitySnapshots.error,
};

/** One firing of a job. */
export interface Firing {
  readonly job: string;
  readonly scheduledAtMs: number;
}

export class CapacityStore implements CapacityRecords {
  readonly #db: Db;

  constructor(d1: D1Database) {
    this.#db = drizzle(d1);
  }

  /** Whether this firing is the caller's: a later one than the last, and the last has ended or its lease has. */
  async takeLease(
    { job, scheduledAtMs }: Firing,
    nowMs: number,
    leaseMs: number,
  ): Promise<boolean> {
    const lease = { scheduledAt: scheduledAtMs, leasedUntil: nowMs + leaseMs };
    const taken = await this.#db
      .insert(jobLeases)
      .values({ job, ...lease })
      .onConflictDoUpdate({
        target: jobLeases.job,
        set: lease,
        setWhere: sql`${jobLeases.scheduledAt} < ${scheduledAtMs} and ${jobLeases.leasedUntil} <= ${nowMs}`,
      })
      .returning({ job: jobLeases.job });
    return taken.length > 0;
  }

  /** The firing has ended; only its own lease is given back. */
  async endLease({ job, scheduledAtMs }: Firing): Promise<void> {
    await this.#db
      .update(jobLeases)
      .set({ leasedUntil: 0 })
      .where(and(eq(jobLeases.job, job), eq(jobLeases.scheduledAt, scheduledAtMs)));
  }

  /** Every provider of the catalog, those of retired rows included. */
  providers(): Promise<readonly SweptProvider[]> {
    return providersIn(this.#db);
  }

  /** Adds the policies that are missing. */
  async addPolicies(policies: readonly CapacityPolicy[], nowMs: number): Promise<void> {
    const [first, ...rest] = policies.map((policy) =>
      this.#db
        .insert(capacityPolicies)
        .values({ ...policy, createdAt: nowMs })
        .onConflictDoNothing(),
    );
    if (first !== undefined) await this.#db.batch([first, ...rest]);
  }

  /** Adds a snapshot; a second one of the same sweep and account changes nothing. */
  async addSnapshot(record: SnapshotRecord): Promise<void> {
    const { sweepAtMs, observedAtMs, resetsAtMs, ...rest } = record;
    const times = { sweepAt: sweepAtMs, observedAt: observedAtMs, resetsAt: resetsAtMs };
    await this.#db
      .insert(capacitySnapshots)
      .values({ ...rest, ...times })
      .onConflictDoNothing();
  }

  policies() {
    return stored(
      this.#db
        .select(policyColumns)
        .from(capacityPolicies)
        .orderBy(capacityPolicies.provider)
        .limit(policiesMax),
    );
  }

  latest() {
    const newest = this.#db
      .select({ id: max(capacitySnapshots.id) })
      .from(capacitySnapshots)
      .groupBy(capacitySnapshots.provider, capacitySnapshots.account);
    return stored(
      this.#db
        .select(snapshotColumns)
        .from(capacitySnapshots)
        .where(inArray(capacitySnapshots.id, newest)),
    );
  }

  async snapshots(...[provider, page]: Parameters<CapacityRecords['snapshots']>) {
    const { after, limit } = page;
    const rows = await stored(
      this.#db
        .select(snapshotColumns)
        .from(capacitySnapshots)
        .where(
          and(
            provider === null ? undefined : eq(capacitySnapshots.provider, provider),
            after === null ? undefined : lt(capacitySnapshots.id, after),
          ),
        )
        .orderBy(desc(capacitySnapshots.id))
        .limit(limit),
    );
    return rows.ok ? this.#besideSpend(rows.value) : rows;
  }

  async #besideSpend(snapshots: readonly SnapshotRecord[]) {
    const days = snapshots.map(({ observedAtMs }) => Math.floor(observedAtMs / dayMs));
    if (days.length === 0) return ok([]);
    const spent = await stored(this.#spent(Math.min(...days), Math.max(...days)));
    if (!spent.ok) return spent;
    const byKey = new Map(
      spent.value.map((row) => [`${row.day} ${row.payee} ${row.account}`, row]),
    );
    return ok(
      snapshots.map((snapshot): SnapshotBesideSpend => {
        const day = Math.floor(snapshot.observedAtMs / dayMs);
        const row = byKey.get(`${day} ${snapshot.provider} ${snapshot.account}`);
        return { snapshot, spentMicros: row?.micros ?? 0 };
      }),
    );
  }

  /** What the calls of some UTC days cost, per day, payee and account; an aggregator is the payee of what it served. */
  #spent(firstDay: number, lastDay: number) {
    const day = sql<number>`${calls.startedAt} / ${sql.raw(String(dayMs))}`;
    const vendor = sql`substr(${calls.catalogId}, 1, instr(${calls.catalogId}, '.') - 1)`;
    const payee = sql<string>`coalesce(${calls.servedVia}, ${vendor})`;
    const account = sql<string>`coalesce(${calls.account}, ${primaryAccount})`;
    return this.#db
      .select({ day, payee, account, micros: sql<number>`sum(${calls.costMicros})` })
      .from(calls)
      .where(
        and(
          gte(calls.startedAt, firstDay * dayMs),
          lt(calls.startedAt, (lastDay + 1) * dayMs),
          eq(calls.tier, 4),
          isNotNull(calls.catalogId),
        ),
      )
      .groupBy(sql`1, 2, 3`);
  }
}
