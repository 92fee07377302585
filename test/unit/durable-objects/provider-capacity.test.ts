/**
 * The real object: its disk, its alarm, evictions. Only `Date` is faked: the object has no other clock. The rules themselves are
 * in test/unit/domain/capacity/.
 */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ProviderCapacity } from '../../../durable-objects/provider-capacity';
import {
  capacityAlarmJitterMs,
  guessedHoldMs,
  keptWindowMsMin,
  probeIntervalMs,
  spacerJitterMs,
  strikeSpacingMs,
  strikeWindowMs,
} from '../../../src/base/limits-capacity';
import type { SlotOp, StrikeOp } from '../../../src/domain/capacity/operations';

const { CAPACITY } = env as unknown as {
  readonly CAPACITY: DurableObjectNamespace<ProviderCapacity>;
};
const startMs = Date.UTC(2031, 4, 7, 20);

let serial = 0;
const strike = (more: Partial<StrikeOp> = {}): StrikeOp => {
  serial += 1;
  return {
    id: `s${serial}`,
    kind: 'balance',
    account: 'primary',
    endpointId: 'acme.find',
    resetsInMs: null,
    agoMs: 0,
    lastOkAgoMs: null,
    ...more,
  };
};

const slot = (id: string): SlotOp => ({
  id,
  candidates: [{ account: 'primary', bucket: 'acme' }],
  rate: { limit: 10, windowMs: 1_000 - spacerJitterMs },
  waitMsMax: 2_000,
  isEnforced: false,
  isSpaced: true,
});

const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

const objectOf = (name: string): DurableObjectStub<ProviderCapacity> =>
  CAPACITY.get(CAPACITY.idFromName(name));

const alarmAt = (stub: DurableObjectStub<ProviderCapacity>): Promise<number | null> =>
  runInDurableObject(stub, (_, { storage }) => storage.getAlarm());

const rows = (stub: DurableObjectStub<ProviderCapacity>): Promise<number> =>
  runInDurableObject(stub, (_, { storage }) =>
    Number(storage.sql.exec('SELECT count(*) AS n FROM item').one().n),
  );

async function locked(stub: DurableObjectStub<ProviderCapacity>): Promise<string> {
  await stub.strike(strike());
  pass(strikeSpacingMs);
  const { locks } = await stub.strike(strike());
  return locks[0]?.id ?? 'none';
}

describe('ProviderCapacity', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: startMs }));
  afterEach(() => void vi.useRealTimers());

  it('is named after its provider: a balance locks that', async () => {
    const stub = objectOf('named');
    await locked(stub);
    expect((await stub.view()).locks).toMatchObject([{ key: 'named', endsInMs: guessedHoldMs }]);
  });

  it('keeps locks, strikes, marks, readings and probes over a restart', async () => {
    const stub = objectOf('kept');
    const lockId = await locked(stub);
    await stub.strike(strike({ kind: 'quota' }));
    await stub.mark({ id: 'm', key: 'v', reason: 'dry', forMs: 900_000 });
    await stub.observe({ observedAtMs: startMs, state: 'exhausted', resetsAtMs: null });
    pass(probeIntervalMs);
    expect((await stub.probe({ id: 'me', lockId })).granted).toBe(true);
    const before = await stub.state();
    await evictDurableObject(stub);
    const again = objectOf('kept');
    expect(await again.state()).toEqual(before);
    expect((await again.probe({ id: 'you', lockId })).granted).toBe(false);
    expect((await again.probe({ id: 'me', lockId })).granted).toBe(true);
  });

  it('a strike told again after a restart is still one', async () => {
    const stub = objectOf('twice');
    const one = strike();
    await stub.strike(one);
    await evictDurableObject(stub);
    pass(strikeSpacingMs);
    expect((await objectOf('twice').strike(one)).locks).toEqual([]);
  });

  it('a probe that was not sent is somebody else’s, over a restart too', async () => {
    const stub = objectOf('unsent');
    const lockId = await locked(stub);
    pass(probeIntervalMs);
    expect((await stub.probe({ id: 'me', lockId })).granted).toBe(true);
    const { locks } = await stub.giveBackProbe({ id: 'me', lockId });
    expect(locks).toMatchObject([{ id: lockId, nextProbeInMs: 0 }]);
    await evictDurableObject(stub);
    expect((await objectOf('unsent').probe({ id: 'you', lockId })).granted).toBe(true);
  });

  it('one probe of many that ask at once', async () => {
    const stub = objectOf('herd');
    const lockId = await locked(stub);
    pass(probeIntervalMs);
    const asks = Array.from({ length: 40 }, (_, i) =>
      objectOf('herd').probe({ id: `c${i}`, lockId }),
    );
    const granted = (await Promise.all(asks)).filter((answer) => answer.granted);
    expect(granted.length).toBe(1);
  });

  it('wakes for the first end, forgets what has ended, and wakes no more when nothing is left', async () => {
    const stub = objectOf('alarm');
    expect(await alarmAt(stub)).toBeNull();
    await stub.mark({ id: 'm', key: 'v', reason: 'dry', forMs: 60_000 });
    const first = ((await alarmAt(stub)) ?? 0) - startMs - 60_000;
    expect(first).toBeGreaterThanOrEqual(0);
    expect(first).toBeLessThan(capacityAlarmJitterMs);
    await stub.strike(strike());
    expect(((await alarmAt(stub)) ?? 0) - startMs - 60_000).toBe(first);
    for (let runs = 0; (await alarmAt(stub)) !== null; runs += 1) {
      expect(runs).toBeLessThan(10);
      pass(strikeWindowMs);
      await runDurableObjectAlarm(stub);
    }
    expect(await rows(stub)).toBe(0);
  });

  it('an alarm that comes twice, or to an object that has just started, does no harm', async () => {
    const stub = objectOf('woken');
    await locked(stub);
    await evictDurableObject(stub);
    await runDurableObjectAlarm(objectOf('woken'));
    await runInDurableObject(objectOf('woken'), (object) => object.alarm());
    expect((await objectOf('woken').view()).locks).toMatchObject([{ key: 'woken' }]);
    pass(guessedHoldMs + 1);
    await runDurableObjectAlarm(objectOf('woken'));
    expect((await objectOf('woken').view()).locks).toEqual([]);
  });

  it('a view that changes nothing writes nothing and sets no alarm', async () => {
    const stub = objectOf('calm');
    await stub.view();
    await stub.state();
    expect([await rows(stub), await alarmAt(stub)]).toEqual([0, null]);
  });

  it('when the disk fails nothing is remembered that is not on it', async () => {
    const stub = objectOf('disk');
    await stub.strike(strike());
    pass(strikeSpacingMs);
    await runInDurableObject(stub, (object, { storage }) => {
      storage.sql.exec('ALTER TABLE item RENAME TO away');
      expect(() => object.strike(strike())).toThrow();
      storage.sql.exec('ALTER TABLE away RENAME TO item');
    });
    const { locks, strikes } = await stub.view();
    expect([locks.length, strikes.length]).toEqual([0, 1]);
    expect((await stub.strike(strike())).locks.length).toBe(1);
  });

  it('gives places in order, takes one back, and forgets them with a restart', async () => {
    const stub = objectOf('places');
    const answers = [];
    for (const id of ['a', 'b', 'c', 'b']) answers.push(await stub.take(slot(id)));
    expect(answers).toMatchObject([0, 100, 200, 100].map((waitMs) => ({ waitMs })));
    await stub.giveBack('b');
    expect(await stub.take(slot('d'))).toMatchObject({ waitMs: 100 });
    expect((await stub.state()).buckets).toMatchObject([{ bucket: 'acme', queuedMs: 300 }]);
    await evictDurableObject(stub);
    expect(await objectOf('places').take(slot('e'))).toMatchObject({ waitMs: 0 });
  });

  it('an operator clears it', async () => {
    const stub = objectOf('reset');
    await locked(stub);
    expect([await stub.reset('other'), await stub.reset(null), await stub.reset(null)]).toEqual([
      0, 1, 0,
    ]);
    await evictDurableObject(stub);
    expect((await objectOf('reset').view()).locks).toEqual([]);
  });
});

