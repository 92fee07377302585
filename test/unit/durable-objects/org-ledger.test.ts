/**
 * The real object: every scenario on its own SQLite, with its own alarm and real evictions. Needs
 * the binding LEDGER (class OrgLedger, `new_sqlite_classes`). Only `Date` is faked: the object has
 * no other clock.
 */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import { recordTtlMs, taskKeptMs } from '../../../src/base/limits-money';
import type { LedgerConfig } from '../../../src/domain/ledger/config';
import type { EndOp, PlaceOp, RecordedAnswer } from '../../../src/domain/ledger/operations';
import type { AuditStep, Resolution } from '../../../src/domain/ledger/views';
import { scenarios } from '../../support/ledger-scenario-list';
import { playScenario, type Stage } from '../../support/ledger-scenarios';
import { submitted } from '../domain/tasks/rows';

const bindings = env as { readonly LEDGER?: DurableObjectNamespace<OrgLedger> };
const startMs = Date.UTC(2031, 4, 7, 20);

function ledger(name: string): DurableObjectStub<OrgLedger> {
  if (bindings.LEDGER === undefined) throw new Error('there is no binding LEDGER');
  return bindings.LEDGER.getByName(name);
}

class ObjectStage implements Stage {
  readonly #name: string;
  #stub: DurableObjectStub<OrgLedger>;

  constructor(name: string) {
    this.#name = name;
    this.#stub = ledger(name);
  }

  apply = (ends: readonly EndOp[], places: readonly PlaceOp[]) => this.#stub.apply(ends, places);
  topUp = (id: string, micros: number) => this.#stub.topUp(id, micros);
  configure = (config: LedgerConfig) => this.#stub.configure(config);
  view = () => this.#stub.view();
  reviews = (after: string | null) => this.#stub.reviews(after);
  resolveRecord = (id: string, how: Resolution) => this.#stub.resolveRecord(id, how);
  grant = (id: string, kind: 'promotional' | 'earned', micros: number) =>
    this.#stub.grant(id, kind, micros);

  async audit(): Promise<AuditStep> {
    let step = await this.#stub.audit();
    while (step.outcome === 'more') step = await this.#stub.audit();
    return step;
  }

  wait(ms: number): void {
    vi.setSystemTime(Date.now() + ms);
  }

