/**
 * Runs histories on the object's own statements (`node:sqlite`): a crash drops the core and opens
 * the same database again; a dying machine is a statement that throws.
 */
import { pathToFileURL } from 'node:url';
import type { LedgerCore } from '../../durable-objects/ledger/core.ts';
import { Checker, type Lists, type Seen } from './ledger-check.ts';
import { type Call, historyOf, type Step } from './ledger-history.ts';
import { NodeStorage } from './ledger-storage.ts';

/** The bundled core, or a mutant of it. */
export type CoreClass = new (storage: NodeStorage, nowMs: number) => LedgerCore;

/** Loads a bundle of `durable-objects/ledger/core.ts`. */
export async function loadCore(path: string): Promise<CoreClass> {
  const module = (await import(pathToFileURL(path).href)) as { LedgerCore: CoreClass };
  return module.LedgerCore;
}

/** One ledger that is driven by steps. */
class Driven {
  readonly #storage = new NodeStorage();
  readonly #Core: CoreClass;
  #core: LedgerCore;

  constructor(Core: CoreClass, nowMs: number) {
    this.#Core = Core;
    this.#core = new Core(this.#storage, nowMs);
  }

  close(): void {
    this.#storage.close();
  }

  see(step: Step, nowMs: number): Seen {
    const answer = this.#do(step, nowMs);
    return { answer, view: this.#core.view(nowMs) };
  }

  lists(nowMs: number): Lists {
    const core = this.#core;
    const records = core.records(null, nowMs);
    const [holds, tasks] = [core.holds(null), core.tasks(null)];
    return { holds, records, reviews: core.reviews(null), tasks };
  }

  #do(step: Step, nowMs: number): unknown {
    const core = this.#core;
    switch (step.do) {
      case 'apply':
        return step.calls.map((call) => core.apply(call.ends, call.places, nowMs));
      case 'die':
        return this.#die(step.call, step.statement, nowMs);
      case 'lose_answer':
        core.apply(step.call.ends, step.call.places, nowMs);
        this.#restart(nowMs);
        return this.#core.apply(step.call.ends, step.call.places, nowMs);
      case 'credit':
        return step.kind === 'purchased'
          ? core.topUp(step.id, step.micros, nowMs)
          : core.grant(step.id, step.kind, step.micros, nowMs);
      case 'task':
        return core.openTask(step.task, nowMs);
      case 'configure':
        return core.configure(step.config, nowMs);
      case 'wait':
        return null;
      case 'alarm':
        for (let i = 0; i < step.times; i += 1) core.runDue(nowMs);
        return null;
      case 'restart':
        return this.#restart(nowMs);
      case 'resolve':
        return core.resolveRecord(step.id, step.resolution, nowMs);
      case 'journal': {
        const outbox = core.outbox(step.limit);
        const taken = outbox.rows.slice(0, Math.max(0, outbox.rows.length - step.keep)).at(-1);
        if (taken !== undefined) core.acknowledge(taken.seq, nowMs);
        return outbox;
      }
      case 'audit': {
        let audit = core.audit(nowMs);
        while (audit.outcome === 'more') audit = core.audit(nowMs);
        return audit;
      }
    }
  }

  /** A call that fails must have done nothing, in memory as on disk; repeated, it works. */
  #die({ ends, places }: Call, statement: number, nowMs: number): unknown {
    const all = (): string => JSON.stringify([this.#core.view(nowMs), this.lists(nowMs)]);
    const before = all();
    this.#storage.failAfter(statement);
    try {
      const answer = this.#core.apply(ends, places, nowMs);
      if (this.#storage.disarm()) return answer;
      throw new Error('a call succeeded although its transaction failed');
    } catch (fault) {
      if (!(fault instanceof Error) || fault.message !== 'the machine died here') throw fault;
    }
    const after = all();
    if (after !== before) throw new Error(`a failed call changed ${before} to ${after}`);
    return this.#core.apply(ends, places, nowMs);
  }

  #restart(nowMs: number): null {
    this.#core = new this.#Core(this.#storage, nowMs);
    return null;
  }
}

/** Runs steps; gives the place and text of the first failure, or `null`. */
export function runSteps(
  Core: CoreClass,
  steps: readonly Step[],
  seen = new Set<string>(),
): string | null {
  const checker = new Checker(seen);
  const driven = new Driven(Core, checker.nowMs);
  let at = 0;
  try {
    for (const step of steps) {
      if (step.do === 'wait') checker.wait(step.ms);
      checker.check(step, driven.see(step, checker.nowMs));
      at += 1;
    }
    checker.finish(driven.lists(checker.nowMs));
    return null;
  } catch (fault) {
    return `step ${at}: ${fault instanceof Error ? fault.message : String(fault)}`;
  } finally {
    driven.close();
  }
}

/** A failing history made shorter: steps are taken out while it still fails; the last two stay. */
export function shrink(Core: CoreClass, steps: readonly Step[]): readonly Step[] {
  const end = steps.slice(-2);
  let left = steps.slice(0, -2);
  for (let size = Math.ceil(left.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < left.length; ) {
      const fewer = [...left.slice(0, from), ...left.slice(from + size)];
      if (runSteps(Core, [...fewer, ...end]) === null) from += size;
      else left = fewer;
    }
  }
  return [...left, ...end];
}

/** The first seed of a range whose history fails; `null`: none does. */
export function firstFailure(
  Core: CoreClass,
  { from, count }: { readonly from: number; readonly count: number },
  seen = new Set<string>(),
): { seed: number; what: string } | null {
  for (let seed = from; seed < from + count; seed += 1) {
    const what = runSteps(Core, historyOf(seed), seen);
    if (what !== null) return { seed, what };
  }
  return null;
}
