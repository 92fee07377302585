/**
 * MetricsHub: one shard of the totals that `/metrics` shows. Id: `idFromName('shard-0')` to `shard-3`; an isolate reports to one of them.
 * Durable: totals and the last report of each isolate, in one row, `metricsWriteMs` after the first change. Losable: what came since; but a
 * total that was read is on disk first, so that no counter ever falls.
 * Promises: methods are synchronous; a report that is repeated counts once. Must never: answer a call's question; nothing waits for it.
 * Called by `src/adapters/telemetry/metrics.ts` only.
 */
import { DurableObject } from 'cloudflare:workers';
import { metricsReportersMax, metricsWriteMs } from '../src/base/limits-capacity';
import { type Counts, Totals } from '../src/domain/metrics/series';
import { migrate } from './migrate';
import { metricsHubSchema } from './schema/metrics-hub';

/** The row. */
interface Books {
  readonly counts: Counts;
  readonly reports: readonly (readonly [isolate: string, seq: number])[];
}

/** Reads the row that this class wrote. */
const parsedBooks = (body: string): Books => JSON.parse(body) as Books;

export class MetricsHub extends DurableObject {
  readonly #totals = new Totals();
  /** Number of the last report by isolate, the newest reporter last. */
  readonly #reports = new Map<string, number>();
  #isWritten = true;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    migrate(ctx.storage, metricsHubSchema);
    const row = ctx.storage.sql.exec<{ body: string }>('SELECT body FROM books').toArray()[0];
    if (row === undefined) return;
    const { counts, reports } = parsedBooks(row.body);
    this.#totals.merge(counts);
    for (const [isolate, seq] of reports) this.#reports.set(isolate, seq);
  }

  /** Takes one report. An isolate numbers its reports from 1; one that was taken before, or came after a later one, changes nothing. */
  add(isolate: string, seq: number, counts: Counts): void {
    if (seq <= (this.#reports.get(isolate) ?? 0)) return;
    this.#reports.delete(isolate);
    this.#reports.set(isolate, seq);
    for (const [oldest] of this.#reports) {
      if (this.#reports.size <= metricsReportersMax) break;
      this.#reports.delete(oldest);
    }
    this.#totals.merge(counts);
    if (!this.#isWritten) return;
    this.#isWritten = false;
    void this.ctx.storage.setAlarm(this.nowMs() + metricsWriteMs);
  }

  /** The totals of this shard. */
  read(): Counts {
    this.#write();
    return this.#totals.list();
  }

  /** May run twice or late. */
  override alarm(): void {
    this.#write();
  }

  /** The object's only clock, epoch milliseconds. */
  protected nowMs(): number {
    return Date.now();
  }

  #write(): void {
    if (this.#isWritten) return;
    const books: Books = { counts: this.#totals.list(), reports: [...this.#reports] };
    this.ctx.storage.sql.exec(
      'INSERT OR REPLACE INTO books (n, body) VALUES (1, ?)',
      JSON.stringify(books),
    );
    this.#isWritten = true;
  }
}
