/**
 * EventNeedles: can this event hold a reading? A look at its bytes, before anything is decoded.
 * Promises: an event in which a reading's last member name is spelled plainly is never missed; most
 * bytes are skipped. Must never: allocate per event. Names that vendors spell with escapes
 * (`"usag\u0065"`) are not seen; none does. Called by `sse-usage-tap.ts`. Search: Horspool's, for
 * several needles at a time.
 */
import { pathOf } from '../../base/json-path';
import type { Reading } from './meters';

const plainName = /^[A-Za-z0-9_.:$-]+$/;

export class EventNeedles {
  readonly #needles: readonly Uint8Array[];
  /** Length of the shortest needle: the window that is moved over the data. */
  readonly #window: number;
  /** How far the window can move, by its last byte; 0: a needle may be in it. */
  readonly #shifts: Uint8Array;
  /** A reading whose name cannot be looked for: every event has to be parsed. */
  readonly #isBlind: boolean;

  constructor(readings: readonly Reading[]) {
    const paths = readings.flatMap((reading) => reading.paths);
    const names = new Set(paths.map(lastName));
    this.#isBlind = [...names].some((name) => name === null || !plainName.test(name));
    const encoder = new TextEncoder();
    this.#needles = [...names].map((name) => encoder.encode(`"${name ?? ''}"`));
    this.#window = Math.min(255, ...this.#needles.map((needle) => needle.length));
    this.#shifts = shiftsOf(this.#needles, this.#window);
  }

  /** Whether a line of an event's data names a reading. */
  areIn(data: Uint8Array): boolean {
    if (this.#isBlind) return true;
    if (this.#needles.length === 0) return false;
    const shifts = this.#shifts;
    let last = this.#window - 1;
    while (last < data.length) {
      const shift = shifts[data[last] ?? 0] ?? 1;
      if (shift === 0 && this.#isAnyAt(data, last + 1 - this.#window)) return true;
      last += shift === 0 ? 1 : shift;
    }
    return false;
  }

  #isAnyAt(data: Uint8Array, at: number): boolean {
    for (const needle of this.#needles) if (isAt(data, at, needle)) return true;
    return false;
  }
}

/** For each byte: how far it stands before the end of the window in any needle, at least. */
function shiftsOf(needles: readonly Uint8Array[], window: number): Uint8Array {
  const shifts = new Uint8Array(256).fill(window);
  for (const needle of needles) {
    for (const [at, byte] of needle.subarray(0, window).entries()) {
      shifts[byte] = Math.min(shifts[byte] ?? window, window - 1 - at);
    }
  }
  return shifts;
}

function lastName(text: string): string | null {
  const step = pathOf(text).findLast(({ kind }) => kind === 'member');
  return step?.kind === 'member' ? step.name : null;
}

function isAt(data: Uint8Array, start: number, needle: Uint8Array): boolean {
  for (let i = 0; i < needle.length; i += 1) {
    if (data[start + i] !== needle[i]) return false;
  }
  return true;
}
