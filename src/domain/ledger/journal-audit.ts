/**
 * Journal audit: computes a ledger's books from D1's copy of its log alone, and says where the copy
 * has a gap or disagrees with itself or with the ledger.
 * Promises: changes nothing; needs one page of rows at a time. Pure. Called by
 * `scripts/ledger-audit.ts` and the control plane.
 */
import { AssertionError } from '../../base/assert';
import { decodeOps, type LogRow } from './entries';
import { LedgerState } from './state';
import { applyOp } from './transitions';
import type { LedgerView } from './views';

/** What is wrong with a copy; only the first fault of a ledger is found. */
export type JournalFault =
  | { readonly kind: 'gap'; readonly afterSeq: number; readonly nextSeq: number }
  | { readonly kind: 'books'; readonly seq: number; readonly what: string }
  /** The ledger believes that D1 has rows which are not there: they are lost. */
  | { readonly kind: 'lost'; readonly copiedSeq: number; readonly ackedSeq: number }
  /** The copy has rows that the ledger does not: it was set back. */
  | { readonly kind: 'ahead'; readonly copiedSeq: number; readonly seq: number };

export class JournalAudit {
  readonly #books = new LedgerState();

  /** The last row that was taken. */
  get seq(): number {
    return this.#books.seq;
  }

  /** Takes the next rows of the copy, in order; the first fault ends the audit. */
  take(rows: readonly LogRow[]): JournalFault | null {
    for (const row of rows) {
      const { seq } = this.#books;
      if (row.seq !== seq + 1) return { kind: 'gap', afterSeq: seq, nextSeq: row.seq };
      const what = replayed(this.#books, row);
      if (what !== null) return { kind: 'books', seq: row.seq, what };
    }
    return null;
  }

  /** After the last row: does the ledger say the same? Its rows may be ahead of the copy. */
  compare(view: LedgerView): JournalFault | null {
    const { seq, availableMicros, heldMicros, settledMicros } = this.#books;
    if (seq < view.ackedSeq) return { kind: 'lost', copiedSeq: seq, ackedSeq: view.ackedSeq };
    if (seq > view.seq) return { kind: 'ahead', copiedSeq: seq, seq: view.seq };
    if (seq < view.seq) return null;
    const isSame =
      availableMicros === view.availableMicros &&
      heldMicros === view.heldMicros &&
      settledMicros === view.settledMicros;
    return isSame ? null : { kind: 'books', seq, what: 'the copy differs from the ledger' };
  }
}

/** Applies one row; gives what does not fit. */
function replayed(books: LedgerState, row: LogRow): string | null {
  try {
    for (const op of decodeOps(row.ops)) applyOp(books, op, row.atMs);
    books.seq = row.seq;
    books.atMs = row.atMs;
    books.ended.clear();
    books.assertBalanced();
  } catch (fault) {
    if (fault instanceof AssertionError) return fault.message;
    throw fault;
  }
  const isSame =
    books.availableMicros === row.availableMicros &&
    books.heldMicros === row.heldMicros &&
    books.settledMicros === row.settledMicros;
  return isSame ? null : 'the entries do not give the amounts of their row';
}
