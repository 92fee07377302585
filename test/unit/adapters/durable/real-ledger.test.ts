/**
 * The desk, the control plane's ledgers, the queue's consumer and the journal job on the real object:
 * nothing is booked twice, whatever is repeated, and D1's copy says what the object says.
 */
import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { OrgLedger } from '../../../../durable-objects/org-ledger';
import { readJournal, registerLedger } from '../../../../src/adapters/d1/journal';
import { D1TaskIndex } from '../../../../src/adapters/d1/task-index';
import {
  type LedgerObject,
  ledgerStubs,
  packedLedger,
} from '../../../../src/adapters/durable/ledger-call';
import { DurableLedgerDesk } from '../../../../src/adapters/durable/ledger-desk';
import { DurableLedgers } from '../../../../src/adapters/durable/ledgers';
import {
  noSettlementQueue,
  SettlementQueue,
} from '../../../../src/adapters/durable/settlement-queue';
import { platformTime } from '../../../../src/adapters/time';
import { settlementsMessageOpsMax, taskPollFirstMs } from '../../../../src/base/limits-money';
import { JournalAudit } from '../../../../src/domain/ledger/journal-audit';
import type { EndOp, RecordedAnswer } from '../../../../src/domain/ledger/operations';
import type { LedgerView } from '../../../../src/domain/ledger/views';
import { copyJournals } from '../../../../src/jobs/journal';
import { deliverSettlements, isSettlementQueue } from '../../../../src/jobs/settlements';
import type { LedgerAddress, SettlementMessage } from '../../../../src/ports/ledger';
import { submitted } from '../../domain/tasks/rows';
import { deskWorld, place, settle } from './desk-world';

const { DB: db, LEDGER } = env as unknown as {
  DB: D1Database;
  LEDGER: DurableObjectNamespace<OrgLedger>;
};

const nowMs = Date.UTC(2030, 0, 1);
const stubOf = ledgerStubs(LEDGER);
const ledgers = new DurableLedgers({
  stubOf,
  register: (address) => registerLedger(db, address, nowMs),
  time: platformTime,
});
const at = (name: string): LedgerAddress => ({ ledgerTenantId: name, homeRegion: 'weur' });

/** A desk on the real object; `between` may spoil what a call gives. */
function realDesk(between?: (apply: LedgerObject['apply'], n: number) => LedgerObject['apply']) {
  let calls = 0;
  const desk = new DurableLedgerDesk({
    objectOf: (address) => {
      const { apply } = packedLedger(stubOf(address));
      calls += 1;
      return { apply: between === undefined ? apply : between(apply, calls) };
    },
    keeper: noSettlementQueue,
    time: platformTime,
  });
  const background: Promise<unknown>[] = [];
  return { desk, background, live: (work: Promise<unknown>) => void background.push(work) };
}

async function viewOf(address: LedgerAddress): Promise<LedgerView> {
  const view = await ledgers.of(address).view();
  if ('outcome' in view) throw new Error(view.outcome);
  return view;
}

async function auditOf(address: LedgerAddress): Promise<string> {
  for (;;) {
    const step = await ledgers.of(address).audit();
    if (step.outcome !== 'more') return step.outcome;
  }
}

