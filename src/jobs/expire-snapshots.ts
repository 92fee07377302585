/**
 * Retention of balance readings: old ones go, a bounded number per run. Promises: the newest reading of an account stays, however old it is,
 * so the operator's view never loses what was last known. Called by `jobs/crons.ts`.
 */
import { retentionDeleteMax } from '../base/limits';

/** Deletes up to `retentionDeleteMax` readings of sweeps before `beforeMs` (epoch milliseconds), the oldest first; gives how many. */
export async function expireSnapshots(db: D1Database, beforeMs: number): Promise<number> {
  const done = await db
    .prepare(
      `delete from capacity_snapshots where id in (
         select id from capacity_snapshots as old
         where sweep_at < ?1 and exists (
           select 1 from capacity_snapshots as newer
           where newer.provider = old.provider and newer.observed_at > old.observed_at and newer.account = old.account)
         order by sweep_at limit ?2)`,
    )
    .bind(beforeMs, retentionDeleteMax)
    .run();
  return done.meta.changes;
}
