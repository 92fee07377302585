/**
 * Ledger: the money of one ledger tenant, as the road (stages 06 and 09) and the control plane use
 * it. Promises: every operation carries an id made by its caller and gives its first answer when it
 * is repeated; an answer is on disk before it is given; a ledger that does not answer is
 * `ledger_unavailable`, one that has too much to do `ledger_busy`: both did nothing that a repeat
 * with the same ids would do twice, and neither is ever a yes. Implemented by `adapters/durable/`.
 * Amounts are micro-USD, times epoch milliseconds of the object's clock.
 */
import type { LedgerAddress } from '../domain/ledger/address';
import type { LedgerConfig } from '../domain/ledger/config';
import type { LedgerEntry } from '../domain/ledger/entries';
import type {
  Applied,
  Claim,
  EndAnswer,
  EndOp,
  LedgerBusy,
  PeekAnswer,
  PlaceAnswer,
  PlaceOp,
} from '../domain/ledger/operations';
import type {
  AuditStep,
  ConfigureAnswer,
  CreditAnswer,
  HoldView,
  LedgerView,
  Outbox,
  RecordView,
  Resolution,
  ResolveAnswer,
  Review,
} from '../domain/ledger/views';
import type { OpenTask, OpenTaskAnswer, TaskView } from '../domain/tasks/task';
import type { Background } from './config';

/** The object could not be reached, or failed: what it did is not known. */
export interface LedgerUnavailable {
  readonly outcome: 'ledger_unavailable';
  readonly retryAfterMs: number;
}

/** What every operation may give instead of its answer. */
export type FromLedger<T> = Promise<T | LedgerBusy | LedgerUnavailable>;

export type { LedgerAddress };

export interface Ledgers {
  of(address: LedgerAddress): Ledger;
}

export interface Ledger {
  /** All `ends` happen before all `places`; at most `ledgerBatchOpsMax` operations together. */
  apply(ends: readonly EndOp[], places: readonly PlaceOp[]): FromLedger<Applied>;
  /** What a claim would meet; nothing is claimed, held or counted. */
  peek(claim: Claim): FromLedger<PeekAnswer>;
  /** The hold of a submission stays open for its task; a repeat says the same. */
  openTask(task: OpenTask): FromLedger<OpenTaskAnswer>;
  /** The task of a vendor's id; `null`: it is not this ledger's. */
  task(provider: string, taskId: string): FromLedger<TaskView | null>;
  /** Tasks by their holds, a page behind `after`. */
  tasks(after: string | null): FromLedger<readonly TaskView[]>;
  /** New promotional or earned money; never booked twice under one id. */
  grant(id: string, kind: 'promotional' | 'earned', micros: number): FromLedger<CreditAnswer>;
  /** New purchased money; never booked twice under one id. */
  topUp(id: string, micros: number): FromLedger<CreditAnswer>;
  /** Replaces the limits; an older `version` changes nothing. */
  configure(config: LedgerConfig): FromLedger<ConfigureAnswer>;
  view(): FromLedger<LedgerView>;
  /** Open holds by id, a page behind `after`. */
  holds(after: string | null): FromLedger<readonly HoldView[]>;
  /** Entries of the next rows behind `afterSeq`; what the object has given to D1 is read there. */
  entries(afterSeq: number): FromLedger<readonly LedgerEntry[]>;
  /** Idempotency records by id, a page behind `after`. */
  records(after: string | null): FromLedger<readonly RecordView[]>;
  resolveRecord(id: string, resolution: Resolution): FromLedger<ResolveAnswer>;
  /** Expired holds by id, a page behind `after`. */
  reviews(after: string | null): FromLedger<readonly Review[]>;
  /** False: there was no open review of that hold. */
  closeReview(holdId: string): FromLedger<boolean>;
  /** Call again while it answers `more`. */
  audit(): FromLedger<AuditStep>;
  /** Rows for D1's copy, oldest first; then `acknowledge` the last one that is safe there. */
  outbox(limit: number): FromLedger<Outbox>;
  acknowledge(seq: number): FromLedger<void>;
}

/**
 * The road's view: one call's operations, sent together with those of other calls of this isolate.
 * Whoever calls must stay alive until its answer is there (`Background`, registered before): a hold
 * that is placed for somebody who is gone has its alarm as its only owner.
 */
export interface LedgerDesk {
  /**
   * Places a hold. When the answer is not known (`ledger_unavailable`), the desk itself sees to it
   * that the hold is released and its claim freed: the caller owes nothing and must not send.
   */
  place(address: LedgerAddress, op: PlaceOp, background: Background): FromLedger<PlaceAnswer>;
  /**
   * Ends or renews a hold, closes a record; sent with the next claim of the tenant or within
   * `ledgerFlushMs`. A release of a hold that was not sent yet takes it back.
   */
  end(address: LedgerAddress, op: EndOp, background: Background): void;
  /**
   * The same, with the answers: what is given back is on disk. When it is no answer, the operations
   * stay with the desk and are delivered as those of {@link end} are.
   */
  endNow(
    address: LedgerAddress,
    ops: readonly EndOp[],
    background: Background,
  ): FromLedger<readonly EndAnswer[]>;
}

/** Settlements that an object did not take, kept by somebody who outlives the isolate. */
export interface SettlementKeeper {
  /** Gives back what was not taken; never throws. */
  keep(address: LedgerAddress, ops: readonly EndOp[]): Promise<readonly EndOp[]>;
}

/** What one message of the queue `settlements` carries; the same ids again change nothing. */
export interface SettlementMessage {
  readonly version: 1;
  readonly address: LedgerAddress;
  readonly ops: readonly EndOp[];
}

/** Time as the desk needs it: a clock, and timers that belong to the request that starts them. */
export interface DeskTime {
  /** Epoch milliseconds. */
  nowMs(): number;
  /** Calls `act` once; gives back what cancels it. */
  start(ms: number, act: () => void): () => void;
}