  async alarm(): Promise<void> {
    await runDurableObjectAlarm(this.#stub);
  }

  async restart(): Promise<void> {
    await evictDurableObject(this.#stub);
    this.#stub = ledger(this.#name);
  }
}

const place = (id: string, micros: number): PlaceOp => [
  'place',
  id,
  micros,
  'key_1',
  null,
  null,
  null,
];

const rows = (stub: DurableObjectStub<OrgLedger>): Promise<number> =>
  runInDurableObject(stub, (_, { storage }) =>
    Number(storage.sql.exec('SELECT count(*) AS n FROM log').one().n),
  );

const alarmAt = (stub: DurableObjectStub<OrgLedger>): Promise<number | null> =>
  runInDurableObject(stub, (_, { storage }) => storage.getAlarm());

describe('OrgLedger', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: startMs }));
  afterEach(() => void vi.useRealTimers());

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (name, scenario) => {
      await playScenario(new ObjectStage(name), scenario);
    },
  );

  it('appends one row per call that changed something, and none for one that did not', async () => {
    const stub = ledger('rows');
    await stub.topUp('pay', 100);
    await stub.apply([], [place('a', 10), place('b', 10), place('c', 10)]);
    await stub.apply(
      [
        ['settle', 'a', 5, true],
        ['release', 'b', 'x'],
      ],
      [place('d', 10)],
    );
    expect(await rows(stub)).toBe(3);
    await stub.apply([['settle', 'a', 5, true]], [place('d', 10), place('e', 1_000)]);
    expect(await rows(stub)).toBe(3);
  });

  it('sets its alarm for the first lease only, with a jitter of two seconds at most', async () => {
    const stub = ledger('alarm');
    await stub.topUp('pay', 100);
    expect(await alarmAt(stub)).toBeNull();
    await stub.apply([], [place('a', 10)]);
    const first = (await alarmAt(stub)) ?? 0;
    expect(first - startMs - 120_000).toBeGreaterThanOrEqual(0);
    expect(first - startMs - 120_000).toBeLessThan(2_000);
    vi.setSystemTime(startMs + 60_000);
    await stub.apply([], [place('b', 10)]);
    expect(await alarmAt(stub)).toBe(first);
    vi.setSystemTime(startMs + 121_000);
    await runDurableObjectAlarm(stub);
    expect((await stub.view()).openHolds).toBe(1);
    expect(await alarmAt(stub)).toBeGreaterThanOrEqual(startMs + 180_000);
  });

  describe('the record of a key', () => {
    const claim = ['idm_a', 'prn_1', 'k', 'f'] as const;
    const answer: RecordedAnswer = {
      status: 200,
      headers: [],
      body: new Uint8Array([7]),
      bodyRef: null,
      bodyBytes: 1,
      costMicros: 40,
    };
    /** A ledger with a call of that key that was answered. */
    async function recorded(name: string): Promise<DurableObjectStub<OrgLedger>> {
      const stub = ledger(name);
      await stub.topUp('pay', 100);
      await stub.apply([], [['place', 'a', 60, 'key_1', null, null, claim]]);
      await stub.apply(
        [
          ['settle', 'a', 40, true],
          ['record', 'idm_a', answer],
        ],
        [],
      );
      return stub;
    }

    it('can be looked at: what its key would meet is said, and nothing is claimed', async () => {
      const stub = await recorded('peek');
      const [, , , fingerprint] = claim;
      const as = (key: string, print: string) => ['idm_b', 'prn_1', key, print] as const;
      expect(await stub.peek(as('k', fingerprint))).toEqual({ outcome: 'replay', answer });
      expect(await stub.peek(as('k', 'other'))).toEqual({ outcome: 'mismatch' });
      expect(await stub.peek(as('', fingerprint))).toMatchObject({ outcome: 'invalid' });
      expect(await stub.peek(as('fresh', fingerprint))).toEqual({ outcome: 'fresh' });
      expect(await stub.peek(as('fresh', 'other'))).toEqual({ outcome: 'fresh' });
    });

    it('is forgotten by an alarm of its own, a day after its claim; then none is set', async () => {
      const stub = await recorded('record alarm');
      vi.setSystemTime(startMs + 122_000);
      await runDurableObjectAlarm(stub);
      expect(await alarmAt(stub)).toBeGreaterThanOrEqual(startMs + recordTtlMs);
      vi.setSystemTime(startMs + recordTtlMs - 1);
      await runDurableObjectAlarm(stub);
      expect(await stub.records(null)).toHaveLength(1);
      vi.setSystemTime(startMs + recordTtlMs);
      await runDurableObjectAlarm(stub);
      const left = await runInDurableObject(stub, (_, { storage }) =>
        storage.sql.exec('SELECT id FROM record').toArray(),
      );
      expect([left, await alarmAt(stub)]).toEqual([[], null]);
    });
  });

  it('gives the journal out in order, and again until it is acknowledged', async () => {
    const stub = ledger('outbox');
    await stub.topUp('pay', 100);
    for (const id of ['a', 'b', 'c']) await stub.apply([], [place(id, 1)]);
    const first = await stub.outbox(2);
    expect([first.seq, first.rows.map((row) => row.seq)]).toEqual([4, [1, 2]]);
    expect((await stub.outbox(2)).rows).toEqual(first.rows);
    await stub.acknowledge(2);
    await stub.acknowledge(1);
    const second = await stub.outbox(10);
    expect(second.rows.map((row) => [row.seq, row.availableMicros, row.heldMicros])).toEqual([
      [3, 98, 2],
      [4, 97, 3],
    ]);
    expect(await stub.entries(3)).toMatchObject([
      { seq: 4, index: 0, kind: 'place', id: 'c', micros: 1 },
    ]);
  });

  it('finds a fault in its own books and says where', async () => {
    const stub = ledger('fault');
    await stub.topUp('pay', 100);
    await stub.apply([], [place('a', 10)]);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec(`UPDATE log SET ops = replace(ops, '"a",10', '"a",11') WHERE seq = 2`);
    });
    expect(await stub.audit()).toMatchObject({ outcome: 'fault', seq: 2 });
  });

  it.each([
    ['a log whose last row is lost', 'DELETE FROM log WHERE seq = 2', 'the log ends at row 1'],
    ['a row in the middle is lost', 'DELETE FROM log WHERE seq = 1', 'the log has a gap'],
    ['a row that is no JSON', "UPDATE log SET ops = '[' WHERE seq = 2", 'no JSON'],
    ['an entry that is none', "UPDATE log SET ops = '[null]' WHERE seq = 2", 'an unknown code'],
    ['a credit by another id', "UPDATE credit SET id = 'paid'", 'the list of grants and top-ups'],
    ['a credit of another kind', "UPDATE credit SET kind = 'earned'", 'the list of grants'],
    ['a credit of another row', 'UPDATE credit SET seq = 2', 'the list of grants'],
    [
      'a credit that the log does not have',
      "INSERT INTO credit VALUES ('free', 'purchased', 0, 2)",
      'the list of grants',
    ],
  ])('an audit ends, and says what it found: %s', async (name, damage, what) => {
    const stub = ledger(name);
    await stub.topUp('pay', 100);
    await stub.apply([], [place('a', 10)]);
    await runInDurableObject(stub, (_, { storage }) => void storage.sql.exec(damage));
    const found = { outcome: 'fault', what: expect.stringContaining(what) };
    expect(await stub.audit()).toMatchObject(found);
  });

  describe('a task', () => {
    const hourMs = 3_600_000;
    /** A ledger with a hold of 60 that is a task's. */
    async function withTask(name: string): Promise<DurableObjectStub<OrgLedger>> {
      const stub = ledger(name);
      await stub.topUp('pay', 100);
      await stub.apply([], [place('a', 60)]);
      expect(await stub.openTask(submitted('a'))).toEqual({ outcome: 'opened' });
      return stub;
    }
    const later = async (stub: DurableObjectStub<OrgLedger>, ms: number): Promise<void> => {
      vi.setSystemTime(Date.now() + ms);
      await runDurableObjectAlarm(stub);
    };
    const clean = async (stub: DurableObjectStub<OrgLedger>): Promise<void> =>
      expect((await stub.audit()).outcome).toBe('clean');

    it('is opened once: a repeat says the same, another hold learns that it is known', async () => {
      const stub = await withTask('task repeat');
      expect(await stub.openTask(submitted('a'))).toEqual({ outcome: 'opened' });
      await stub.apply([], [place('b', 10)]);
      expect(await stub.openTask(submitted('b', { taskId: 'job of a' }))).toEqual({
        outcome: 'known',
      });
      expect(await stub.openTask(submitted('c'))).toEqual({ outcome: 'not_open' });
      expect(await stub.openTask(submitted('b', { taskId: '' }))).toEqual({
        outcome: 'invalid',
        field: 'taskId',
      });
      expect(await stub.tasks(null)).toHaveLength(1);
      expect(await stub.task('other', 'job of a')).toBeNull();
    });

    it('keeps its hold alive until the deadline, restarts or not; then it is given up', async () => {
      let stub = await withTask('task deadline');
      for (let minutes = 0; minutes < 56; minutes += 8) {
        await later(stub, 8 * 60_000);
        expect((await stub.view()).heldMicros).toBe(60);
        // Renewed: the next alarm is one lease away, not now again.
        expect(await alarmAt(stub)).toBeGreaterThan(Date.now());
        if (minutes === 24) {
          await evictDurableObject(stub);
          stub = ledger('task deadline');
        }
      }
      await later(stub, 8 * 60_000);
      expect(await stub.view()).toMatchObject({ heldMicros: 0, availableMicros: 100 });
      expect(await stub.task('lab', 'job of a')).toMatchObject({
        state: 'timed_out',
        deadlineAtMs: startMs + hourMs,
      });
      expect(await stub.reviews(null)).toMatchObject([{ holdId: 'a', micros: 60 }]);
      await clean(stub);
    });

    it('ends with its hold, once', async () => {
      const stub = await withTask('task ends');
      await stub.apply([['settle', 'a', 40, true]], []);
      expect(await stub.task('lab', 'job of a')).toMatchObject({
        state: 'settled',
        heldMicros: 60,
        closedAtMs: startMs,
      });
      await stub.apply([['release', 'a', 'task_failed']], []);
      expect((await stub.task('lab', 'job of a'))?.state).toBe('settled');
      await stub.apply([], [place('b', 10)]);
      await stub.openTask(submitted('b'));
      await stub.apply([['release', 'b', 'task_failed']], []);
      expect((await stub.task('lab', 'job of b'))?.state).toBe('released');
      expect(await stub.view()).toMatchObject({ availableMicros: 60, settledMicros: 40 });
      await clean(stub);
    });

    it('that was given up and is paid for all the same is settled, and its review closed', async () => {
      const stub = await withTask('task late');
      await later(stub, hourMs + 1);
      await later(stub, 121_000);
      expect((await stub.task('lab', 'job of a'))?.state).toBe('timed_out');
      await stub.apply([['settle', 'a', 40, true]], []);
      expect((await stub.task('lab', 'job of a'))?.state).toBe('settled');
      expect(await stub.reviews(null)).toMatchObject([{ closedBy: 'late_settle' }]);
      await clean(stub);
    });

    it.each(['free', 'settle'] as const)(
      'keeps its hold when the record of its submission is resolved: %s',
      async (kind) => {
        const stub = ledger(`task record ${kind}`);
        await stub.topUp('pay', 100);
        const claim = ['idm_a', 'prn_1', 'k', 'f'] as const;
        await stub.apply([], [['place', 'a', 60, 'key_1', null, null, claim]]);
        await stub.openTask(submitted('a'));
        await stub.apply([['unknown', 'idm_a']], []);
        const how = kind === 'free' ? { kind } : { kind, chargeMicros: null };
        expect(await stub.resolveRecord('idm_a', how)).toEqual({
          outcome: 'resolved',
          chargedMicros: 0,
        });
        expect((await stub.task('lab', 'job of a'))?.state).toBe('pending');
        await stub.apply([['settle', 'a', 40, true]], []);
        expect(await stub.view()).toMatchObject({ heldMicros: 0, settledMicros: 40 });
        await clean(stub);
      },
    );

    it('that is pending though its hold has ended is a fault of the books', async () => {
      const stub = await withTask('task fault');
      await stub.apply([['settle', 'a', 40, true]], []);
      await runInDurableObject(stub, (_, { storage }) => {
        storage.sql.exec("UPDATE task SET state = 'pending', closed_at = NULL");
      });
      expect(await stub.audit()).toMatchObject({ outcome: 'fault' });
    });

    it('that has ended is forgotten after thirty days', async () => {
      const stub = await withTask('task kept');
      await stub.apply([['settle', 'a', 40, true]], []);
      const keptDays = taskKeptMs / (24 * hourMs);
      expect(keptDays).toBe(30);
      for (const [days, count] of [
        [keptDays - 1, 1],
        [2, 0],
      ] as const) {
        await stub.apply([], [place(`later ${days}`, 1)]);
        await later(stub, days * 24 * hourMs);
        expect(await stub.tasks(null)).toHaveLength(count);
      }
    });
  });
});
