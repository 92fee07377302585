/**
 * Money: the owner of one open hold and of the idempotency record that was claimed with it.
 * Promises: both end exactly once, whoever is first; until then the context is kept alive and the lease renewed; a call that was not sent
 * costs nothing; one that was sent and whose end nobody saw costs what was metered so far or the row's fallback, at most the hold; hanging
 * up is never a way to a free answer (decisions section 4, tier 4). The ledger object's alarm is the last owner.
 * Must never: wait for the ledger on the answer's path, except where a record must be durable first.
 * Made by stage 06; closed by stage 09, by the body's follower, or by run-call on a refusal.
 */
import {
  drainMs,
  holdRenewMs,
  recordHeaderCharsMax,
  recordInlineBodyBytesMax,
} from '../base/limits-money';
import { type Outcome, outcomeOf } from '../domain/capacity/outcome';
import type { CatalogEndpoint } from '../domain/catalog/endpoint';
import type { LedgerAddress } from '../domain/ledger/address';
import type { EndOp, RecordedAnswer } from '../domain/ledger/operations';
import {
  type AnswerFacts,
  abandonedCharge,
  type Charge,
  charge,
  isRelease,
} from '../domain/pricing/charge';
import type { FrozenPrice } from '../domain/pricing/estimate';
import { type Usage, type UsagePlan, usagePlan } from '../domain/pricing/meters';
import { type TaskTerms, termsOf } from '../domain/tasks/task';
import type { Background } from '../ports/config';
import type { LedgerDesk } from '../ports/ledger';
import type { ReplayBodies } from '../ports/replay-bodies';
import type { TaskDesk } from '../ports/tasks';

/** What money is made of. */
export interface MoneyParts {
  readonly desk: LedgerDesk;
  readonly bodies: ReplayBodies | null;
  readonly tasks: TaskDesk;
  readonly address: LedgerAddress;
  readonly background: Background;
  readonly holdId: string;
  readonly heldMicros: number;
  readonly recordId: string | null;
  /** `null`: only the call is counted, nothing is charged. */
  readonly endpoint: CatalogEndpoint | null;
  readonly price: FrozenPrice;
}

/** An answer as it is recorded: what the caller gets. */
export interface SeenAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly bytes: Uint8Array;
}

/** What is known of an answer whose end nobody will see. */
export type Partly = Pick<AnswerFacts, 'header' | 'usage'> & { readonly status: number | null };

const nothingSeen: Partly = { status: null, header: () => null, usage: null };

export class Money {
  readonly holdId: string;
  readonly heldMicros: number;
  readonly recordId: string | null;
  /** What has to be read of an answer; no readings: its body says nothing about money. */
  readonly plan: UsagePlan;
  /** How a task is priced that this call submits; `null`: it submits none. */
  readonly terms: TaskTerms | null;
  /** Micro-USD once it is settled; `null` before, and when it was released. */
  costMicros: number | null = null;
  isClosed = false;
  /** What the last answer that was priced had; `null`: none was, or only its status is known. */
  found: Outcome | null = null;
  /** The hold is a task's; what is left is the record of a key. */
  #isDeferred = false;
  #isSent = false;
  #isRecorded = false;
  #hasLeft = false;
  readonly #parts: MoneyParts;
  readonly #open = Promise.withResolvers<void>();
  #renewal: ReturnType<typeof setInterval> | null = null;
  #onClosed: (() => void) | null = null;
  #onLeft: (() => void) | null = null;
  #partly: () => Partly = () => nothingSeen;

