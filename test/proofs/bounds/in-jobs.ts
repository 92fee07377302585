/**
 * Limits of what runs beside the calls: the queue of settlements and the copy of the journals. The copy writes into the stand's own D1;
 * ledgers and queue are scripted. Called by test/proofs/bounds.ts.
 */
import type { D1Like } from '../../../scripts/lib/migrations.ts';
import {
  journalJsonCharsMax,
  journalLedgersMax,
  journalOutboxesMax,
  ledgerBatchOpsMax,
  settlementsMessageBytesMax,
  settlementsMessageOpsMax,
  settlementsRetryMaxS,
  settlementsRetryS,
  settlementsSendTimeoutMs,
} from '../../../src/base/limits-money.ts';
import type { LogRow } from '../../../src/domain/ledger/entries.ts';
import type { EndOp } from '../../../src/domain/ledger/operations.ts';
import type { DeskTime, LedgerAddress } from '../../../src/ports/ledger.ts';
import { holds, same } from '../../support/proof.ts';
import { type Named, type Stand, srcModule } from './stand.ts';

/** The parts of the modules that are used here; ledgers, queues and messages are scripted. */
interface QueueModule {
  readonly SettlementQueue: new (
    queue: object,
    time: DeskTime,
  ) => { keep(address: LedgerAddress, ops: readonly EndOp[]): Promise<readonly EndOp[]> };
}
interface SettlementsModule {
  readonly deliverSettlements: (batch: object, ledgers: object) => Promise<unknown>;
}
interface JournalModule {
  readonly copyJournals: (
    db: D1Like,
    ledgers: object,
    nowMs: number,
  ) => Promise<{ readonly rows: number; readonly behind: number }>;
}
interface CopyModule {
  readonly writeJournal: (db: object, tenantId: string, rows: readonly LogRow[]) => Promise<void>;
}

const home = { ledgerTenantId: 'ten_1', homeRegion: null };
const settle = (i: number): EndOp => ['settle', `hld_${i}`, 1, true];
const recordOf = (bytes: number): EndOp => {
  const body = new Uint8Array(bytes);
  const answer = { status: 200, headers: [], body, bodyRef: null, bodyBytes: bytes, costMicros: 1 };
  return ['record', 'idm_1', answer];
};
const list = <T>(count: number, item: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => item(i));

/** Keeps operations in a scripted queue; gives the sizes of its messages and what was left. */
async function kept(ops: readonly EndOp[], answers = true) {
  const { SettlementQueue } = await srcModule<QueueModule>('adapters/durable/settlement-queue');
  const messages: number[] = [];
  const waits: number[] = [];
  const send = (message: { ops: readonly EndOp[] }) => {
    messages.push(message.ops.length);
    return answers ? Promise.resolve() : new Promise(() => undefined);
  };
  const time = {
    nowMs: () => 1,
    start: (ms: number, act: () => void) => {
      waits.push(ms);
      if (!answers) act();
      return () => undefined;
    },
  };
  const left = await new SettlementQueue({ send }, time).keep(home, ops);
  return { messages, waits, left: left.length };
}

/** What becomes of one message: the delay of its next try, or null when it was taken. */
async function delivered(attempts: number, ops: number): Promise<number | null> {
  const { deliverSettlements } = await srcModule<SettlementsModule>('jobs/settlements');
  let delayS: number | null = null;
  const message = {
    body: { version: 1, address: home, ops: list(ops, settle) },
    attempts,
    ack: () => undefined,
    retry: ({ delaySeconds }: { delaySeconds: number }) => {
      delayS = delaySeconds;
    },
  };
  const apply = async (ends: readonly EndOp[]) =>
    attempts > 0
      ? { outcome: 'ledger_unavailable', retryAfterMs: 1 }
      : { outcome: 'applied', ends: ends.map(() => ({ outcome: 'settled' })), places: [] };
  const ledgers = { of: () => ({ apply }) };
  await deliverSettlements({ queue: 'settlements', messages: [message] }, ledgers);
  return delayS;
}

/** A ledger whose outbox never ends: two empty rows at a time. */
function endless(asked: string[]): object {
  let seq = 0;
  const of = (address: { ledgerTenantId: string }) => ({
    outbox: async () => {
      asked.push(address.ledgerTenantId);
      seq += 2;
      const rows = [seq - 1, seq].map((at): LogRow => ({ ...emptyRow, seq: at }));
      return { rows, seq: Number.MAX_SAFE_INTEGER };
    },
    acknowledge: async () => true,
  });
  return { of };
}

/** A ledger that has nothing. */
function idle(asked: string[]): object {
  const of = (address: { ledgerTenantId: string }) => ({
    outbox: async () => {
      asked.push(address.ledgerTenantId);
      return { rows: [], seq: 0 };
    },
  });
  return { of };
}

const emptyRow: LogRow = {
  seq: 1,
  atMs: 1,
  availableMicros: 0,
  heldMicros: 0,
  settledMicros: 0,
  ops: '[]',
};

