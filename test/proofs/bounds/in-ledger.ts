/**
 * Limits of the ledger object, at their deployed values, on its own statements (`node:sqlite`) and a clock of the test's. Called by
 * test/proofs/bounds.ts.
 */
import { rmSync } from 'node:fs';
import {
  ledgerBatchOpsMax,
  ledgerBlocksMax,
  ledgerLeaseMs,
  ledgerOutboxCharsMax,
  ledgerOutboxRowsMax,
  ledgerOutboxTasksMax,
  ledgerRepeatMs,
  ledgerReviewKeepMs,
  ledgerSnapshotOpsMin,
  ledgerSweepMax,
  ledgerTagCharsMax,
  ledgerTagPairsMax,
} from '../../../src/base/limits-money.ts';
import type { EndOp, PlaceOp, Tags } from '../../../src/domain/ledger/operations.ts';
import type { OpenTask } from '../../../src/domain/tasks/task.ts';
import { bundleLedger } from '../../support/ledger-bundle.ts';
import { type CoreClass, loadCore } from '../../support/ledger-run.ts';
import { NodeStorage } from '../../support/ledger-storage.ts';
import { holds, same } from '../../support/proof.ts';
import type { Named } from './stand.ts';

type Core = InstanceType<CoreClass>;

const startMs = Date.UTC(2030, 0, 1);
const place = (i: number, tags: Tags | null = null): PlaceOp => [
  'place',
  `hld_${i}`,
  1,
  'key_1',
  null,
  tags,
  null,
];
const submission = (holdId: string): OpenTask => ({
  holdId,
  provider: 'lab',
  taskId: holdId,
  endpointId: 'lab.submit',
  account: 'primary',
  deadlineMs: ledgerLeaseMs,
  terms: '{}',
});
const list = <T>(count: number, item: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => item(i));

let bundled: Promise<CoreClass> | null = null;

/** Runs `work` on a new ledger with money. */
async function onLedger(work: (core: Core, storage: NodeStorage) => unknown): Promise<unknown> {
  const file = `dist/ledger-bounds-${process.pid}.mjs`;
  bundled ??= bundleLedger('durable-objects/ledger/core.ts', file, [])
    .then(loadCore)
    .finally(() => rmSync(file, { force: true }));
  const Class = await bundled;
  const storage = new NodeStorage();
  try {
    const core = new Class(storage, startMs);
    core.topUp('start', 1_000_000_000, startMs);
    return await work(core, storage);
  } finally {
    storage.close();
  }
}

const onLedgerRow = (name: string, work: (core: Core, storage: NodeStorage) => unknown): Named => [
  name,
  () => onLedger(work),
];

/** Calls 0 to `count` and some more, each placed and settled. */
function callsUntil(core: Core, count: number): void {
  for (let from = 0; from <= count; from += ledgerBatchOpsMax) {
    const ids = list(ledgerBatchOpsMax, (i) => from + i);
    const ends = ids.map((id): EndOp => ['settle', `hld_${id}`, 1, true]);
    core.apply(
      [],
      ids.map((id) => place(id)),
      startMs,
    );
    core.apply(ends, [], startMs);
  }
}

