/**
 * Views: what people and jobs see of a ledger. Amounts in micro-USD, times in epoch milliseconds.
 * Made by the object's `core.ts`; read by the control plane, the journal job and the audit.
 */
import type { WaitingTask } from '../tasks/task';
import type { BlockKind } from './blocks';
import type { LedgerConfig } from './config';
import type { LogRow } from './entries';
import type { RecordState, Tags } from './operations';

/** A grant or top-up: what was granted, what is left, what of it is held. */
export interface BlockView {
  readonly id: string;
  readonly kind: BlockKind;
  readonly grantedMicros: number;
  readonly remainingMicros: number;
  readonly heldMicros: number;
}

/** The books as of now: granted + topped up = available + held + settled. */
export interface LedgerView {
  readonly availableMicros: number;
  readonly heldMicros: number;
  readonly settledMicros: number;
  readonly grantedMicros: number;
  readonly toppedUpMicros: number;
  readonly debtMicros: number;
  /** Only blocks with money left or held, in the order of burning. */
  readonly blocks: readonly BlockView[];
  readonly openHolds: number;
  readonly settledTodayMicros: number;
  readonly config: LedgerConfig;
  /** Newest row of the log, and the newest that D1 has. */
  readonly seq: number;
  readonly ackedSeq: number;
}

/** An open hold. */
export interface HoldView {
  readonly id: string;
  readonly amountMicros: number;
  readonly placedAtMs: number;
  readonly leaseUntilMs: number;
  readonly keyId: string;
  readonly tags: Tags | null;
  readonly recordId: string | null;
}

/** An idempotency record without its answer. */
export interface RecordView {
  readonly id: string;
  readonly holdId: string;
  readonly scope: string;
  readonly key: string;
  readonly state: RecordState;
  readonly claimedAtMs: number;
  readonly expiresAtMs: number;
  readonly status: number | null;
  readonly costMicros: number | null;
  readonly bodyBytes: number | null;
}

/** A hold that expired without a settlement (`reconcile_review`). */
export interface Review {
  readonly holdId: string;
  readonly micros: number;
  readonly atMs: number;
  readonly closedAtMs: number | null;
  readonly closedBy: string | null;
}

/**
 * One step of an audit: the log replayed from its beginning up to `seq`. `clean`: everything was
 * replayed and memory, the newest snapshot and the tables say the same. A fault names what differs.
 */
export type AuditStep =
  | { readonly outcome: 'more'; readonly seq: number; readonly untilSeq: number }
  | { readonly outcome: 'clean'; readonly fromSeq: number; readonly seq: number }
  | { readonly outcome: 'fault'; readonly seq: number; readonly what: string };

/** What D1 has to know. */
export interface Outbox {
  /** Rows that it does not have yet. */
  readonly rows: readonly LogRow[];
  /** Newest row of the log. */
  readonly seq: number;
  /** Tasks that wait for a poll, the newest first; absent: an object of the release before. */
  readonly tasks?: readonly WaitingTask[];
}

/** Answer to a grant or top-up; a repeat gives the same. */
export type CreditAnswer =
  | { readonly outcome: 'credited'; readonly seq: number }
  /** The id was used for another amount or kind. */
  | { readonly outcome: 'id_conflict' }
  | { readonly outcome: 'too_many_blocks'; readonly blocksMax: number }
  | { readonly outcome: 'invalid'; readonly field: string };

/** What became of limits that were given to a ledger. */
export type ConfigureAnswer =
  | { readonly outcome: 'configured'; readonly version: number }
  /** A configuration with this or a higher version is in force. */
  | { readonly outcome: 'outdated'; readonly version: number }
  | { readonly outcome: 'invalid'; readonly field: string };

/** What an operator decides about a record whose outcome nobody saw. */
export type Resolution =
  /** It was executed: the hold is charged (its whole amount for `null`), the key stays used. */
  | { readonly kind: 'settle'; readonly chargeMicros: number | null }
  /** It was not: an open hold is released, the key may be used again. */
  | { readonly kind: 'free' };

/** What became of a {@link Resolution}; `chargedMicros` in micro-USD. */
export type ResolveAnswer =
  | { readonly outcome: 'resolved'; readonly chargedMicros: number }
  | { readonly outcome: 'unknown_record' }
  | { readonly outcome: 'not_unknown'; readonly state: RecordState }
  | { readonly outcome: 'invalid'; readonly field: string };
