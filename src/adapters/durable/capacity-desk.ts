/**
 * Capacity desk: what this isolate knows of each provider, and its way to their objects.
 * Promises: see `ports/capacity.ts`; a view decides until it is `capacityViewMsMax` old and is read again behind a call, one question at
 * a time; strikes, successes and marks travel off the call's path and their answers become the view; a healthy vendor costs no object
 * call but the view. Each answer that did not come is counted and everything stays open.
 * Must never: keep a stub or a promise of one request for another. Made by wiring.ts; called by the road.
 */
import {
  capacityAnswerWaitMs,
  capacityAskAgainMs,
  capacityOksMax,
  capacityTellWaitMs,
  capacityViewMsMax,
  capacityViewRefreshMs,
  capacityViewsMax,
  strikeWindowMs,
} from '../../base/limits-capacity';
import { Lru } from '../../base/lru';
import { readingId } from '../../domain/capacity/breaker';
import type {
  CapacityView,
  MarkOp,
  OkOp,
  ProbeAnswer,
  ProbeGrant,
  ProbeOp,
  SlotAnswer,
  SlotOp,
  StrikeOp,
} from '../../domain/capacity/operations';
import { lockKey } from '../../domain/capacity/signal';
import type { Capacity, Standing } from '../../ports/capacity';
import type { LookupContext } from '../../ports/catalog';
import type { Background } from '../../ports/config';
import type { DeskTime } from '../../ports/ledger';
import { callObject } from './object-call';

/** The part of an object that the road uses. */
export interface CapacityObject {
  view(): Promise<CapacityView>;
  strike(op: StrikeOp): Promise<CapacityView>;
  ok(op: OkOp): Promise<CapacityView>;
  probe(op: ProbeOp): Promise<ProbeAnswer>;
  giveBackProbe(op: ProbeOp): Promise<CapacityView>;
  take(op: SlotOp): Promise<SlotAnswer>;
  giveBack(id: string): Promise<void>;
  mark(op: MarkOp): Promise<CapacityView>;
}

/** What got no answer; `probe` and `take` let the call go on as if nothing were known. */
export type CapacityQuestion = 'view' | 'strike' | 'ok' | 'probe' | 'take' | 'give_back' | 'mark';

/** What the desk is made of. */
export interface DurableCapacityDeskParts {
  /** A fresh stub. */
  readonly objectOf: (provider: string) => CapacityObject;
  readonly time: DeskTime;
  /** Counts what got no answer. */
  readonly unanswered: (question: CapacityQuestion, provider: string) => void;
}

/** An answer, and when it was asked for. */
interface Asked {
  readonly view: CapacityView;
  readonly atMs: number;
}

/** What is known of one provider. Times are epoch milliseconds of this isolate. */
interface Known {
  view: CapacityView | null;
  /** When the view was asked for: its durations count from then, never too late. */
  readAtMs: number;
  /** Until then nobody else reads the view. */
  askedUntilMs: number;
}

type Told = Omit<OkOp, 'agoMs'>;

/** The last 2xx of a lock key. */
interface LastOk {
  readonly op: Told;
  readonly atMs: number;
  /** Whether the object was told, or is being told: one 2xx is told once. */
  isTold: boolean;
}

export class DurableCapacityDesk implements Capacity {
  readonly #parts: DurableCapacityDeskParts;
  readonly #known = new Lru<string, Known>(capacityViewsMax);
  readonly #oks = new Lru<string, LastOk>(capacityOksMax);
  /** Until when nobody asks for a probe, by lock id: somebody does, or got no answer. */
  readonly #asked = new Lru<string, number>(capacityViewsMax);

  constructor(parts: DurableCapacityDeskParts) {
    this.#parts = parts;
  }

