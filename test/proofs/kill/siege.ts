/**
 * A siege: rounds of load that each end with a kill at a seeded point, and everything that was seen
 * on both sides of the gateway. Called by test/proofs/kill.ts and `verdicts.ts`.
 */
import { drawer } from '../../support/drawer.ts';
import { type MoneyTenant, type MoneyWorld, newCase } from '../../support/money-world.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { answers, type Plan, streams, type VendorCall } from '../../support/priced-origin.ts';
import { holds } from '../../support/proof.ts';
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';

/** What a kill waits for: that so many more calls are … */
const phases = ['sent', 'arrived', 'done', 'answered'] as const;
type Phase = (typeof phases)[number];

/** Calls that are open at a time, and how many at most of one phase a kill waits for. */
const width = 24;
const countMax = 150;
/** Longest time from the event to the kill, and of the vendor's work, milliseconds. */
const lagMaxMs = 40;
const workMaxMs = 30;
/** Keys of calls that were cut off, tried again in each round. */
const retriesMax = 12;

export const endpoints = ['lab.fixed', 'lab.usage', 'lab.stream'] as const;

/** One call of the load; every one of them costs `callMicros`. */
export interface Attacked {
  readonly caseId: string;
  readonly endpoint: (typeof endpoints)[number];
  /** Whether it has an idempotency key, which is its case. */
  readonly isKeyed: boolean;
  /** The first whole answer of the vendor that the client got; its body. */
  answer: { readonly status: number; readonly body: string } | null;
}

export class Siege {
  readonly world: MoneyWorld;
  readonly tenant: MoneyTenant;
  readonly calls: Attacked[] = [];
  /** Kills by what they waited for. */
  readonly kills = new Map<Phase, number>();
  /** Calls of which the client never got the whole answer. */
  cutOff = 0;
  /** Where each kill fell: what it waited for, how many more, milliseconds after that. */
  readonly points: string[] = [];
  /** Of their own, so that a seed gives the same points whatever the order of the load. */
  readonly #aim: () => number;
  readonly #load: () => number;
  readonly #vendor: () => number;
  #sent = 0;
  #answered = 0;

  constructor(world: MoneyWorld, tenant: MoneyTenant, seed: number) {
    this.world = world;
    this.tenant = tenant;
    this.#aim = drawer(seed);
    this.#load = drawer(seed + 1_000_000);
    this.#vendor = drawer(seed + 2_000_000);
    world.origin.plan((call) => this.#work(call));
  }

  async run(kills: number): Promise<string> {
    for (let round = 0; round < kills; round += 1) {
      await this.#round();
      await this.world.restart();
    }
    return `${this.summary()}; points: ${this.points.join(' ')}`;
  }

  summary(): string {
    const by = [...this.kills].map(([phase, n]) => `${n} when some were ${phase}`).join(', ');
    return `${this.calls.length} calls, ${this.cutOff} cut off; kills: ${by}`;
  }

  /** Calls of which the client has no answer, and which it may safely try again. */
  unanswered(): readonly Attacked[] {
    return this.calls.filter(({ isKeyed, answer }) => isKeyed && answer === null);
  }

  /** Sends a call (again) and looks at what comes; the same bytes each time. */
  async send(one: Attacked, isolate: number): Promise<RawAnswer | null> {
    const { caseId, endpoint, isKeyed } = one;
    const options = {
      caseId,
      isolate,
      meta: `case=${caseId}`,
      ...(isKeyed ? { key: caseId } : {}),
    };
    const connection = await this.tenant.open(endpoint, options).catch(() => null);
    if (connection === null) return null;
    this.#sent += 1;
    try {
      const answer = await connection.answer('POST', 30_000);
      return answer.complete && answer.status > 0 ? answer : null;
    } finally {
      connection.close();
    }
  }

  /** Load, a kill, and the end of every call. */
  async #round(): Promise<void> {
    const phase = pick(this.#aim, phases);
    const more = 1 + Math.floor(this.#aim() * countMax);
    const lagMs = Math.floor(this.#aim() * (lagMaxMs + 1));
    this.points.push(`${phase}+${more}+${lagMs}ms`.replaceAll(' ', '_'));
    const wanted = this.#count(phase) + more;
    let over = false;
    const again = this.unanswered().slice(-retriesMax);
    const workers = Array.from({ length: width }, async (_, i) => {
      while (!over) await this.#attack(again.shift() ?? this.#newCall(), i);
    });
    await waitUntil(() => this.#count(phase) >= wanted, `${wanted} ${phase}`);
    await new Promise((resolve) => setTimeout(resolve, lagMs));
    over = true;
    await this.world.isolates.kill();
    await Promise.all(workers);
    this.kills.set(phase, (this.kills.get(phase) ?? 0) + 1);
  }

  #count(phase: Phase): number {
    const { origin } = this.world;
    switch (phase) {
      case 'sent':
        return this.#sent;
      case 'arrived':
        return origin.calls.length;
      case 'done':
        return origin.completed();
      case 'answered':
        return this.#answered;
    }
  }

  #newCall(): Attacked {
    const one: Attacked = {
      caseId: newCase(),
      endpoint: pick(this.#load, endpoints),
      isKeyed: this.#load() < 0.5,
      answer: null,
    };
    this.calls.push(one);
    return one;
  }

  async #attack(one: Attacked, worker: number): Promise<void> {
    const answer = await this.send(one, worker % this.world.isolates.ports.length);
    if (answer === null) {
      this.cutOff += 1;
      return;
    }
    this.#answered += 1;
    this.take(one, answer);
  }

  /** An answer of the vendor, fresh or replayed, is the same whenever it comes. */
  take(one: Attacked, answer: RawAnswer): void {
    if (headerOf(answer.lines, 'x-weir-error') !== null) {
      const isWaiting = one.isKeyed && answer.status === 409;
      holds(isWaiting, `${one.caseId}: ${answer.statusLine} ${answer.body.toString()}`);
      return;
    }
    const body = answer.body.toString();
    const isSame = one.answer === null || (one.answer.status === 200 && one.answer.body === body);
    holds(answer.status === 200 && isSame, `${one.caseId}: another answer, ${answer.statusLine}`);
    one.answer ??= { status: answer.status, body };
  }

  /** The vendor works for a moment; what it does costs the same on every endpoint. */
  async #work(call: VendorCall): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#vendor() * workMaxMs));
    const plan: Plan = call.request.target.includes('/stream')
      ? streams(callMicros)
      : answers(callMicros);
    await plan(call);
  }
}

async function waitUntil(done: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!done()) {
    if (performance.now() > deadline) throw new Error(`not within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const pick = <T>(random: () => number, list: readonly T[]): T =>
  list[Math.floor(random() * list.length)] as T;
