/**
 * A small world on a virtual clock: one vendor, one capacity object with a disk, a wire that loses, delays, doubles and overtakes, and
 * isolates with the gateway's own desk. A call lives as on the road: standing, probe, send, note.
 * Promises: everything that happens follows from the seed. Bundled by `sim.ts`.
 */
import {
  type CapacityObject,
  DurableCapacityDesk,
} from '../../../../src/adapters/durable/capacity-desk';
import { Breaker } from '../../../../src/domain/capacity/breaker';
import { classify } from '../../../../src/domain/capacity/classify';
import type { CapacityView, ProbeGrant } from '../../../../src/domain/capacity/operations';
import type { ItemRow } from '../../../../src/domain/capacity/shelf';
import { isExhausting, lockKey } from '../../../../src/domain/capacity/signal';
import { standingOf } from '../../../../src/domain/capacity/standing';
import { VirtualClock } from '../../../support/virtual-clock';
import { Checker, type Delivered } from './check';

/** A provider of the signature table that says both: 402 is a balance, one phrase of it a quota. */
export const provider = 'predictleads';
export const accounts: readonly string[] = ['primary', 'b'];

/** `spendsBalance` false: a free route. */
export interface Endpoint {
  readonly endpointId: string;
  readonly spendsBalance: boolean;
}

export const endpoints: readonly Endpoint[] = [
  { endpointId: `${provider}.find`, spendsBalance: true },
  { endpointId: `${provider}.list`, spendsBalance: true },
  { endpointId: `${provider}.free`, spendsBalance: false },
];

/** Numbers of one seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761 + 12_345) % 2_147_483_647 || 1;
  }

  next(): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return this.#state / 2_147_483_647;
  }

  below(max: number): number {
    return Math.floor(this.next() * max);
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }

  of<T>(list: readonly T[]): T {
    const one = list[this.below(list.length)];
    if (one === undefined) throw new Error('nothing to choose from');
    return one;
  }
}

/** What the wire does, as probabilities; delays in milliseconds. */
export interface Wire {
  readonly lost: number;
  readonly answerLost: number;
  readonly doubled: number;
  readonly slow: number;
  readonly slowMsMax: number;
}

export const calmWire: Wire = { lost: 0, answerLost: 0, doubled: 0, slow: 0, slowMsMax: 0 };

/** While it lasts the account, or one endpoint of it, is out. */
export interface Dry {
  readonly kind: 'balance' | 'quota';
  readonly account: string;
  /** Of a quota. */
  readonly endpointId: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** What the vendor states, milliseconds; null: nothing. */
  readonly resetsInMs: number | null;
  /** Of its answers that say so: an account with automatic top-up hovers near zero. */
  readonly share: number;
}

/** What a caller sends, and how it ends. */
export type CallKind = 'good' | 'malformed' | 'hangs' | 'leaves';

/** What came of a call. */
export interface Outcome {
  readonly outcome: 'refused' | 'answered' | 'silent';
  readonly status: number;
  readonly probe: ProbeGrant | null;
}

