/**
 * Turn: what one object call does to the books, synchronously, before it is committed.
 * Promises: judge first, then change memory and note the entry; a refused place leaves no trace;
 * the second end of a hold is a no-op that says so. Must never: await. Made by `core.ts`, which
 * writes `ops` as one row and checks the invariant.
 */
import { assertNever } from '../../src/base/assert';
import { ledgerOpenHoldsMax, recordTenantBytesMax } from '../../src/base/limits-money';
import { judgeCaps } from '../../src/domain/ledger/caps';
import type { LogOp } from '../../src/domain/ledger/entries';
import {
  alreadyEnded,
  booksLate,
  type EndedHold,
  type Hold,
  lateSettledAnswer,
  placedAt,
  releasedAnswer,
  repeatedPlace,
  repeatedRelease,
  repeatedSettle,
  settledAnswer,
} from '../../src/domain/ledger/holds';
import {
  type Claim,
  type EndAnswer,
  type EndOp,
  endFault,
  isAgain,
  type KnownKey,
  type LedgerRefusal,
  type PeekAnswer,
  type PlaceAnswer,
  type PlaceOp,
  placeFault,
  type RecordedAnswer,
} from '../../src/domain/ledger/operations';
import { isOwned, judgeClaim } from '../../src/domain/ledger/records';
import type { LedgerState } from '../../src/domain/ledger/state';
import { applyOp } from '../../src/domain/ledger/transitions';
import { type OpenTask, type OpenTaskAnswer, openTaskFault } from '../../src/domain/tasks/task';
import type { EndedStore } from './ended-store';
import type { Journal } from './journal';
import type { RecordStore } from './record-store';
import type { ReviewStore } from './review-store';
import type { TaskStore } from './task-store';

/** Everything that a core holds in memory; dropped as a whole when a turn fails. */
export interface Memory {
  readonly state: LedgerState;
  readonly journal: Journal;
  readonly ended: EndedStore;
  readonly records: RecordStore;
  readonly reviews: ReviewStore;
  readonly tasks: TaskStore;
}

export class Turn {
  readonly nowMs: number;
  /** The entries of this turn, in order; memory has them already. */
  readonly ops: LogOp[] = [];
  readonly #memory: Memory;
  /** The answer to everything that is placed in this turn. */
  #placed: PlaceAnswer | null = null;

  constructor(memory: Memory, nowMs: number) {
    this.#memory = memory;
    this.nowMs = nowMs;
    memory.state.tally.roll(nowMs);
  }

  /** Changes the books. */
  do(op: LogOp): void {
    applyOp(this.#memory.state, op, this.nowMs);
    this.ops.push(op);
  }

  place(op: PlaceOp): PlaceAnswer {
    const field = placeFault(op);
    if (field !== null) return { outcome: 'invalid', field };
    const [, holdId, amountMicros, keyId, , tags, claim] = op;
    const known = this.#memory.state.open.get(holdId) ?? this.endedHold(holdId);
    if (known !== null) return repeatedPlace(known, amountMicros);
    const standing = claim === null ? null : this.#judgeClaim(claim);
    if (standing !== null) return standing;
    const refusal = this.#judgePlace(op);
    if (refusal !== null) return { outcome: 'refused', refusal };
    const recordId = claim === null ? null : claim[0];
    if (isAgain(op)) this.do(['place', holdId, amountMicros, keyId, tags, recordId, true]);
    else this.do(['place', holdId, amountMicros, keyId, tags, recordId]);
    if (claim !== null) this.#memory.records.claim(claim, holdId, this.nowMs);
    this.#placed ??= placedAt(this.nowMs);
    return this.#placed;
  }

  end(op: EndOp): EndAnswer {
    const field = endFault(op);
    if (field !== null) return { outcome: 'invalid', field };
    switch (op[0]) {
      case 'renew':
        return this.#renew(op[1]);
      case 'settle':
        return this.settle(op[1], op[2], op[3]);
      case 'release':
        return this.release(op[1], op[2]);
      case 'record':
        return this.#record(op[1], op[2]);
      case 'free':
        return this.#free(op[1]);
      case 'unknown':
        return this.#unknown(op[1]);
      default:
        return assertNever(op);
    }
  }

  settle(id: string, chargeMicros: number, completed: boolean): EndAnswer {
    const hold = this.#memory.state.open.get(id);
    if (hold !== undefined) {
      this.do(['settle', id, chargeMicros, hold.amountMicros]);
      this.#memory.tasks.close(id, 'settled', this.nowMs);
      return settledAnswer;
    }
    const ended = this.endedHold(id);
    if (ended === null) return { outcome: 'unknown_hold' };
    if (!booksLate(ended, completed)) return repeatedSettle(ended, chargeMicros, completed);
    const { amountMicros, ending, placedAtMs, tags } = ended;
    this.do(['late_settle', id, chargeMicros, amountMicros, ending, placedAtMs, tags]);
    if (ending === 'expired') this.#memory.reviews.close(id, 'late_settle', this.nowMs);
    this.#memory.tasks.settleLate(id, this.nowMs);
    return lateSettledAnswer;
  }

  release(id: string, reason: string): EndAnswer {
    const hold = this.#memory.state.open.get(id);
    if (hold !== undefined) {
      this.do(['release', id, hold.amountMicros, reason]);
      this.#memory.tasks.close(id, 'released', this.nowMs);
      return releasedAnswer;
    }
    const ended = this.endedHold(id);
    return ended === null ? { outcome: 'unknown_hold' } : repeatedRelease(ended);
  }

  /** The vendor works on: from here the hold belongs to its task, and is renewed until that has ended or is given up. */
  openTask(task: OpenTask): OpenTaskAnswer {
    const field = openTaskFault(task);
    if (field !== null) return { outcome: 'invalid', field };
    const { tasks, state } = this.#memory;
    const before = tasks.ofHold(task.holdId) ?? tasks.ofId(task.provider, task.taskId);
    if (before !== null) return { outcome: before.holdId === task.holdId ? 'opened' : 'known' };
    const hold = state.open.get(task.holdId);
    if (hold === undefined) return { outcome: 'not_open' };
    tasks.open(task, hold.amountMicros, this.nowMs);
    this.#renew(hold.id);
    return { outcome: 'opened' };
  }

  /**
   * The owner is silent: released in the caller's favour, and listed for an operator. A record that
   * was claimed with it had the same lease and is unknown by now. A task that runs is an owner: its hold lives on until the deadline.
   */
  expire(hold: Hold): void {
    const { tasks } = this.#memory;
    if (tasks.isRunning(hold.id, this.nowMs)) {
      this.#renew(hold.id);
      return;
    }
    this.do(['expire', hold.id, hold.amountMicros]);
    tasks.close(hold.id, 'timed_out', this.nowMs);
    this.#memory.reviews.open(hold.id, hold.amountMicros, this.nowMs);
  }

  /** What is remembered of a hold that is not open. */
  endedHold(id: string): EndedHold | null {
    return this.#memory.state.ended.get(id) ?? this.#memory.ended.find(id);
  }

  /** After a start: the owners could not renew while the object was away. */
  grace(): void {
    const { state, records } = this.#memory;
    const graced = [...state.open.values()].filter((hold) => !hold.graced);
    if (graced.length === 0) return;
    this.do(['grace']);
    for (const hold of graced) {
      if (hold.recordId !== null) records.prolong(hold.recordId, hold.leaseUntilMs, this.nowMs);
    }
  }

  #renew(id: string): EndAnswer {
    const hold = this.#memory.state.open.get(id);
    if (hold === undefined) {
      const ended = this.endedHold(id);
      return ended === null ? { outcome: 'unknown_hold' } : alreadyEnded(ended);
    }
    this.do(['renew', id]);
    const { leaseUntilMs, recordId } = hold;
    if (recordId !== null) this.#memory.records.prolong(recordId, leaseUntilMs, this.nowMs);
    return { outcome: 'renewed', leaseUntilMs };
  }

