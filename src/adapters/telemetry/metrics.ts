/**
 * IsolateTally and HubReader: an isolate's counts go to one shard of the hub, a scrape adds up all shards.
 * Promises: see `ports/metrics.ts`; one report at a time; a report has a number, so it may be sent twice and counts once. Must never: keep
 * a stub or a promise of one request for another. Made by wiring.ts; the call log drives it.
 */
import type { MetricsHub } from '../../../durable-objects/metrics-hub';
import { metricsAnswerWaitMs, metricsReportMs, metricsShardsMax } from '../../base/limits-capacity';
import { countCall } from '../../domain/metrics/count-call';
import { type Counts, Totals } from '../../domain/metrics/series';
import type { FinishedCall } from '../../ports/evidence';
import type { DeskTime } from '../../ports/ledger';
import type { FailOpen, MetricsReader, Tally } from '../../ports/metrics';
import { callObject } from '../durable/object-call';

/** The part of a hub that is used here. */
export interface HubShard {
  add(isolate: string, seq: number, counts: Counts): Promise<void>;
  read(): Promise<Counts>;
}

/** What both need. `shardOf` makes a fresh stub. */
export interface HubParts {
  readonly shardOf: (shard: number) => HubShard;
  readonly time: DeskTime;
}

/** Shards of the binding. */
export const hubShards =
  (namespace: DurableObjectNamespace<MetricsHub>): HubParts['shardOf'] =>
  (shard) => {
    const stub = namespace.get(namespace.idFromName(`shard-${shard}`));
    return {
      add: async (isolate, seq, counts) => stub.add(isolate, seq, counts),
      read: async () => stub.read(),
    };
  };

/** The counts of one isolate. */
export class IsolateTally implements Tally {
  readonly #parts: HubParts;
  readonly #isRefusal: (code: string) => boolean;
  readonly #isolate: string;
  readonly #shard: number;
  readonly #totals = new Totals();
  #seq = 0;
  /** No report before, epoch milliseconds. A report whose context died ends by itself: it is in the past then. */
  #nextMs = 0;

  /** `random` is below 1 and picks the shard; `isolate` names this isolate among all. */
  constructor(
    options: HubParts & {
      readonly isRefusal: (code: string) => boolean;
      readonly isolate: string;
      readonly random: number;
    },
  ) {
    this.#parts = options;
    this.#isRefusal = options.isRefusal;
    this.#isolate = options.isolate;
    this.#shard = Math.floor(options.random * metricsShardsMax);
  }

  get isWaiting(): boolean {
    return !this.#totals.isEmpty;
  }

  add(rows: readonly FinishedCall[]): void {
    for (const row of rows) countCall(this.#totals, row, this.#isRefusal);
  }

  failOpen(what: FailOpen, times = 1): void {
    this.#totals.add(`fail_open|${what}`, times);
  }

  async report(nowMs: number, isLast: boolean): Promise<void> {
    if (!this.isWaiting || (nowMs < this.#nextMs && !isLast)) return;
    this.#nextMs = nowMs + metricsReportMs;
    this.#seq += 1;
    const seq = this.#seq;
    const counts = this.#totals.take();
    const send = () => this.#parts.shardOf(this.#shard).add(this.#isolate, seq, counts);
    const taken = await answered(this.#parts, () => send().then(() => true));
    if (taken === null) this.failOpen('metrics');
  }
}

/** The totals of all shards. */
export class HubReader implements MetricsReader {
  readonly #parts: HubParts;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  async read(): Promise<Counts | null> {
    const shards = Array.from({ length: metricsShardsMax }, (_, shard) =>
      answered(this.#parts, () => this.#parts.shardOf(shard).read()),
    );
    const totals = new Totals();
    for (const counts of await Promise.all(shards)) {
      if (counts === null) return null;
      totals.merge(counts);
    }
    return totals.list();
  }
}

/** An answer within its time, asked for twice at most; null: there is none. */
const answered = <T>({ time }: HubParts, ask: () => Promise<T>): Promise<T | null> =>
  callObject(ask, { time, ms: metricsAnswerWaitMs });
