/**
 * Histories: what many callers, jobs and accidents do to one ledger, made from a seed alone, so
 * that one history can run on the object's own statements, in the real object and in the model.
 */
import type { Budget, LedgerConfig } from '../../src/domain/ledger/config.ts';
import type {
  Claim,
  EndOp,
  PlaceOp,
  RecordedAnswer,
  Tags,
} from '../../src/domain/ledger/operations.ts';
import type { Resolution } from '../../src/domain/ledger/views.ts';
import type { OpenTask } from '../../src/domain/tasks/task.ts';

/** One object call. */
export interface Call {
  readonly ends: readonly EndOp[];
  readonly places: readonly PlaceOp[];
}

/** Something that happens. `calls` of one step are sent together, nobody waits for another. */
export type Step =
  | { readonly do: 'apply'; readonly calls: readonly Call[] }
  /** The machine dies at this statement of the call; the caller repeats it. */
  | { readonly do: 'die'; readonly call: Call; readonly statement: number }
  /** The answer is lost with the object; the caller repeats the call. */
  | { readonly do: 'lose_answer'; readonly call: Call }
  | {
      readonly do: 'credit';
      readonly id: string;
      readonly kind: CreditKind;
      readonly micros: number;
    }
  /** A submission leaves its hold to a task. */
  | { readonly do: 'task'; readonly task: OpenTask }
  | { readonly do: 'configure'; readonly config: LedgerConfig }
  | { readonly do: 'wait'; readonly ms: number }
  /** The alarm runs, early or late, `times` times. */
  | { readonly do: 'alarm'; readonly times: number }
  /** The object is evicted or crashes; the next call starts it again. */
  | { readonly do: 'restart' }
  | { readonly do: 'resolve'; readonly id: string; readonly resolution: Resolution }
  /** D1 takes what the outbox has and acknowledges all but `keep` rows. */
  | { readonly do: 'journal'; readonly limit: number; readonly keep: number }
  | { readonly do: 'audit' };

export type CreditKind = 'promotional' | 'earned' | 'purchased';

/** When every history starts; far from any real alarm. Not at midnight, a day ends within it. */
export const startMs = Date.UTC(2031, 4, 7, 20, 0, 0);

