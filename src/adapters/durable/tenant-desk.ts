/**
 * TenantDesk: the calls of one ledger tenant in this isolate, and the object calls that they share.
 * The first caller leads: it sends its operations with those of everybody who came meanwhile and
 * with the settlements that wait. Whoever comes while somebody leads follows.
 * Promises: one object call at a time while its leader is well; a follower whose leader went silent
 * takes the lead and repeats the same operations (ids make that harmless); a caller that had no
 * answer gets its hold released. Must never: let a follower wait without a timer of its own, because
 * the runtime ends a request that waits for another one's promise only. Called by `ledger-desk.ts`.
 */
import {
  ledgerBatchOpsMax,
  ledgerCrowdMin,
  ledgerEndsMax,
  ledgerEndsRetryMs,
  ledgerFlusherLapseMs,
  ledgerFlusherLifeMs,
  ledgerFlusherTickMs,
  ledgerFlushMs,
  ledgerFlushOpsMin,
  ledgerFollowLooksMax,
  ledgerFollowMs,
  ledgerGatherMs,
  ledgerHeirMs,
  ledgerLeadMs,
  ledgerWaitersMax,
} from '../../base/limits-money';
import type { Applied, EndOp, PlaceOp } from '../../domain/ledger/operations';
import type { Background } from '../../ports/config';
import type { DeskTime } from '../../ports/ledger';
import { ledgerBusy, ledgerUnavailable } from './ledger-call';
import { type Batch, type Outcome, type Ticket, takeBatch } from './ticket';

/** What all desks of an isolate have done; numbers for `/metrics` and the counted bars. */
export class DeskCounts {
  objectCalls = 0;
  places = 0;
  ends = 0;
  /** Batches that had no answer, and leaders that went silent. */
  failures = 0;
  takeovers = 0;
  /** Settlements that went to the queue, and those that were given up (the alarm reviews them). */
  endsQueued = 0;
  endsDropped = 0;
}

/** What a desk needs. */
export interface DeskParts {
  /** One object call, bounded in time, with its retry; never throws. */
  readonly send: (ends: readonly EndOp[], places: readonly PlaceOp[]) => Promise<Outcome>;
  /** Settlements for the queue; gives back what it did not take; never throws. */
  readonly keep: (ends: readonly EndOp[]) => Promise<readonly EndOp[]>;
  readonly time: DeskTime;
  readonly counts: DeskCounts;
}

/** Somebody's time in the lead. */
interface Lead {
  /** Silent for longer: gone with its context. */
  aliveUntilMs: number;
  /** Who was called to take over and has not yet. */
  readonly heir: Ticket | null;
}

export class TenantDesk {
  readonly #parts: DeskParts;
  readonly #waiting: Ticket[] = [];
  #ends: EndOp[] = [];
  /** When the oldest of {@link #ends} came; nothing is sent for them alone before `#retryAtMs`. */
  #endsSinceMs = 0;
  #retryAtMs = 0;
  #flusherUntilMs = 0;
  #lead: Lead | null = null;
  #flight: Batch | null = null;
  #lastCallers = 0;

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  /** Whether it may be forgotten. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#ends.length === 0 && this.#flight === null;
  }

  /** Hands the operations of one caller over; gives its answers. When it is full, ends are taken all the same and wait for a batch. */
  async submit(ticket: Ticket, background: Background): Promise<Outcome> {
    if (this.#waiting.length >= ledgerWaitersMax) {
      // An end is never turned away: nobody else would settle that hold, or tell its key.
      for (const op of ticket.ends) this.end(op, background);
      return ledgerBusy;
    }
    if (this.#isLed(ticket)) {
      this.#waiting.push(ticket);
      return this.#follow(ticket, background);
    }
    return this.#leadWith(ticket, background);
  }

