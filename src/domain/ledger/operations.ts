/**
 * Operations and answers of the ledger, as they travel between isolate and object.
 * Promises: ids are made by the caller; repeating an operation gives its first answer. Operations
 * are tuples on purpose: cloning 40 objects costs 190 us of an object call, 40 tuples 100 us.
 * Must never: carry a secret or a text for people. Read by stages 06 and 09, the control plane and
 * `durable-objects/org-ledger.ts`.
 */
import {
  ledgerAmountMicrosMax,
  ledgerIdCharsMax,
  ledgerReasonCharsMax,
  ledgerTagCharsMax,
  ledgerTagPairsMax,
  recordAnswerBytesMax,
  recordHeaderCharsMax,
  recordInlineBodyBytesMax,
  recordKeyCharsMax,
  recordScopeCharsMax,
} from '../../base/limits-money';

/** Dimension and value, one after the other: `['team', 'a', 'env', 'prod']`. */
export type Tags = readonly string[];

/** An idempotency claim that is made together with a hold. `fingerprint` covers the request. */
export type Claim = readonly [recordId: string, scope: string, key: string, fingerprint: string];

/**
 * Reserves `amountMicros` before a send. `keyId` is whose calls are counted, `callCap` that key's
 * calls per UTC day (`null`: no cap). `isAgain`: the call was counted by an earlier hold.
 */
export type PlaceOp = readonly [
  op: 'place',
  holdId: string,
  amountMicros: number,
  keyId: string,
  callCap: number | null,
  tags: Tags | null,
  claim: Claim | null,
  isAgain?: true,
];

/** An answer that a later call with the same key gets. Exactly one of `body` and `bodyRef`. */
export interface RecordedAnswer {
  readonly status: number;
  /** Name and value, one after the other. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | null;
  /** Where a body beyond `recordInlineBodyBytesMax` is. */
  readonly bodyRef: string | null;
  readonly bodyBytes: number;
  /** `null`: it submitted a task, whose cost was not known yet. */
  readonly costMicros: number | null;
}

/**
 * What ends or prolongs. `completed`: the charge was seen on a finished call; only such a
 * settlement books after an expiry or a release. `free`: nothing was executed, the key may be used
 * again. `unknown`: sent, and nobody saw the outcome.
 */
export type EndOp =
  | readonly [op: 'renew', holdId: string]
  | readonly [op: 'settle', holdId: string, chargeMicros: number, completed: boolean]
  | readonly [op: 'release', holdId: string, reason: string]
  | readonly [op: 'record', recordId: string, answer: RecordedAnswer]
  | readonly [op: 'free', recordId: string]
  | readonly [op: 'unknown', recordId: string];

/** Why a hold was not placed. Nothing was spent, counted or claimed. Times: epoch milliseconds. */
export type LedgerRefusal =
  | {
      readonly code: 'insufficient_balance';
      readonly availableMicros: number;
      readonly requiredMicros: number;
    }
  | { readonly code: 'daily_cap'; readonly capMicros: number; readonly resetsAtMs: number }
  | { readonly code: 'key_call_cap'; readonly cap: number; readonly resetsAtMs: number }
  | { readonly code: 'tag_blocked'; readonly dimension: string; readonly value: string }
  | {
      readonly code: 'tag_spend_cap' | 'tag_call_cap';
      readonly dimension: string;
      readonly value: string;
      /** `null`: the budget is for all time. */
      readonly resetsAtMs: number | null;
    }
  /** More values of a dimension are in use than are counted (`ledgerBudgetValuesMax`). */
  | { readonly code: 'tag_budget_unavailable'; readonly dimension: string }
  | { readonly code: 'record_quota'; readonly bytesMax: number }
  | { readonly code: 'open_holds_max'; readonly holdsMax: number };

/** An operation that breaks the contract of this file: a bug of the isolate, answered alone. */
export interface InvalidOperation {
  readonly outcome: 'invalid';
  readonly field: string;
}

/**
 * Answer to a `place`. With a claim, `placed` means that the key is fresh and now claimed; every
 * other outcome placed nothing. A refused place leaves no trace: repeated, it is judged anew.
 */
export type PlaceAnswer =
  | { readonly outcome: 'placed'; readonly leaseUntilMs: number }
  | { readonly outcome: 'refused'; readonly refusal: LedgerRefusal }
  /** The hold id was used before for another amount. */
  | { readonly outcome: 'id_conflict' }
  | { readonly outcome: 'replay'; readonly answer: RecordedAnswer }
  | { readonly outcome: 'mismatch' }
  | { readonly outcome: 'in_progress' }
  | { readonly outcome: 'outcome_unknown'; readonly recordId: string; readonly resolved: boolean }
  | InvalidOperation;

/** What a key meets that is not fresh. */
export type KnownKey = Extract<
  PlaceAnswer,
  { outcome: 'replay' | 'mismatch' | 'in_progress' | 'outcome_unknown' | 'id_conflict' }
>;

