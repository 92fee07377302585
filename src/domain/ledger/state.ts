/**
 * State: the books of one tenant in memory, and their snapshot.
 * Promises: granted + topped up = available + open holds + settled, whatever happened; open holds
 * stand in the order in which their leases end. Must never: change except through
 * `transitions.ts`. Pure. Held by the object's `core.ts`.
 */
import { assert } from '../../base/assert';
import { type Block, Purse } from './blocks';
import { type LedgerConfig, noLimits } from './config';
import { EndedHolds } from './ended-holds';
import type { Hold } from './holds';
import { IdMap } from './id-map';
import { type Counter, Tally } from './tally';

export class LedgerState {
  /** Row of the log and time of the object's clock that the books stand at. */
  seq = 0;
  atMs = 0;
  grantedMicros = 0;
  toppedUpMicros = 0;
  settledMicros = 0;
  heldMicros = 0;
  purse = new Purse();
  config: LedgerConfig = noLimits;
  tally = new Tally();
  open = new IdMap<Hold>();
  /** Holds that ended after the last snapshot; older ones are on disk only. */
  ended = new EndedHolds();

  get availableMicros(): number {
    return this.purse.availableMicros;
  }

  /** Throws unless no money appeared or vanished. Called in every turn that changed something. */
  assertBalanced(): void {
    const { purse, grantedMicros, toppedUpMicros, heldMicros, settledMicros } = this;
    const paidIn = grantedMicros + toppedUpMicros;
    assert(Number.isSafeInteger(paidIn) && Number.isSafeInteger(settledMicros), 'unsafe amount');
    assert(heldMicros >= 0 && purse.debtMicros >= 0, 'an amount is negative');
    assert(
      paidIn === purse.availableMicros + heldMicros + settledMicros,
      'granted + topped up differs from available + held + settled',
    );
    assert(purse.countedMicros() === purse.availableMicros, 'the blocks differ from available');
    assert(purse.debtMicros === 0 || purse.availableMicros < 0, 'debt beside money');
  }

  /** The open holds and their slices, added up; too slow for every turn. */
  assertHeld(): void {
    let held = 0;
    for (const hold of this.open.values()) {
      held += hold.amountMicros;
      const taken = hold.slices.reduce((sum, slice) => sum + slice.micros, 0);
      assert(taken === hold.amountMicros, 'a hold differs from what it took');
    }
    assert(held === this.heldMicros, 'the open holds differ from held');
  }
}

/** A state as JSON. Blocks are named by their place in the list. */
export interface Snapshot {
  readonly version: 1;
  readonly seq: number;
  readonly atMs: number;
  /** granted, topped up, settled, held, debt, available. */
  readonly micros: readonly [number, number, number, number, number, number];
  readonly blocks: readonly Block[];
  readonly config: LedgerConfig;
  readonly day: number;
  readonly settledTodayMicros: number;
  readonly callsToday: readonly (readonly [string, number])[];
  readonly counters: readonly (readonly (readonly [string, Counter])[])[];
  readonly holds: readonly HoldSnapshot[];
}

type HoldSnapshot = Omit<Hold, 'slices'> & {
  /** Place of a block, then micro-USD taken from it; repeated. */
  readonly slices: readonly number[];
};

/** Everything but the ended holds, which are written to their own table at the same time. */
export function takeSnapshot(state: LedgerState): Snapshot {
  const { purse, tally } = state;
  const places = new Map(purse.blocks.map((block, place) => [block, place]));
  return {
    version: 1,
    seq: state.seq,
    atMs: state.atMs,
    micros: [
      state.grantedMicros,
      state.toppedUpMicros,
      state.settledMicros,
      state.heldMicros,
      purse.debtMicros,
      purse.availableMicros,
    ],
    blocks: purse.blocks,
    config: state.config,
    day: tally.day,
    settledTodayMicros: tally.settledTodayMicros,
    callsToday: [...tally.callsToday],
    counters: tally.budgets.map(({ values }) => [...values]),
    holds: [...state.open.values()].map((hold) => ({
      ...hold,
      slices: hold.slices.flatMap(({ block, micros }) => [places.get(block) ?? -1, micros]),
    })),
  };
}

/** The state that a snapshot was taken of. */
export function restoreSnapshot(text: string): LedgerState {
  const snapshot = parseSnapshot(text);
  const state = new LedgerState();
  const { purse, tally } = state;
  state.seq = snapshot.seq;
  state.atMs = snapshot.atMs;
  [state.grantedMicros, state.toppedUpMicros, state.settledMicros, state.heldMicros] =
    snapshot.micros;
  [, , , , purse.debtMicros, purse.availableMicros] = snapshot.micros;
  purse.blocks = snapshot.blocks.map((block) => ({ ...block }));
  state.config = snapshot.config;
  tally.day = snapshot.day;
  tally.settledTodayMicros = snapshot.settledTodayMicros;
  tally.callsToday = new IdMap(snapshot.callsToday);
  tally.budgets = snapshot.config.budgets.map((budget, index) => ({
    budget,
    values: new Map(snapshot.counters[index]),
  }));
  for (const hold of snapshot.holds) {
    state.open.set(hold.id, { ...hold, slices: restoreSlices(purse.blocks, hold.slices) });
  }
  state.assertBalanced();
  state.assertHeld();
  return state;
}

function restoreSlices(blocks: readonly Block[], flat: readonly number[]): Hold['slices'] {
  return flat.flatMap((place, index) => {
    if (index % 2 !== 0) return [];
    const block = blocks[place];
    assert(block !== undefined, 'a snapshot names a block that it does not have');
    return [{ block, micros: flat[index + 1] ?? 0 }];
  });
}

/** Reads what we wrote ourselves; another version is a broken promise. */
function parseSnapshot(text: string): Snapshot {
  const snapshot = JSON.parse(text) as Snapshot;
  assert(snapshot.version === 1, 'a snapshot of an unknown version');
  return snapshot;
}
