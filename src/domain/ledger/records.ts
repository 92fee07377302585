/**
 * Records: what an idempotency key may do next. claimed → recorded | freed | unknown; unknown →
 * resolved | freed. A freed record is gone.
 * Promises: a key that was executed, or may have been, is never fresh before it expires; another
 * request under the same key is told so before anything else. Pure: the row comes from the
 * object's `record-store.ts`, the decision from here.
 */
import { recordOverheadBytes } from '../../base/limits-money';
import { headerChars, type RecordedAnswer, type RecordState } from './operations';

/** A record without its answer. Times in epoch milliseconds. */
export interface RecordRow {
  readonly id: string;
  readonly holdId: string;
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly state: RecordState;
  readonly claimedAtMs: number;
  /** While claimed: the end of the lease; else the end of the record. */
  readonly dueMs: number;
  readonly expiresAtMs: number;
}

/** What a claim of a key that has a record leads to. */
export type ClaimVerdict = 'replay' | 'mismatch' | 'in_progress' | 'outcome_unknown';

/** Whether the record's time is over: its key is free again. */
export const isExpired = (row: RecordRow, nowMs: number): boolean =>
  row.state !== 'claimed' && row.dueMs <= nowMs;

/** Whether the owner of a claim has gone silent: from here nobody knows what happened. */
export const isAbandoned = (row: RecordRow, nowMs: number): boolean =>
  row.state === 'claimed' && row.dueMs <= nowMs;

/** Judges a claim against the row that its key has, which is neither expired nor abandoned. */
export function judgeClaim(row: RecordRow, fingerprint: string): ClaimVerdict {
  if (row.fingerprint !== fingerprint) return 'mismatch';
  if (row.state === 'recorded') return 'replay';
  return row.state === 'claimed' ? 'in_progress' : 'outcome_unknown';
}

/**
 * Whether an owner may still write its outcome. Also after its lease: it is the only one who
 * knows. Not after an answer was recorded or an operator has decided.
 */
export const isOwned = (row: RecordRow): boolean =>
  row.state === 'claimed' || row.state === 'unknown';

/** What an answer counts in the tenant's quota, bytes. */
export const answerBytes = (answer: RecordedAnswer): number =>
  recordOverheadBytes + headerChars(answer) + answer.bodyBytes;
