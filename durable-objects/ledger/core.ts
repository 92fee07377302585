/**
 * LedgerCore: the exact ledger of one tenant, on any SQLite that {@link ObjectStorage} fits.
 * Promises: every call is one transaction of memory and disk; when it fails, memory is dropped and
 * read again, so neither can be ahead of the other. An unkeyed call appends one row and nothing
 * else. Every call that changed the books ends with the invariant checked.
 * Must never: await, or know a clock of its own. Owned by `../org-ledger.ts`.
 */
import { assert } from '../../src/base/assert';
import { pageSizeMax } from '../../src/base/limits';
import {
  ledgerBatchOpsMax,
  ledgerBlocksMax,
  ledgerOutboxRowsMax,
  ledgerOutboxTasksMax,
  ledgerSweepMax,
} from '../../src/base/limits-money';
import { blockKinds } from '../../src/domain/ledger/blocks';
import { configFault, type LedgerConfig } from '../../src/domain/ledger/config';
import { entriesOf, type LedgerEntry, type LogOp } from '../../src/domain/ledger/entries';
import {
  type Applied,
  type Claim,
  type EndOp,
  isAmount,
  isLedgerId,
  type PeekAnswer,
  type PlaceOp,
} from '../../src/domain/ledger/operations';
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
} from '../../src/domain/ledger/views';
import type { OpenTask, OpenTaskAnswer, TaskView } from '../../src/domain/tasks/task';
import { migrate } from '../migrate';
import { orgLedgerSchema } from '../schema/org-ledger';
import { integer, type ObjectStorage, text } from '../storage';
import { Audit } from './audit';
import { EndedStore } from './ended-store';
import { Journal } from './journal';
import { RecordStore } from './record-store';
import { ReviewStore } from './review-store';
import { TaskStore } from './task-store';
import { type Memory, Turn } from './turn';

/** Money that comes in: a grant, or a top-up (a purchased block). */
type Credit = Extract<LogOp, readonly ['grant' | 'top_up', ...unknown[]]>;

export class LedgerCore {
  readonly #storage: ObjectStorage;
  #memory: Memory | null = null;
  #audit: Audit | null = null;

  /** `nowMs`: the object's clock at its start. */
  constructor(storage: ObjectStorage, nowMs: number) {
    this.#storage = storage;
    migrate(storage, orgLedgerSchema);
    this.#turn(nowMs, (turn) => turn.grace());
  }

