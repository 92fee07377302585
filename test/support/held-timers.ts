/** Timers that end when a test says so, and no earlier. Called by the tests of what is bounded in time. */
import type { DeskTime } from '../../src/ports/ledger';

/** A timer that runs. */
export interface HeldTimer {
  readonly ms: number;
  readonly act: () => void;
}

/** A time that stands still, and the timers that were started on it and not cancelled. */
export function heldTimers(): { readonly time: DeskTime; readonly timers: readonly HeldTimer[] } {
  const timers: HeldTimer[] = [];
  const start: DeskTime['start'] = (ms, act) => {
    const timer = { ms, act };
    timers.push(timer);
    return () => void timers.splice(timers.indexOf(timer), 1);
  };
  return { time: { nowMs: () => 0, start }, timers };
}
