/**
 * Money for the stage tests: a desk that notes what it is told and says what it was given, and the
 * owner of one hold at that desk.
 */
import { Money, type MoneyParts } from '../../../src/call/money';
import type { LedgerAddress } from '../../../src/domain/ledger/address';
import type { EndOp, PlaceAnswer, PlaceOp } from '../../../src/domain/ledger/operations';
import type { OpenTask } from '../../../src/domain/tasks/task';
import type { FromLedger, LedgerDesk } from '../../../src/ports/ledger';
import type { TaskDesk } from '../../../src/ports/tasks';
import { perCall } from '../domain/pricing/prices';
import { backgroundOf, entryOf } from './calls';

type Placed = Awaited<FromLedger<PlaceAnswer>>;

export const placed: Placed = { outcome: 'placed', leaseUntilMs: 0 };
export const address: LedgerAddress = { ledgerTenantId: 'ten_leaf', homeRegion: null };

export class NotedDesk implements LedgerDesk {
  readonly places: PlaceOp[] = [];
  readonly addresses: LedgerAddress[] = [];
  /** What was told behind an answer, in its order. */
  readonly ends: EndOp[] = [];
  /** What was waited for, each group as it came. */
  readonly waitedFor: (readonly EndOp[])[] = [];
  readonly #answer: Placed;
  /** What {@link endNow} waits for. */
  onDisk: Promise<void> = Promise.resolve();

  constructor(answer: Placed = placed) {
    this.#answer = answer;
  }

  async place(at: LedgerAddress, op: PlaceOp): Promise<Placed> {
    this.addresses.push(at);
    this.places.push(op);
    return this.#answer;
  }

  end(at: LedgerAddress, op: EndOp): void {
    this.addresses.push(at);
    this.ends.push(op);
  }

  async endNow(at: LedgerAddress, ops: readonly EndOp[]) {
    this.addresses.push(at);
    this.waitedFor.push(ops);
    await this.onDisk;
    return [];
  }

  /** Every end that is for good: no renewal. */
  get last(): readonly EndOp[] {
    return [...this.ends, ...this.waitedFor.flat()].filter(([op]) => op !== 'renew');
  }
}

/** Tasks of a test: what was opened and what has ended. */
export class NotedTasks implements TaskDesk {
  readonly opened: OpenTask[] = [];
  readonly closed: string[] = [];
  /** Provider and id of every look. */
  readonly lookedFor: (readonly [provider: string, taskId: string])[] = [];
  /** What {@link open} waits for. */
  onDisk: Promise<void> = Promise.resolve();
  /** What {@link open} answers, and what {@link find} finds. */
  answer: Awaited<ReturnType<TaskDesk['open']>> = { outcome: 'opened' };
  found: Awaited<ReturnType<TaskDesk['find']>> = null;

  async open(_: LedgerAddress, task: OpenTask) {
    this.opened.push(task);
    await this.onDisk;
    return this.answer;
  }

  async find(_: LedgerAddress, provider: string, taskId: string) {
    this.lookedFor.push([provider, taskId]);
    return this.found;
  }

  ended(holdId: string): void {
    this.closed.push(holdId);
  }
}

/** An open hold of 100 micro-USD for a call that costs 70, and its owner. */
export function moneyOf(parts: Partial<MoneyParts> = {}) {
  const desk = new NotedDesk();
  const background = backgroundOf();
  const money = new Money({
    desk,
    bodies: null,
    tasks: new NotedTasks(),
    address,
    background,
    holdId: 'hld_1',
    heldMicros: 100,
    recordId: null,
    endpoint: entryOf({ cost: perCall(70) }).endpoint,
    price: { kind: 'per_call', priceMicros: 70 },
    ...parts,
  });
  return { money, desk, background };
}

/** The same, of a call that is armed. */
export function heldMoney(parts: Partial<MoneyParts> = {}) {
  const held = moneyOf(parts);
  held.money.lasts();
  return held;
}
