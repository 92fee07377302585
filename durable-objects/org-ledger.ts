/**
 * OrgLedger: the exact ledger of one tenant. Id: `idFromName(ledger tenant id)`, made in its
 * `home_region`. Durable: everything. Its alarm is the last owner of every open hold and claim.
 * Promises: methods are synchronous, so nothing comes between read and write, and their answers
 * leave only when what they say is on disk. RPC is additive for two releases. Called by
 * `src/adapters/durable/` only; the rules are in `ledger/core.ts`.
 */
import { DurableObject } from 'cloudflare:workers';
import {
  ledgerAlarmJitterMs,
  ledgerBusyRetryMs,
  ledgerInFlightMax,
} from '../src/base/limits-money';
import type { LedgerConfig } from '../src/domain/ledger/config';
import type { LedgerEntry } from '../src/domain/ledger/entries';
import type {
  Applied,
  Claim,
  EndOp,
  LedgerBusy,
  PeekAnswer,
  PlaceOp,
} from '../src/domain/ledger/operations';
import type {
  AuditStep,
  ConfigureAnswer,
  CreditAnswer,
  HoldView,
  LedgerView,
  Outbox,
  RecordView,
  Resolution,
  ResolveAnswer,
  Review,
} from '../src/domain/ledger/views';
import { type Packed, packAnswers, unpackBatch } from '../src/domain/ledger/wire';
import type { OpenTask, OpenTaskAnswer, TaskView } from '../src/domain/tasks/task';
import { LedgerCore } from './ledger/core';

export class OrgLedger extends DurableObject {
  readonly #core: LedgerCore;
  /** What the alarm is set for, without its jitter; `null`: this instance has not set it. */
  #alarmDueMs: number | null = null;
  /**
   * Calls whose commit may not be confirmed yet, and whether somebody waits for the disk. Asking it
   * costs as much as a small call, so it is asked when a quarter of what is allowed is used.
   */
  #unconfirmed = 0;
  #confirming = false;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#core = new LedgerCore(ctx.storage, this.nowMs());
  }

  /** See {@link LedgerCore.apply}. Busy: nothing was done, the same batch may be sent again. */
  apply(ends: readonly EndOp[], places: readonly PlaceOp[]): Applied | LedgerBusy {
    if (this.#unconfirmed >= ledgerInFlightMax) {
      return { outcome: 'ledger_busy', retryAfterMs: ledgerBusyRetryMs };
    }
    this.#unconfirmed += 1;
    if (!this.#confirming && 4 * this.#unconfirmed >= ledgerInFlightMax) this.#confirm();
    return this.#armed(this.#core.apply(ends, places, this.nowMs()));
  }

  /** {@link apply} for the road: the same as flat lists, which are cheaper to clone. */
  applyPacked(batch: Packed): Packed | LedgerBusy {
    const { ends, places } = unpackBatch(batch);
    const answer = this.apply(ends, places);
    return answer.outcome === 'applied' ? packAnswers(answer) : answer;
  }

  /** What a claim would meet; nothing is claimed. */
  peek(claim: Claim): PeekAnswer {
    return this.#armed(this.#core.peek(claim, this.nowMs()));
  }

  /** See {@link LedgerCore.openTask}. */
  openTask(task: OpenTask): OpenTaskAnswer {
    return this.#armed(this.#core.openTask(task, this.nowMs()));
  }

  task(provider: string, taskId: string): TaskView | null {
    return this.#armed(this.#core.task(provider, taskId));
  }

  tasks(after: string | null): readonly TaskView[] {
    return this.#armed(this.#core.tasks(after));
  }

  grant(id: string, kind: 'promotional' | 'earned', micros: number): CreditAnswer {
    return this.#armed(this.#core.grant(id, kind, micros, this.nowMs()));
  }

  topUp(id: string, micros: number): CreditAnswer {
    return this.#armed(this.#core.topUp(id, micros, this.nowMs()));
  }

  configure(config: LedgerConfig): ConfigureAnswer {
    return this.#armed(this.#core.configure(config, this.nowMs()));
  }

  view(): LedgerView {
    return this.#armed(this.#core.view(this.nowMs()));
  }

  holds(after: string | null): readonly HoldView[] {
    return this.#armed(this.#core.holds(after));
  }

  entries(afterSeq: number): readonly LedgerEntry[] {
    return this.#armed(this.#core.entries(afterSeq));
  }

  records(after: string | null): readonly RecordView[] {
    return this.#armed(this.#core.records(after, this.nowMs()));
  }

  resolveRecord(id: string, resolution: Resolution): ResolveAnswer {
    return this.#armed(this.#core.resolveRecord(id, resolution, this.nowMs()));
  }

  reviews(after: string | null): readonly Review[] {
    return this.#armed(this.#core.reviews(after));
  }

  closeReview(holdId: string): boolean {
    return this.#armed(this.#core.closeReview(holdId, this.nowMs()));
  }

  audit(): AuditStep {
    return this.#armed(this.#core.audit(this.nowMs()));
  }

  outbox(limit: number): Outbox {
    return this.#armed(this.#core.outbox(limit));
  }

  acknowledge(seq: number): void {
    this.#armed(this.#core.acknowledge(seq, this.nowMs()));
  }

  /** May run twice or late. One that fails is run again by the platform; the next call re-arms. */
  override alarm(): void {
    this.#alarmDueMs = null;
    this.#core.runDue(this.nowMs());
    this.#armed(null);
  }

  /** The object's only clock, epoch milliseconds. */
  protected nowMs(): number {
    return Date.now();
  }

  /** Sets the alarm when the next work is earlier than what it is set for; gives `answer` back. */
  #armed<T>(answer: T): T {
    const dueMs = this.#core.nextDueMs();
    if (dueMs === null || (this.#alarmDueMs !== null && this.#alarmDueMs <= dueMs)) return answer;
    this.#alarmDueMs = dueMs;
    void this.ctx.storage.setAlarm(dueMs + Math.floor(Math.random() * ledgerAlarmJitterMs));
    return answer;
  }

  /** Waits for the disk on behalf of every call that came before, one wait at a time. */
  #confirm(): void {
    this.#confirming = true;
    const waiting = this.#unconfirmed;
    const confirmed = (): void => {
      this.#unconfirmed -= waiting;
      this.#confirming = false;
    };
    void this.ctx.storage.sync().then(confirmed, confirmed);
  }
}
