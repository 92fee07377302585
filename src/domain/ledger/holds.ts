/**
 * Holds: reserved money, its lease and its ends. An open hold ends exactly once (settled, released
 * or expired); one completed settlement may be booked on top after an expiry or a release.
 * Promises: the answers to repeats, from what is remembered of an ended hold. Pure. Called by
 * `transitions.ts` and the object's `turn.ts`.
 */
import { ledgerLeaseMs } from '../../base/limits-money';
import type { Slice } from './blocks';
import type { EndAnswer, Ending, PlaceAnswer, Tags } from './operations';

/** An open hold. */
export interface Hold {
  readonly id: string;
  readonly amountMicros: number;
  readonly placedAtMs: number;
  readonly keyId: string;
  readonly tags: Tags | null;
  /** The idempotency record that was claimed with it. */
  readonly recordId: string | null;
  readonly slices: readonly Slice[];
  leaseUntilMs: number;
  /** Had its fresh lease after a restart and was not renewed since: it gets no other one. */
  graced: boolean;
}

/** What is remembered of a hold that ended. */
export interface EndedHold {
  readonly amountMicros: number;
  readonly placedAtMs: number;
  readonly tags: Tags | null;
  readonly ending: Ending;
  readonly chargeMicros: number;
  /** The charge of its late settlement. */
  readonly lateMicros: number | null;
}

/** Answer to a `place` whose id is known: the first one, or a conflict. */
export function repeatedPlace(
  known: { readonly amountMicros: number; readonly placedAtMs: number },
  amountMicros: number,
): PlaceAnswer {
  if (known.amountMicros !== amountMicros) return { outcome: 'id_conflict' };
  return placedAt(known.placedAtMs);
}

/** Answer to an accepted `place`. */
export const placedAt = (placedAtMs: number): PlaceAnswer => ({
  outcome: 'placed',
  leaseUntilMs: placedAtMs + ledgerLeaseMs,
});

/** Answers that are alike are one object: cloned for the isolate, it is written once. */
export const settledAnswer: EndAnswer = { outcome: 'settled' };
export const lateSettledAnswer: EndAnswer = { outcome: 'late_settled' };
export const releasedAnswer: EndAnswer = { outcome: 'released' };

/** Whether a settlement of an ended hold is the late one that still books. */
export const booksLate = (ended: EndedHold, completed: boolean): boolean =>
  completed && ended.ending !== 'settled' && ended.lateMicros === null;

/** Answer to a settlement of an ended hold that books nothing. */
export function repeatedSettle(
  ended: EndedHold,
  chargeMicros: number,
  completed: boolean,
): EndAnswer {
  if (ended.ending === 'settled' && ended.chargeMicros === chargeMicros) {
    return settledAnswer;
  }
  if (completed && ended.lateMicros === chargeMicros) {
    return lateSettledAnswer;
  }
  return alreadyEnded(ended);
}

/** Answer to a release of an ended hold. */
export const repeatedRelease = (ended: EndedHold): EndAnswer =>
  ended.ending === 'released' ? releasedAnswer : alreadyEnded(ended);

/** "The second one is a no-op that says so." */
export const alreadyEnded = ({ ending, chargeMicros, lateMicros }: EndedHold): EndAnswer => ({
  outcome: 'already_ended',
  ending,
  chargeMicros,
  lateMicros,
});
