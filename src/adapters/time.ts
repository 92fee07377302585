/**
 * Time of the platform, and work that may take only so much of it. Called by the adapters.
 */
import type { DeskTime } from '../ports/ledger';

/** Time of the platform. */
export const platformTime: DeskTime = {
  nowMs: () => Date.now(),
  start: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** How long work may take, what stands for its answer then, and what it hears of it. */
export interface Deadline<T> {
  readonly time: DeskTime;
  readonly ms: number;
  readonly late: T;
  readonly abort?: AbortController;
}

/** What `work` gives, or `late` when it takes longer than `ms`; `work` must not reject. */
export function orLate<T>(work: Promise<T>, { time, ms, late, abort }: Deadline<T>): Promise<T> {
  return new Promise((resolve) => {
    const cancel = time.start(ms, () => {
      resolve(late);
      abort?.abort();
    });
    void work.then((value) => {
      cancel();
      resolve(value);
    });
  });
}