describe('the desk on the real object', () => {
  it('forty concurrent places and their settlements are a handful of rows, and the books are clean', async () => {
    const address = at('ten_batch');
    await ledgers.of(address).topUp('pay', 1_000);
    const { desk, background, live } = realDesk();
    const ids = Array.from({ length: 40 }, (_, i) => `hld_${i}`);
    const answers = await Promise.all(ids.map((id) => desk.place(address, place(id), live)));
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(40).fill('placed'));
    for (const id of ids) desk.end(address, settle(id), live);
    await Promise.all(background);
    const view = await viewOf(address);
    expect(view).toMatchObject({ availableMicros: 800, heldMicros: 0, settledMicros: 200 });
    expect(view.seq).toBeLessThanOrEqual(1 + 3);
    expect(await auditOf(address)).toBe('clean');
  });

  it('an answer that was lost: the same ids again, one booking', async () => {
    const address = at('ten_lost');
    await ledgers.of(address).topUp('pay', 100);
    const { desk, live } = realDesk((apply, call) => async (ends, places) => {
      const answer = await apply(ends, places);
      if (call === 1) throw new Error('Network connection lost.');
      return answer;
    });
    expect((await desk.place(address, place('hld_1'), live)).outcome).toBe('placed');
    expect(await viewOf(address)).toMatchObject({ heldMicros: 10, openHolds: 1, seq: 2 });
  });

  it('a balance of one call and sixteen callers: one is placed', async () => {
    const address = at('ten_short');
    await ledgers.of(address).topUp('pay', 19);
    const { desk, live } = realDesk();
    const ids = Array.from({ length: 16 }, (_, i) => `hld_${i}`);
    const answers = await Promise.all(ids.map((id) => desk.place(address, place(id), live)));
    expect(answers.filter(({ outcome }) => outcome === 'placed')).toHaveLength(1);
    expect((await viewOf(address)).availableMicros).toBe(9);
  });

  it('a repeat of a key gets the recorded bytes through the desk', async () => {
    const address = at('ten_keyed');
    await ledgers.of(address).topUp('pay', 100);
    const { desk, live } = realDesk();
    const answer: RecordedAnswer = {
      status: 200,
      headers: ['content-type', 'text/plain'],
      body: new Uint8Array([0, 255, 128]),
      bodyRef: null,
      bodyBytes: 3,
      costMicros: 5,
    };
    await desk.place(address, place('hld_1', ['idm_1', 's', 'k', 'f']), live);
    const ended = await desk.endNow(address, [settle('hld_1'), ['record', 'idm_1', answer]], live);
    expect(ended).toMatchObject([{ outcome: 'settled' }, { outcome: 'recorded' }]);
    const replay = await desk.place(address, place('hld_2', ['idm_2', 's', 'k', 'f']), live);
    expect(replay).toEqual({ outcome: 'replay', answer });
  });
});

describe('ledgers for the control plane', () => {
  it('no money enters a ledger that could not be made known', async () => {
    const blind = new DurableLedgers({
      stubOf,
      register: () => Promise.reject(new Error('D1 is away')),
      time: platformTime,
    });
    expect(await blind.of(at('ten_blind')).topUp('pay', 5)).toMatchObject({
      outcome: 'ledger_unavailable',
    });
    expect((await viewOf(at('ten_blind'))).toppedUpMicros).toBe(0);
  });

  it('gives every answer of the object as it is, also the one without a value', async () => {
    const ledger = ledgers.of(at('ten_views'));
    expect(await ledger.grant('g', 'promotional', 7)).toMatchObject({ outcome: 'credited' });
    expect(await ledger.holds(null)).toEqual([]);
    expect(await ledger.closeReview('none')).toBe(false);
    expect(await ledger.acknowledge(0)).toBeUndefined();
    expect((await viewOf(at('ten_views'))).grantedMicros).toBe(7);
  });
});

/** A queue that keeps what it is sent, as the platform would carry it. */
function fakeQueue(how: 'takes' | 'fails' = 'takes') {
  const sent: SettlementMessage[] = [];
  const send = async (body: SettlementMessage, options: { contentType: string }) => {
    if (how === 'fails') throw new Error('queue is away');
    expect(options.contentType).toBe('v8');
    sent.push(structuredClone(body));
  };
  return { sent, queue: { send } as unknown as Queue<unknown> };
}

function batchOf(bodies: readonly unknown[]) {
  const done: string[] = [];
  const messages = bodies.map((body, i) => ({
    body,
    ack: () => done.push(`ack ${i}`),
    attempts: 2,
    retry: ({ delaySeconds }: { delaySeconds: number }) => done.push(`retry ${i} ${delaySeconds}`),
  }));
  const batch = { queue: 'weir-settlements', messages } as unknown as MessageBatch<unknown>;
  return { batch, done };
}

