/**
 * Slots: the order of sends of one provider: its buckets with their spacers and windows, and who has which place.
 * Promises: the candidate that waits least is chosen and its place taken in one step, equals take turns; a wait beyond `waitMsMax` takes
 * no place and goes at once; only an enforced bucket whose window is full refuses; a repeated id gets its first place again.
 * Places are memory: a restart forgets them, and the worst of that is one burst. The sends of an enforced window are given out to be
 * written, and asked for when its bucket is first used. Owned by `durable-objects/provider-capacity.ts`.
 */
import { assert } from '../../base/assert';
import {
  capacityRepeatMs,
  keptWindowMsMin,
  rateBucketsMax,
  rateLimitMax,
  ratePlacesMax,
  rateWindowMsMax,
} from '../../base/limits-capacity';
import type { CapacityState, DeclaredRate, SlotAnswer, SlotOp } from './operations';
import { Spacer } from './spacer';
import { SendWindow } from './window';

interface Bucket {
  readonly spacer: Spacer;
  readonly window: SendWindow;
  /** Window of the last taker, milliseconds. */
  windowMs: number;
  /** Which turn it had last; the lowest of equals is next. */
  turn: number;
}

/** One candidate, as it would be served. */
interface Offer {
  readonly account: string;
  readonly name: string;
  readonly bucket: Bucket;
  /** By the spacer, milliseconds; what decides between candidates. */
  readonly waitMs: number;
  /** When it would be sent. */
  readonly atMs: number;
  /** Whether that is a place of the spacer's; else it goes at once. */
  readonly isPlace: boolean;
}

interface Place extends Offer {
  readonly takenAtMs: number;
  /** It was given out as a send. */
  readonly isKept: boolean;
}

/** A send of an enforced window that was booked, or was not made after all. Epoch milliseconds. */
interface SendChange {
  readonly bucket: string;
  readonly atMs: number;
  readonly isBooked: boolean;
}

/** The kept sends of a bucket, earliest first, epoch milliseconds. */
type KeptSends = (bucket: string) => readonly number[];

/** Whether a restart must not forget the window: an object that nobody asks is gone after some ten seconds. */
const isKeptWindow = ({ isEnforced, rate }: Pick<SlotOp, 'isEnforced' | 'rate'>): boolean =>
  isEnforced && rate.windowMs >= keptWindowMsMin;

export class Slots {
  /** Least recently used first. */
  readonly #buckets = new Map<string, Bucket>();
  /** By call, oldest first. */
  readonly #places = new Map<string, Place>();
  #turns = 0;
  readonly #keptSends: KeptSends;
  #changes: SendChange[] = [];

  constructor(keptSends: KeptSends = () => []) {
    this.#keptSends = keptSends;
  }

  /** What has to be written since the last time. */
  takeChanges(): readonly SendChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  /** See {@link SlotOp}. */
  take(op: SlotOp, nowMs: number): SlotAnswer {
    const { limit, windowMs } = op.rate;
    const isDeclarable = limit <= rateLimitMax && windowMs <= rateWindowMsMax;
    assert(isDeclarable, 'a rate is beyond what a catalog may declare');
    this.#forget(nowMs);
    const before = this.#places.get(op.id);
    if (before !== undefined) return go(before, nowMs);
    const offers = op.candidates.map((one) => this.#offer(one, op, nowMs));
    const fitting = op.isEnforced
      ? offers.filter(({ bucket, atMs }) => bucket.window.hasRoom(op.rate, atMs))
      : offers;
    const [best] = fitting.toSorted((a, b) => a.waitMs - b.waitMs || a.bucket.turn - b.bucket.turn);
    return best === undefined
      ? { outcome: 'refused', retryAfterMs: roomInMs(offers, op.rate, nowMs) }
      : this.#book(best, op, nowMs);
  }

  /** The place of that call was not used: the next taker has it, if its time has not come. */
  giveBack(id: string): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    place.bucket.window.remove(place.atMs);
    if (place.isKept) this.#changes.push({ bucket: place.name, atMs: place.atMs, isBooked: false });
    if (place.isPlace) place.bucket.spacer.giveBack(place.atMs);
  }

  /** For an operator. */
  buckets(nowMs: number): CapacityState['buckets'] {
    return [...this.#buckets].map(([bucket, { spacer, window, windowMs }]) => ({
      bucket,
      queuedMs: Math.ceil(spacer.queuedMs(nowMs)),
      inWindow: window.count(nowMs, windowMs),
    }));
  }

  #offer(
    { account, bucket: name }: SlotOp['candidates'][number],
    op: SlotOp,
    nowMs: number,
  ): Offer {
    const { rate, waitMsMax, isSpaced } = op;
    const bucket = this.#bucketOf(name, op);
    bucket.window.prune(rate, nowMs);
    const own = { account, name, bucket };
    if (!isSpaced) return { ...own, waitMs: 0, atMs: nowMs, isPlace: false };
    const atMs = bucket.spacer.next(nowMs);
    const waitMs = atMs - nowMs;
    if (waitMs > waitMsMax) return { ...own, waitMs, atMs: nowMs, isPlace: false };
    return { ...own, waitMs, atMs, isPlace: true };
  }

  #book(offer: Offer, op: SlotOp, nowMs: number): SlotAnswer {
    const { bucket, atMs, isPlace } = offer;
    if (isPlace) bucket.spacer.take(nowMs, op.rate);
    bucket.window.add(atMs);
    this.#turns += 1;
    bucket.turn = this.#turns;
    const isKept = isKeptWindow(op);
    if (isKept) this.#changes.push({ bucket: offer.name, atMs, isBooked: true });
    this.#places.set(op.id, { ...offer, takenAtMs: nowMs, isKept });
    return go(offer, nowMs);
  }

  /** The bucket of that name, as the one used last. */
  #bucketOf(name: string, op: SlotOp): Bucket {
    const { windowMs } = op.rate;
    const known = this.#buckets.get(name);
    const bucket = known ?? { spacer: new Spacer(), window: new SendWindow(), windowMs, turn: 0 };
    if (known === undefined && isKeptWindow(op)) bucket.window.restore(this.#keptSends(name));
    bucket.windowMs = windowMs;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    dropOldest(this.#buckets, rateBucketsMax);
    return bucket;
  }

  #forget(nowMs: number): void {
    for (const [id, { takenAtMs }] of this.#places) {
      if (takenAtMs + capacityRepeatMs > nowMs) break;
      this.#places.delete(id);
    }
    dropOldest(this.#places, ratePlacesMax);
  }
}

const go = ({ account, atMs }: Offer, nowMs: number): SlotAnswer => ({
  outcome: 'go',
  account,
  waitMs: Math.max(0, Math.ceil(atMs - nowMs)),
});

function roomInMs(offers: readonly Offer[], rate: DeclaredRate, nowMs: number): number {
  const rooms = offers.map(({ bucket }) => bucket.window.roomAtMs(rate, nowMs));
  return Math.max(1, Math.ceil(Math.min(...rooms) - nowMs));
}

/** Keeps at most `max` entries. */
function dropOldest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
