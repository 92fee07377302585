/**
 * Retention of the call log: rows older than CALL_RETENTION_DAYS go, a bounded number per run. Called by `jobs/crons.ts`.
 */
import { retentionDeleteMax } from '../base/limits';

/** Deletes up to `retentionDeleteMax` calls that started before `beforeMs` (epoch milliseconds); gives how many. */
export async function expireCalls(db: D1Database, beforeMs: number): Promise<number> {
  const done = await db
    .prepare(
      'delete from calls where id in (select id from calls where started_at < ? order by started_at limit ?)',
    )
    .bind(beforeMs, retentionDeleteMax)
    .run();
  return done.meta.changes;
}
