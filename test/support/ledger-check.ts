/**
 * Checks a ledger against the model, step by step: the same answers, the same books, and the
 * guarantees that need no model: money conserved, each hold ends once, repeats equal, nothing spent
 * above what was placed except by a settlement that says so.
 */
import type { LogOp, LogRow } from '../../src/domain/ledger/entries.ts';
import type { EndAnswer, EndOp, PlaceAnswer, PlaceOp } from '../../src/domain/ledger/operations.ts';
import type {
  AuditStep,
  CreditAnswer,
  HoldView,
  LedgerView,
  Outbox,
  RecordView,
  Review,
} from '../../src/domain/ledger/views.ts';
import type { OpenTaskAnswer, TaskView } from '../../src/domain/tasks/task.ts';
import { type Call, type Step, startMs } from './ledger-history.ts';
import { LedgerModel } from './ledger-model.ts';
import { holds, same } from './proof.ts';

/** What was seen after a step. */
export interface Seen {
  /** The step's answer, or the answers of its calls. */
  readonly answer: unknown;
  readonly view: LedgerView;
}

/** What the lists said at the end. */
export interface Lists {
  readonly holds: readonly HoldView[];
  readonly records: readonly RecordView[];
  readonly reviews: readonly Review[];
  readonly tasks: readonly TaskView[];
}

/** Answers that say that something happened; their operations, repeated, must get them again. */
const effects = new Set(['placed', 'settled', 'late_settled', 'released', 'credited']);

export class Checker {
  readonly #model = new LedgerModel();
  /** The kinds of answers that came, so that a proof can say that it has seen them all. */
  readonly seen: Set<string>;
  readonly #first = new Map<string, string>();
  readonly #journal: LogRow[] = [];

  constructor(seen: Set<string>) {
    this.seen = seen;
    this.#model.nowMs = startMs;
  }

  /** The time that the ledger has to be driven at. */
  get nowMs(): number {
    return this.#model.nowMs;
  }

  /** A new time, before the step that follows is carried out. */
  wait(ms: number): void {
    this.#model.nowMs += ms;
  }

  /** Throws when what was seen is not what had to be seen. */
  check(step: Step, { answer, view }: Seen): void {
    this.#expect(step, answer);
    this.#checkBooks(view);
  }

  /** The end: the lists, and the journal as D1 has it. */
  finish(lists: Lists): void {
    const model = this.#model;
    const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
    same(
      lists.holds.map((h) => [h.id, h.amountMicros, h.placedAtMs, h.leaseUntilMs]),
      model
        .open()
        .sort(byId)
        .map((h) => [h.id, h.micros, h.placedAtMs, h.leaseUntilMs]),
      'open holds',
    );
    same(
      lists.records.map((r) => [r.id, r.state, r.costMicros]),
      model
        .liveRecords()
        .sort(byId)
        .map((r) => [r.id, r.state, r.answer?.costMicros ?? null]),
      'records',
    );
    same(
      lists.reviews.map((r) => [r.holdId, r.micros, r.closedAtMs !== null]),
      [...model.reviews].sort().map(([id, r]) => [id, r.micros, r.closed]),
      'reviews',
    );
    same(
      lists.tasks.map((task) => [task.holdId, task.taskId, task.state, task.deadlineAtMs]),
      model.tasks
        .toSorted((a, b) => byId(a.hold, b.hold))
        .map((task) => [task.hold.id, task.taskId, model.taskState(task), task.deadlineAtMs]),
      'tasks',
    );
    this.#checkJournal();
  }