  /** The answer to a claim whose key is not fresh; `null` when it is. */
  #judgeClaim([recordId, scope, key, fingerprint]: Claim): KnownKey | null {
    const { records } = this.#memory;
    const row = records.ofKey(scope, key, this.nowMs);
    if (row === null) {
      return records.ofId(recordId, this.nowMs) === null ? null : { outcome: 'id_conflict' };
    }
    const verdict = judgeClaim(row, fingerprint);
    switch (verdict) {
      case 'replay':
        return { outcome: 'replay', answer: records.answerOf(row.id) };
      case 'outcome_unknown':
        return { outcome: verdict, recordId: row.id, resolved: row.state === 'resolved' };
      case 'mismatch':
      case 'in_progress':
        return { outcome: verdict };
      default:
        return assertNever(verdict);
    }
  }

  /** What a claim would meet; nothing is claimed. */
  peek(claim: Claim): PeekAnswer {
    const field = placeFault(['place', claim[0], 0, claim[0], null, null, claim]);
    if (field !== null) return { outcome: 'invalid', field };
    return this.#judgeClaim(claim) ?? { outcome: 'fresh' };
  }

  #judgePlace(op: PlaceOp): LedgerRefusal | null {
    const { state, records } = this.#memory;
    if (op[6] !== null && !records.hasRoom()) {
      return { code: 'record_quota', bytesMax: recordTenantBytesMax };
    }
    const refusal = judgeCaps(state, op);
    if (refusal !== null) return refusal;
    if (state.open.size < ledgerOpenHoldsMax) return null;
    return { code: 'open_holds_max', holdsMax: ledgerOpenHoldsMax };
  }

  #record(id: string, answer: RecordedAnswer): EndAnswer {
    const { records } = this.#memory;
    const row = records.ofId(id, this.nowMs);
    if (row === null) return { outcome: 'unknown_record' };
    if (isOwned(row)) records.record(row, answer);
    else if (row.state !== 'recorded') return { outcome: 'record_closed', state: row.state };
    return { outcome: 'recorded' };
  }

  /** A record that is gone is free: the repeat of a `free` says the same. */
  #free(id: string): EndAnswer {
    const row = this.#memory.records.ofId(id, this.nowMs);
    if (row !== null && !isOwned(row)) return { outcome: 'record_closed', state: row.state };
    if (row !== null) this.#memory.records.remove(row);
    return { outcome: 'freed' };
  }

  #unknown(id: string): EndAnswer {
    const { records } = this.#memory;
    const row = records.ofId(id, this.nowMs);
    if (row === null) return { outcome: 'unknown_record' };
    if (!isOwned(row)) return { outcome: 'record_closed', state: row.state };
    if (row.state === 'claimed') records.mark(row, 'unknown');
    return { outcome: 'marked_unknown' };
  }
}
