/**
 * Ledgers: one call at a time, for the control plane and the jobs; the road has its own way
 * (`ledger-desk.ts`).
 * Promises: see `ports/ledger.ts`; money enters a ledger only after `register` has made it known to
 * the journal job. Must never: keep a stub. Made by wiring.ts.
 */
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import type { LedgerConfig } from '../../domain/ledger/config';
import type { LedgerEntry } from '../../domain/ledger/entries';
import type { Applied, Claim, EndOp, PeekAnswer, PlaceOp } from '../../domain/ledger/operations';
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
} from '../../domain/ledger/views';
import type { OpenTask, OpenTaskAnswer, TaskView } from '../../domain/tasks/task';
import type { DeskTime, FromLedger, Ledger, LedgerAddress, Ledgers } from '../../ports/ledger';
import { callLedger, ledgerUnavailable } from './ledger-call';

type Stub = DurableObjectStub<OrgLedger>;

/** What the adapter is made of. */
export interface DurableLedgersParts {
  /** A fresh stub. */
  readonly stubOf: (address: LedgerAddress) => Stub;
  /** Makes a ledger known to the journal job; may reject, and then no money enters. */
  readonly register: (address: LedgerAddress) => Promise<unknown>;
  readonly time: DeskTime;
}

export class DurableLedgers implements Ledgers {
  readonly #parts: DurableLedgersParts;

  constructor(parts: DurableLedgersParts) {
    this.#parts = parts;
  }

  of(address: LedgerAddress): Ledger {
    return new DurableLedger(this.#parts, address);
  }
}

class DurableLedger implements Ledger {
  readonly #parts: DurableLedgersParts;
  readonly #address: LedgerAddress;

  constructor(parts: DurableLedgersParts, address: LedgerAddress) {
    this.#parts = parts;
    this.#address = address;
  }

  apply(ends: readonly EndOp[], places: readonly PlaceOp[]): FromLedger<Applied> {
    return this.#call(async (stub) => stub.apply(ends, places));
  }

  peek(claim: Claim): FromLedger<PeekAnswer> {
    return this.#call(async (stub) => stub.peek(claim));
  }

  openTask(task: OpenTask): FromLedger<OpenTaskAnswer> {
    return this.#call(async (stub) => stub.openTask(task));
  }

  task(provider: string, taskId: string): FromLedger<TaskView | null> {
    return this.#call(async (stub) => stub.task(provider, taskId));
  }

  tasks(after: string | null): FromLedger<readonly TaskView[]> {
    return this.#call(async (stub) => stub.tasks(after));
  }

  grant(id: string, kind: 'promotional' | 'earned', micros: number): FromLedger<CreditAnswer> {
    return this.#credit(async (stub) => stub.grant(id, kind, micros));
  }

  topUp(id: string, micros: number): FromLedger<CreditAnswer> {
    return this.#credit(async (stub) => stub.topUp(id, micros));
  }

  configure(config: LedgerConfig): FromLedger<ConfigureAnswer> {
    return this.#call(async (stub) => stub.configure(config));
  }

  view(): FromLedger<LedgerView> {
    return this.#call(async (stub) => stub.view());
  }

  holds(after: string | null): FromLedger<readonly HoldView[]> {
    return this.#call(async (stub) => stub.holds(after));
  }

  entries(afterSeq: number): FromLedger<readonly LedgerEntry[]> {
    return this.#call(async (stub) => stub.entries(afterSeq));
  }

  records(after: string | null): FromLedger<readonly RecordView[]> {
    return this.#call(async (stub) => stub.records(after));
  }

  resolveRecord(id: string, resolution: Resolution): FromLedger<ResolveAnswer> {
    return this.#call(async (stub) => stub.resolveRecord(id, resolution));
  }

  reviews(after: string | null): FromLedger<readonly Review[]> {
    return this.#call(async (stub) => stub.reviews(after));
  }

  closeReview(holdId: string): FromLedger<boolean> {
    return this.#call(async (stub) => stub.closeReview(holdId));
  }

  audit(): FromLedger<AuditStep> {
    return this.#call(async (stub) => stub.audit());
  }

  outbox(limit: number): FromLedger<Outbox> {
    return this.#call(async (stub) => stub.outbox(limit));
  }

  acknowledge(seq: number): FromLedger<void> {
    return this.#call(async (stub) => stub.acknowledge(seq));
  }

  async #credit(call: (stub: Stub) => Promise<CreditAnswer>): FromLedger<CreditAnswer> {
    const { register } = this.#parts;
    const isKnown = await register(this.#address).then(
      () => true,
      () => false,
    );
    return isKnown ? this.#call(call) : ledgerUnavailable;
  }

  #call<T>(call: (stub: Stub) => Promise<T>): FromLedger<T> {
    const { stubOf, time } = this.#parts;
    return callLedger(() => call(stubOf(this.#address)), time);
  }
}