  #expect(step: Step, answer: unknown): void {
    const model = this.#model;
    switch (step.do) {
      case 'apply':
        for (const [i, call] of step.calls.entries()) {
          this.#expectCall(call, (answer as unknown[])[i]);
        }
        break;
      case 'die':
        this.#expectCall(step.call, answer);
        break;
      case 'lose_answer':
        model.apply(step.call.ends, step.call.places);
        model.restart();
        this.#expectCall(step.call, answer);
        break;
      case 'credit':
        this.#expectCredit(step, answer as CreditAnswer);
        break;
      case 'configure':
        same(answer, model.configure(step.config), 'answer to configure');
        break;
      case 'task':
        same(answer, model.openTask(step.task), 'answer to a task');
        this.seen.add(`task: ${(answer as OpenTaskAnswer).outcome}`);
        break;
      case 'wait':
        break;
      case 'alarm':
        model.due();
        break;
      case 'restart':
        model.restart();
        break;
      case 'resolve':
        same(answer, model.resolve(step.id, step.resolution), 'answer to resolve');
        break;
      case 'journal':
        this.#take((answer as Outbox).rows, step.keep);
        break;
      case 'audit':
        same((answer as AuditStep).outcome, 'clean', JSON.stringify(answer));
    }
  }

  #expectCredit(step: Step & { readonly do: 'credit' }, answer: CreditAnswer): void {
    const wanted = this.#model.credit(step.id, step.kind, step.micros);
    same(answer.outcome, wanted, 'answer to a credit');
    this.#repeat(JSON.stringify(step), answer.outcome, JSON.stringify(answer));
  }

  #expectCall({ ends, places }: Call, answer: unknown): void {
    const model = this.#model;
    const wanted = model.apply(ends, places);
    same(answer, wanted, `answer to ${JSON.stringify({ ends, places })}`);
    for (const [i, op] of ends.entries()) this.#repeatOp(op, wanted.ends[i]);
    for (const [i, op] of places.entries()) this.#repeatOp(op, wanted.places[i]);
  }

  #repeatOp(op: EndOp | PlaceOp, answer: EndAnswer | PlaceAnswer | undefined): void {
    if (answer === undefined) return;
    const { outcome } = answer;
    this.seen.add(`${op[0]}: ${outcome === 'refused' ? answer.refusal.code : outcome}`);
    this.#repeat(JSON.stringify(op), outcome, JSON.stringify(answer));
  }

  #repeat(op: string, outcome: string, answer: string): void {
    const first = this.#first.get(op);
    if (first !== undefined) same(answer, first, `answer to the repeat of ${op}`);
    else if (effects.has(outcome)) this.#first.set(op, answer);
  }

  #checkBooks(view: LedgerView): void {
    const model = this.#model;
    const blocks = view.blocks.reduce((sum, block) => sum + block.remainingMicros, 0);
    same(view.availableMicros, blocks - view.debtMicros, 'available = blocks - debt');
    same(
      view.grantedMicros + view.toppedUpMicros,
      view.availableMicros + view.heldMicros + view.settledMicros,
      'paid in = available + held + settled',
    );
    const above = model.holds.reduce((sum, h) => sum + aboveHold(h), 0);
    holds(view.availableMicros >= -above, 'overspent above the placed amounts');
    const seen = [view.availableMicros, view.heldMicros, view.settledMicros, view.debtMicros];
    const wanted = [model.available(), model.held(), model.settled(), model.coins.debt];
    same(seen, wanted, 'available, held, settled, debt');
    same(view.openHolds, model.open().length, 'open holds');
    same(view.settledTodayMicros, model.settledToday(), 'settled today');
    same(
      view.blocks.map(({ grantedMicros: _, ...block }) => block),
      model.coins.shown(),
      'blocks',
    );
  }

  /** Rows as D1 takes them; `keep` of them come again. */
  #take(rows: readonly LogRow[], keep: number): void {
    for (const row of rows.slice(0, Math.max(0, rows.length - keep))) {
      same(row.seq, this.#journal.length + 1, 'seq of the journal');
      this.#journal.push(row);
    }
  }

  /** Each hold is placed once and ends at most once; the sums are those of the model. */
  #checkJournal(): void {
    const counts = new Map<string, number>();
    let settled = 0;
    for (const [op, id, micros] of this.#journal.flatMap(changesOf)) {
      const ends = op === 'settle' || op === 'release' || op === 'expire';
      if (op === 'settle' || op === 'late_settle') settled += Number(micros);
      if (!ends && op !== 'place' && op !== 'late_settle') continue;
      const name = `${ends ? 'end' : op} ${String(id)}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    for (const [name, count] of counts) same(count, 1, `times: ${name}`);
    same(settled, this.#model.settled(), 'settled by the journal');
    const ended = this.#model.holds.filter((hold) => hold.ending !== null).length;
    const ends = [...counts.keys()].filter((name) => name.startsWith('end ')).length;
    same(ends, ended, 'ends in the journal');
  }
}

type Change = readonly [op: string, id: unknown, micros: unknown];

/**
 * The changes of a row, read by its own means: places (1 with their key, 2 without) and settlements
 * (3) stand flat in the list, everything else as a tuple.
 */
function changesOf({ ops }: LogRow): readonly Change[] {
  const flat = JSON.parse(ops) as readonly (string | number | LogOp)[];
  const changes: Change[] = [];
  for (let at = 0; at < flat.length; ) {
    const item = flat[at];
    if (typeof item === 'object') {
      changes.push([item[0], item[1], item[2]]);
      at += 1;
    } else {
      holds(item === 1 || item === 2 || item === 3, 'an entry has a known code');
      changes.push([item === 3 ? 'settle' : 'place', flat[at + 1], flat[at + 2]]);
      at += item === 2 ? 3 : 4;
    }
  }
  return changes;
}

/** What the settlements of a hold took that was not placed for it: only they can make debt. */
const aboveHold = (hold: { micros: number; chargeMicros: number; lateMicros: number | null }) =>
  Math.max(0, hold.chargeMicros - hold.micros) + (hold.lateMicros ?? 0);
