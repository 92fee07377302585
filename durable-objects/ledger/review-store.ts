/**
 * ReviewStore: holds that expired without a settlement, with their amounts, for an operator.
 * Promises: one row per hold; a late settlement closes it; closed rows go after
 * `ledgerReviewKeepMs`, open ones never. Called by `core.ts` and `turn.ts` inside their transaction.
 */
import { ledgerReviewKeepMs } from '../../src/base/limits-money';
import type { Review } from '../../src/domain/ledger/views';
import { integer, integerOrNull, type ObjectSql, type Slice, type SqlRow, text } from '../storage';

export class ReviewStore {
  readonly #sql: ObjectSql;

  constructor(sql: ObjectSql) {
    this.#sql = sql;
  }

  open(holdId: string, micros: number, atMs: number): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO review (hold_id, micros, at) VALUES (?, ?, ?)',
      holdId,
      micros,
      atMs,
    );
  }

  /** Closes an open row; false when there is none. */
  close(holdId: string, by: 'late_settle' | 'operator', atMs: number): boolean {
    const closed = this.#sql.exec(
      `UPDATE review SET closed_at = ?, closed_by = ? WHERE hold_id = ? AND closed_at IS NULL
       RETURNING hold_id`,
      atMs,
      by,
      holdId,
    );
    return closed.toArray().length > 0;
  }

  list({ after, limit }: Slice): readonly Review[] {
    return this.#sql
      .exec('SELECT * FROM review WHERE hold_id > ? ORDER BY hold_id LIMIT ?', after ?? '', limit)
      .toArray()
      .map(reviewOf);
  }

  prune(nowMs: number): void {
    this.#sql.exec('DELETE FROM review WHERE closed_at < ?', nowMs - ledgerReviewKeepMs);
  }
}

function reviewOf(row: SqlRow): Review {
  const closedBy = row.closed_by === null ? null : text(row, 'closed_by');
  return {
    holdId: text(row, 'hold_id'),
    micros: integer(row, 'micros'),
    atMs: integer(row, 'at'),
    closedAtMs: integerOrNull(row, 'closed_at'),
    closedBy,
  };
}
