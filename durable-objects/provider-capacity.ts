/**
 * ProviderCapacity: one truth for all isolates about the operator's accounts at one provider, or at
 * one aggregator. Id: `idFromName(provider slug)`, or of `overflow:<aggregator>`. Durable: locks,
 * strikes, probes, marks, the sweep's reading, the ids of late operations, and the sends of enforced
 * windows. Losable: places. Its alarm forgets what has ended.
 * Promises: methods are synchronous, so nothing comes between read and write; RPC is additive for
 * two releases. Called by `src/adapters/durable/` only; rules are in `src/domain/capacity/`.
 */
import { DurableObject } from 'cloudflare:workers';
import { assert } from '../src/base/assert';
import { capacityAlarmJitterMs, spacerJitterMs } from '../src/base/limits-capacity';
import { Breaker } from '../src/domain/capacity/breaker';
import type {
  CapacityState,
  CapacityView,
  MarkOp,
  OkOp,
  ProbeAnswer,
  ProbeOp,
  Reading,
  SlotAnswer,
  SlotOp,
  StrikeOp,
} from '../src/domain/capacity/operations';
import type { ItemChange, ItemRow } from '../src/domain/capacity/shelf';
import { Slots } from '../src/domain/capacity/slots';
import { migrate } from './migrate';
import { providerCapacitySchema } from './schema/provider-capacity';
import { type SqlRow, text } from './storage';

export class ProviderCapacity extends DurableObject {
  readonly #slots = new Slots((bucket) => this.#sendsOf(bucket));
  /** `null`: as the disk has it. */
  #breaker: Breaker | null = null;
  /** What the alarm is set for, without its jitter; `null`: this instance has not set it. */
  #alarmDueMs: number | null = null;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    migrate(ctx.storage, providerCapacitySchema);
  }

  view(): CapacityView {
    return this.#turn((breaker, nowMs) => breaker.view(nowMs));
  }

  /** Gives the view after it. */
  strike(op: StrikeOp): CapacityView {
    return this.#viewAfter((breaker, nowMs) => breaker.strike(op, nowMs));
  }

  /** Gives the view after it. */
  ok(op: OkOp): CapacityView {
    return this.#viewAfter((breaker, nowMs) => breaker.ok(op, nowMs));
  }

  probe(op: ProbeOp): ProbeAnswer {
    return this.#turn((breaker, nowMs) => ({
      granted: breaker.probe(op, nowMs),
      view: breaker.view(nowMs),
    }));
  }

  /** Gives the view after it. */
  giveBackProbe(op: ProbeOp): CapacityView {
    return this.#viewAfter((breaker, nowMs) => breaker.giveBackProbe(op, nowMs));
  }

  /** Never sleeps: the caller does. */
  take(op: SlotOp): SlotAnswer {
    const nowMs = this.nowMs();
    const answer = this.#slots.take(op, nowMs);
    this.#writeSends(nowMs - op.rate.windowMs - spacerJitterMs);
    return answer;
  }

  giveBack(id: string): void {
    this.#slots.giveBack(id);
    this.#writeSends(null);
  }

  observe(reading: Reading): void {
    this.#turn((breaker, nowMs) => breaker.observe(reading, nowMs));
  }

  /** Gives the view after it. */
  mark(op: MarkOp): CapacityView {
    return this.#viewAfter((breaker, nowMs) => breaker.mark(op, nowMs));
  }

  state(): CapacityState {
    return this.#turn((breaker, nowMs) => breaker.state(nowMs, this.#slots.buckets(nowMs)));
  }

  /** Gives how many were cleared. */
  reset(key: string | null): number {
    return this.#turn((breaker, nowMs) => breaker.reset(key, nowMs));
  }

  /** May run twice or late. */
  override alarm(): void {
    this.#alarmDueMs = null;
    this.#turn((breaker, nowMs) => breaker.prune(nowMs));
  }

  /** The object's only clock, epoch milliseconds. */
  protected nowMs(): number {
    return Date.now();
  }

  #viewAfter(work: (breaker: Breaker, nowMs: number) => void): CapacityView {
    return this.#turn((breaker, nowMs) => {
      work(breaker, nowMs);
      return breaker.view(nowMs);
    });
  }

  /** Work and its rows in one step; when that fails, the disk is read again before the next. */
  #turn<T>(work: (breaker: Breaker, nowMs: number) => T): T {
    const breaker = this.#breaker ?? this.#loaded();
    this.#breaker = null;
    const answer = this.ctx.storage.transactionSync(() => {
      const given = work(breaker, this.nowMs());
      for (const change of breaker.takeChanges()) this.#write(change);
      return given;
    });
    this.#breaker = breaker;
    this.#arm(breaker.nextDueMs());
    return answer;
  }

  /** Sends that are older than `beforeMs` are counted by nobody. */
  #writeSends(beforeMs: number | null): void {
    const { sql } = this.ctx.storage;
    for (const { bucket, atMs, isBooked } of this.#slots.takeChanges()) {
      if (isBooked) sql.exec('INSERT INTO send (bucket, at) VALUES (?, ?)', bucket, atMs);
      else sql.exec(oneSend, bucket, atMs);
      if (beforeMs !== null)
        sql.exec('DELETE FROM send WHERE bucket = ? AND at < ?', bucket, beforeMs);
    }
  }

  #sendsOf(bucket: string): readonly number[] {
    const rows = this.ctx.storage.sql.exec(
      'SELECT at FROM send WHERE bucket = ? ORDER BY at',
      bucket,
    );
    return rows.toArray().map((row) => Number(row.at));
  }

  #loaded(): Breaker {
    const { name } = this.ctx.id;
    assert(name !== undefined, 'a capacity object is named after its provider');
    const rows = this.ctx.storage.sql.exec('SELECT kind, key, body FROM item').toArray();
    return new Breaker(name, rows.map(parseItem));
  }

  #write({ kind, key, item }: ItemChange): void {
    const { sql } = this.ctx.storage;
    if (item === null) {
      sql.exec('DELETE FROM item WHERE kind = ? AND key = ?', kind, key);
      return;
    }
    const body = JSON.stringify(item);
    sql.exec('INSERT OR REPLACE INTO item (kind, key, body) VALUES (?, ?, ?)', kind, key, body);
  }

  /** Sets the alarm when the next end is earlier than what it is set for. */
  #arm(dueMs: number | null): void {
    if (dueMs === null || (this.#alarmDueMs !== null && this.#alarmDueMs <= dueMs)) return;
    this.#alarmDueMs = dueMs;
    void this.ctx.storage.setAlarm(dueMs + Math.floor(Math.random() * capacityAlarmJitterMs));
  }
}

/** Two sends may have one time. */
const oneSend =
  'DELETE FROM send WHERE rowid = (SELECT rowid FROM send WHERE bucket = ? AND at = ? LIMIT 1)';

/** A row that this class wrote. */
const parseItem = (row: SqlRow): ItemRow =>
  ({
    kind: text(row, 'kind'),
    key: text(row, 'key'),
    item: JSON.parse(text(row, 'body')),
  }) as ItemRow;
