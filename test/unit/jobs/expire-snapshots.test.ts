/** The retention of balance readings: what is old goes, a bounded number per run; the newest of an account stays. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { retentionDeleteMax } from '../../../src/base/limits';
import { expireSnapshots } from '../../../src/jobs/expire-snapshots';

const { DB: db } = env as unknown as { DB: D1Database };

beforeEach(() => db.exec('delete from capacity_snapshots'));

/** Readings of one account at 1, 2, 3, … */
const add = (account: string, count: number) =>
  db
    .prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
       insert into capacity_snapshots (id, provider, account, sweep_at, observed_at, state, source, confidence)
       select 'snp_' || ?1 || i, 'alpha', ?1, i, i + 1, 'ok', 'api', 'exact' from n`,
    )
    .bind(account, count)
    .run();

const left = async () =>
  (
    await db
      .prepare(
        'select account, min(sweep_at) at, count(*) n from capacity_snapshots group by 1 order by 1',
      )
      .all()
  ).results;

it('deletes at most retentionDeleteMax readings of one run, the oldest first, and none that is young', async () => {
  await add('primary', retentionDeleteMax + 10);
  const before = retentionDeleteMax + 6;
  expect(await expireSnapshots(db, before)).toBe(retentionDeleteMax);
  expect(await left()).toEqual([{ account: 'primary', at: retentionDeleteMax + 1, n: 10 }]);
  expect(await expireSnapshots(db, before)).toBe(5);
  expect(await left()).toEqual([{ account: 'primary', at: before, n: 5 }]);
  expect(await expireSnapshots(db, before)).toBe(0);
});

it('keeps the newest reading of each account, however old it is', async () => {
  await add('primary', 4);
  await add('backup', 2);
  expect(await expireSnapshots(db, 1_000)).toBe(4);
  expect(await left()).toEqual([
    { account: 'backup', at: 2, n: 1 },
    { account: 'primary', at: 4, n: 1 },
  ]);
});
