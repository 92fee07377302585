/**
 * Breaker: strikes, locks, probes, the sweep's reading and the marks of one provider with all its accounts (digest A12). It opens slowly
 * and closes fast: a false lock costs every caller, a missed one costs one relayed answer of the vendor.
 * Promises: pure but for what it remembers; an operation that comes twice, late or never leaves nothing wrong; no lock outlives
 * `capacityVendorHoldMsMax` from its start, and no later strike shortens one; only a probe's 2xx ends a lock before its time.
 * Must never: read a clock. Owned by `durable-objects/provider-capacity.ts`, which keeps the rows; simulated by the proof breaker-model.
 */
import {
  capacityKeysMax,
  capacityRepeatMs,
  capacityRepeatsMax,
  capacityVendorHoldMsMax,
  guessedHoldMs,
  probeIntervalMs,
  readingStaleMs,
  strikeSpacingMs,
  strikeWindowMs,
} from '../../base/limits-capacity';
import type {
  CapacityState,
  CapacityView,
  LockView,
  MarkOp,
  OkOp,
  ProbeOp,
  ProbeState,
  Reading,
  ReadingView,
  StrikeOp,
} from './operations';
import {
  type ItemChange,
  type ItemKind,
  type ItemRow,
  type Items,
  type Lock,
  Shelf,
} from './shelf';
import { lockKey, primaryAccount } from './signal';

/** What a probe through a sweep's reading is asked by. */
export const readingId = ({ observedAtMs }: Pick<Reading, 'observedAtMs'>): string =>
  `reading:${observedAtMs}`;

type Shelves = { readonly [K in ItemKind]: Shelf<K> };

