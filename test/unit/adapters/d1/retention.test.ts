/**
 * The retention of the call log: what is old goes, a bounded number per run; what is young stays.
 */
import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { retentionDeleteMax } from '../../../../src/base/limits';
import { expireCalls } from '../../../../src/jobs/expire-calls';

const { DB: db } = env as unknown as { DB: D1Database };

/** Puts calls into the log that started at 1, 2, 3, … */
const add = (count: number) =>
  db
    .prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       insert into calls (id, tenant_id, surface, method, outcome, status, started_at, latency_ms)
       select 'call_' || i, 'ten_1', 'call', 'GET', 'answered', 200, i, 1 from n`,
    )
    .bind(count)
    .run();

const oldest = async (): Promise<unknown> =>
  (await db.prepare('select min(started_at) at, count(*) n from calls').all()).results[0];

it('deletes at most retentionDeleteMax calls of one run, the oldest first, and none that is young', async () => {
  await add(retentionDeleteMax + 10);
  const before = retentionDeleteMax + 6;
  expect(await expireCalls(db, before)).toBe(retentionDeleteMax);
  expect(await oldest()).toEqual({ at: retentionDeleteMax + 1, n: 10 });
  expect(await expireCalls(db, before)).toBe(5);
  expect(await oldest()).toEqual({ at: before, n: 5 });
  expect(await expireCalls(db, before)).toBe(0);
});