/** Answer to a look at a key that claims nothing. */
export type PeekAnswer = KnownKey | InvalidOperation | { readonly outcome: 'fresh' };

/** How a hold ended; a late settlement comes on top (`lateMicros`). */
export type Ending = 'settled' | 'released' | 'expired';

/** State of an idempotency record; a freed one is gone. */
export type RecordState = 'claimed' | 'recorded' | 'unknown' | 'resolved';

/** Answer to an {@link EndOp}. `already_ended` and `record_closed` changed nothing. */
export type EndAnswer =
  | { readonly outcome: 'renewed'; readonly leaseUntilMs: number }
  /** Booked with exactly this charge; another charge for a settled hold is `already_ended`. */
  | { readonly outcome: 'settled' }
  | { readonly outcome: 'late_settled' }
  | { readonly outcome: 'released' }
  | {
      readonly outcome: 'already_ended';
      readonly ending: Ending;
      readonly chargeMicros: number;
      readonly lateMicros: number | null;
    }
  /** Never placed, or ended longer than `ledgerRepeatMs` ago. */
  | { readonly outcome: 'unknown_hold' }
  | { readonly outcome: 'recorded' }
  | { readonly outcome: 'freed' }
  | { readonly outcome: 'marked_unknown' }
  | { readonly outcome: 'record_closed'; readonly state: RecordState }
  | { readonly outcome: 'unknown_record' }
  | InvalidOperation;

/** Answers of one batch, each list in the order of its operations. */
export interface Applied {
  readonly outcome: 'applied';
  readonly ends: readonly EndAnswer[];
  readonly places: readonly PlaceAnswer[];
}

/** The object has too much unfinished work: nothing was done; the same batch may be sent again. */
export interface LedgerBusy {
  readonly outcome: 'ledger_busy';
  readonly retryAfterMs: number;
}

/** Whether a number is an amount of micro-USD that one operation may carry. */
export const isAmount = (micros: number): boolean =>
  Number.isSafeInteger(micros) && micros >= 0 && micros <= ledgerAmountMicrosMax;

/** Whether a text is an id as callers make them. */
export const isLedgerId = (text: string): boolean =>
  text.length > 0 && text.length <= ledgerIdCharsMax;

/** Whether the call was counted by an earlier hold. The length is asked first: a look behind the end of a list costs more. */
export const isAgain = (op: PlaceOp): boolean => op.length > 7 && op[7] === true;

/** The field of a `place` that breaks the contract; `null` when none does. */
export function placeFault(op: PlaceOp): string | null {
  const [, holdId, amountMicros, keyId, callCap, tags, claim] = op;
  if (!isLedgerId(holdId)) return 'holdId';
  if (!isAmount(amountMicros)) return 'amountMicros';
  if (!isLedgerId(keyId)) return 'keyId';
  if (callCap !== null && !(Number.isSafeInteger(callCap) && callCap >= 0)) return 'callCap';
  if (tags !== null && !areTags(tags)) return 'tags';
  if (op.length > 7 && op[7] !== true) return 'isAgain';
  return claim === null || isClaim(claim) ? null : 'claim';
}

function areTags(tags: Tags): boolean {
  if (tags.length % 2 !== 0 || tags.length > 2 * ledgerTagPairsMax) return false;
  if (tags.some((text) => text.length === 0 || text.length > ledgerTagCharsMax)) return false;
  const dimensions = tags.filter((_, index) => index % 2 === 0);
  return new Set(dimensions).size === dimensions.length;
}

function isClaim([recordId, scope, key, fingerprint]: Claim): boolean {
  if (!isLedgerId(recordId) || scope.length > recordScopeCharsMax) return false;
  return key.length > 0 && key.length <= recordKeyCharsMax && fingerprint.length <= 128;
}

/** The field of an {@link EndOp} that breaks the contract; `null` when none does. */
export function endFault(op: EndOp): string | null {
  if (!isLedgerId(op[1])) return 'id';
  if (op[0] === 'settle' && !isAmount(op[2])) return 'chargeMicros';
  if (op[0] === 'release' && op[2].length > ledgerReasonCharsMax) return 'reason';
  return op[0] === 'record' ? answerFault(op[2]) : null;
}

function answerFault(answer: RecordedAnswer): string | null {
  if (answer.costMicros !== null && !isAmount(answer.costMicros)) return 'costMicros';
  if ((answer.body === null) === (answer.bodyRef === null)) return 'body';
  if (answer.bodyBytes > recordAnswerBytesMax) return 'bodyBytes';
  if (answer.body !== null && answer.body.byteLength !== answer.bodyBytes) return 'bodyBytes';
  if (answer.body !== null && answer.bodyBytes > recordInlineBodyBytesMax) return 'body';
  const paired = answer.headers.length % 2 === 0;
  return paired && headerChars(answer) <= recordHeaderCharsMax ? null : 'headers';
}

/** Characters of all header names and values of an answer. */
export const headerChars = (answer: RecordedAnswer): number =>
  answer.headers.reduce((sum, text) => sum + text.length, 0);