describe('the queue of settlements', () => {
  it('carries what the desk could not deliver to the object, once', async () => {
    const address = at('ten_queue');
    await ledgers.of(address).topUp('pay', 100);
    await ledgers.of(address).apply([], [place('hld_1')]);
    const { sent, queue } = fakeQueue();
    const world = deskWorld({ keeper: new SettlementQueue(queue, platformTime) });
    world.ledger.otherwise = 'throws';
    world.desk.end(address, settle('hld_1'), world.live);
    await world.time.pass(250);
    await Promise.all(world.background);
    expect(sent).toEqual([{ version: 1, address, ops: [settle('hld_1')] }]);
    for (let repeat = 0; repeat < 2; repeat++) {
      const { batch, done } = batchOf(sent);
      expect(isSettlementQueue(batch)).toBe(true);
      await deliverSettlements(batch, ledgers);
      expect(done).toEqual(['ack 0']);
    }
    expect(await viewOf(address)).toMatchObject({ settledMicros: 5, openHolds: 0 });
  });

  it('takes no renewal and nothing that is too large; gives back what it did not take', async () => {
    const body = new Uint8Array(100 * 1024);
    const answer = { status: 200, headers: [], body, bodyRef: null, bodyBytes: 0, costMicros: 0 };
    const ops: EndOp[] = [['renew', 'a'], ['record', 'r', answer], settle('b')];
    const { sent, queue } = fakeQueue();
    const keeper = new SettlementQueue(queue, platformTime);
    expect(await keeper.keep(at('x'), ops)).toEqual(ops.slice(0, 2));
    expect(sent.flatMap((message) => message.ops)).toEqual([settle('b')]);
    const away = new SettlementQueue(fakeQueue('fails').queue, platformTime);
    expect(await away.keep(at('x'), ops)).toHaveLength(3);
  });

  it('splits what one message cannot carry', async () => {
    const { sent, queue } = fakeQueue();
    const ops = Array.from({ length: settlementsMessageOpsMax * 2 + 1 }, (_, i) => settle(`${i}`));
    await new SettlementQueue(queue, platformTime).keep(at('x'), ops);
    expect(sent.map((message) => message.ops.length)).toEqual([100, 100, 1]);
    expect(sent.flatMap((message) => message.ops)).toEqual(ops);
  });

  it('a settlement of a hold that nobody remembers is counted', async () => {
    const message = { version: 1, address: at('ten_lost_hold'), ops: [settle('hld_never')] };
    const { batch, done } = batchOf([message]);
    expect(await deliverSettlements(batch, ledgers)).toMatchObject({ delivered: 1, lost: 1 });
    expect(done).toEqual(['ack 0']);
  });

  it('an object that does not answer, or a message of another version: again later, never dropped', async () => {
    const silent = { of: () => ({ apply: async () => ({ outcome: 'ledger_busy' }) }) };
    const message = { version: 1, address: at('x'), ops: [] };
    const { batch, done } = batchOf([message, { version: 2 }, null]);
    const run = await deliverSettlements(batch, silent as unknown as typeof ledgers);
    expect(run).toEqual({ delivered: 0, retried: 1, unreadable: 2, lost: 0 });
    expect(done).toEqual(['retry 0 60', 'retry 1 60', 'retry 2 60']);
  });
});