  /** Keeps the context from here on. */
  constructor(parts: MoneyParts) {
    this.#parts = parts;
    this.holdId = parts.holdId;
    this.heldMicros = parts.heldMicros;
    this.recordId = parts.recordId;
    const { endpoint, price } = parts;
    this.plan = planOf(endpoint);
    this.terms = endpoint?.task == null ? null : termsOf(endpoint.task, endpoint, price);
    parts.background(this.#open.promise);
  }

  /** Whether nobody pays for work that is cancelled: a call that is only counted, or a vendor that does not bill it. */
  get isCancellable(): boolean {
    const { endpoint } = this.#parts;
    return endpoint === null || endpoint.onClientDisconnect === 'cancel';
  }

  /** Whether an answer has to be read, for its price or for its record: then it must not be coded. */
  get readsAnswers(): boolean {
    return this.plan.readings.length > 0 || this.recordId !== null || this.terms !== null;
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** The call takes long enough to outlive its lease: from here it is renewed. */
  lasts(): void {
    if (this.isClosed || this.#renewal !== null) return;
    this.#renewal = setInterval(() => this.#end(['renew', this.holdId]), holdRenewMs);
  }

  /** No hold is there: nothing is owed. */
  refused(): void {
    this.#close(null);
  }

  /** From here the vendor may have been asked. */
  sent(): void {
    this.#isSent = true;
  }

  /** What to settle by when the end is not seen; asked when it has come to that. */
  seenSoFar(partly: () => Partly): void {
    this.#partly = partly;
  }

  /** The client has left: not sent is released by whoever sees it next; what it will not pay for is given up, the rest waited for, `drainMs` at most. */
  left(giveUp: () => void): void {
    this.#hasLeft = true;
    this.#onLeft?.();
    if (this.isCancellable) giveUp();
    if (this.isClosed) return;
    const timer = setTimeout(giveUp, drainMs);
    void this.#open.promise.then(() => clearTimeout(timer));
  }

  /** Calls back when the client has left. */
  whenLeft(then: () => void): void {
    if (this.#hasLeft) then();
    else this.#onLeft = then;
  }

  /** Calls back when both are closed; at once when they are. */
  whenClosed(then: () => void): void {
    if (this.isClosed) then();
    else this.#onClosed = then;
  }

  /** What a finished answer costs. */
  chargeOf(answer: { status: number; header: AnswerFacts['header']; usage: Usage | null }): Charge {
    const { endpoint, price, heldMicros } = this.#parts;
    this.found = outcomeOf(answer.status, answer.usage);
    if (endpoint === null) return { micros: 0, source: 'table' };
    return charge({ ...answer, price, settlement: endpoint.settlement, heldMicros });
  }

  /** Settles a finished call. One that {@link record} will write keeps its hold open until then; another frees its key. */
  settle({ micros, source }: Charge, isRecorded: boolean): void {
    if (this.isClosed) return;
    const hasRecord = this.recordId !== null && isRecorded && source !== 'vendor_failed';
    // A success that costs nothing was executed all the same: its key is not free for another.
    if (hasRecord) this.costMicros = micros;
    else if (isRelease(source)) this.release(source);
    else this.#finish(['settle', this.holdId, micros, true], 'free', micros);
  }

  /**
   * The vendor works on: from here the hold is the task's, on the ledger's disk before the caller learns its id. False: the ledger did not
   * take it; the hold is given back, and the task is nobody's.
   */
  async defer(task: { readonly taskId: string; readonly account: string }): Promise<boolean> {
    const { endpoint, address, background, tasks } = this.#parts;
    const { terms, holdId } = this;
    if (endpoint === null || terms === null || this.isClosed) return false;
    const opened = await tasks.open(
      address,
      {
        ...task,
        holdId,
        provider: endpoint.provider,
        endpointId: endpoint.id,
        deadlineMs: terms.rule.deadlineMs,
        terms: JSON.stringify(terms),
      },
      background,
    );
    if (this.isClosed) return false;
    if (opened.outcome === 'opened') {
      this.#isDeferred = true;
      if (this.recordId === null) this.#close(null);
      return true;
    }
    if (this.recordId === null) this.release('async_task_not_recorded');
    // Executed: its key is not free for another.
    else this.costMicros = 0;
    return false;
  }

  /** Gives the hold back; the key, which executed nothing that counts, is free again. */
  release(reason: string): void {
    if (!this.#isEnding) this.#finish(['release', this.holdId, reason], 'free', null);
  }

  /** Settles and records in one step, on disk before the answer goes out. `null`: an answer too large to keep. */
  async record(answer: SeenAnswer | null): Promise<void> {
    const { recordId, costMicros } = this;
    if (this.isClosed || recordId === null) return;
    if (costMicros === null && !this.#isDeferred) return;
    this.#isRecorded = true;
    const settle: EndOp[] = costMicros === null ? [] : [['settle', this.holdId, costMicros, true]];
    const kept: EndOp =
      answer === null ? ['unknown', recordId] : await this.#recorded(recordId, answer, costMicros);
    const { desk, address, background } = this.#parts;
    await desk.endNow(address, [...settle, kept], background);
    this.#close(costMicros);
  }

  /** The call ends without an answer that counts: our refusal, a fault, a bug. `isUnknown`: it may have been executed all the same. */
  abandon(reason: string, isUnknown: boolean): void {
    if (this.#isEnding) return;
    if (this.#isDeferred) this.#forgetAnswer();
    else if (!this.#isSent) this.release(reason);
    else if (this.#hasLeft && !this.isCancellable) this.#settleUnseen();
    else {
      const why = this.#hasLeft ? 'call_cancelled' : reason;
      this.#finish(['release', this.holdId, why], isUnknown ? 'unknown' : 'free', null);
    }
  }

  /** Somebody answered in the vendor's place: as after a fault of the transport nothing is charged, and the key must not be executed again. */
  unseen(): void {
    if (!this.#isEnding) this.#finish(['release', this.holdId, 'upstream_unseen'], 'unknown', null);
  }

  /** The stream broke or its client left before its end. */
  cutShort(): void {
    if (this.#isEnding) return;
    if (this.#hasLeft && this.isCancellable) this.abandon('call_cancelled', true);
    else this.#settleUnseen();
  }

  /** Closed, or on its way to the ledger's disk with its answer: nothing else may end it. */
  get #isEnding(): boolean {
    return this.isClosed || this.#isRecorded;
  }

  #settleUnseen(): void {
    const { endpoint, price, heldMicros } = this.#parts;
    const { micros, source } =
      endpoint === null
        ? ({ micros: 0, source: 'table' } as const)
        : abandonedCharge({
            ...this.#partly(),
            price,
            settlement: endpoint.settlement,
            heldMicros,
          });
    if (isRelease(source)) this.release(source);
    else this.#finish(['settle', this.holdId, micros, true], 'unknown', micros);
  }

  /** The task runs, and nobody has its submission's answer to replay. */
  #forgetAnswer(): void {
    if (this.recordId !== null) this.#end(['unknown', this.recordId]);
    this.#close(null);
  }

  async #recorded(recordId: string, answer: SeenAnswer, costMicros: number | null): Promise<EndOp> {
    const { status, headers, bytes } = answer;
    const headerChars = headers.reduce((sum, text) => sum + text.length, 0);
    if (headerChars > recordHeaderCharsMax) return ['unknown', recordId];
    const isInline = bytes.byteLength <= recordInlineBodyBytesMax;
    const bodyRef = isInline ? null : await this.#parts.bodies?.put(recordId, bytes);
    // Executed, and the answer cannot be kept: a repeat must not execute it again.
    if (bodyRef === undefined) return ['unknown', recordId];
    // A copy: what travels to the object is the whole buffer that a view stands on, 64 KiB for an answer of 1 KB.
    const body = isInline ? bytes.slice() : null;
    const bodyBytes = bytes.byteLength;
    const kept: RecordedAnswer = { status, headers, body, bodyRef, bodyBytes, costMicros };
    return ['record', recordId, kept];
  }

  #end(op: EndOp): void {
    const { desk, address, background } = this.#parts;
    desk.end(address, op, background);
  }

  /** Ends both. What becomes of a key must not wait for company: a retry may come through another isolate. */
  #finish(end: EndOp, fate: 'free' | 'unknown', costMicros: number | null): void {
    const { desk, address, background } = this.#parts;
    if (this.recordId === null) this.#end(end);
    else background(desk.endNow(address, [end, [fate, this.recordId]], background));
    this.#close(costMicros);
  }

  #close(costMicros: number | null): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.costMicros = this.#parts.endpoint === null ? null : costMicros;
    if (this.#renewal !== null) clearInterval(this.#renewal);
    this.#open.resolve();
    this.#onClosed?.();
  }
}

const nothingToRead: UsagePlan = { readings: [], ends: [] };
const plans = new WeakMap<CatalogEndpoint, UsagePlan>();

/** One plan per row: it does not depend on the call. */
function planOf(endpoint: CatalogEndpoint | null): UsagePlan {
  if (endpoint === null) return nothingToRead;
  const plan = plans.get(endpoint) ?? usagePlan(endpoint.cost, endpoint.settlement);
  plans.set(endpoint, plan);
  return plan;
}