/** Deterministic numbers from a seed (xorshift32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) | 0 || 1;
    for (let i = 0; i < 4; i += 1) this.below(2);
  }

  /** A whole number from 0 to `max` - 1. */
  below(max: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) % max;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  of<T>(list: readonly T[]): T {
    const chosen = list[this.below(list.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  }
}

/** How long an id may be used again: less than the ledger remembers it for. */
const reuseMs = 20 * 3_600_000;

interface Used<T> {
  readonly value: T;
  readonly firstMs: number;
}

/** Makes histories; remembers what it has made, never what was answered. */
class Maker {
  readonly #random: Random;
  #nowMs = startMs;
  #made = 0;
  #version = 0;
  #holds: Used<{ id: string; micros: number; recordId: string | null }>[] = [];
  #ops: Used<EndOp | PlaceOp>[] = [];
  readonly #credits: Extract<Step, { do: 'credit' }>[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  history(length: number): Step[] {
    const steps: Step[] = [this.#credit(20 + this.#random.below(120))];
    if (this.#random.chance(50)) steps.push(this.#configure());
    while (steps.length < length) steps.push(...this.#next());
    return [...steps, { do: 'journal', limit: 500, keep: 0 }, { do: 'audit' }];
  }

  #next(): Step[] {
    const random = this.#random;
    const dice = random.below(100);
    if (dice < 52) return [this.#apply()];
    if (dice < 56) return [this.#task()];
    if (dice < 60) return [{ do: 'die', call: this.#call(), statement: random.below(7) }];
    if (dice < 64) return [{ do: 'lose_answer', call: this.#call() }];
    if (dice < 70) return [this.#credit(1 + random.below(60))];
    if (dice < 73) return [this.#configure()];
    if (dice < 83) return [this.#wait()];
    if (dice < 90) return [{ do: 'alarm', times: 1 + random.below(2) }];
    if (dice < 94) return [{ do: 'restart' }];
    if (dice < 96) return [this.#resolve()];
    if (dice < 98) return [{ do: 'journal', limit: 1 + random.below(30), keep: random.below(3) }];
    return [{ do: 'audit' }];
  }

  #wait(): Step {
    const random = this.#random;
    const ms = random.of([1, 500, 39_000, 61_000, 119_999, 120_000, 121_000, 240_001, 3_600_000]);
    const waited = random.chance(6) ? 86_400_000 : ms;
    this.#nowMs += waited;
    return { do: 'wait', ms: waited };
  }

  #credit(micros: number): Step {
    const random = this.#random;
    const before = this.#credits;
    if (before.length > 0 && random.chance(25)) {
      const known = random.of(before);
      return random.chance(80) ? known : { ...known, micros: known.micros + 1 };
    }
    const kind = random.of(['promotional', 'earned', 'purchased'] as const);
    const step = { do: 'credit', id: `crd_${before.length}`, kind, micros } as const;
    before.push(step);
    return step;
  }

  #configure(): Step {
    const random = this.#random;
    this.#version += random.chance(85) ? 1 : 0;
    const dimensions = ['team', 'env', 'job'].filter(() => random.chance(45));
    const dailyCapMicros = random.chance(40) ? 30 + random.below(120) : null;
    return {
      do: 'configure',
      config: {
        version: this.#version,
        dailyCapMicros,
        budgets: dimensions.map((dimension) => this.#budget(dimension)),
      },
    };
  }

  #task(): Step {
    const random = this.#random;
    this.#forget();
    const holdId = this.#holds.length === 0 ? 'hld_never' : random.of(this.#holds).value.id;
    const task = {
      holdId,
      provider: 'lab',
      taskId: random.chance(50) ? `job of ${holdId}` : `job ${random.below(2)}`,
      endpointId: 'lab.submit',
      account: 'primary',
      deadlineMs: random.of([60_000, 300_000, 3_600_000, 86_400_000]),
      terms: '{}',
    };
    return { do: 'task', task };
  }

  #budget(dimension: string): Budget {
    const random = this.#random;
    const limits = () => ({
      spendMaxMicros: random.chance(60) ? 10 + random.below(90) : null,
      callsMax: random.chance(40) ? 1 + random.below(9) : null,
    });
    const own = random.chance(40)
      ? [{ value: random.of(['a', 'b']), blocked: random.chance(30), ...limits() }]
      : [];
    return { dimension, window: random.of(['day', 'total']), values: own, ...limits() };
  }

  #apply(): Step {
    const calls = [this.#call()];
    while (this.#random.chance(20) && calls.length < 4) calls.push(this.#call());
    return { do: 'apply', calls };
  }

  #call(): Call {
    const ends: EndOp[] = [];
    const places: PlaceOp[] = [];
    do {
      const op = this.#op();
      if (op[0] === 'place') places.push(op);
      else ends.push(op);
    } while (this.#random.chance(55) && ends.length + places.length < 12);
    return { ends, places };
  }

  #op(): EndOp | PlaceOp {
    const random = this.#random;
    this.#forget();
    if (this.#ops.length > 0 && random.chance(15)) return random.of(this.#ops).value;
    const op = this.#holds.length === 0 || random.chance(45) ? this.#place() : this.#end();
    this.#ops.push({ value: op, firstMs: this.#firstMs(op) });
    return op;
  }

  /** Ids that the ledger may have forgotten are never used again. */
  #forget(): void {
    const young = (used: Used<unknown>): boolean => used.firstMs > this.#nowMs - reuseMs;
    this.#holds = this.#holds.filter(young);
    this.#ops = this.#ops.filter(young);
  }

  #firstMs(op: EndOp | PlaceOp): number {
    const hold = this.#holds.find(({ value }) => value.id === op[1] || value.recordId === op[1]);
    return hold?.firstMs ?? this.#nowMs;
  }

  #place(): PlaceOp {
    const random = this.#random;
    if (this.#holds.length > 0 && random.chance(4)) return this.#conflict();
    this.#made += 1;
    const number = String(this.#made).padStart(4, '0');
    const id = random.chance(88) ? `hld_${number}` : `hld_${random.below(8)}x${number}`;
    const micros = random.chance(6) ? 0 : 1 + random.below(random.chance(80) ? 14 : 70);
    const keyed = random.chance(30);
    const recordId = keyed ? `idm_${number}` : null;
    this.#holds.push({ value: { id, micros, recordId }, firstMs: this.#nowMs });
    const claim: Claim | null =
      recordId === null
        ? null
        : [recordId, random.of(['p1', 'p2']), `k${random.below(3)}`, `f${random.below(2)}`];
    const op = [
      'place',
      id,
      micros,
      random.of(['key_a', 'key_b']),
      random.chance(20) ? random.below(8) : null,
      this.#tags(),
      claim,
    ] as const;
    return random.chance(15) ? [...op, true] : op;
  }

  /** A known id with another amount. */
  #conflict(): PlaceOp {
    const { id, micros } = this.#random.of(this.#holds).value;
    return ['place', id, micros + 1, 'key_a', null, null, null];
  }

  #tags(): Tags | null {
    const random = this.#random;
    if (random.chance(40)) return null;
    const dimensions = ['team', 'env', 'job', 'other'].filter(() => random.chance(50));
    return dimensions.flatMap((dimension) => [dimension, random.of(['a', 'b', 'c'])]);
  }

  #end(): EndOp {
    const random = this.#random;
    const { id, micros, recordId } = random.of(this.#holds).value;
    if (recordId !== null && random.chance(45)) return this.#recordEnd(recordId);
    const dice = random.below(10);
    if (dice < 1) return ['renew', id];
    if (dice < 3) return ['release', id, 'test'];
    if (random.chance(3)) return ['settle', 'hld_never', 1, true];
    const charge = random.of([
      micros,
      micros,
      0,
      random.below(micros + 1),
      micros + random.below(9),
    ]);
    return ['settle', id, charge, random.chance(75)];
  }

  #recordEnd(recordId: string): EndOp {
    const random = this.#random;
    const dice = random.below(10);
    if (dice < 2) return ['free', recordId];
    if (dice < 4) return ['unknown', recordId];
    const inline = random.chance(80);
    const bytes = random.below(20);
    const answer: RecordedAnswer = {
      status: 200 + random.below(3),
      headers: ['x-n', String(random.below(100))],
      body: inline ? new Uint8Array(bytes).fill(random.below(256)) : null,
      bodyRef: inline ? null : `r2/${recordId}`,
      bodyBytes: inline ? bytes : 300_000,
      costMicros: random.below(20),
    };
    return ['record', recordId, answer];
  }

  #resolve(): Step {
    const random = this.#random;
    this.#forget();
    const keyed = this.#holds.filter(({ value }) => value.recordId !== null);
    const id = keyed.length === 0 ? 'idm_never' : (random.of(keyed).value.recordId ?? '');
    const charge = random.chance(50) ? null : random.below(12);
    const settle = { kind: 'settle', chargeMicros: charge } as const;
    return { do: 'resolve', id, resolution: random.chance(50) ? settle : { kind: 'free' } };
  }
}

/** The history of a seed: the same for ever. */
export const historyOf = (seed: number): Step[] => new Maker(seed).history(25 + (seed % 50));