  /** Something to be sent with the next batch. */
  end(op: EndOp, background: Background): void {
    if (op[0] === 'release' && this.#takeBack(op[1])) return;
    const nowMs = this.#parts.time.nowMs();
    if (this.#ends.length === 0) this.#endsSinceMs = nowMs;
    this.#ends.push(op);
    this.#trim();
    if (this.#ends.length >= ledgerFlushOpsMin && nowMs >= this.#retryAtMs && !this.#isLed(null)) {
      background(this.#leadOn());
    } else if (nowMs >= this.#flusherUntilMs) {
      background(this.#flush());
    }
  }

  /** A hold whose place was not sent needs no release. */
  #takeBack(holdId: string): boolean {
    const at = this.#waiting.findIndex((t) => t.sends === 0 && t.places[0]?.[1] === holdId);
    if (at < 0) return false;
    for (const ticket of this.#waiting.splice(at, 1)) ticket.answer(ledgerUnavailable);
    return true;
  }

  #isLed(me: Ticket | null): boolean {
    const lead = this.#lead;
    if (lead === null || (me !== null && lead.heir === me)) return false;
    return this.#parts.time.nowMs() < lead.aliveUntilMs;
  }

  /** The answer to a ticket that others carry; in the end it carries itself, or gives up. */
  async #follow(ticket: Ticket, background: Background): Promise<Outcome> {
    for (let looks = 0; looks < ledgerFollowLooksMax; looks += 1) {
      const cancel = this.#parts.time.start(ledgerFollowMs, () => ticket.wake());
      await ticket.woken();
      cancel();
      if (ticket.outcome !== null) return ticket.outcome;
      if (!this.#isLed(ticket)) return this.#leadWith(ticket, background);
    }
    const at = this.#waiting.indexOf(ticket);
    if (at >= 0) this.#waiting.splice(at, 1);
    this.#giveUp(ticket, ledgerUnavailable);
    if (this.#parts.time.nowMs() >= this.#flusherUntilMs) background(this.#flush());
    return ledgerUnavailable;
  }

  /**
   * Takes the lead, and with it what a leader that is gone had under way. Everything that the lead
   * does is under this caller's `background`: its client may leave, the batch must not.
   */
  async #leadWith(ticket: Ticket, background: Background): Promise<Outcome> {
    this.#inherit();
    const at = this.#waiting.indexOf(ticket);
    if (at >= 0) this.#waiting.splice(at, 1);
    this.#waiting.unshift(ticket);
    background(this.#leadOn());
    while (ticket.outcome === null) await ticket.woken();
    return ticket.outcome;
  }

  #inherit(): void {
    const lost = this.#flight;
    if (lost === null) return;
    this.#parts.counts.takeovers += 1;
    this.#flight = null;
    this.#waiting.unshift(...lost.tickets.filter((ticket) => ticket.outcome === null));
    this.#putBack(lost.riders);
  }

  /** Sends batch after batch until nobody waits, or it is another one's turn. */
  async #leadOn(): Promise<void> {
    const { time } = this.#parts;
    const endsAtMs = time.nowMs() + ledgerLeadMs;
    const lead: Lead = { aliveUntilMs: 0, heir: null };
    this.#lead = lead;
    do {
      lead.aliveUntilMs = time.nowMs() + ledgerFollowMs;
      if (this.#isCrowded()) await this.#pause(ledgerGatherMs);
      if (this.#lead === lead) await this.#round();
    } while (this.#lead === lead && this.#hasWork() && time.nowMs() < endsAtMs);
    if (this.#lead !== lead) return;
    this.#callHeir();
    // This caller's background lives on: it looks after what is left.
    if (this.#ends.length > 0 && time.nowMs() >= this.#flusherUntilMs) await this.#flush();
  }

  /** Four calls or more are in flight: who waits a millisecond meets others. */
  #isCrowded(): boolean {
    const waiting = this.#waiting.length;
    return waiting > 0 && this.#lastCallers + waiting + this.#ends.length > ledgerCrowdMin;
  }

  #hasWork(): boolean {
    if (this.#waiting.length > 0) return true;
    return this.#ends.length >= ledgerFlushOpsMin && this.#parts.time.nowMs() >= this.#retryAtMs;
  }

  /**
   * Nobody leads any more. The newest of those who wait is called: its client is the least likely to
   * have left. If it has, the next newcomer leads, or the first follower whose timer ends.
   */
  #callHeir(): void {
    const heir = this.#waiting.at(-1);
    this.#lead =
      heir === undefined ? null : { aliveUntilMs: this.#parts.time.nowMs() + ledgerHeirMs, heir };
    heir?.wake();
  }

  /** One object call. */
  async #round(): Promise<void> {
    const { send, counts } = this.#parts;
    const batch = takeBatch(this.#waiting, this.#ends, ledgerBatchOpsMax);
    if (batch.ends.length + batch.places.length === 0) return;
    this.#flight = batch;
    this.#lastCallers = batch.tickets.length;
    counts.objectCalls += 1;
    counts.places += batch.places.length;
    counts.ends += batch.ends.length;
    const outcome = await send(batch.ends, batch.places);
    if (this.#flight === batch) this.#flight = null;
    if (outcome.outcome === 'applied' && answersAll(batch, outcome)) {
      this.#handOut(batch, outcome);
      return;
    }
    counts.failures += 1;
    const why = outcome.outcome === 'ledger_busy' ? outcome : ledgerUnavailable;
    for (const ticket of batch.tickets) this.#giveUp(ticket, why);
    await this.#rescue(batch.riders);
  }

  /** Gives each caller the answers to what it brought. */
  #handOut({ riders, tickets }: Batch, { ends, places }: Applied): void {
    let [end, place] = [riders.length, 0];
    for (const ticket of tickets) {
      const answer: Applied = {
        outcome: 'applied',
        ends: ends.slice(end, end + ticket.ends.length),
        places: places.slice(place, place + ticket.places.length),
      };
      end += ticket.ends.length;
      place += ticket.places.length;
      const tooLate = ticket.outcome !== null && ticket.outcome.outcome !== 'applied';
      if (tooLate && answer.places[0]?.outcome === 'placed') this.#undo(ticket);
      ticket.answer(answer);
    }
  }

  /** No answer: the caller does not send, so what it may have placed goes back. */
  #giveUp(ticket: Ticket, outcome: Outcome): void {
    if (ticket.outcome !== null) return;
    if (outcome.outcome === 'ledger_unavailable' || ticket.sends > 1) this.#undo(ticket);
    this.#putBack(ticket.ends);
    ticket.answer(outcome);
  }

  #undo({ places, sends }: Ticket): void {
    if (sends === 0) return;
    for (const [, holdId, , , , , claim] of places) {
      if (claim !== null) this.#putBack([['free', claim[0]]]);
      this.#putBack([['release', holdId, 'ledger_unavailable']]);
    }
  }

  /** Settlements that the object did not take: the queue outlives this isolate. */
  async #rescue(riders: readonly EndOp[]): Promise<void> {
    const { keep, counts, time } = this.#parts;
    this.#retryAtMs = time.nowMs() + ledgerEndsRetryMs;
    const lost = [...riders, ...this.#ends.splice(0)];
    if (lost.length === 0) return;
    const left = await keep(lost);
    counts.endsQueued += lost.length - left.length;
    this.#putBack(left);
  }

  /** In front of what came later: a renewal must not overtake an end. */
  #putBack(ends: readonly EndOp[]): void {
    if (ends.length === 0) return;
    if (this.#ends.length === 0) this.#endsSinceMs = this.#parts.time.nowMs();
    this.#ends.unshift(...ends);
    this.#trim();
  }

  #trim(): void {
    const over = this.#ends.length - ledgerEndsMax;
    if (over <= 0) return;
    this.#ends.splice(0, over);
    this.#parts.counts.endsDropped += over;
  }

  /** Sends what found no company in time. Lives as long as there is something, but not too long. */
  async #flush(): Promise<void> {
    const { time } = this.#parts;
    const endsAtMs = time.nowMs() + ledgerFlusherLifeMs;
    let isLast = false;
    do {
      const waitMs = Math.max(this.#dueMs() - time.nowMs(), ledgerFlusherTickMs);
      this.#flusherUntilMs = time.nowMs() + waitMs + ledgerFlusherLapseMs;
      await this.#pause(waitMs);
      isLast = time.nowMs() >= endsAtMs;
      const isDue = this.#ends.length > 0 && (isLast || time.nowMs() >= this.#dueMs());
      if (isDue && !this.#isLed(null)) await this.#leadOn();
    } while (this.#ends.length > 0 && !isLast);
    this.#flusherUntilMs = 0;
  }

  /** When the oldest settlement has waited long enough. */
  #dueMs(): number {
    return Math.max(this.#endsSinceMs + ledgerFlushMs, this.#retryAtMs);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.time.start(ms, resolve));
  }
}

const answersAll = (batch: Batch, { ends, places }: Applied): boolean =>
  ends.length === batch.ends.length && places.length === batch.places.length;
