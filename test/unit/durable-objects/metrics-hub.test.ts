/** The real object: totals that survive evictions, and reports that count once. Only `Date` is faked. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { MetricsHub } from '../../../durable-objects/metrics-hub';
import { metricsReportersMax, metricsWriteMs } from '../../../src/base/limits-capacity';

const { METRICS } = env as unknown as { readonly METRICS: DurableObjectNamespace<MetricsHub> };

const calls = 'calls|call,answered,none,1,2xx';

/** A hub of this name and a way to kill it. */
function hub(name: string) {
  let stub = METRICS.getByName(name);
  return {
    get stub() {
      return stub;
    },
    async die() {
      await evictDurableObject(stub);
      stub = METRICS.getByName(name);
    },
  };
}

const rows = (stub: DurableObjectStub<MetricsHub>): Promise<number> =>
  runInDurableObject(stub, (_, { storage }) =>
    Number(storage.sql.exec('SELECT count(*) AS n FROM books').one().n),
  );

describe('MetricsHub', () => {
  it('adds up the reports of all isolates', async () => {
    const { stub } = hub('adds');
    await stub.add('a', 1, { [calls]: 2, 'cost|vendor': 70 });
    await stub.add('b', 1, { [calls]: 3 });
    await stub.add('a', 2, { [calls]: 1 });
    expect(await stub.read()).toEqual({ [calls]: 6, 'cost|vendor': 70 });
  });

  it.each([
    ['twice', [1, 1]],
    ['after a later one', [2, 1]],
  ])('counts a report that comes %s once', async (name, seqs) => {
    const { stub } = hub(`repeats ${name}`);
    for (const seq of seqs) await stub.add('a', seq, { [calls]: 5 });
    expect(await stub.read()).toEqual({ [calls]: 5 });
  });

  it('knows a repeat after its own death', async () => {
    const object = hub('remembers');
    await object.stub.add('a', 1, { [calls]: 5 });
    await object.stub.read();
    await object.die();
    await object.stub.add('a', 1, { [calls]: 5 });
    await object.stub.add('a', 2, { [calls]: 1 });
    expect(await object.stub.read()).toEqual({ [calls]: 6 });
  });

  it('never takes back a total that was read', async () => {
    const object = hub('read');
    await object.stub.add('a', 1, { [calls]: 5 });
    expect(await object.stub.read()).toEqual({ [calls]: 5 });
    await object.die();
    expect(await object.stub.read()).toEqual({ [calls]: 5 });
  });

  it('writes many reports as one row, metricsWriteMs after the first', async () => {
    const object = hub('alarm');
    const beforeMs = Date.now();
    for (let seq = 1; seq <= 20; seq += 1) await object.stub.add('a', seq, { [calls]: 1 });
    expect(await rows(object.stub)).toBe(0);
    const dueMs = await runInDurableObject(object.stub, (_, { storage }) => storage.getAlarm());
    expect((dueMs ?? 0) - beforeMs).toBeGreaterThanOrEqual(metricsWriteMs);
    expect(await runDurableObjectAlarm(object.stub)).toBe(true);
    expect(await rows(object.stub)).toBe(1);
    await object.die();
    expect(await object.stub.read()).toEqual({ [calls]: 20 });
  });

  it('an alarm that runs twice changes nothing', async () => {
    const { stub } = hub('alarm twice');
    await stub.add('a', 1, { [calls]: 5 });
    await runInDurableObject(stub, (object) => {
      object.alarm();
      object.alarm();
    });
    expect([await rows(stub), await stub.read()]).toEqual([1, { [calls]: 5 }]);
  });

  it('remembers at most metricsReportersMax isolates, the newest', async () => {
    const { stub } = hub('reporters');
    await runInDurableObject(stub, (object) => {
      for (let n = 0; n <= metricsReportersMax; n += 1) object.add(`i${n}`, 1, { [calls]: 1 });
      // The oldest is forgotten, so that its repeat counts; all the others are known.
      object.add(`i${metricsReportersMax}`, 1, { [calls]: 1 });
      object.add('i1', 1, { [calls]: 1 });
      expect(object.read()).toEqual({ [calls]: metricsReportersMax + 1 });
      object.add('i0', 1, { [calls]: 1 });
      expect(object.read()).toEqual({ [calls]: metricsReportersMax + 2 });
    });
  });

  it('takes nothing that is no count of ours', async () => {
    const { stub } = hub('foreign');
    await stub.add('a', 1, { 'secret|wk_1': 1, 'cost|vendor': -3, [calls]: 1 });
    expect(await stub.read()).toEqual({ [calls]: 1 });
  });
});
