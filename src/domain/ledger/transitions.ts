/**
 * Transitions: what each entry does to the books. The live path judges first and then comes here;
 * replay and audit come here only, so that memory and log cannot disagree.
 * Promises: deterministic; an entry that does not fit the books throws. Must never: judge caps
 * (a limit may have changed since). Pure. Called by the object's `turn.ts` and `journal.ts`.
 */
import { assert, assertNever } from '../../base/assert';
import { ledgerLeaseMs } from '../../base/limits-money';
import type { LogOp } from './entries';
import type { EndedHold, Hold } from './holds';
import type { Ending } from './operations';
import type { LedgerState } from './state';

type OpOf<K extends LogOp[0]> = Extract<LogOp, readonly [K, ...unknown[]]>;

/** Applies one entry that was written at `atMs`. */
export function applyOp(state: LedgerState, op: LogOp, atMs: number): void {
  state.tally.roll(atMs);
  switch (op[0]) {
    case 'grant':
      state.grantedMicros += op[2];
      state.purse.add(op[1], op[3], op[2]);
      break;
    case 'top_up':
      state.toppedUpMicros += op[2];
      state.purse.add(op[1], 'purchased', op[2]);
      break;
    case 'place':
      place(state, op, atMs);
      break;
    case 'renew':
      renew(state, op[1], atMs);
      break;
    case 'settle':
      end(state, op[1], { ending: 'settled', heldMicros: op[3], chargeMicros: op[2] });
      break;
    case 'release':
      end(state, op[1], { ending: 'released', heldMicros: op[2], chargeMicros: 0 });
      break;
    case 'expire':
      end(state, op[1], { ending: 'expired', heldMicros: op[2], chargeMicros: 0 });
      break;
    case 'late_settle':
      lateSettle(state, op);
      break;
    case 'configure':
      state.config = op[1];
      state.tally.configure(op[1].budgets, state.open.values());
      break;
    case 'grace':
      grace(state, atMs);
      break;
    default:
      assertNever(op);
  }
}

function place(state: LedgerState, op: OpOf<'place'>, placedAtMs: number): void {
  const [, id, amountMicros, keyId, tags, recordId] = op;
  assert(!state.open.has(id) && !state.ended.has(id), 'a hold is placed twice');
  const slices = state.purse.take(amountMicros);
  const hold: Hold = {
    id,
    amountMicros,
    placedAtMs,
    keyId,
    tags,
    recordId,
    slices,
    leaseUntilMs: placedAtMs + ledgerLeaseMs,
    graced: false,
  };
  state.open.set(id, hold);
  state.heldMicros += amountMicros;
  state.tally.place(keyId, hold, op.length > 6 ? 0 : 1);
}

/** A renewed hold goes to the end of the queue: all leases are equally long. */
function renew(state: LedgerState, id: string, atMs: number): void {
  const hold = state.open.get(id);
  assert(hold !== undefined, 'a hold that is not open is renewed');
  state.open.delete(id);
  state.open.set(id, hold);
  hold.leaseUntilMs = atMs + ledgerLeaseMs;
  hold.graced = false;
}

/**
 * The object started again and its owners could not renew meanwhile. Once only without a renewal:
 * an object that sleeps between two alarms would otherwise never expire anything.
 */
function grace(state: LedgerState, atMs: number): void {
  for (const hold of [...state.open.values()]) {
    if (hold.graced) continue;
    renew(state, hold.id, atMs);
    hold.graced = true;
  }
}

function end(
  state: LedgerState,
  id: string,
  how: { readonly ending: Ending; readonly heldMicros: number; readonly chargeMicros: number },
): void {
  const hold = state.open.get(id);
  assert(hold !== undefined, 'a hold that is not open ends');
  assert(hold.amountMicros === how.heldMicros, 'an entry names another amount than its hold');
  state.open.delete(id);
  state.heldMicros -= hold.amountMicros;
  state.settledMicros += how.chargeMicros;
  state.purse.spend(hold.slices, how.chargeMicros);
  state.tally.end(hold, how.chargeMicros);
  state.ended.set(id, {
    amountMicros: hold.amountMicros,
    placedAtMs: hold.placedAtMs,
    tags: hold.tags,
    ending: how.ending,
    chargeMicros: how.chargeMicros,
    lateMicros: null,
  });
}

/** The entry carries what is remembered of the hold: its ending may be on disk only. */
function lateSettle(state: LedgerState, op: OpOf<'late_settle'>): void {
  const [, id, chargeMicros, amountMicros, ending, placedAtMs, tags] = op;
  assert(!state.open.has(id), 'an open hold is settled late');
  const ended: EndedHold = {
    amountMicros,
    placedAtMs,
    tags,
    ending,
    chargeMicros: 0,
    lateMicros: chargeMicros,
  };
  state.settledMicros += chargeMicros;
  state.purse.spend([], chargeMicros);
  state.tally.late(tags, chargeMicros);
  state.ended.set(id, ended);
}