/** The object with its disk and its checker. */
class SimObject {
  readonly checker = new Checker(provider);
  /** The first rule that was broken. */
  fault: string | null = null;
  operations = 0;
  readonly #clock: VirtualClock;
  readonly #disk = new Map<string, string>();
  readonly #lockIds = new Set<string>();
  #breaker: Breaker;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.#breaker = new Breaker(provider, []);
  }

  /** Memory goes, the disk stays. */
  restart(): void {
    const rows = [...this.#disk.values()].map((text): ItemRow => JSON.parse(text));
    this.#breaker = new Breaker(provider, rows);
  }

  /** Of every lock there was. */
  lockIds(): readonly string[] {
    return [...this.#lockIds];
  }

  view(): CapacityView {
    return this.#breaker.view(this.#clock.nowMs());
  }

  /** One operation, its rows, and whether every rule holds after it. */
  do<T>(work: (breaker: Breaker, nowMs: number) => T, told: (given: T) => Delivered): T {
    const nowMs = this.#clock.nowMs();
    this.operations += 1;
    const given = work(this.#breaker, nowMs);
    const state = this.#breaker.state(nowMs, []);
    for (const { id } of state.locks) this.#lockIds.add(id);
    for (const { kind, key, item } of this.#breaker.takeChanges()) {
      const row = `${kind} ${key}`;
      if (item === null) this.#disk.delete(row);
      else this.#disk.set(row, JSON.stringify({ kind, key, item }));
    }
    try {
      this.checker.check(told(given), state);
    } catch (fault) {
      this.fault ??= `at ${nowMs}: ${fault instanceof Error ? fault.message : String(fault)}`;
    }
    return given;
  }
}

/** A gateway isolate; when it dies nothing more leaves it, and nothing reaches it. */
export class Isolate {
  isAlive = true;
  readonly desk: DurableCapacityDesk;
  readonly background = (work: Promise<unknown>): void => void work.catch(() => undefined);

  constructor(world: World) {
    this.desk = new DurableCapacityDesk({
      objectOf: () => world.objectFor(this),
      time: world.clock,
      unanswered: () => undefined,
    });
  }
}

export class World {
  readonly clock = new VirtualClock();
  readonly object = new SimObject(this.clock);
  readonly random: Random;
  readonly isolates: Isolate[];
  wire: Wire = calmWire;
  dry: readonly Dry[] = [];
  /** Labels that may serve a call. */
  accounts = accounts;
  /** What reached the vendor. */
  readonly hits: { readonly atMs: number; readonly probe: boolean; readonly status: number }[] = [];
  #serial = 0;

  constructor(seed: number, isolates: number) {
    this.random = new Random(seed);
    this.isolates = Array.from({ length: isolates }, () => new Isolate(this));
  }

  isolate(at: number): Isolate {
    const one = this.isolates[at % this.isolates.length];
    if (one === undefined) throw new Error('no isolate');
    return one;
  }

  /** Another one takes its place. */
  kill(isolate: Isolate): void {
    isolate.isAlive = false;
    this.isolates[this.isolates.indexOf(isolate)] = new Isolate(this);
  }

  /** Every isolate has a view. */
  async warm(): Promise<void> {
    for (const isolate of this.isolates)
      isolate.desk.standing(provider, {
        nowMs: this.clock.nowMs(),
        background: isolate.background,
      });
    await this.clock.pass(200);
  }

  newId(): string {
    this.#serial += 1;
    return `call${this.#serial}`;
  }

  /** A call's life, as on the road. */
  async call(isolate: Isolate, endpoint: Endpoint, kind: CallKind = 'good'): Promise<Outcome> {
    const id = this.newId();
    const admitted = await this.#admit(isolate, endpoint, id);
    if (admitted === null) return { outcome: 'refused', status: 503, probe: null };
    const { account, probe } = admitted;
    if (kind === 'hangs') {
      this.hits.push({ atMs: this.clock.nowMs(), probe: probe !== null, status: 0 });
      return { outcome: 'silent', status: 0, probe };
    }
    await this.clock.wait(20 + this.random.below(200));
    const answer = this.#answer(endpoint, account, kind);
    this.hits.push({ atMs: this.clock.nowMs(), probe: probe !== null, status: answer.status });
    if (kind === 'leaves' || !isolate.isAlive) return { outcome: 'silent', status: 0, probe };
    this.#note(isolate, { ...endpoint, id, account, probe }, answer);
    return { outcome: 'answered', status: answer.status, probe };
  }

  /** What the object itself would say of a call now. */
  isOpen({ endpointId, spendsBalance }: Endpoint): boolean {
    const question = { provider, endpointId, accounts: this.accounts, spendsBalance };
    return standingOf(this.object.view(), 0, question).out === null;
  }

  /** The object behind the wire. */
  objectFor(isolate: Isolate): CapacityObject {
    const { object } = this;
    const viewed = <T>(work: (breaker: Breaker, nowMs: number) => T, told: Delivered) =>
      this.#over(isolate, () => {
        object.do(work, () => told);
        return object.view();
      });
    return {
      view: () => viewed((breaker, nowMs) => breaker.view(nowMs), { do: 'look' }),
      strike: (op) => viewed((breaker, nowMs) => breaker.strike(op, nowMs), { do: 'strike', op }),
      ok: (op) => viewed((breaker, nowMs) => breaker.ok(op, nowMs), { do: 'ok', op }),
      mark: (op) => viewed((breaker, nowMs) => breaker.mark(op, nowMs), { do: 'mark', op }),
      probe: (op) =>
        this.#over(isolate, () => ({
          granted: object.do(
            (breaker, nowMs) => breaker.probe(op, nowMs),
            (granted) => ({ do: 'probe', op, granted }),
          ),
          view: object.view(),
        })),
      giveBackProbe: (op) =>
        viewed((breaker, nowMs) => breaker.giveBackProbe(op, nowMs), { do: 'look' }),
      take: async () => ({ outcome: 'go', account: 'primary', waitMs: 0 }),
      giveBack: async () => undefined,
    };
  }

  /** A sweep told the object; it goes over the same wire, and nobody repeats it. */
  async observe(): Promise<void> {
    const observedAtMs = this.clock.nowMs();
    const isOut = this.#dryFor('primary', this.random.of(endpoints))?.kind === 'balance';
    const op = { observedAtMs, state: isOut ? 'exhausted' : 'ok', resetsAtMs: null } as const;
    const work = () =>
      this.object.do(
        (breaker, nowMs) => breaker.observe(op, nowMs),
        () => ({ do: 'observe', op }),
      );
    await this.#over(this.isolate(0), work).catch(() => undefined);
  }

  async #admit(
    isolate: Isolate,
    { endpointId, spendsBalance }: Endpoint,
    id: string,
  ): Promise<{ readonly account: string; readonly probe: ProbeGrant | null } | null> {
    const context = { nowMs: this.clock.nowMs(), background: isolate.background };
    const standing = isolate.desk.standing(provider, context);
    if (standing === null) return { account: this.random.of(this.accounts), probe: null };
    const question = { provider, endpointId, accounts: this.accounts, spendsBalance };
    const { open, out } = standingOf(standing.view, standing.ageMs, question);
    if (out === null) return { account: this.random.of(open), probe: null };
    if (out.probeInMs > 0) return null;
    const probe = await isolate.desk.probe(provider, { id, lockId: out.lockId }, context);
    return probe === null ? null : { account: out.account, probe };
  }

  /** Why that account cannot serve that endpoint now. */
  #dryFor(account: string, { endpointId, spendsBalance }: Endpoint): Dry | undefined {
    const nowMs = this.clock.nowMs();
    return this.dry.find(
      (dry) =>
        dry.account === account &&
        dry.fromMs <= nowMs &&
        nowMs < dry.toMs &&
        (dry.kind === 'balance' ? spendsBalance : dry.endpointId === endpointId) &&
        this.random.is(dry.share),
    );
  }

  #answer(endpoint: Endpoint, account: string, kind: CallKind): Answer {
    if (kind === 'malformed') return this.random.of(callersFaults);
    const dry = this.#dryFor(account, endpoint);
    if (dry === undefined) return { status: 200 };
    const wait = dry.resetsInMs === null ? null : String(Math.ceil(dry.resetsInMs / 1_000));
    if (dry.kind === 'balance')
      return { status: 402, body: '{"message":"Payment required"}', wait, dry };
    if (wait !== null) return { status: 429, body: '{"message":"Slow down"}', wait, dry };
    return { status: 402, body: '{"message":"You have exceeded the monthly request limit"}', dry };
  }

  /** Classified as the road does it; what the vendor meant is the checker's truth. */
  #note(
    isolate: Isolate,
    call: Endpoint & Noted,
    { status, body, wait, headers, dry }: Answer,
  ): void {
    const { id, account, endpointId, spendsBalance, probe } = call;
    if (status === 200) {
      const op = { id, account, endpointId, spendsBalance, probe };
      isolate.desk.ok(provider, op, isolate.background);
      return;
    }
    if (dry !== undefined)
      this.object.checker.exhausted.set(id, lockKey(dry.kind, { ...call, provider }));
    const signal = classify({
      provider,
      status,
      header: (name) => (name === 'retry-after' ? (wait ?? null) : (headers?.[name] ?? null)),
      bodyHead: body ?? null,
      requestText: '',
      nowMs: this.clock.nowMs(),
    });
    if (signal === null || !isExhausting(signal.kind)) return;
    const op = { id, account, endpointId, kind: signal.kind, resetsInMs: signal.waitMs };
    isolate.desk.strike(provider, op, isolate.background);
  }

  async #over<T>(isolate: Isolate, deliver: () => T): Promise<T> {
    const { lost, answerLost, doubled, slow, slowMsMax } = this.wire;
    const { random, clock } = this;
    const delayMs = () => (random.is(slow) ? random.below(slowMsMax) : 1 + random.below(40));
    const silence = Promise.withResolvers<T>().promise;
    if (!isolate.isAlive) return silence;
    await clock.wait(delayMs());
    if (random.is(lost)) {
      if (random.is(0.5)) return silence;
      throw new Error('the wire broke');
    }
    const answer = deliver();
    if (random.is(doubled)) clock.start(random.below(30_000), () => void deliver());
    await clock.wait(delayMs());
    if (!isolate.isAlive) return silence;
    if (random.is(answerLost)) throw new Error('the answer was lost');
    return answer;
  }
}

interface Noted {
  readonly id: string;
  readonly account: string;
  readonly probe: ProbeGrant | null;
}

interface Answer {
  readonly status: number;
  readonly body?: string;
  /** Its Retry-After. */
  readonly wait?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the vendor means by it. */
  readonly dry?: Dry;
}

/** C073: answers that are the caller's own fault, and those of the vendor's CDN. */
const callersFaults: readonly Answer[] = [
  { status: 400, body: '{"message":"bad request"}' },
  { status: 404, body: '{"message":"no such thing"}' },
  { status: 413, body: '{"message":"too large"}' },
  { status: 422, body: '{"message":"not valid"}' },
  { status: 403, body: 'challenge', headers: { 'cf-mitigated': 'challenge' } },
  {
    status: 403,
    body: '<html>blocked</html>',
    headers: { server: 'cloudflare', 'content-type': 'text/html' },
  },
];