  standing(provider: string, { nowMs, background }: LookupContext): Standing | null {
    const known = this.#knownOf(provider);
    const ageMs = nowMs - known.readAtMs;
    if (known.view !== null && ageMs < capacityViewRefreshMs) return { view: known.view, ageMs };
    if (nowMs >= known.askedUntilMs) {
      // The request that reads may die: then another one reads later.
      known.askedUntilMs = nowMs + capacityAskAgainMs;
      background(this.#refresh(provider, background));
    }
    return known.view === null || ageMs > capacityViewMsMax ? null : { view: known.view, ageMs };
  }

  async probe(provider: string, op: ProbeOp, context: LookupContext): Promise<ProbeGrant | null> {
    const { objectOf, time } = this.#parts;
    if (!this.#mayAsk(provider, op.lockId)) return null;
    const atMs = time.nowMs();
    // Its request may die before the answer: then the lock may be asked about again later.
    this.#asked.set(op.lockId, atMs + capacityAskAgainMs);
    const answer = await callObject(() => objectOf(provider).probe(op), {
      time,
      ms: capacityAnswerWaitMs,
    });
    if (answer === null) {
      this.#parts.unanswered('probe', provider);
      return null;
    }
    this.#asked.delete(op.lockId);
    this.#keep(provider, { view: answer.view, atMs }, context.background);
    return answer.granted ? { id: op.id, lockId: op.lockId } : null;
  }

  giveBackProbe(provider: string, grant: ProbeGrant, background: Background): void {
    const send = (object: CapacityObject) => object.giveBackProbe(grant);
    background(this.#tell(provider, 'give_back', send, background));
  }

  async take(provider: string, op: SlotOp): Promise<SlotAnswer | null> {
    const { objectOf, time } = this.#parts;
    const ms = capacityAnswerWaitMs;
    const answer = await callObject(() => objectOf(provider).take(op), { time, ms });
    if (answer === null) this.#parts.unanswered('take', provider);
    return answer;
  }

  giveBack(provider: string, id: string, background: Background): void {
    const giving = async (): Promise<void> => {
      const { objectOf, time } = this.#parts;
      const given = await callObject(
        async () => {
          await objectOf(provider).giveBack(id);
          return true;
        },
        { time, ms: capacityTellWaitMs },
      );
      if (given === null) this.#parts.unanswered('give_back', provider);
    };
    background(giving());
  }

  strike(
    provider: string,
    op: Omit<StrikeOp, 'agoMs' | 'lastOkAgoMs'>,
    background: Background,
  ): void {
    const atMs = this.#parts.time.nowMs();
    const lastOk = this.#oks.get(lockKey(op.kind, { ...op, provider }));
    const isRecent = lastOk !== undefined && atMs - lastOk.atMs <= strikeWindowMs;
    const placed = (nowMs: number): StrikeOp => ({
      ...op,
      agoMs: nowMs - atMs,
      lastOkAgoMs: isRecent ? nowMs - lastOk.atMs : null,
    });
    const send = (object: CapacityObject, nowMs: number) => object.strike(placed(nowMs));
    background(this.#tell(provider, 'strike', send, background));
  }

  ok(provider: string, op: Told, background: Background): void {
    const last: LastOk = { op, atMs: this.#parts.time.nowMs(), isTold: op.probe !== null };
    this.#oks.set(lockKey('quota', { ...op, provider }), last);
    if (op.spendsBalance) this.#oks.set(lockKey('balance', { ...op, provider }), last);
    if (op.probe !== null) background(this.#tellOk(provider, last, background));
    this.#tellNews(provider, background);
  }

  mark(provider: string, mark: MarkOp, background: Background): void {
    const send = (object: CapacityObject) => object.mark(mark);
    background(this.#tell(provider, 'mark', send, background));
  }

  #knownOf(provider: string): Known {
    const known = this.#known.get(provider);
    if (known !== undefined) return known;
    const fresh: Known = { view: null, readAtMs: Number.NEGATIVE_INFINITY, askedUntilMs: 0 };
    this.#known.set(provider, fresh);
    return fresh;
  }

  /** Reads the view behind a call. */
  async #refresh(provider: string, background: Background): Promise<void> {
    await this.#tell(provider, 'view', (object) => object.view(), background);
  }

  /** Whether a probe may be asked for: nobody asks now, and the view does not know better. */
  #mayAsk(provider: string, lockId: string): boolean {
    const nowMs = this.#parts.time.nowMs();
    if (nowMs < (this.#asked.get(lockId) ?? 0)) return false;
    const { view, readAtMs } = this.#knownOf(provider);
    if (view === null) return true;
    const { locks, reading } = view;
    const lock = locks.find(({ id }) => id === lockId);
    const isReading = reading !== null && readingId(reading) === lockId;
    const nextProbeInMs = lock?.nextProbeInMs ?? (isReading ? reading.nextProbeInMs : 0);
    return nextProbeInMs <= nowMs - readAtMs;
  }

  /** The object's answer becomes the view, unless one is known that was asked for later. */
  #keep(provider: string, asked: Asked, background: Background): void {
    const known = this.#knownOf(provider);
    if (asked.atMs < known.readAtMs) return;
    known.view = asked.view;
    known.readAtMs = asked.atMs;
    known.askedUntilMs = 0;
    this.#tellNews(provider, background);
  }

  /** Strikes of the view that a 2xx of this isolate came after: the object may not know of it. */
  #tellNews(provider: string, background: Background): void {
    const known = this.#knownOf(provider);
    if (known.view === null || known.view.strikes.length === 0) return;
    const news = new Set<LastOk>();
    const strikes = known.view.strikes.filter(({ key, agoMs }) => {
      const last = this.#oks.get(key);
      if (last === undefined || last.atMs < known.readAtMs - agoMs) return true;
      news.add(last);
      return false;
    });
    if (news.size === 0) return;
    // Until the object says otherwise: the next 2xx need not be told.
    known.view = { ...known.view, strikes };
    for (const last of news) {
      if (!last.isTold) background(this.#tellOk(provider, last, background));
    }
  }

  async #tellOk(provider: string, last: LastOk, background: Background): Promise<void> {
    last.isTold = true;
    const send = (object: CapacityObject, nowMs: number) =>
      object.ok({ ...last.op, agoMs: nowMs - last.atMs });
    last.isTold = await this.#tell(provider, 'ok', send, background);
  }

  /** One operation that no call waits for. Gives whether the object answered. */
  async #tell(
    provider: string,
    question: CapacityQuestion,
    send: (object: CapacityObject, nowMs: number) => Promise<CapacityView>,
    background: Background,
  ): Promise<boolean> {
    const { objectOf, time } = this.#parts;
    const atMs = time.nowMs();
    const attempt = () => send(objectOf(provider), time.nowMs());
    const view = await callObject(attempt, { time, ms: capacityTellWaitMs });
    if (view === null) this.#parts.unanswered(question, provider);
    else this.#keep(provider, { view, atMs }, background);
    return view !== null;
  }
}
