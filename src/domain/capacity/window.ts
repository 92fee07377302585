/**
 * Window: the sends of one bucket that a vendor's sliding window may still count, over all isolates.
 * Promises: a send that `hasRoom` allows makes no stretch of `windowMs` hold more than `limit` of them, whatever was booked before or
 * behind it. Must never: read a clock. Owned by `slots.ts`.
 */
import { rateLimitMax, spacerJitterMs } from '../../base/limits-capacity';
import type { DeclaredRate } from './operations';

/**
 * What counts as one window, milliseconds: journeys to the vendor differ by the jitter. The millisecond is for fractions, so that places
 * of a spacer always fit.
 */
const stretchMs = ({ windowMs }: DeclaredRate): number => windowMs + spacerJitterMs - 1;

export class SendWindow {
  /** Times of the sends, earliest first, epoch milliseconds; some lie ahead. */
  #sends: number[] = [];

  /** How many there were in the `windowMs` before. */
  count(nowMs: number, windowMs: number): number {
    return this.#sends.filter((atMs) => atMs <= nowMs && atMs > nowMs - windowMs).length;
  }

  /** Whether one more send at `atMs` fits. */
  hasRoom(rate: DeclaredRate, atMs: number): boolean {
    const { limit } = rate;
    const sends = this.#sends.toSpliced(this.#behind(atMs), 0, atMs);
    const at = this.#behind(atMs);
    for (let i = Math.max(0, at - limit); i <= at; i += 1) {
      const [first, last] = [sends[i], sends[i + limit]];
      if (first !== undefined && last !== undefined && last - first < stretchMs(rate)) return false;
    }
    return true;
  }

  /** When there is surely room again, epoch milliseconds. */
  roomAtMs(rate: DeclaredRate, nowMs: number): number {
    const first = this.#sends[this.#sends.length - rate.limit];
    return first === undefined ? nowMs : Math.max(nowMs, first + stretchMs(rate));
  }

  /** The sends before a restart, earliest first. */
  restore(sends: readonly number[]): void {
    this.#sends = [...sends];
  }

  /** Books a send. */
  add(atMs: number): void {
    this.#sends.splice(this.#behind(atMs), 0, atMs);
    if (this.#sends.length > 2 * rateLimitMax) this.#sends.shift();
  }

  /** A send that did not happen. */
  remove(atMs: number): void {
    const at = this.#sends.indexOf(atMs);
    if (at >= 0) this.#sends.splice(at, 1);
  }

  /** Forgets what no window counts any more. */
  prune(rate: DeclaredRate, nowMs: number): void {
    const first = this.#sends.findIndex((atMs) => atMs >= nowMs - stretchMs(rate));
    this.#sends = first < 0 ? [] : this.#sends.slice(first);
  }

  /** Where a send at `atMs` belongs: behind those of the same time. */
  #behind(atMs: number): number {
    const later = this.#sends.findLastIndex((other) => other <= atMs);
    return later + 1;
  }
}
