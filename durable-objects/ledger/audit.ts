/**
 * Audit: computes the books again from the beginning of the log and compares them with memory and
 * with the tables. Promises: bounded steps; changes nothing; ends in the turn in which it has seen
 * every row, so that nothing moves between replay and comparison. Called by `core.ts`.
 */
import { AssertionError, assert } from '../../src/base/assert';
import { ledgerAuditRowsMax } from '../../src/base/limits-money';
import type { BlockKind } from '../../src/domain/ledger/blocks';
import type { LogOp } from '../../src/domain/ledger/entries';
import { type LedgerState, takeSnapshot } from '../../src/domain/ledger/state';
import type { AuditStep } from '../../src/domain/ledger/views';
import { integer, type ObjectSql, type SqlRow, text } from '../storage';
import type { Journal } from './journal';

export class Audit {
  readonly #journal: Journal;
  readonly #sql: ObjectSql;
  #books: LedgerState;
  #fromSeq: number;
  /** Grants and top-ups in the replayed rows; each is in the list of them. */
  #credits = 0;

  constructor(journal: Journal, sql: ObjectSql) {
    this.#journal = journal;
    this.#sql = sql;
    this.#books = journal.base();
    this.#fromSeq = this.#books.seq;
  }

  /** Starts again where the log begins: it was pruned between two steps. */
  #begin(): void {
    this.#books = this.#journal.base();
    this.#fromSeq = this.#books.seq;
    this.#credits = 0;
  }

  /** Replays the next rows; compares when there are no more. */
  step(memory: LedgerState, nowMs: number): AuditStep {
    try {
      if (this.#books.seq < this.#journal.baseSeq) this.#begin();
      const from = this.#books.seq;
      this.#journal.replay(this.#books, ledgerAuditRowsMax, (seq, op) => this.#seen(seq, op));
      const { seq } = this.#books;
      if (seq < memory.seq) {
        const isFull = seq - from === ledgerAuditRowsMax;
        assert(isFull, `the log ends at row ${seq}, memory at ${memory.seq}`);
        return { outcome: 'more', seq, untilSeq: memory.seq };
      }
      this.#compare(memory, nowMs);
      return { outcome: 'clean', fromSeq: this.#fromSeq, seq: memory.seq };
    } catch (fault) {
      if (!(fault instanceof AssertionError)) throw fault;
      return { outcome: 'fault', seq: this.#books.seq, what: fault.message };
    }
  }

  #compare(memory: LedgerState, nowMs: number): void {
    const restarted = this.#journal.load();
    for (const state of [this.#books, memory, restarted]) {
      state.tally.roll(Math.max(nowMs, memory.atMs));
      state.assertBalanced();
      state.assertHeld();
    }
    differ('memory', takeSnapshot(memory), takeSnapshot(this.#books));
    differ('the newest snapshot', takeSnapshot(restarted), takeSnapshot(this.#books));
    this.#compareCredits(memory);
    const pending = this.#sql.exec('SELECT hold_id FROM task WHERE closed_at IS NULL').toArray();
    if (pending.some((row) => !memory.open.has(text(row, 'hold_id')))) {
      throw new AssertionError('a task is pending whose hold has ended');
    }
  }

  #seen(seq: number, op: LogOp): void {
    if (op[0] !== 'grant' && op[0] !== 'top_up') return;
    this.#credits += 1;
    const credit = this.#creditOf(op[1], op[0] === 'grant' ? op[3] : 'purchased', op[2]);
    if (integer(credit, 'seq') !== seq) creditsDiffer();
  }

  /** Ids are unique there, so as many rows as the log has, each of which was found, are the same rows. */
  #compareCredits(memory: LedgerState): void {
    const since = 'SELECT total(micros) AS micros, total(seq > ?) AS credits FROM credit';
    const [all] = this.#sql.exec(since, this.#fromSeq).toArray();
    const paidIn = memory.grantedMicros + memory.toppedUpMicros;
    if (integer(all, 'micros') !== paidIn || integer(all, 'credits') !== this.#credits)
      creditsDiffer();
    // Money that is older than the log, as far as it is not spent.
    for (const { id, kind, grantedMicros } of memory.purse.blocks)
      this.#creditOf(id, kind, grantedMicros);
  }

  /** The row of one credit in the list. */
  #creditOf(id: string, kind: BlockKind, micros: number): SqlRow {
    const [row] = this.#sql.exec('SELECT * FROM credit WHERE id = ?', id).toArray();
    if (row === undefined) return creditsDiffer();
    if (text(row, 'kind') !== kind || integer(row, 'micros') !== micros) creditsDiffer();
    return row;
  }
}

/** The list of grants and top-ups is what keeps a payment from being booked twice. */
const creditsDiffer = (): never => {
  throw new AssertionError('the list of grants and top-ups differs from the books');
};

/** Throws with the first part of two snapshots that is not the same. */
function differ(what: string, actual: object, expected: object): void {
  const wanted = new Map<string, unknown>(Object.entries(expected));
  for (const [part, value] of Object.entries(actual)) {
    if (JSON.stringify(value) === JSON.stringify(wanted.get(part))) continue;
    throw new AssertionError(`${what} differs from the log in ${part}`);
  }
}