describe('a window that refuses', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: startMs }));
  afterEach(() => void vi.useRealTimers());

  const minuteMs = 60_000;
  const enforced = (id: string, more: Partial<SlotOp> = {}): SlotOp => ({
    ...slot(id),
    rate: { limit: 3, windowMs: minuteMs },
    isEnforced: true,
    isSpaced: false,
    ...more,
  });
  const sends = (stub: DurableObjectStub<ProviderCapacity>): Promise<number> =>
    runInDurableObject(stub, (_, { storage }) =>
      Number(storage.sql.exec('SELECT count(*) AS n FROM send').one().n),
    );

  it('counts the sends before an eviction, which ten quiet seconds are enough for', async () => {
    const stub = objectOf('window');
    for (const id of ['a', 'b', 'c']) expect((await stub.take(enforced(id))).outcome).toBe('go');
    pass(20_000);
    await evictDurableObject(stub);
    const full = minuteMs + spacerJitterMs - 1;
    expect(await stub.take(enforced('d'))).toMatchObject({
      outcome: 'refused',
      retryAfterMs: full - 20_000,
    });
    pass(full - 20_000 + 2);
    expect((await stub.take(enforced('e'))).outcome).toBe('go');
    expect(await sends(stub)).toBe(1);
  });

  it('forgets a send that was given back, also after an eviction', async () => {
    const stub = objectOf('window back');
    for (const id of ['a', 'b', 'c']) await stub.take(enforced(id));
    await stub.giveBack('b');
    await stub.giveBack('b');
    expect(await sends(stub)).toBe(2);
    await evictDurableObject(stub);
    expect((await stub.take(enforced('d'))).outcome).toBe('go');
    expect((await stub.take(enforced('e'))).outcome).toBe('refused');
  });

  it('is kept by bucket, and only where it refuses and outlives a quiet object', async () => {
    const stub = objectOf('window free');
    const other = [{ account: 'b', bucket: 'acme#b' }];
    await stub.take({ ...slot('a'), candidates: other });
    const short = { limit: 3, windowMs: keptWindowMsMin - 1 };
    await stub.take(enforced('b', { rate: short, candidates: other }));
    expect(await sends(stub)).toBe(0);
    for (const id of ['c', 'd', 'e']) await stub.take(enforced(id));
    await evictDurableObject(stub);
    expect((await stub.take(enforced('f', { candidates: other }))).outcome).toBe('go');
    expect((await stub.take(enforced('g'))).outcome).toBe('refused');
  });
});
