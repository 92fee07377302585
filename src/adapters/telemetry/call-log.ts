/**
 * BufferedCallLog: finished calls wait in isolate memory and go to the sink in batches; calls that died with their context get their row.
 * One keeper per isolate does both: a loop under some request's `waitUntil`, started by the next send or push when there is none, so that
 * no call pays for a `waitUntil` of its own.
 * Promises: a push costs an array write; a batch is bounded in count and age; one write at a time, bounded in time; what the sink does not
 * take stays, up to a bound, then the oldest rows are dropped and counted. Implements ports/evidence.ts. Called by wiring.ts.
 */
import {
  callLapseMs,
  callLogBatchMax,
  callLogBufferCharsMax,
  callLogBufferMax,
  callLogFlushMs,
  callLogHurryMs,
  callLogWriteTimeoutMs,
  custodyArmMs,
  keeperLapseMs,
  keeperLifeMs,
  keeperRestMs,
  keeperTickMs,
} from '../../base/limits';
import type { Background } from '../../ports/config';
import type { CallLog, CallSink, FinishedCall, OpenCall } from '../../ports/evidence';
import type { Tally } from '../../ports/metrics';

/** A call that the keeper has not woken yet. */
const notWoken = -1;

export class BufferedCallLog implements CallLog {
  /** Rows lost because the sink did not answer for too long. */
  dropped = 0;
  #rows: FinishedCall[] = [];
  /** Of all rows that are held, those in flight included; see {@link charsOf}. */
  #chars = 0;
  /**
   * Open calls, each at its own `slot`, and when the keeper woke them. No Map: one entry more and one less per call
   * leaves dead tables that keep their calls until the next full collection.
   */
  readonly #open: OpenCall[] = [];
  readonly #wokenAtMs: number[] = [];
  /** No write before: the last one failed. */
  #retryAtMs = 0;
  /** Until then somebody keeps; it lapses, because the context that keeps may die. Epoch milliseconds. */
  #keptUntilMs = 0;
  #flushDueMs = 0;
  #inFlight: { readonly rows: FinishedCall[]; readonly sinceMs: number } | null = null;
  /** Rows at the head of the buffer that were counted before: those of a write that failed. */
  #counted = 0;
  readonly #sink: CallSink;
  readonly #tally: Tally;
  readonly #nowMs: () => number;
  readonly #wait: (ms: number) => Promise<unknown>;

  constructor(options: {
    sink: CallSink;
    tally: Tally;
    nowMs: () => number;
    wait: (ms: number) => Promise<unknown>;
  }) {
    this.#sink = options.sink;
    this.#tally = options.tally;
    this.#nowMs = options.nowMs;
    this.#wait = options.wait;
  }

