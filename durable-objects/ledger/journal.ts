/**
 * Journal: the log on disk, its snapshots, and the outbox of D1's copy.
 * Promises: `seq` is contiguous; memory = newest snapshot + the rows after it, so a start replays a
 * bounded number of operations; rows stay until D1 has them, then go in bounded steps. Must never:
 * drop a row that the audit or D1 still needs. Called by `core.ts` inside its transaction.
 */
import { assert } from '../../src/base/assert';
import {
  ledgerOutboxCharsMax,
  ledgerPruneRowsMax,
  ledgerSnapshotOpsMin,
  ledgerSnapshotPartChars,
} from '../../src/base/limits-money';
import { decodeOps, encodeOps, type LogOp, type LogRow } from '../../src/domain/ledger/entries';
import { LedgerState, restoreSnapshot, takeSnapshot } from '../../src/domain/ledger/state';
import { applyOp } from '../../src/domain/ledger/transitions';
import { integer, type ObjectSql, type SqlRow, text } from '../storage';

/** Rows that are read at a time. */
const pageRows = 1_000;
/** The same for the outbox, whose answer has to fit into one message: a row has up to 0.8 MB. */
const outboxPageRows = 20;

export class Journal {
  readonly #sql: ObjectSql;
  /** Rows with a snapshot, oldest first; 0 is the empty ledger. */
  #snapshots: number[];
  #ackedSeq: number;
  #opsSinceSnapshot = 0;

  constructor(sql: ObjectSql) {
    this.#sql = sql;
    const rows = sql.exec('SELECT DISTINCT seq FROM snapshot ORDER BY seq').toArray();
    const base = sql.exec("SELECT value FROM mark WHERE name = 'base'").toArray()[0];
    this.#snapshots = rows.map((row) => integer(row, 'seq'));
    if (base === undefined) this.#snapshots.unshift(0);
    const acked = sql.exec("SELECT value FROM mark WHERE name = 'acked'").toArray()[0];
    this.#ackedSeq = acked === undefined ? 0 : integer(acked, 'value');
  }

  /** D1 has every row up to this one. */
  get ackedSeq(): number {
    return this.#ackedSeq;
  }

  /** The books as the disk has them. */
  load(): LedgerState {
    const newest = this.#snapshots.at(-1) ?? 0;
    const state = this.#stateAt(newest);
    this.#opsSinceSnapshot = this.replay(state, Number.MAX_SAFE_INTEGER);
    return state;
  }

  /** Where the log begins: rows up to this one may be gone. */
  get baseSeq(): number {
    return this.#snapshots[0] ?? 0;
  }

  /** The books where the log begins: what the audit starts from. */
  base(): LedgerState {
    return this.#stateAt(this.baseSeq);
  }

  /** Applies the rows after `state`, at most `rowsMax` of them; gives the number of changes. `onOp` sees each behind its row's number. */
  replay(state: LedgerState, rowsMax: number, onOp?: (seq: number, op: LogOp) => void): number {
    const until = Math.min(state.seq + rowsMax, Number.MAX_SAFE_INTEGER);
    let ops = 0;
    for (;;) {
      const rows = this.rows(state.seq, Math.min(pageRows, until - state.seq));
      for (const row of rows) {
        assert(row.seq === state.seq + 1, 'the log has a gap');
        const changes = decodeOps(row.ops);
        for (const op of changes) {
          applyOp(state, op, row.atMs);
          onOp?.(row.seq, op);
        }
        state.seq = row.seq;
        state.atMs = row.atMs;
        ops += changes.length;
        assertRow(state, row);
      }
      if (rows.length === 0 || state.seq >= until) return ops;
    }
  }

  /** The rows behind `afterSeq`, in order. */
  rows(afterSeq: number, limit: number): readonly LogRow[] {
    return this.#sql
      .exec('SELECT * FROM log WHERE seq > ? ORDER BY seq LIMIT ?', afterSeq, limit)
      .toArray()
      .map(rowOf);
  }

  /** Rows that D1 does not have, at most `limit`; fewer when they are long, but never none of some. */
  outbox(limit: number): readonly LogRow[] {
    const rows: LogRow[] = [];
    let chars = 0;
    while (rows.length < limit && chars < ledgerOutboxCharsMax) {
      const after = rows.at(-1)?.seq ?? this.#ackedSeq;
      const page = this.rows(after, Math.min(outboxPageRows, limit - rows.length));
      for (const row of page) chars += row.ops.length;
      rows.push(...page);
      if (page.length < outboxPageRows) break;
    }
    return rows;
  }

