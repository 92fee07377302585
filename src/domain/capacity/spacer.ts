/**
 * Spacer: the places in which the calls of one bucket are sent, one behind the other.
 * Promises: capacity one: two places are never closer than (window + jitter) / limit, so no window of the vendor's sees more than `limit`
 * sends; whoever comes too early gets a place in the future (tokens go negative); a place given back before its time is the next taker's.
 * Must never: sleep or read a clock. Owned by `slots.ts`.
 */
import { spacerJitterMs } from '../../base/limits-capacity';
import type { DeclaredRate } from './operations';

/** Between two places, milliseconds. A bucket of `limit` tokens would let `limit` go at once, which a sliding window refuses. */
export const spacingMs = ({ limit, windowMs }: DeclaredRate): number =>
  (windowMs + spacerJitterMs) / limit;

export class Spacer {
  /** The first place behind all that were taken, epoch milliseconds. */
  #nextAtMs = 0;
  /** Places before that which were given back, earliest first. */
  #free: number[] = [];

  /** How long the last place lies ahead, milliseconds. */
  queuedMs(nowMs: number): number {
    return Math.max(0, this.#nextAtMs - nowMs);
  }

  /** The place that the next taker would get; takes nothing. One whose time is over is nobody's: its taker would be too close to the next. */
  next(nowMs: number): number {
    return this.#free.find((atMs) => atMs >= nowMs) ?? Math.max(nowMs, this.#nextAtMs);
  }

  /** Takes the place that {@link next} gives. */
  take(nowMs: number, rate: DeclaredRate): void {
    const atMs = this.next(nowMs);
    this.#free = this.#free.filter((free) => free >= nowMs && free !== atMs);
    if (atMs >= this.#nextAtMs) this.#nextAtMs = atMs + spacingMs(rate);
  }

  /** A taken place is not used; to be said once. */
  giveBack(atMs: number): void {
    this.#free = [...this.#free, atMs].sort((a, b) => a - b);
  }
}
