/**
 * BufferedCallLog: finished calls wait in isolate memory and go to the sink in batches.
 * Promises: a push costs an array write; a batch is bounded in count and age; what the sink does not take stays, up to a bound, then the
 * oldest rows are dropped and counted. Flushing hangs on one request's `waitUntil`, never on every call's.
 * Implements ports/evidence.ts. Called by wiring.ts.
 */
import { callLogBatchMax, callLogBufferMax, callLogFlushMs } from '../../base/limits';
import type { Background } from '../../ports/config';
import type { CallLog, CallRow, CallSink } from '../../ports/evidence';

export class BufferedCallLog implements CallLog {
  /** Rows lost because the sink did not answer for too long. */
  dropped = 0;
  #rows: CallRow[] = [];
  #flushDueMs = 0;
  readonly #sink: CallSink;
  readonly #nowMs: () => number;
  readonly #wait: (ms: number) => Promise<unknown>;

  constructor(options: { sink: CallSink; nowMs: () => number; wait: (ms: number) => Promise<unknown> }) {
    this.#sink = options.sink;
    this.#nowMs = options.nowMs;
    this.#wait = options.wait;
  }

  push(row: CallRow, background: Background): void {
    this.#rows.push(row);
    const nowMs = row.startedAtMs + row.latencyMs;
    if (this.#rows.length >= callLogBatchMax) {
      background(this.#flush());
    } else if (this.#flushDueMs <= nowMs) {
      // The leader of this flush may die with its context; then the due time lapses and the next call leads.
      this.#flushDueMs = nowMs + 2 * callLogFlushMs;
      background(this.#wait(callLogFlushMs).then(() => this.#flush()));
    }
  }

  async #flush(): Promise<void> {
    this.#flushDueMs = 0;
    while (this.#rows.length > 0) {
      const batch = this.#rows.splice(0, callLogBatchMax);
      try {
        await this.#sink.write(batch);
      } catch {
        this.#keep(batch);
        return;
      }
    }
  }

  /** Puts a batch back in front; the next push makes a new leader after the flush interval. */
  #keep(batch: CallRow[]): void {
    this.#rows = batch.concat(this.#rows);
    const over = this.#rows.length - callLogBufferMax;
    if (over > 0) {
      this.#rows.splice(0, over);
      this.dropped += over;
    }
    this.#flushDueMs = this.#nowMs() + callLogFlushMs;
  }
}
