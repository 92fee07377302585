/**
 * A clock that moves by `pass` or by `runNext`, which end the timers that are due, in order, and let everything go on that can.
 * Called by unit tests and simulations of what waits.
 */

/** Lets everything that can go on go on. */
export const settled = async (): Promise<void> => {
  for (let i = 0; i < 25; i += 1) await Promise.resolve();
};

interface Timer {
  readonly dueMs: number;
  readonly act: () => void;
}

export class VirtualClock {
  #nowMs: number;
  /** Earliest first; those of one time in the order in which they were started. */
  #timers: Timer[] = [];

  constructor(nowMs = Date.UTC(2031, 0, 1)) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Calls `act` once in `ms` milliseconds; gives back what cancels it. */
  start(ms: number, act: () => void): () => void {
    const timer = { dueMs: this.#nowMs + ms, act };
    let at = this.#timers.length;
    while (at > 0 && (this.#timers[at - 1]?.dueMs ?? 0) > timer.dueMs) at -= 1;
    this.#timers.splice(at, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  /** A wait. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.start(ms, resolve);
    await promise;
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    while (await this.#runNext(untilMs));
    this.#nowMs = untilMs;
  }

  async #runNext(untilMs: number): Promise<boolean> {
    const next = this.#timers[0];
    if (next === undefined || next.dueMs > untilMs) return false;
    this.#nowMs = next.dueMs;
    this.#timers.shift();
    next.act();
    await settled();
    return true;
  }
}
