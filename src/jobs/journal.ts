/**
 * Journal: copies the ledgers' logs into D1, a bounded number of rows per run, and sees that the tasks which wait are listed there.
 * Promises: a row is acknowledged, and so may leave its object, only after D1 has it; what is missing
 * or turned back is noted with the ledger and reported, never smoothed over; one ledger that does
 * not answer, or whose rows D1 does not take, keeps no other one waiting for more than its deadline. Called by `jobs/crons.ts`.
 */
import { type KnownLedger, nextLedgers, noteFault, writeJournal } from '../adapters/d1/journal';
import { listTasks } from '../adapters/d1/task-index';
import {
  journalFailuresMax,
  journalLedgersMax,
  journalOutboxesMax,
  journalWritesMax,
  ledgerOutboxRowsMax,
} from '../base/limits-money';
import type { LogRow } from '../domain/ledger/entries';
import type { Ledger, Ledgers } from '../ports/ledger';

/** How much one run does. */
export interface JournalBounds {
  readonly ledgersMax: number;
  readonly outboxesMax: number;
  readonly writesMax: number;
}

const journalBounds: JournalBounds = {
  ledgersMax: journalLedgersMax,
  outboxesMax: journalOutboxesMax,
  writesMax: journalWritesMax,
};

/** What one run did. `behind`: ledgers that have more rows than it copied, or that did not answer. */
export interface JournalRun {
  readonly ledgers: number;
  readonly rows: number;
  readonly behind: number;
  /** One line per fault that was found: tenant id and what. */
  readonly faults: readonly string[];
}

/** Copies what the ledgers have; those that waited longest come first. Rejects after the last one when D1 did not take some of them. */
export async function copyJournals(
  db: D1Database,
  ledgers: Ledgers,
  nowMs: number,
  bounds: JournalBounds = journalBounds,
): Promise<JournalRun> {
  const known = await nextLedgers(db, bounds.ledgersMax, nowMs);
  let [rows, behind, writes, failuresInARow] = [0, 0, 0, 0];
  const faults: string[] = [];
  const failures: unknown[] = [];
  for (const ledger of known) {
    if (writes >= bounds.writesMax || failuresInARow >= journalFailuresMax) {
      behind += 1;
      continue;
    }
    const from = { db, ledger: ledgers.of(ledger.address), known: ledger, nowMs };
    try {
      const copied = await copyOne(from, { ...bounds, writesMax: bounds.writesMax - writes });
      failuresInARow = 0;
      rows += copied.rows;
      writes += copied.writes;
      if (copied.isBehind) behind += 1;
      if (copied.fault === null) continue;
      await noteFault(db, ledger.address.ledgerTenantId, copied.fault);
      faults.push(`${ledger.address.ledgerTenantId}: ${copied.fault}`);
    } catch (failure) {
      // What D1 did not take is still in its object: the next run begins there again.
      failures.push(failure);
      failuresInARow += 1;
      behind += 1;
    }
  }
  if (failures.length > 0) throw failures[0];
  return { ledgers: known.length, rows, behind, faults };
}

interface Copied {
  readonly rows: number;
  readonly writes: number;
  readonly isBehind: boolean;
  readonly fault: string | null;
}

interface Source {
  readonly db: D1Database;
  readonly ledger: Ledger;
  readonly known: KnownLedger;
  readonly nowMs: number;
}

async function copyOne(
  { db, ledger, known, nowMs }: Source,
  { outboxesMax, writesMax }: JournalBounds,
): Promise<Copied> {
  let [rows, writes, copiedSeq, fault] = [0, 0, known.copiedSeq, null as string | null];
  for (let reads = 0; reads < outboxesMax && writes < writesMax; reads += 1) {
    const outbox = await ledger.outbox(ledgerOutboxRowsMax);
    if ('outcome' in outbox) return { rows, writes, isBehind: true, fault };
    // A task whose submission met a D1 that did not answer is not listed yet.
    if (reads === 0 && outbox.tasks !== undefined && outbox.tasks.length > 0)
      await listTasks(db, known.address, outbox.tasks, nowMs);
    if (outbox.seq < copiedSeq) {
      const ahead = `ahead of its ledger: ${copiedSeq} > ${outbox.seq}`;
      return { rows, writes, isBehind: false, fault: ahead };
    }
    const last = outbox.rows.at(-1);
    if (last === undefined) {
      return { rows, writes, isBehind: false, fault: fault ?? lostRows(copiedSeq, outbox.seq) };
    }
    const fresh = outbox.rows.filter((row) => row.seq > copiedSeq);
    fault ??= gapIn(fresh, copiedSeq);
    writes += await writeJournal(db, known.address.ledgerTenantId, fresh);
    rows += fresh.length;
    copiedSeq = Math.max(copiedSeq, last.seq);
    await ledger.acknowledge(last.seq);
    if (copiedSeq >= outbox.seq) return { rows, writes, isBehind: false, fault };
  }
  return { rows, writes, isBehind: true, fault };
}

/** Rows that are gone: D1 was set back, since an object gives nothing away unacknowledged. */
function gapIn(rows: readonly LogRow[], copiedSeq: number): string | null {
  let expected = copiedSeq + 1;
  for (const { seq } of rows) {
    if (seq !== expected) return lostRows(expected - 1, seq - 1);
    expected += 1;
  }
  return null;
}

const lostRows = (afterSeq: number, untilSeq: number): string | null =>
  afterSeq === untilSeq ? null : `gap: rows ${afterSeq + 1} to ${untilSeq} are missing`;
