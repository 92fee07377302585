/**
 * D1Catalog: the catalog in isolate memory: every provider and every row's heading, and the rows that were called, kept honest by one
 * version read per CONFIG_TTL_S.
 * Promises: a warm call asks no store, whatever id it names, since an id without a heading does not exist; at half-life the version is
 * read in the background, past the TTL it is awaited; while D1 does not answer the last good catalog serves for `staleConfigMaxMs`;
 * bounded. workerd trap: never await a promise of another request, so every cold caller reads for itself; only the background refresh
 * is single. Implements ports/catalog.ts. Called by wiring.ts.
 */
import { configRetryMs, staleConfigMaxMs } from '../../base/limits';
import { catalogEntriesMax } from '../../base/limits-money';
import { Lru } from '../../base/lru';
import { err, type MaybePromise, ok, type Result, whenHere } from '../../base/result';
import type { EndpointHeading } from '../../domain/catalog/endpoint';
import { type NearRows, nearRows } from '../../domain/catalog/near-ids';
import type { Refusal } from '../../domain/refusal';
import type { Catalog, CatalogEntry, LookupContext } from '../../ports/catalog';
import type { CatalogReader, CatalogSnapshot } from './catalog-reader';

const unavailable: Refusal = { code: 'config.unavailable', retryAfterMs: configRetryMs };

type Found<T> = MaybePromise<Result<T, Refusal>>;

export class D1Catalog implements Catalog {
  /** How often the last good catalog had to stand in for D1. */
  readonly counters = { staleServed: 0, refreshFailed: 0 };
  readonly #reader: Pick<CatalogReader, 'version' | 'snapshot' | 'entry'>;
  readonly #ttlMs: number;
  readonly #nowMs: () => number;
  #held: Held | null = null;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #refreshingUntilMs = 0;

  constructor(options: {
    reader: Pick<CatalogReader, 'version' | 'snapshot' | 'entry'>;
    ttlMs: number;
    nowMs: () => number;
  }) {
    this.#reader = options.reader;
    this.#ttlMs = options.ttlMs;
    this.#nowMs = options.nowMs;
  }

  endpoint(id: string, context: LookupContext): Found<CatalogEntry | null> {
    return this.#with(context, (held) => {
      if (!held.headings.has(id)) return ok(null);
      const entry = held.entries.get(id);
      return entry === undefined ? this.#load(held, id, context) : ok(entry);
    });
  }

  near(id: string, context: LookupContext): Found<NearRows> {
    return this.#with(context, (held) => ok(nearRows(id, held.headings)));
  }

  #with<T>(context: LookupContext, next: (held: Held) => Found<T>): Found<T> {
    return whenHere(this.#current(context), (held) =>
      held === null ? err(unavailable) : next(held),
    );
  }

  /** The catalog that may be used now, or `null`. */
  #current(context: LookupContext): MaybePromise<Held | null> {
    const { nowMs } = context;
    const held = this.#held;
    if (held === null) return this.#loadCold(nowMs);
    const ageMs = held.ageMs(nowMs);
    if (ageMs * 2 < this.#ttlMs) return held;
    if (ageMs < this.#ttlMs) {
      this.#refreshBehind(context);
      return held;
    }
    // One call per outage waits for D1; the others get the last good catalog while it is asked again behind them.
    if (this.#failedAtMs > held.checkedAtMs) {
      this.#refreshBehind(context);
      return this.#lastGood(nowMs);
    }
    return this.#refresh(nowMs).then(() => this.#lastGood(nowMs));
  }

  #lastGood(nowMs: number): Held | null {
    const held = this.#held;
    const ageMs = held?.ageMs(nowMs) ?? staleConfigMaxMs;
    if (ageMs < this.#ttlMs) return held;
    if (ageMs >= staleConfigMaxMs) return null;
    this.counters.staleServed += 1;
    return held;
  }

  async #loadCold(nowMs: number): Promise<Held | null> {
    // An isolate that starts in an outage does not ask on every call.
    if (this.#failedAtMs + configRetryMs > nowMs) return null;
    await this.#reload(nowMs);
    return this.#held;
  }

  async #load(
    held: Held,
    id: string,
    context: LookupContext,
  ): Promise<Result<CatalogEntry | null, Refusal>> {
    const read = await this.#reader.entry(id);
    if (read === null) return err(unavailable);
    // Newer than what is held: right for this call, but what is held must not mix two versions.
    if (read.version !== held.version) this.#refreshBehind(context);
    else if (read.entry !== null) held.entries.set(id, read.entry);
    return ok(read.entry);
  }

  #refreshBehind({ nowMs, background }: LookupContext): void {
    if (this.#refreshingUntilMs > nowMs || this.#failedAtMs + configRetryMs > nowMs) return;
    this.#refreshingUntilMs = nowMs + this.#ttlMs;
    background(this.#refresh(nowMs));
  }

  /** Reads the version; an unchanged one makes what is held young again, a new one replaces it. */
  async #refresh(nowMs: number): Promise<void> {
    if (this.#failedAtMs + configRetryMs > nowMs) return;
    const version = await this.#reader.version();
    if (version === null) this.#failed();
    else if (version === this.#held?.version) this.#held.checked(nowMs);
    else await this.#reload(nowMs);
    this.#refreshingUntilMs = 0;
  }

  async #reload(nowMs: number): Promise<void> {
    const read = await this.#reader.snapshot();
    if (read === null) this.#failed();
    // A lower version is taken too: the database may have been restored. Of two reads that end out of order the next check finds out.
    else if (this.#held?.version === read.version) this.#held.checked(nowMs);
    else this.#held = new Held(read, nowMs);
  }

  #failed(): void {
    this.#failedAtMs = this.#nowMs();
    this.counters.refreshFailed += 1;
  }
}

/** The catalog as of one version. */
class Held {
  readonly version: number;
  readonly headings: ReadonlyMap<string, EndpointHeading>;
  readonly entries = new Lru<string, CatalogEntry>(catalogEntriesMax);
  #checkedAtMs: number;

  constructor(read: CatalogSnapshot, nowMs: number) {
    this.version = read.version;
    this.headings = new Map(read.headings.map((heading) => [heading.id, heading]));
    this.#checkedAtMs = nowMs;
  }

  get checkedAtMs(): number {
    return this.#checkedAtMs;
  }

  ageMs(nowMs: number): number {
    return nowMs - this.#checkedAtMs;
  }

  checked(nowMs: number): void {
    this.#checkedAtMs = Math.max(this.#checkedAtMs, nowMs);
  }
}