/** The stand's D1 with so many made-up ledgers and no other; given back as it was. */
async function withLedgers<T>(
  { gateway }: Stand,
  count: number,
  work: (db: D1Like) => Promise<T>,
): Promise<T> {
  const db = await gateway.db();
  await db.prepare('alter table ledgers rename to ledgers_away').run();
  await db.prepare('create table ledgers as select * from ledgers_away where false').run();
  try {
    const sql = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)
      insert into ledgers (tenant_id, home_region, created_at, seen_at, copied_seq)
      select 'made_' || i, null, 1, 0, 0 from n`;
    await db.prepare(sql).bind(count).run();
    return await work(db);
  } finally {
    await db.prepare('drop table ledgers').run();
    await db.prepare('alter table ledgers_away rename to ledgers').run();
    await db.prepare(`delete from ledger_journal where tenant_id like 'made_%'`).run();
  }
}

const job = (name: string, run: (stand: Stand) => Promise<unknown>): Named => [name, run];

/** Every row of this file. */
export const inTheJobs: readonly Named[] = [
  job(
    `settlementsMessageOpsMax: a message has ${settlementsMessageOpsMax} operations at most`,
    async () => {
      const { messages } = await kept(list(settlementsMessageOpsMax + 1, settle));
      same(messages, [settlementsMessageOpsMax, 1], 'messages');
    },
  ),
  job(
    `settlementsMessageBytesMax: and ${settlementsMessageBytesMax} bytes; a larger operation stays`,
    async () => {
      const half = settlementsMessageBytesMax / 2 - 1_024;
      same((await kept([recordOf(half), recordOf(half)])).messages, [2], 'what fits');
      same((await kept([recordOf(half), recordOf(half + 4_096)])).messages, [1, 1], 'two messages');
      const { messages, left } = await kept([recordOf(settlementsMessageBytesMax)]);
      same([messages.length, left], [0, 1], 'one that is too large');
    },
  ),
  job('settlementsSendTimeoutMs: a queue that does not answer is not waited for', async () => {
    const { waits, left } = await kept([settle(1)], false);
    same(waits, [settlementsSendTimeoutMs], 'waits');
    same(left, 1, 'operations that are given back');
  }),
  job(
    'settlementsRetryS, settlementsRetryMaxS: the delay of a message doubles up to the longest',
    async () => {
      same(await delivered(1, 1), settlementsRetryS, 'the first');
      same(await delivered(2, 1), 2 * settlementsRetryS, 'the second');
      same(await delivered(90, 1), settlementsRetryMaxS, 'the last');
    },
  ),
  job(`ledgerBatchOpsMax: a message with more operations is none of ours`, async () => {
    same(await delivered(0, ledgerBatchOpsMax), null, 'at the limit');
    same(await delivered(0, ledgerBatchOpsMax + 1), settlementsRetryS, 'beyond it');
  }),
  job(
    `journalLedgersMax: one run looks at ${journalLedgersMax} ledgers, the next one at the others first`,
    async (stand) => {
      const { copyJournals } = await srcModule<JournalModule>('jobs/journal');
      await withLedgers(stand, journalLedgersMax + 1, async (db) => {
        const [first, second]: [string[], string[]] = [[], []];
        await copyJournals(db, idle(first), 1);
        await copyJournals(db, idle(second), 2);
        same(new Set(first).size, journalLedgersMax, 'ledgers of one run');
        same(new Set([...first, ...second]).size, journalLedgersMax + 1, 'ledgers of two');
      });
    },
  ),
  job(
    `journalOutboxesMax: one run reads ${journalOutboxesMax} outboxes of a ledger`,
    async (stand) => {
      const { copyJournals } = await srcModule<JournalModule>('jobs/journal');
      await withLedgers(stand, 1, async (db) => {
        const asked: string[] = [];
        const run = await copyJournals(db, endless(asked), 1);
        same(asked.length, journalOutboxesMax, 'outboxes');
        same([run.rows, run.behind], [2 * journalOutboxesMax, 1], 'rows, ledgers behind');
      });
    },
  ),
  job(
    `journalJsonCharsMax: one parameter carries ${journalJsonCharsMax} characters of rows`,
    async () => {
      const { writeJournal } = await srcModule<CopyModule>('adapters/d1/journal');
      const carried: number[] = [];
      const statement = (sql: string) => ({
        bind: (_: string, json: unknown) => {
          if (sql.trim().startsWith('insert')) carried.push(JSON.parse(String(json)).length);
          return {};
        },
      });
      const db = { prepare: statement, batch: async () => [] };
      const half = (i: number): LogRow => ({
        ...emptyRow,
        seq: i,
        ops: ' '.repeat(journalJsonCharsMax / 2),
      });
      await writeJournal(db, 'ten_1', [half(1), half(2), half(3)]);
      holds(carried.length === 2, 'statements');
      same(carried, [2, 1], 'rows of each statement');
    },
  ),
];
