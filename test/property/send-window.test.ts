/** What a window of sends says, against a count of every stretch by hand. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spacerJitterMs } from '../../src/base/limits-capacity';
import { SendWindow } from '../../src/domain/capacity/window';

const stretchMs = 100;
const rateOf = (limit: number) => ({ limit, windowMs: stretchMs + 1 - spacerJitterMs });
const timesMs = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 20 });
const limits = fc.integer({ min: 1, max: 5 });

function booked(sends: readonly number[]): SendWindow {
  const window = new SendWindow();
  for (const atMs of sends) window.add(atMs);
  return window;
}

/** Whether no stretch that a send at `atMs` falls into would hold more than `limit` of them. */
function fits(sends: readonly number[], limit: number, atMs: number): boolean {
  const all = [...sends, atMs];
  return all
    .filter((startMs) => startMs <= atMs && atMs < startMs + stretchMs)
    .every((startMs) => {
      const within = all.filter((other) => other >= startMs && other < startMs + stretchMs);
      return within.length <= limit;
    });
}

describe('a window of sends', () => {
  it('has room for one exactly where no stretch around it is full, whatever order they were booked in', () => {
    fc.assert(
      fc.property(timesMs, limits, fc.integer({ min: 0, max: 400 }), (sends, limit, atMs) => {
        expect(booked(sends).hasRoom(rateOf(limit), atMs)).toBe(fits(sends, limit, atMs));
      }),
      { numRuns: 5_000 },
    );
  });

  it('has room at the time that it names', () => {
    fc.assert(
      fc.property(timesMs, limits, fc.integer({ min: 0, max: 400 }), (sends, limit, nowMs) => {
        const roomAtMs = booked(sends).roomAtMs(rateOf(limit), nowMs);
        expect(roomAtMs).toBeGreaterThanOrEqual(nowMs);
        expect(fits(sends, limit, roomAtMs)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('forgets only what can fill no stretch any more, and a send that is taken back only once', () => {
    fc.assert(
      fc.property(timesMs, limits, fc.nat({ max: 400 }), fc.nat(), (sends, limit, nowMs, pick) => {
        const window = booked(sends);
        window.prune(rateOf(limit), nowMs);
        const kept = sends.filter((atMs) => atMs >= nowMs - stretchMs);
        const taken = sends[pick % Math.max(1, sends.length)];
        if (taken !== undefined) window.remove(taken);
        const at = taken === undefined ? -1 : kept.indexOf(taken);
        const left = at < 0 ? kept : kept.toSpliced(at, 1);
        expect(window.count(1e9, 2e9)).toBe(left.length);
        for (let atMs = nowMs; atMs < nowMs + 2 * stretchMs; atMs += 7)
          expect(window.hasRoom(rateOf(limit), atMs)).toBe(fits(left, limit, atMs));
      }),
      { numRuns: 300 },
    );
  });
});