  /** Writes the changes of one turn, which the state has; the only write of an unkeyed call. */
  append(state: LedgerState, ops: readonly LogOp[], atMs: number): void {
    state.seq += 1;
    state.atMs = atMs;
    this.#sql.exec(
      'INSERT INTO log (seq, at, available, held, settled, ops) VALUES (?, ?, ?, ?, ?, ?)',
      state.seq,
      atMs,
      state.availableMicros,
      state.heldMicros,
      state.settledMicros,
      encodeOps(ops),
    );
    this.#opsSinceSnapshot += ops.length;
  }

  /**
   * Whether a snapshot pays after `ops` more changes. Its cost grows with the state, so its distance
   * does too.
   */
  snapshotIsDue(state: LedgerState, ops: number): boolean {
    const size = state.open.size + state.tally.size + state.purse.blocks.length;
    return this.#opsSinceSnapshot + ops >= Math.max(ledgerSnapshotOpsMin, 2 * size);
  }

  /** Writes the state; keeps the beginning of the log, the next beginning, and this one. */
  snapshot(state: LedgerState): void {
    const newest = this.#snapshots.length >= 3 ? this.#snapshots.pop() : undefined;
    if (newest !== undefined) this.#dropSnapshot(newest);
    const body = JSON.stringify(takeSnapshot(state));
    for (let part = 0; part * ledgerSnapshotPartChars < body.length; part += 1) {
      const from = part * ledgerSnapshotPartChars;
      const piece = body.slice(from, from + ledgerSnapshotPartChars);
      this.#sql.exec('INSERT INTO snapshot VALUES (?, ?, ?)', state.seq, part, piece);
    }
    this.#snapshots.push(state.seq);
    this.#opsSinceSnapshot = 0;
  }

  /** D1 has every row up to `seq`; a repeat or an older one changes nothing. */
  acknowledge(seq: number): void {
    if (seq <= this.#ackedSeq) return;
    this.#ackedSeq = seq;
    this.#sql.exec("INSERT OR REPLACE INTO mark VALUES ('acked', ?)", seq);
  }

  /** Moves the beginning of the log up to what D1 has; deletes what is before it, in steps. */
  prune(): void {
    for (;;) {
      const [base, next] = this.#snapshots;
      if (base === undefined || next === undefined || next > this.#ackedSeq) break;
      this.#snapshots.shift();
      this.#dropSnapshot(base);
      this.#sql.exec("INSERT OR REPLACE INTO mark VALUES ('base', ?)", next);
    }
    const first = this.#sql.exec('SELECT min(seq) AS seq FROM log').toArray()[0];
    if (first === undefined || first.seq === null) return;
    const until = Math.min(this.baseSeq, integer(first, 'seq') + ledgerPruneRowsMax - 1);
    this.#sql.exec('DELETE FROM log WHERE seq <= ?', until);
  }

  #stateAt(seq: number): LedgerState {
    if (seq === 0) return new LedgerState();
    const parts = this.#sql
      .exec('SELECT body FROM snapshot WHERE seq = ? ORDER BY part', seq)
      .toArray();
    const state = restoreSnapshot(parts.map((row) => text(row, 'body')).join(''));
    assert(state.seq === seq, 'a snapshot is of another row');
    return state;
  }

  #dropSnapshot(seq: number): void {
    this.#sql.exec('DELETE FROM snapshot WHERE seq = ?', seq);
  }
}

function rowOf(row: SqlRow): LogRow {
  return {
    seq: integer(row, 'seq'),
    atMs: integer(row, 'at'),
    availableMicros: integer(row, 'available'),
    heldMicros: integer(row, 'held'),
    settledMicros: integer(row, 'settled'),
    ops: text(row, 'ops'),
  };
}

/** The row says what the books were when it was written. */
function assertRow(state: LedgerState, row: LogRow): void {
  state.assertBalanced();
  assert(
    state.availableMicros === row.availableMicros &&
      state.heldMicros === row.heldMicros &&
      state.settledMicros === row.settledMicros,
    `the log disagrees with itself at row ${row.seq}`,
  );
}