/** Every row of this file. */
export const inTheLedger: readonly Named[] = [
  onLedgerRow(`ledgerBatchOpsMax: a batch has ${ledgerBatchOpsMax} operations at most`, (core) => {
    const batch = (size: number) =>
      core.apply(
        [],
        list(size, (i) => place(i)),
        startMs,
      );
    same(batch(ledgerBatchOpsMax).places.length, ledgerBatchOpsMax, 'at the limit');
    let refused = '';
    try {
      batch(ledgerBatchOpsMax + 1);
    } catch (fault) {
      refused = String(fault);
    }
    holds(refused.includes('too long'), `beyond it: ${refused}`);
  }),
  onLedgerRow(
    `ledgerSweepMax: one alarm expires ${ledgerSweepMax} holds, the next one goes on`,
    (core) => {
      core.apply(
        [],
        list(ledgerSweepMax + 1, (i) => place(i)),
        startMs,
      );
      const lateMs = startMs + ledgerLeaseMs + 1;
      core.runDue(lateMs);
      same(core.view(lateMs).openHolds, 1, 'open after one alarm');
      core.runDue(lateMs);
      same(core.view(lateMs).openHolds, 0, 'open after two');
    },
  ),
  onLedgerRow('ledgerRepeatMs: an ended hold gives its first answer so long at least', (core) => {
    // Forgotten is what a snapshot has written; so many operations make one.
    callsUntil(core, ledgerSnapshotOpsMin);
    const again = (nowMs: number) => {
      core.runDue(nowMs);
      return core.apply([['settle', 'hld_0', 1, true]], [], nowMs).ends[0]?.outcome;
    };
    same(again(startMs + ledgerRepeatMs), 'settled', 'at the limit');
    same(again(startMs + ledgerRepeatMs + 1), 'unknown_hold', 'beyond it');
  }),
  onLedgerRow(
    'ledgerSnapshotOpsMin: so many operations make a snapshot, two of which are kept; what D1 has goes',
    (core, storage) => {
      const kept = () => ({
        snapshots: storage.sql.exec('SELECT DISTINCT seq FROM snapshot').toArray().length,
        first: core.entries(0)[0]?.seq,
      });
      // A call is two operations.
      callsUntil(core, ledgerSnapshotOpsMin / 2 - 2 * ledgerBatchOpsMax);
      same(kept(), { snapshots: 0, first: 1 }, 'before the first');
      callsUntil(core, (3 * ledgerSnapshotOpsMin) / 2);
      same(kept(), { snapshots: 2, first: 1 }, 'while D1 has nothing');
      core.topUp('behind them', 1, startMs);
      const { seq } = core.view(startMs);
      core.acknowledge(seq, startMs);
      same(kept(), { snapshots: 1, first: seq }, 'when D1 has all');
    },
  ),
  onLedgerRow('ledgerReviewKeepMs: a closed review is kept so long, and not longer', (core) => {
    core.apply([], [place(1)], startMs);
    const closedMs = startMs + ledgerLeaseMs + 1;
    core.runDue(closedMs);
    holds(core.closeReview('hld_1', closedMs), 'nothing to review');
    const kept = (nowMs: number): number => {
      core.runDue(nowMs);
      return core.reviews(null).length;
    };
    same(kept(closedMs + ledgerReviewKeepMs), 1, 'at the limit');
    same(kept(closedMs + ledgerReviewKeepMs + 1), 0, 'beyond it');
  }),
  onLedgerRow(`ledgerOutboxRowsMax: an outbox has ${ledgerOutboxRowsMax} rows at most`, (core) => {
    holds(ledgerOutboxRowsMax < ledgerBlocksMax, 'more rows than blocks');
    for (let i = 0; i <= ledgerOutboxRowsMax; i += 1) core.topUp(`pay_${i}`, 1, startMs);
    same(core.outbox(1_000_000).rows.length, ledgerOutboxRowsMax, 'rows');
  }),
  onLedgerRow(
    `ledgerOutboxTasksMax: an outbox names ${ledgerOutboxTasksMax} waiting tasks at most, the newest`,
    (core) => {
      const names = list(ledgerOutboxTasksMax + 1, (i) => `hld_${i}`);
      for (const [i, holdId] of names.entries()) {
        core.apply([], [place(i)], startMs + i);
        core.openTask(submission(holdId), startMs + i);
      }
      same(
        core.outbox(1).tasks?.map(({ holdId }) => holdId),
        names.slice(1).reverse(),
        'tasks',
      );
    },
  ),
  onLedgerRow(
    `ledgerOutboxCharsMax: an outbox that has ${ledgerOutboxCharsMax} characters ends`,
    (core) => {
      const tags = list(2 * ledgerTagPairsMax, (i) => `${i}`.padEnd(ledgerTagCharsMax, 'x'));
      const rows = 40;
      for (let row = 0; row < rows; row += 1) {
        const ids = list(ledgerBatchOpsMax / 2, (i) => place(row * ledgerBatchOpsMax + i, tags));
        core.apply([], ids, startMs);
      }
      const given = core.outbox(rows).rows;
      const chars = given.reduce((sum, { ops }) => sum + ops.length, 0);
      holds(given.length < rows && chars >= ledgerOutboxCharsMax, `${given.length} rows, ${chars}`);
      return `${given.length} rows of ${chars} characters`;
    },
  ),
];
