/**
 * Ledger state: whatever happens in whatever order, no money appears or vanishes, a state is what
 * its snapshot says, and a replay of its entries gives it again.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeOps, encodeOps, type LogOp } from '../../src/domain/ledger/entries';
import { LedgerState, restoreSnapshot, takeSnapshot } from '../../src/domain/ledger/state';
import { applyOp } from '../../src/domain/ledger/transitions';

/** Amounts up to where a sum of 60 of them is still safe. */
const micros = fc.oneof(fc.nat(20), fc.nat(1_000_000_000_000));
const wish = fc.record({
  what: fc.constantFrom('grant', 'top_up', 'place', 'settle', 'release', 'expire', 'late', 'renew'),
  micros,
  pick: fc.nat(),
  kind: fc.constantFrom('promotional' as const, 'earned' as const),
  waitMs: fc.constantFrom(0, 1, 60_000, 40_000_000),
});
type Wish = typeof wish extends fc.Arbitrary<infer T> ? T : never;

/** The entry that a wish becomes on these books; `null` when it fits nothing. */
function entryOf(state: LedgerState, { what, micros, pick, kind }: Wish, id: string): LogOp | null {
  if (what === 'grant') return ['grant', id, micros + 1, kind];
  if (what === 'top_up') return ['top_up', id, micros + 1];
  if (what === 'place') {
    const fits = state.availableMicros >= 0 ? micros % (state.availableMicros + 1) : null;
    if (fits === null) return null;
    return pick % 4 === 0
      ? ['place', id, fits, 'key_1', null, null, true]
      : ['place', id, fits, 'key_1', null, null];
  }
  const open = [...state.open.values()];
  const hold = open[pick % Math.max(1, open.length)];
  if (what === 'late') return ['late_settle', `${id}_old`, micros, 1, 'released', 0, null];
  if (hold === undefined) return null;
  if (what === 'settle') return ['settle', hold.id, micros, hold.amountMicros];
  if (what === 'release') return ['release', hold.id, hold.amountMicros, ''];
  return what === 'expire' ? ['expire', hold.id, hold.amountMicros] : ['renew', hold.id];
}

/** Carries the wishes out; gives the state and what was done when. */
function carriedOut(wishes: readonly Wish[]): { state: LedgerState; done: [LogOp, number][] } {
  const state = new LedgerState();
  const done: [LogOp, number][] = [];
  let nowMs = 0;
  for (const [number, next] of wishes.entries()) {
    nowMs += next.waitMs;
    const op = entryOf(state, next, `id_${number}`);
    if (op === null) continue;
    applyOp(state, op, nowMs);
    done.push([op, nowMs]);
    state.assertBalanced();
    state.assertHeld();
  }
  return { state, done };
}

const wishes = fc.array(wish, { maxLength: 60 });

describe('LedgerState', () => {
  it('conserves money in every state, at any size of amounts', () => {
    fc.assert(
      fc.property(wishes, (list) => {
        const { state, done } = carriedOut(list);
        const sum = (...kinds: string[]): number =>
          done.reduce((all, [op]) => all + (kinds.includes(op[0]) ? Number(op[2]) : 0), 0);
        const paidIn = sum('grant', 'top_up');
        expect(state.availableMicros).toBe(
          paidIn - state.heldMicros - sum('settle', 'late_settle'),
        );
      }),
    );
  });

  it('is what its snapshot says', () => {
    fc.assert(
      fc.property(wishes, (list) => {
        const { state } = carriedOut(list);
        const text = JSON.stringify(takeSnapshot(state));
        expect(JSON.stringify(takeSnapshot(restoreSnapshot(text)))).toBe(text);
      }),
    );
  });

  it('is what its entries say, from any snapshot on', () => {
    fc.assert(
      fc.property(wishes, fc.nat(), (list, pick) => {
        const { state, done } = carriedOut(list);
        let again = new LedgerState();
        const from = pick % (done.length + 1);
        for (const [number, [op, atMs]] of done.entries()) {
          if (number === from) again = restoreSnapshot(JSON.stringify(takeSnapshot(again)));
          for (const read of decodeOps(encodeOps([op]))) applyOp(again, read, atMs);
        }
        expect(takeSnapshot(again)).toEqual(takeSnapshot(state));
      }),
    );
  });

  it('reads of a row what was written to it, whatever stands between two holds of one key', () => {
    const id = fc.string({ maxLength: 6 });
    const amount = fc.maxSafeNat();
    const key = fc.constantFrom('key_a', 'key_b');
    const none = fc.constant(null);
    const tags = fc.option(fc.array(id, { maxLength: 4 }));
    const isPlace = fc.constant('place' as const);
    const op: fc.Arbitrary<LogOp> = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(isPlace, id, amount, key, none, none) },
      fc.tuple(isPlace, id, amount, key, none, none, fc.constant(true as const)),
      fc.tuple(isPlace, id, amount, key, tags, fc.option(id)),
      fc.tuple(fc.constant('settle' as const), id, amount, amount),
      fc.tuple(fc.constant('release' as const), id, amount, id),
      fc.tuple(fc.constant('top_up' as const), id, amount),
      fc.tuple(fc.constant('renew' as const), id),
      fc.constant<LogOp>(['grace']),
    );
    fc.assert(
      fc.property(fc.array(op), (ops) => {
        expect(decodeOps(encodeOps(ops))).toEqual(ops);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps open holds in the order in which their leases end', () => {
    fc.assert(
      fc.property(wishes, (list) => {
        const leases = [...carriedOut(list).state.open.values()].map((hold) => hold.leaseUntilMs);
        expect(leases).toEqual([...leases].sort((a, b) => a - b));
      }),
    );
  });
});
