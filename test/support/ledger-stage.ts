/** A scenario's stage on `node:sqlite`: a core on a database and a clock of its own. */
import type { LedgerCore } from '../../durable-objects/ledger/core.ts';
import type { LedgerConfig } from '../../src/domain/ledger/config.ts';
import type { Applied, EndOp, PlaceOp } from '../../src/domain/ledger/operations.ts';
import type {
  AuditStep,
  ConfigureAnswer,
  CreditAnswer,
  LedgerView,
  Resolution,
  ResolveAnswer,
  Review,
} from '../../src/domain/ledger/views.ts';
import { startMs } from './ledger-history.ts';
import type { CoreClass } from './ledger-run.ts';
import type { Stage } from './ledger-scenarios.ts';
import { NodeStorage } from './ledger-storage.ts';

export class NodeStage implements Stage {
  readonly #storage = new NodeStorage();
  readonly #Core: CoreClass;
  #core: LedgerCore;
  #nowMs = startMs;

  constructor(Core: CoreClass) {
    this.#Core = Core;
    this.#core = new Core(this.#storage, this.#nowMs);
  }

  apply(ends: readonly EndOp[], places: readonly PlaceOp[]): Applied {
    return this.#core.apply(ends, places, this.#nowMs);
  }

  grant(id: string, kind: 'promotional' | 'earned', micros: number): CreditAnswer {
    return this.#core.grant(id, kind, micros, this.#nowMs);
  }

  topUp(id: string, micros: number): CreditAnswer {
    return this.#core.topUp(id, micros, this.#nowMs);
  }

  configure(config: LedgerConfig): ConfigureAnswer {
    return this.#core.configure(config, this.#nowMs);
  }

  resolveRecord(id: string, resolution: Resolution): ResolveAnswer {
    return this.#core.resolveRecord(id, resolution, this.#nowMs);
  }

  view(): LedgerView {
    return this.#core.view(this.#nowMs);
  }

  reviews(after: string | null): readonly Review[] {
    return this.#core.reviews(after);
  }

  audit(): AuditStep {
    let step = this.#core.audit(this.#nowMs);
    while (step.outcome === 'more') step = this.#core.audit(this.#nowMs);
    return step;
  }

  /** Negative: the clock of the machine goes back. */
  wait(ms: number): void {
    this.#nowMs += ms;
  }

  alarm(): void {
    this.#core.runDue(this.#nowMs);
  }

  restart(): void {
    this.#core = new this.#Core(this.#storage, this.#nowMs);
  }

  close(): void {
    this.#storage.close();
  }
}