export class Breaker {
  readonly #provider: string;
  readonly #shelves: Shelves = {
    lock: new Shelf('lock'),
    strike: new Shelf('strike'),
    ok: new Shelf('ok'),
    seen: new Shelf('seen'),
    probe: new Shelf('probe'),
    mark: new Shelf('mark'),
    reading: new Shelf('reading'),
  };

  /** `rows`: what an earlier instance gave out as changes. */
  constructor(provider: string, rows: Iterable<ItemRow>) {
    this.#provider = provider;
    for (const { kind, key, item } of rows) this.#load(kind, key, item);
  }

  /** An answer said that the account is out: the first is remembered, a second one locks. */
  strike(op: StrikeOp, nowMs: number): void {
    this.prune(nowMs);
    if (this.#isRepeat(`strike:${op.id}`, nowMs)) return;
    const atMs = nowMs - since(op.agoMs);
    const key = lockKey(op.kind, { ...op, provider: this.#provider });
    if (op.lastOkAgoMs !== null) this.#succeeded(key, nowMs - since(op.lastOkAgoMs));
    if (nowMs - atMs > strikeWindowMs || this.#isAnsweredSince(key, atMs)) return;
    const ownUntilMs = op.resetsInMs === null ? null : atMs + capped(op.resetsInMs);
    const lock = this.#shelves.lock.get(key);
    if (lock !== undefined) this.#lengthen(key, lock, ownUntilMs);
    else this.#count(key, { op, atMs, ownUntilMs }, nowMs);
  }

  /** A 2xx: clears the strikes that came before it; one that was a probe also ends exactly its lock, or lifts its reading. */
  ok(op: OkOp, nowMs: number): void {
    this.prune(nowMs);
    if (this.#isRepeat(`ok:${op.id}`, nowMs)) return;
    const keys = this.#keysOf(op);
    for (const key of keys) this.#succeeded(key, nowMs - since(op.agoMs));
    if (op.probe !== null) this.#reopen(op.probe.lockId, keys, op);
  }

  /** Whether this call is the one that goes through: one per interval, and the lock's own strike counts as the first. */
  probe(op: ProbeOp, nowMs: number): boolean {
    this.prune(nowMs);
    const nextAtMs = this.#nextProbeAtMs(op.lockId);
    if (nextAtMs === null) return false;
    const { probe } = this.#shelves;
    if (nowMs < nextAtMs) return probe.get(op.lockId)?.callId === op.id;
    probe.set(op.lockId, { callId: op.id, grantedAtMs: nowMs });
    return true;
  }

  /** That call was not sent after all: the next one may be the probe at once. A probe that is another call's by now stays. */
  giveBackProbe({ id, lockId }: ProbeOp, nowMs: number): void {
    this.prune(nowMs);
    const { probe } = this.#shelves;
    if (probe.get(lockId)?.callId === id) probe.delete(lockId);
  }

  /** What a sweep saw. Never touches a lock: its meter may not be the allowance that ran out. One that is older than the known is late. */
  observe({ observedAtMs, state, resetsAtMs }: Reading, nowMs: number): void {
    this.prune(nowMs);
    const known = this.#reading();
    if (known !== undefined && observedAtMs <= known.observedAtMs) return;
    if (known !== undefined) this.#shelves.probe.delete(readingId(known));
    this.#shelves.reading.set('', { observedAtMs, state, resetsAtMs, isLifted: false });
  }

  /** A shorter mark does not shorten. */
  mark({ id, key, reason, forMs }: MarkOp, nowMs: number): void {
    this.prune(nowMs);
    if (this.#isRepeat(`mark:${id}`, nowMs)) return;
    const { mark } = this.#shelves;
    const untilMs = nowMs + capped(forMs);
    const known = mark.get(key);
    if (untilMs <= nowMs || (known !== undefined && known.untilMs >= untilMs)) return;
    if (known === undefined && mark.size >= capacityKeysMax) mark.delete(mark.oldest() ?? '');
    mark.set(key, { reason, untilMs });
  }

  /** Clears all, or the locks, strikes and marks of one key; `reading` lifts the reading until the next sweep. Gives how many. */
  reset(key: string | null, nowMs: number): number {
    this.prune(nowMs);
    const { lock, strike, mark, probe } = this.#shelves;
    const isMeant = (_: unknown, of: string): boolean => key === null || of === key;
    const lifted = key === null || key === 'reading' ? this.#lift() : 0;
    const cleared = lock.purge(isMeant) + strike.purge(isMeant) + mark.purge(isMeant) + lifted;
    probe.purge((_, lockId) => this.#nextProbeAtMs(lockId) === null);
    return cleared;
  }

  /** All that an isolate needs. */
  view(nowMs: number): CapacityView {
    this.prune(nowMs);
    const { lock, strike, mark } = this.#shelves;
    return {
      locks: [...lock.entries()].map(([key, one]) => this.#lockView(key, one, nowMs)),
      strikes: [...strike.entries()].map(([key, { lastAtMs }]) => ({
        key,
        agoMs: nowMs - lastAtMs,
      })),
      reading: this.#readingView(nowMs),
      marks: [...mark.entries()].map(([key, { reason, untilMs }]) => ({
        key,
        reason,
        endsInMs: untilMs - nowMs,
      })),
    };
  }

  /** All that an operator sees; `buckets` are the spacer's. */
  state(nowMs: number, buckets: CapacityState['buckets']): CapacityState {
    this.prune(nowMs);
    const { lock, strike, mark } = this.#shelves;
    const reading = this.#reading();
    return {
      nowMs,
      locks: [...lock.entries()].map(([key, one]) => ({
        key,
        ...one,
        probe: this.#probeState(one.id, nowMs),
        nextProbeAtMs: this.#nextProbeAtMs(one.id) ?? nowMs,
      })),
      strikes: [...strike.entries()].map(([key, { kind, firstAtMs }]) => ({
        key,
        kind,
        atMs: firstAtMs,
      })),
      reading: reading === undefined ? null : this.#readingState(reading, nowMs),
      marks: [...mark.entries()].map(([key, one]) => ({ key, ...one })),
      buckets,
    };
  }

  /** When the next of all that ends by itself ends, epoch milliseconds; `null`: nothing does. */
  nextDueMs(): number | null {
    const { lock, strike, mark, ok, seen } = this.#shelves;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const [, { untilMs }] of lock.entries()) dueMs = Math.min(dueMs, untilMs);
    for (const [, { untilMs }] of mark.entries()) dueMs = Math.min(dueMs, untilMs);
    for (const [, { firstAtMs }] of strike.entries()) dueMs = Math.min(dueMs, strikeEnd(firstAtMs));
    for (const [, { atMs }] of ok.entries()) dueMs = Math.min(dueMs, strikeEnd(atMs));
    for (const [, { atMs }] of seen.entries()) dueMs = Math.min(dueMs, atMs + capacityRepeatMs);
    return dueMs === Number.POSITIVE_INFINITY ? null : dueMs;
  }

  /** Forgets what has ended. */
  prune(nowMs: number): void {
    const { lock, strike, mark, ok, seen, probe } = this.#shelves;
    const ended = lock.purge(({ untilMs }) => untilMs <= nowMs);
    strike.purge(({ firstAtMs }) => strikeEnd(firstAtMs) <= nowMs);
    mark.purge(({ untilMs }) => untilMs <= nowMs);
    ok.purge(({ atMs }) => strikeEnd(atMs) <= nowMs);
    seen.purge(({ atMs }) => atMs + capacityRepeatMs <= nowMs);
    if (ended > 0) probe.purge((_, lockId) => this.#nextProbeAtMs(lockId) === null);
  }

  /** What has changed since this was last called: the rows to write. */
  takeChanges(): readonly ItemChange[] {
    return Object.values(this.#shelves).flatMap((shelf) => shelf.takeChanges());
  }

  #load<K extends ItemKind>(kind: K, key: string, item: Items[K]): void {
    const shelf: Shelf<K> = this.#shelves[kind];
    shelf.load(key, item);
  }

  /** Remembers the operation. */
  #isRepeat(id: string, nowMs: number): boolean {
    const { seen } = this.#shelves;
    if (seen.get(id) !== undefined) return true;
    if (seen.size >= capacityRepeatsMax) seen.delete(seen.oldest() ?? '');
    seen.set(id, { atMs: nowMs });
    return false;
  }

  /** First strike, one more of its burst, or the second one. It may come before the first: messages overtake each other. */
  #count(key: string, { op, atMs, ownUntilMs }: Struck, nowMs: number): void {
    const { strike } = this.#shelves;
    const known = strike.get(key);
    const first = known ?? { firstAtMs: atMs, lastAtMs: atMs, statedUntilMs: null };
    const firstAtMs = Math.min(first.firstAtMs, atMs);
    const lastAtMs = Math.max(first.lastAtMs, atMs);
    if (lastAtMs - firstAtMs > strikeWindowMs) return;
    const statedUntilMs = later(ownUntilMs, first.statedUntilMs);
    if (lastAtMs - firstAtMs < strikeSpacingMs) {
      if (known === undefined && !this.#hasRoom()) return;
      strike.set(key, { kind: op.kind, firstAtMs, lastAtMs, statedUntilMs });
      return;
    }
    strike.delete(key);
    const isStated = statedUntilMs !== null && (ownUntilMs !== null || statedUntilMs > nowMs);
    const untilMs = isStated ? statedUntilMs : lastAtMs + guessedHoldMs;
    if (untilMs <= nowMs) return;
    this.#shelves.lock.set(key, {
      id: `lock:${op.id}`,
      kind: op.kind,
      firstStrikeAtMs: firstAtMs,
      sinceMs: lastAtMs,
      untilMs,
      isStated,
    });
  }

  /** Only the vendor's own word lengthens a lock: a guess ends when it was guessed to, whatever the probes say. */
  #lengthen(key: string, lock: Lock, ownUntilMs: number | null): void {
    if (ownUntilMs === null) return;
    const untilMs = Math.min(ownUntilMs, lock.sinceMs + capacityVendorHoldMsMax);
    if (untilMs > lock.untilMs) this.#shelves.lock.set(key, { ...lock, untilMs, isStated: true });
  }

  /** Makes room for a strike: the oldest one goes, a lock never. */
  #hasRoom(): boolean {
    const { lock, strike } = this.#shelves;
    if (lock.size + strike.size < capacityKeysMax) return true;
    const oldest = strike.oldest();
    return oldest !== undefined && strike.delete(oldest);
  }

  #isAnsweredSince(key: string, atMs: number): boolean {
    const known = this.#shelves.ok.get(key);
    return known !== undefined && known.atMs >= atMs;
  }

  /** A 2xx of that key: strikes before it are over, those of a burst behind it stay. */
  #succeeded(key: string, atMs: number): void {
    const { ok, strike } = this.#shelves;
    const known = ok.get(key);
    if (known === undefined && ok.size >= capacityKeysMax) ok.delete(ok.oldest() ?? '');
    if (known === undefined || known.atMs < atMs) ok.set(key, { atMs });
    const struck = strike.get(key);
    if (struck === undefined || struck.firstAtMs > atMs) return;
    if (struck.lastAtMs <= atMs) strike.delete(key);
    else strike.set(key, { ...struck, firstAtMs: struck.lastAtMs });
  }

  /** What a 2xx can say something of. */
  #keysOf(op: OkOp): readonly string[] {
    const place = { ...op, provider: this.#provider };
    const quota = lockKey('quota', place);
    return op.spendsBalance ? [quota, lockKey('balance', place)] : [quota];
  }

  #reopen(lockId: string, keys: readonly string[], op: OkOp): void {
    const { lock, probe } = this.#shelves;
    const key = keys.find((one) => lock.get(one)?.id === lockId);
    if (key !== undefined) {
      lock.delete(key);
      probe.delete(lockId);
    }
    const reading = this.#reading();
    if (reading === undefined || readingId(reading) !== lockId) return;
    if (op.spendsBalance && op.account === primaryAccount) this.#lift();
  }

  /** Until the next sweep. Gives how many readings that was. */
  #lift(): 0 | 1 {
    const reading = this.#reading();
    if (reading === undefined || reading.state !== 'exhausted' || reading.isLifted) return 0;
    this.#shelves.reading.set('', { ...reading, isLifted: true });
    this.#shelves.probe.delete(readingId(reading));
    return 1;
  }

  #reading(): Items['reading'] | undefined {
    return this.#shelves.reading.get('');
  }

  /** When a probe may be asked for; `null`: nothing of that id is locked. */
  #nextProbeAtMs(lockId: string): number | null {
    const last = this.#shelves.probe.get(lockId)?.grantedAtMs;
    for (const [, { id, sinceMs }] of this.#shelves.lock.entries()) {
      if (id === lockId) return (last ?? sinceMs) + probeIntervalMs;
    }
    const reading = this.#reading();
    if (reading?.state !== 'exhausted' || reading.isLifted) return null;
    if (readingId(reading) !== lockId) return null;
    return last === undefined ? reading.observedAtMs : last + probeIntervalMs;
  }

  #readingState(reading: Items['reading'], nowMs: number): CapacityState['reading'] {
    const id = readingId(reading);
    return {
      ...reading,
      isStale: isStale(reading, nowMs),
      probe: this.#probeState(id, nowMs),
      nextProbeAtMs: this.#nextProbeAtMs(id) ?? nowMs,
    };
  }

  #probeState(lockId: string, nowMs: number): ProbeState | null {
    const last = this.#shelves.probe.get(lockId);
    if (last === undefined || nowMs >= last.grantedAtMs + probeIntervalMs) return null;
    return { ...last, leaseUntilMs: last.grantedAtMs + probeIntervalMs };
  }

  #lockView(key: string, lock: Lock, nowMs: number): LockView {
    const { id, kind, sinceMs, untilMs, isStated } = lock;
    return {
      key,
      id,
      kind,
      sinceAgoMs: nowMs - sinceMs,
      endsInMs: untilMs - nowMs,
      nextProbeInMs: until(this.#nextProbeAtMs(id), nowMs),
      isStated,
    };
  }

  #readingView(nowMs: number): ReadingView | null {
    const reading = this.#reading();
    if (reading === undefined) return null;
    const { observedAtMs, resetsAtMs } = reading;
    return {
      observedAtMs,
      resetsAtMs,
      state: isExhausted(reading, nowMs) ? 'exhausted' : 'ok',
      endsInMs: resetsAtMs === null ? null : until(resetsAtMs, nowMs),
      nextProbeInMs: until(this.#nextProbeAtMs(readingId(reading)), nowMs),
    };
  }
}

/** A strike with its place in time. */
interface Struck {
  readonly op: StrikeOp;
  readonly atMs: number;
  readonly ownUntilMs: number | null;
}

/** A duration that an isolate says, milliseconds: never in the future. */
const since = (agoMs: number): number => Math.max(0, agoMs);

const capped = (forMs: number): number => Math.min(Math.max(0, forMs), capacityVendorHoldMsMax);

const until = (atMs: number | null, nowMs: number): number =>
  atMs === null ? 0 : Math.max(0, atMs - nowMs);

/** A second strike at the very end of the window still finds the first. */
const strikeEnd = (atMs: number): number => atMs + strikeWindowMs + 1;

const later = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

const isStale = ({ observedAtMs }: Items['reading'], nowMs: number): boolean =>
  nowMs - observedAtMs > readingStaleMs;

const isExhausted = (reading: Items['reading'], nowMs: number): boolean =>
  reading.state === 'exhausted' &&
  !reading.isLifted &&
  !isStale(reading, nowMs) &&
  (reading.resetsAtMs === null || nowMs < reading.resetsAtMs);