describe('the journal', () => {
  const rowsOf = (tenantId: string) => readJournal(db, { tenantId, afterSeq: 0, limit: 1_000 });

  async function faultsOf(address: LedgerAddress) {
    const audit = new JournalAudit();
    return audit.take(await rowsOf(address.ledgerTenantId)) ?? audit.compare(await viewOf(address));
  }

  it('copies every row once, acknowledges it, and the copy alone gives the same books', async () => {
    const address = at('ten_journal');
    const ledger = ledgers.of(address);
    await ledger.topUp('pay', 1_000);
    for (let i = 0; i < 30; i++) await ledger.apply([], [place(`hld_${i}`)]);
    await copyJournals(db, ledgers, nowMs);
    await ledger.apply([settle('hld_0'), ['release', 'hld_1', 'x']], []);
    const second = await copyJournals(db, ledgers, nowMs + 1);
    expect(second).toMatchObject({ rows: 1, behind: 0, faults: [] });
    expect((await rowsOf('ten_journal')).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 32 }, (_, i) => i + 1),
    );
    expect(await viewOf(address)).toMatchObject({ seq: 32, ackedSeq: 32 });
    expect(await faultsOf(address)).toBeNull();
  });

  it('lists a waiting task that D1 did not take when it began, once', async () => {
    const address = at('ten_tasks');
    const ledger = ledgers.of(address);
    await ledger.topUp('pay', 100);
    await ledger.apply([], [place('hld_task'), place('hld_done')]);
    for (const holdId of ['hld_task', 'hld_done'])
      expect(await ledger.openTask(submitted(holdId))).toEqual({ outcome: 'opened' });
    await ledger.apply([['release', 'hld_done', 'x']], []);
    const index = new D1TaskIndex(db);
    const listed = () => index.takeDue(nowMs + taskPollFirstMs + 2, 10, 0);
    for (const run of [1, 2]) {
      await copyJournals(db, ledgers, nowMs + run);
      expect(await listed()).toMatchObject([{ holdId: 'hld_task', address, polls: 0 }]);
    }
  });

  it('a run that died between D1 and the acknowledgement is repeated without a second row', async () => {
    const address = at('ten_twice');
    await ledgers.of(address).topUp('pay', 5);
    const real = ledgers.of(address);
    const deaf = {
      of: () => ({
        outbox: (limit: number) => real.outbox(limit),
        acknowledge: async () => ({ outcome: 'ledger_unavailable' }),
      }),
    };
    await copyJournals(db, deaf as unknown as typeof ledgers, nowMs + 2, {
      ledgersMax: 100,
      outboxesMax: 1,
      writesMax: 100,
    });
    expect((await viewOf(address)).ackedSeq).toBe(0);
    await copyJournals(db, ledgers, nowMs + 3);
    expect((await viewOf(address)).ackedSeq).toBe(1);
    expect(await rowsOf('ten_twice')).toHaveLength(1);
  });

  it('rows that D1 lost are a fault that stays, in the job and in the audit', async () => {
    const address = at('ten_gap');
    const ledger = ledgers.of(address);
    await ledger.topUp('pay', 100);
    await ledger.apply([], [place('a')]);
    await copyJournals(db, ledgers, nowMs + 4);
    await db.prepare("delete from ledger_journal where tenant_id = 'ten_gap' and seq = 2").run();
    await db.prepare("update ledgers set copied_seq = 1 where tenant_id = 'ten_gap'").run();
    const lost = await copyJournals(db, ledgers, nowMs + 5);
    expect(lost.faults).toEqual(['ten_gap: gap: rows 2 to 2 are missing']);
    expect(await faultsOf(address)).toEqual({ kind: 'lost', copiedSeq: 1, ackedSeq: 2 });
    await ledger.apply([], [place('b')]);
    await copyJournals(db, ledgers, nowMs + 6);
    expect(await faultsOf(address)).toEqual({ kind: 'gap', afterSeq: 1, nextSeq: 3 });
    const known = db.prepare("select fault from ledgers where tenant_id = 'ten_gap'");
    expect(await known.first('fault')).toBe('gap: rows 2 to 2 are missing');
  });

  it('an amount that somebody changed in D1 is found', async () => {
    const address = at('ten_forged');
    await ledgers.of(address).topUp('pay', 100);
    await ledgers.of(address).apply([], [place('a')]);
    await copyJournals(db, ledgers, nowMs + 7);
    await db
      .prepare(
        "update ledger_journal set held_micros = 11 where tenant_id = 'ten_forged' and seq = 2",
      )
      .run();
    expect(await faultsOf(address)).toMatchObject({ kind: 'books', seq: 2 });
  });

  it('a ledger that does not answer keeps no other one from being copied', async () => {
    const mute = {
      of: (address: LedgerAddress) =>
        address.ledgerTenantId === 'ten_gap'
          ? { outbox: async () => ({ outcome: 'ledger_unavailable', retryAfterMs: 1 }) }
          : ledgers.of(address),
    };
    await ledgers.of(at('ten_journal')).topUp('pay_2', 1);
    const run = await copyJournals(db, mute as unknown as typeof ledgers, nowMs + 8);
    expect(run).toMatchObject({ rows: 1, behind: 1, faults: [] });
  });
});
