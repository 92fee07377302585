/**
 * Journal: copies the ledgers' logs into D1, a bounded number of rows per run, and sees that the tasks which wait are listed there.
 * Promises: a row is acknowledged, and so may leave its object, only after D1 has it; what is missing
 * or turned back is noted with the ledger and reported, never smoothed over; one ledger that does
 * not answer keeps no other one waiting for more than its deadline. Called by worker.ts (Cron).
 */
import { type KnownLedger, nextLedgers, noteFault, writeJournal } from '../adapters/d1/journal';
import { listTasks } from '../adapters/d1/task-index';
import { journalLedgersMax, journalOutboxesMax, ledgerOutboxRowsMax } from '../base/limits-money';
import type { LogRow } from '../domain/ledger/entries';
import type { Ledger, Ledgers } from '../ports/ledger';

/** How much one run does. */
export interface JournalBounds {
  readonly ledgersMax: number;
  readonly outboxesMax: number;
}

const journalBounds: JournalBounds = {
  ledgersMax: journalLedgersMax,
  outboxesMax: journalOutboxesMax,
};

/** What one run did. `behind`: ledgers that have more rows than it copied, or that did not answer. */
export interface JournalRun {
  readonly ledgers: number;
  readonly rows: number;
  readonly behind: number;
  /** One line per fault that was found: tenant id and what. */
  readonly faults: readonly string[];
}

/** Copies what the ledgers have; those that waited longest come first. */
export async function copyJournals(
  db: D1Database,
  ledgers: Ledgers,
  nowMs: number,
  bounds: JournalBounds = journalBounds,
): Promise<JournalRun> {
  const known = await nextLedgers(db, bounds.ledgersMax, nowMs);
  let [rows, behind] = [0, 0];
  const faults: string[] = [];
  for (const ledger of known) {
    const from = { db, ledger: ledgers.of(ledger.address), known: ledger, nowMs };
    const copied = await copyOne(from, bounds);
    rows += copied.rows;
    if (copied.isBehind) behind += 1;
    if (copied.fault === null) continue;
    await noteFault(db, ledger.address.ledgerTenantId, copied.fault);
    faults.push(`${ledger.address.ledgerTenantId}: ${copied.fault}`);
  }
  return { ledgers: known.length, rows, behind, faults };
}

interface Copied {
  readonly rows: number;
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
  { outboxesMax }: JournalBounds,
): Promise<Copied> {
  let [rows, copiedSeq, fault] = [0, known.copiedSeq, null as string | null];
  for (let reads = 0; reads < outboxesMax; reads += 1) {
    const outbox = await ledger.outbox(ledgerOutboxRowsMax);
    if ('outcome' in outbox) return { rows, isBehind: true, fault };
    // A task whose submission met a D1 that did not answer is not listed yet.
    if (reads === 0 && outbox.tasks !== undefined && outbox.tasks.length > 0)
      await listTasks(db, known.address, outbox.tasks, nowMs);
    if (outbox.seq < copiedSeq) {
      return { rows, isBehind: false, fault: `ahead of its ledger: ${copiedSeq} > ${outbox.seq}` };
    }
    const last = outbox.rows.at(-1);
    if (last === undefined) {
      return { rows, isBehind: false, fault: fault ?? lostRows(copiedSeq, outbox.seq) };
    }
    const fresh = outbox.rows.filter((row) => row.seq > copiedSeq);
    fault ??= gapIn(fresh, copiedSeq);
    await writeJournal(db, known.address.ledgerTenantId, fresh);
    rows += fresh.length;
    copiedSeq = Math.max(copiedSeq, last.seq);
    await ledger.acknowledge(last.seq);
    if (copiedSeq >= outbox.seq) return { rows, isBehind: false, fault };
  }
  return { rows, isBehind: true, fault };
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
