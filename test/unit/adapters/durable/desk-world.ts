/**
 * A desk on a scripted object and a clock that moves by `pass`, which ends the timers that are due.
 * The object books like a ledger with endless money: an id once placed or ended gives its first
 * answer again.
 */
import { DurableLedgerDesk } from '../../../../src/adapters/durable/ledger-desk';
import { noSettlementQueue } from '../../../../src/adapters/durable/settlement-queue';
import type {
  Applied,
  EndAnswer,
  EndOp,
  LedgerBusy,
  PlaceAnswer,
  PlaceOp,
} from '../../../../src/domain/ledger/operations';
import type { DeskTime, LedgerAddress, SettlementKeeper } from '../../../../src/ports/ledger';

export const home: LedgerAddress = { ledgerTenantId: 'ten_1', homeRegion: null };

export const place = (id: string, claim: PlaceOp[6] = null): PlaceOp => [
  'place',
  id,
  10,
  'key_1',
  null,
  null,
  claim,
];

export const settle = (id: string): EndOp => ['settle', id, 5, true];

/** What the object does with a call. */
export type Behaviour = 'answers' | 'hangs' | 'throws' | 'overloaded' | 'busy' | 'loses_answer';

/** One object call as the object saw it. */
export interface Seen {
  readonly ends: readonly EndOp[];
  readonly places: readonly PlaceOp[];
}

/** Lets everything that can go on go on. */
export const settled = async (): Promise<void> => {
  for (let i = 0; i < 100; i++) await Promise.resolve();
};

class Clock implements DeskTime {
  #nowMs = Date.UTC(2030, 0, 1);
  #timers: { dueMs: number; act: () => void }[] = [];
  started = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  start(ms: number, act: () => void): () => void {
    const timer = { dueMs: this.#nowMs + ms, act };
    this.started += 1;
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get pending(): number {
    return this.#timers.length;
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    for (;;) {
      const [next] = this.#timers
        .filter((t) => t.dueMs <= untilMs)
        .sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined) break;
      this.#nowMs = next.dueMs;
      this.#timers = this.#timers.filter((other) => other !== next);
      next.act();
      await settled();
    }
    this.#nowMs = untilMs;
    await settled();
  }
}

/** Remembers what it booked, as the real object does. */
class ScriptedLedger {
  readonly seen: Seen[] = [];
  readonly placed = new Set<string>();
  readonly endings = new Map<string, string>();
  /** Bookings that changed something; a repeat changes nothing. */
  bookings = 0;
  behaviours: Behaviour[] = [];
  otherwise: Behaviour = 'answers';
  #answer: (() => void)[] = [];
  /** Answers wait for {@link release}. */
  isHeld = false;

  async apply(ends: readonly EndOp[], places: readonly PlaceOp[]): Promise<Applied | LedgerBusy> {
    this.seen.push({ ends, places });
    const behaviour = this.behaviours.shift() ?? this.otherwise;
    if (this.isHeld) await new Promise<void>((resolve) => this.#answer.push(resolve));
    if (behaviour === 'hangs') return new Promise(() => undefined);
    if (behaviour === 'throws') throw new Error('Network connection lost.');
    if (behaviour === 'overloaded')
      throw Object.assign(new Error('too many'), { overloaded: true });
    if (behaviour === 'busy') return { outcome: 'ledger_busy', retryAfterMs: 700 };
    const answer: Applied = {
      outcome: 'applied',
      ends: ends.map((op) => this.#end(op)),
      places: places.map((op) => this.#place(op)),
    };
    if (behaviour === 'loses_answer') throw new Error('Network connection lost.');
    return answer;
  }

  /** Lets the held calls answer, oldest first. */
  async release(count = 1): Promise<void> {
    for (const answer of this.#answer.splice(0, count)) answer();
    await settled();
  }

  #place([, id]: PlaceOp): PlaceAnswer {
    if (!this.placed.has(id)) this.bookings += 1;
    this.placed.add(id);
    return { outcome: 'placed', leaseUntilMs: 1 };
  }

  #end(op: EndOp): EndAnswer {
    const [kind, id] = op;
    if (kind === 'renew') return { outcome: 'renewed', leaseUntilMs: 2 };
    if (kind === 'record') return { outcome: 'recorded' };
    if (kind === 'free') return { outcome: 'freed' };
    if (kind === 'unknown') return { outcome: 'marked_unknown' };
    if (!this.placed.has(id)) return { outcome: 'unknown_hold' };
    if (!this.endings.has(id)) {
      this.bookings += 1;
      this.endings.set(id, kind);
    }
    return { outcome: kind === 'settle' ? 'settled' : 'released' };
  }
}

export function deskWorld(options: { keeper?: SettlementKeeper } = {}) {
  const time = new Clock();
  const ledger = new ScriptedLedger();
  const background: Promise<unknown>[] = [];
  const stubs: LedgerAddress[] = [];
  const desk = new DurableLedgerDesk({
    objectOf: (address) => {
      stubs.push(address);
      return ledger;
    },
    keeper: options.keeper ?? noSettlementQueue,
    time,
  });
  const live = (work: Promise<unknown>): void => void background.push(work);
  /** Places of calls that arrive together. */
  const placeAll = (count: number, prefix = 'hld_') =>
    Array.from({ length: count }, (_, i) => desk.place(home, place(`${prefix}${i}`), live));
  return { time, ledger, desk, background, stubs, live, placeAll };
}