  /** Ends and renewals first, then places, so that what is given back can be taken at once. */
  apply(ends: readonly EndOp[], places: readonly PlaceOp[], nowMs: number): Applied {
    assert(ends.length + places.length <= ledgerBatchOpsMax, 'a batch is too long');
    const work = (turn: Turn): Applied => ({
      outcome: 'applied',
      ends: ends.map((op) => turn.end(op)),
      places: places.map((op) => turn.place(op)),
    });
    if (!this.#isPlain(ends, places)) return this.#turn(nowMs, work);
    return this.#safely(() => this.#carryOut(nowMs, work));
  }

  /** What a claim would meet: for a call that may be replayed and must not be sent. */
  peek(claim: Claim, nowMs: number): PeekAnswer {
    return this.#turn(nowMs, (turn) => turn.peek(claim));
  }

  /** The hold of a submission stays open for its task. */
  openTask(task: OpenTask, nowMs: number): OpenTaskAnswer {
    return this.#turn(nowMs, (turn) => turn.openTask(task));
  }

  /** The task of a vendor's id, pending or ended; `null`: this ledger has none. */
  task(provider: string, taskId: string): TaskView | null {
    return this.#loaded().tasks.ofId(provider, taskId);
  }

  /** Tasks behind `after`, by hold. */
  tasks(after: string | null): readonly TaskView[] {
    return this.#loaded().tasks.list({ after, limit: pageSizeMax });
  }

  grant(id: string, kind: 'promotional' | 'earned', micros: number, nowMs: number): CreditAnswer {
    return this.#credit(['grant', id, micros, kind], nowMs);
  }

  topUp(id: string, micros: number, nowMs: number): CreditAnswer {
    return this.#credit(['top_up', id, micros], nowMs);
  }

  configure(config: LedgerConfig, nowMs: number): ConfigureAnswer {
    const field = configFault(config);
    if (field !== null) return { outcome: 'invalid', field };
    return this.#turn(nowMs, (turn, { state }) => {
      const { version } = state.config;
      if (config.version <= version) return { outcome: 'outdated', version };
      turn.do(['configure', config]);
      return { outcome: 'configured', version: config.version };
    });
  }

  /** When there is work for {@link runDue}, epoch milliseconds; `null`: none. */
  nextDueMs(): number | null {
    const { state, records } = this.#loaded();
    const { first } = state.open;
    if (first === undefined) return records.nextDueMs;
    return Math.min(first.leaseUntilMs, records.nextDueMs ?? first.leaseUntilMs);
  }

  /** Expires holds, sweeps records, forgets what is too old: a bounded step of each. */
  runDue(nowMs: number): void {
    this.#turn(nowMs, (turn, { state, records, ended, reviews, tasks, journal }) => {
      const overdue = [];
      for (const hold of state.open.values()) {
        if (hold.leaseUntilMs > turn.nowMs || overdue.length >= ledgerSweepMax) break;
        overdue.push(hold);
      }
      for (const hold of overdue) turn.expire(hold);
      records.sweep(turn.nowMs, ledgerSweepMax);
      ended.prune(turn.nowMs);
      reviews.prune(turn.nowMs);
      tasks.prune(turn.nowMs, ledgerSweepMax);
      journal.prune();
    });
  }

  view(nowMs: number): LedgerView {
    const { state, journal } = this.#loaded();
    state.tally.roll(nowMs);
    return {
      availableMicros: state.availableMicros,
      heldMicros: state.heldMicros,
      settledMicros: state.settledMicros,
      grantedMicros: state.grantedMicros,
      toppedUpMicros: state.toppedUpMicros,
      debtMicros: state.purse.debtMicros,
      blocks: state.purse.blocks.map((block) => ({ ...block })),
      openHolds: state.open.size,
      settledTodayMicros: state.tally.settledTodayMicros,
      config: state.config,
      seq: state.seq,
      ackedSeq: journal.ackedSeq,
    };
  }

  /** Open holds behind `after`, by id. */
  holds(after: string | null): readonly HoldView[] {
    const behind = [...this.#loaded().state.open.values()].filter(
      (hold) => after === null || hold.id > after,
    );
    behind.sort((a, b) => (a.id < b.id ? -1 : 1));
    return behind.slice(0, pageSizeMax).map(({ slices: _, graced: __, ...hold }) => hold);
  }

  /** Entries of the rows behind `afterSeq` that are still in the object; whole rows only. */
  entries(afterSeq: number): readonly LedgerEntry[] {
    return this.#loaded().journal.rows(afterSeq, pageSizeMax).flatMap(entriesOf);
  }

  /** Idempotency records behind `after`, by id. */
  records(after: string | null, nowMs: number): readonly RecordView[] {
    return this.#loaded().records.list({ after, limit: pageSizeMax }, nowMs);
  }

  /** Expired holds behind `after`, by id. */
  reviews(after: string | null): readonly Review[] {
    return this.#loaded().reviews.list({ after, limit: pageSizeMax });
  }

  /** An operator has looked at an expired hold; false when there was nothing open. */
  closeReview(holdId: string, nowMs: number): boolean {
    return this.#turn(nowMs, (turn, { reviews }) => reviews.close(holdId, 'operator', turn.nowMs));
  }

  resolveRecord(id: string, resolution: Resolution, nowMs: number): ResolveAnswer {
    if (resolution.kind === 'settle' && !isAmount(resolution.chargeMicros ?? 0)) {
      return { outcome: 'invalid', field: 'chargeMicros' };
    }
    return this.#turn(nowMs, (turn, { records }) => {
      const row = records.ofId(id, turn.nowMs);
      if (row === null) return { outcome: 'unknown_record' };
      if (row.state !== 'unknown') return { outcome: 'not_unknown', state: row.state };
      if (resolution.kind === 'settle') records.mark(row, 'resolved');
      else records.remove(row);
      return { outcome: 'resolved', chargedMicros: this.#closeHold(turn, row.holdId, resolution) };
    });
  }

  /** Rows that D1 does not have yet, oldest first, in what one message can carry; and the tasks that it has to have polled. */
  outbox(limit: number): Outbox {
    const { journal, state, tasks } = this.#loaded();
    const rows = journal.outbox(Math.min(limit, ledgerOutboxRowsMax));
    return { rows, seq: state.seq, tasks: tasks.waiting(ledgerOutboxTasksMax) };
  }

  /** D1 has every row up to `seq`: they may go. */
  acknowledge(seq: number, nowMs: number): void {
    this.#turn(nowMs, (_, { journal, state }) => {
      assert(seq <= state.seq, 'a row is acknowledged that does not exist');
      journal.acknowledge(seq);
      journal.prune();
    });
  }

  /** One bounded step of an audit; call again while it answers `more`. */
  audit(nowMs: number): AuditStep {
    return this.#turn(nowMs, (_, { journal, state }) => {
      this.#audit ??= new Audit(journal, this.#storage.sql);
      const step = this.#audit.step(state, nowMs);
      if (step.outcome !== 'more') this.#audit = null;
      return step;
    });
  }

  /**
   * Whether a batch writes its row of the log and nothing else: one statement needs no transaction,
   * and a savepoint costs a tenth of such a call.
   */
  #isPlain(ends: readonly EndOp[], places: readonly PlaceOp[]): boolean {
    const { state, tasks } = this.#loaded();
    for (const op of ends) {
      if ((op[0] !== 'settle' && op[0] !== 'release') || !state.open.has(op[1])) return false;
      if (tasks.isPending(op[1])) return false;
    }
    return places.every((op) => op[6] === null);
  }

  /**
   * What the resolution of a record does to its hold; gives what was charged by it. A hold that waits for a task stays the task's: its
   * owner could free the key of a job that the vendor has taken, and pay nothing for what it makes.
   */
  #closeHold(turn: Turn, holdId: string, resolution: Resolution): number {
    if (this.#loaded().tasks.isPending(holdId)) return 0;
    if (resolution.kind === 'free') {
      turn.release(holdId, 'record_freed');
      return 0;
    }
    const known = this.#loaded().state.open.get(holdId) ?? turn.endedHold(holdId);
    if (known === null) return 0;
    const chargeMicros = resolution.chargeMicros ?? known.amountMicros;
    const before = turn.ops.length;
    turn.settle(holdId, chargeMicros, true);
    return turn.ops.length > before ? chargeMicros : 0;
  }

  #credit(op: Credit, nowMs: number): CreditAnswer {
    const [, id, micros] = op;
    const kind = op[0] === 'grant' ? op[3] : 'purchased';
    if (!isLedgerId(id)) return { outcome: 'invalid', field: 'id' };
    if (!isAmount(micros) || micros === 0) return { outcome: 'invalid', field: 'micros' };
    if (!blockKinds.includes(kind)) return { outcome: 'invalid', field: 'kind' };
    return this.#turn(nowMs, (turn, { state }) => {
      const { sql } = this.#storage;
      const known = sql.exec('SELECT * FROM credit WHERE id = ?', id).toArray()[0];
      if (known !== undefined) {
        const same = text(known, 'kind') === kind && integer(known, 'micros') === micros;
        return same
          ? { outcome: 'credited', seq: integer(known, 'seq') }
          : { outcome: 'id_conflict' };
      }
      if (state.purse.blocks.length >= ledgerBlocksMax) {
        return { outcome: 'too_many_blocks', blocksMax: ledgerBlocksMax };
      }
      turn.do(op);
      const seq = state.seq + 1;
      sql.exec(
        'INSERT INTO credit (id, kind, micros, seq) VALUES (?, ?, ?, ?)',
        id,
        kind,
        micros,
        seq,
      );
      return { outcome: 'credited', seq };
    });
  }

  /** One transaction: the work, then the check, then its row. */
  #turn<T>(nowMs: number, work: (turn: Turn, memory: Memory) => T): T {
    return this.#safely(() => this.#storage.transactionSync(() => this.#carryOut(nowMs, work)));
  }

  /** A clock that went back stands still. */
  #carryOut<T>(nowMs: number, work: (turn: Turn, memory: Memory) => T): T {
    const memory = this.#loaded();
    const turn = new Turn(memory, Math.max(nowMs, memory.state.atMs));
    const answer = work(turn, memory);
    if (turn.ops.length > 0) this.#commit(memory, turn);
    return answer;
  }

  /** When work fails, memory may be ahead of the disk: the next call reads it again. */
  #safely<T>(work: () => T): T {
    try {
      return work();
    } catch (fault) {
      this.#memory = null;
      this.#audit = null;
      throw fault;
    }
  }

  #commit({ state, journal, ended }: Memory, turn: Turn): void {
    state.assertBalanced();
    if (!journal.snapshotIsDue(state, turn.ops.length)) {
      journal.append(state, turn.ops, turn.nowMs);
      return;
    }
    this.#storage.transactionSync(() => {
      journal.append(state, turn.ops, turn.nowMs);
      state.assertHeld();
      journal.snapshot(state);
      ended.write(state.ended, turn.nowMs);
      state.ended.clear();
    });
  }

  #loaded(): Memory {
    if (this.#memory === null) {
      const { sql } = this.#storage;
      const journal = new Journal(sql);
      this.#memory = {
        state: journal.load(),
        journal,
        ended: new EndedStore(sql),
        records: new RecordStore(sql),
        reviews: new ReviewStore(sql),
        tasks: new TaskStore(sql),
      };
    }
    return this.#memory;
  }
}
