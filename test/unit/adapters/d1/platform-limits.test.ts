/**
 * The local runtime holds statements to these limits of the deployed platform, in D1 and in objects: so every other test that passes shows that
 * ours keep them. It knows no end of a value (2 MB deployed; the setup of the stores adds it for D1) and counts no queries (`countedD1`).
 */
import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';

const { DB, METRICS } = env as unknown as {
  readonly DB: D1Database;
  readonly METRICS: DurableObjectNamespace;
};

/** Runs one statement; resolves when it was taken. */
type Run = (sql: string, values?: readonly string[]) => Promise<unknown>;

const inD1: Run = (sql, values = []) =>
  DB.prepare(sql)
    .bind(...values)
    .all();
const inObject: Run = (sql, values = []) =>
  runInDurableObject(METRICS.get(METRICS.idFromName('limits')), (_, { storage }) =>
    storage.sql.exec(sql, ...values).toArray(),
  );

const marks = (count: number): string => Array.from({ length: count }, () => '?').join(', ');
const texts = (count: number): readonly string[] => Array.from({ length: count }, () => 'x');
const padded = (bytes: number): string => `select 1 -- ${'x'.repeat(bytes - 12)}`;

describe.each([
  ['D1', inD1],
  ['an object', inObject],
])('%s', (_, run) => {
  it('takes 100 parameters, not 101', async () => {
    await run(`select 1 where 'x' in (${marks(100)})`, texts(100));
    await expect(run(`select 1 where 'x' in (${marks(101)})`, texts(101))).rejects.toThrow();
  });

  it('takes a statement of 100,000 bytes, not one of 100,001', async () => {
    await run(padded(100_000));
    await expect(run(padded(100_001))).rejects.toThrow();
  });

  it('takes a pattern of 50 bytes, not one of 51', async () => {
    await run('select ? like ?', ['x', 'x'.repeat(50)]);
    await expect(run('select ? like ?', ['x', 'x'.repeat(51)])).rejects.toThrow();
  });
});

it('D1 takes a value of two megabytes, not one byte more', async () => {
  await inD1('select length(?)', ['x'.repeat(2_000_000)]);
  expect(() => inD1('select length(?)', ['x'.repeat(2_000_001)])).toThrow('SQLITE_TOOBIG');
});
