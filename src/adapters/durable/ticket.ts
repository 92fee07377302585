/**
 * Ticket: one caller at a tenant's desk, with the operations that it brought.
 * Promises: the first answer stays; a wake-up is never lost, because the waiter looks at `outcome`
 * after each. Must never: be awaited by another request than the one that made it. Called by the
 * desks and by the queue of settlements.
 */
import {
  ledgerBatchBytesMax,
  ledgerBatchCallersMax,
  ledgerBatchClaimsMax,
} from '../../base/limits-money';
import {
  type Applied,
  type EndOp,
  headerChars,
  type LedgerBusy,
  type PlaceOp,
} from '../../domain/ledger/operations';
import type { LedgerUnavailable } from '../../ports/ledger';

/** What comes of a ticket; `applied` has the answers to its own operations only. */
export type Outcome = Applied | LedgerBusy | LedgerUnavailable;

const nothing: readonly never[] = [];

export class Ticket {
  readonly places: readonly PlaceOp[];
  readonly ends: readonly EndOp[];
  outcome: Outcome | null = null;
  /** Batches that carried it; more than one may be under way. */
  sends = 0;
  #wake: (() => void) | null = null;

  private constructor(places: readonly PlaceOp[], ends: readonly EndOp[]) {
    this.places = places;
    this.ends = ends;
  }

  static placing(op: PlaceOp): Ticket {
    return new Ticket([op], nothing);
  }

  static ending(ops: readonly EndOp[]): Ticket {
    return new Ticket(nothing, ops);
  }

  /** Ends at the next wake-up. */
  woken(): Promise<void> {
    if (this.outcome !== null) return Promise.resolve();
    // Not `new Promise`: optimised code makes that without the mark of its request (workerd
    // 1.20261102), and whoever waits for it goes on in the request that resolves it.
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise;
  }

  wake(): void {
    this.#wake?.();
  }

  answer(outcome: Outcome): void {
    this.outcome ??= outcome;
    this.wake();
  }
}

/** What one object call carries: settlements that ride along, then the callers' operations. */
export interface Batch {
  readonly riders: readonly EndOp[];
  readonly tickets: readonly Ticket[];
  readonly ends: readonly EndOp[];
  readonly places: readonly PlaceOp[];
}

/**
 * Takes callers out of `waiting`, and riders out of `pending` as far as there is room; both lists
 * lose what was taken. At least one caller is taken, whatever it weighs.
 */
export function takeBatch(waiting: Ticket[], pending: EndOp[], opsMax: number): Batch {
  const count = callersThatFit(waiting);
  const tickets = waiting.splice(0, count);
  const own = tickets.reduce((sum, t) => sum + t.places.length + t.ends.length, 0);
  const riders = pending.splice(0, ridersThatFit(pending, opsMax - own));
  if (tickets.length === 0) return { riders, tickets, ends: riders, places: nothing };
  const places: PlaceOp[] = [];
  const ends: EndOp[] = [...riders];
  for (const ticket of tickets) {
    ticket.sends += 1;
    places.push(...ticket.places);
    ends.push(...ticket.ends);
  }
  return { riders, tickets, ends, places };
}

function callersThatFit(waiting: readonly Ticket[]): number {
  let [ops, claims, bytes] = [0, 0, 0];
  for (const [count, ticket] of waiting.entries()) {
    ops += ticket.places.length + ticket.ends.length;
    for (const op of ticket.places) if (op[6] !== null) claims += 1;
    for (const op of ticket.ends) bytes += bodyBytes(op);
    const fits =
      ops <= ledgerBatchCallersMax &&
      claims <= ledgerBatchClaimsMax &&
      bytes <= ledgerBatchBytesMax / 2;
    if (!fits && count > 0) return count;
  }
  return waiting.length;
}

function ridersThatFit(pending: readonly EndOp[], opsMax: number): number {
  let bytes = 0;
  for (const [count, op] of pending.entries()) {
    bytes += bodyBytes(op);
    if (count >= opsMax || (bytes > ledgerBatchBytesMax / 2 && count > 0)) return count;
  }
  return pending.length;
}

/** What an operation weighs beyond its few hundred bytes. */
export const bodyBytes = (op: EndOp): number =>
  op[0] === 'record' ? (op[2].body?.byteLength ?? 0) + headerChars(op[2]) : 0;