  push(row: FinishedCall, background: Background): void {
    const nowMs = row.startedAtMs + row.latencyMs;
    if (this.#rows.length === 0) this.#flushDueMs = nowMs + callLogFlushMs;
    this.#rows.push(row);
    this.#chars += charsOf(row);
    this.#trim();
    if (row.outcome === 'cancelled' || row.outcome === 'timed_out') {
      this.#hurry(nowMs, background);
      return;
    }
    if (this.#rows.length >= callLogBatchMax && this.#mayWrite(nowMs)) {
      background(this.#writeBatch());
    }
    this.#keep(nowMs, background);
  }

  /**
   * The context of a call whose upstream has not answered must end soon, because its connection ends
   * with it: it does not keep, and waits for one write only as long as the caller's vendor may.
   */
  #hurry(nowMs: number, background: Background): void {
    if (this.#keptUntilMs > nowMs) {
      this.#flushDueMs = Math.min(this.#flushDueMs, nowMs);
    } else if (this.#mayWrite(nowMs)) {
      background(Promise.race([this.#flush(true), this.#wait(callLogHurryMs)]));
    }
  }

  watch(call: OpenCall, background: Background): void {
    call.slot = this.#open.push(call) - 1;
    this.#wokenAtMs.push(notWoken);
    this.#keep(call.startedAtMs, background);
  }

  unwatch(call: OpenCall): void {
    const { slot } = call;
    if (this.#open[slot] !== call) return;
    const last = this.#open.pop() ?? call;
    const wokenAtMs = this.#wokenAtMs.pop() ?? notWoken;
    if (last === call) return;
    last.slot = slot;
    this.#open[slot] = last;
    this.#wokenAtMs[slot] = wokenAtMs;
  }

  #keep(nowMs: number, background: Background): void {
    if (this.#keptUntilMs > nowMs) return;
    this.#extend(nowMs);
    background(this.#keeper());
  }

  #extend(nowMs: number): void {
    this.#keptUntilMs = nowMs + keeperLapseMs;
  }

  /**
   * Ticks until nothing is left to do, or its life ends; then every open call is armed, and those that cannot be lapse before it goes, so
   * that none depends on a successor: there may be none. A sink that does not answer must not hold up the ticks.
   */
  async #keeper(): Promise<void> {
    const endsAtMs = this.#nowMs() + keeperLifeMs;
    let flushing: Promise<void> = Promise.resolve();
    let reporting: Promise<void> = Promise.resolve();
    for (;;) {
      await this.#wait(keeperTickMs);
      const nowMs = this.#nowMs();
      const isLast = nowMs >= endsAtMs;
      this.#extend(nowMs);
      this.#wakeOpen(nowMs, isLast ? 0 : custodyArmMs);
      if ((isLast || nowMs >= this.#flushDueMs) && this.#mayWrite(nowMs))
        flushing = this.#flush(isLast);
      // Under steady load full batches are written as they fill, and no flush is ever due.
      else if (this.#tally.isWaiting) reporting = this.#tally.report(nowMs, false);
      const isIdle = this.#isEmpty() && !this.#hasUnarmed() && !this.#tally.isWaiting;
      if (isLast || isIdle) break;
    }
    // Whoever comes from here on has a keeper of its own.
    this.#keptUntilMs = 0;
    await Promise.all([flushing, reporting, this.#lastLook(endsAtMs + keeperRestMs)]);
  }

  /** Calls whose context died just before the end of a keeper: they lapse, and their rows are written. */
  async #lastLook(untilMs: number): Promise<void> {
    while (this.#hasUnarmed() && this.#nowMs() < untilMs) {
      await this.#wait(keeperTickMs);
      this.#wakeOpen(this.#nowMs(), custodyArmMs);
    }
    // A successor writes what is left; without one nobody would.
    while (this.#keptUntilMs === 0 && !this.#isEmpty() && this.#nowMs() < untilMs) {
      if (this.#mayWrite(this.#nowMs())) await this.#flush(true);
      else await this.#wait(keeperTickMs);
    }
  }

  /** Writes what waits, and reports what was counted. */
  async #flush(isLast: boolean): Promise<void> {
    this.#flushDueMs = this.#nowMs() + callLogFlushMs;
    while (this.#rows.length > 0 && this.#mayWrite(this.#nowMs())) {
      if (!(await this.#writeBatch())) break;
    }
    await this.#tally.report(this.#nowMs(), isLast);
  }

  #isEmpty(): boolean {
    return this.#rows.length === 0 && this.#inFlight === null;
  }

  /** One write at a time, and a pause after one that failed. */
  #mayWrite(nowMs: number): boolean {
    return nowMs >= this.#retryAtMs && !this.#isWriting(nowMs);
  }

  /** A live call arms itself once it is woken; one that has not some time later has no context left. */
  #wakeOpen(nowMs: number, afterMs: number): void {
    // From the end: a call that lapses leaves the list, and the last one takes its place.
    for (let slot = this.#open.length - 1; slot >= 0; slot -= 1) {
      const call = this.#open[slot];
      if (call === undefined || call.armed) continue;
      const wokenAtMs = this.#wokenAtMs[slot] ?? notWoken;
      if (wokenAtMs !== notWoken) {
        if (nowMs - wokenAtMs >= callLapseMs) call.lapse();
      } else if (nowMs - call.startedAtMs >= afterMs) {
        this.#wokenAtMs[slot] = nowMs;
        call.wake();
      }
    }
  }

  #hasUnarmed(): boolean {
    return this.#open.some((call) => !call.armed);
  }

  /** A write whose context died never comes back: after twice its time its rows wait again. */
  #isWriting(nowMs: number): boolean {
    const flight = this.#inFlight;
    if (flight === null) return false;
    if (nowMs - flight.sinceMs < 2 * callLogWriteTimeoutMs) return true;
    this.#putBack(flight.rows);
    return false;
  }

  /** One batch, one write at a time; a write that takes too long counts as not taken, and writing it again is harmless. */
  async #writeBatch(): Promise<boolean> {
    const rows = this.#rows.splice(0, callLogBatchMax);
    this.#count(rows);
    const flight = { rows, sinceMs: this.#nowMs() };
    this.#inFlight = flight;
    const late = this.#wait(callLogWriteTimeoutMs).then(() => false);
    const written = this.#sink.write(rows).then(
      () => true,
      () => false,
    );
    const taken = await Promise.race([written, late]);
    if (this.#inFlight !== flight) return taken;
    this.#inFlight = null;
    if (taken) {
      for (const row of rows) this.#chars -= charsOf(row);
    } else {
      this.#retryAtMs = this.#nowMs() + callLogFlushMs;
      this.#putBack(rows);
    }
    return taken;
  }

  #putBack(rows: FinishedCall[]): void {
    this.#inFlight = null;
    this.#rows = rows.concat(this.#rows);
    this.#counted += rows.length;
    this.#trim();
  }

  #count(rows: readonly FinishedCall[]): void {
    const again = Math.min(this.#counted, rows.length);
    this.#counted -= again;
    this.#tally.add(again === 0 ? rows : rows.slice(again));
  }

  #trim(): void {
    const held = this.#rows.length + (this.#inFlight?.rows.length ?? 0);
    if (held <= callLogBufferMax && this.#chars <= callLogBufferCharsMax) return;
    let over = 0;
    for (const row of this.#rows) {
      if (held - over <= callLogBufferMax && this.#chars <= callLogBufferCharsMax) break;
      this.#chars -= charsOf(row);
      over += 1;
    }
    if (over === 0) return;
    // Their rows are lost, their counts are not.
    this.#count(this.#rows.splice(0, over));
    this.dropped += over;
    this.#tally.failOpen('call_rows', over);
  }
}

/** The texts of a row that others make as long as they like. */
const charsOf = ({ path, evidence }: FinishedCall): number =>
  (path?.length ?? 0) + (evidence?.length ?? 0);
