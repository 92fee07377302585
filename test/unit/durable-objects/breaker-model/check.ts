/**
 * Checker: looks at every operation that reaches a capacity object and at the object's state after it, and throws at the first that
 * breaks a rule of digest A12. It knows what was delivered and what the vendor really answered, and judges from that alone.
 * Called by `world.ts`.
 */
import {
  capacityRepeatMs,
  capacityVendorHoldMsMax,
  guessedHoldMs,
  probeIntervalMs,
  strikeSpacingMs,
  strikeWindowMs,
} from '../../../../src/base/limits-capacity';
import type {
  CapacityState,
  MarkOp,
  OkOp,
  ProbeOp,
  Reading,
  StrikeOp,
} from '../../../../src/domain/capacity/operations';

/** One operation as it came. */
export type Delivered =
  | { readonly do: 'strike'; readonly op: StrikeOp }
  | { readonly do: 'ok'; readonly op: OkOp }
  | { readonly do: 'probe'; readonly op: ProbeOp; readonly granted: boolean }
  | { readonly do: 'observe'; readonly op: Reading }
  | { readonly do: 'mark'; readonly op: MarkOp }
  | { readonly do: 'look' };

type LockState = CapacityState['locks'][number];

/** The same as `lockKey`, written down again. */
function keyOf(
  provider: string,
  kind: 'balance' | 'quota',
  op: { readonly account: string; readonly endpointId: string },
): string {
  const scope = kind === 'balance' ? provider : op.endpointId;
  return op.account === 'primary' ? scope : `${scope}#${op.account}`;
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

export class Checker {
  /** Calls that the vendor answered with "the account is out", and the key of that. */
  readonly exhausted = new Map<string, string>();
  readonly counts: Record<string, number> = {};
  readonly #provider: string;
  readonly #seen = new Map<string, number>();
  readonly #strikes = new Map<string, { readonly id: string; readonly atMs: number }[]>();
  /** The latest 2xx of a key that the object was told of. */
  readonly #oks = new Map<string, number>();
  readonly #grants = new Map<string, { readonly callId: string; readonly atMs: number }>();
  readonly #marks = new Map<string, number>();
  #reading: { reading: Reading; isLifted: boolean } | null = null;
  #before: CapacityState | null = null;

  constructor(provider: string) {
    this.#provider = provider;
  }

  check(delivered: Delivered, after: CapacityState): void {
    const { nowMs } = after;
    switch (delivered.do) {
      case 'strike':
        this.#strike(delivered.op, after);
        break;
      case 'ok':
        this.#ok(delivered.op, nowMs);
        break;
      case 'probe':
        this.#probe(delivered, after);
        break;
      case 'observe':
        if (
          this.#reading === null ||
          delivered.op.observedAtMs > this.#reading.reading.observedAtMs
        )
          this.#reading = { reading: delivered.op, isLifted: false };
        break;
      case 'mark':
        if (!this.#isRepeat(`mark ${delivered.op.id}`, nowMs)) this.#mark(delivered.op, nowMs);
        break;
      case 'look':
        break;
    }
    this.#locks(delivered, after);
    this.#firstStrikes(after);
    this.#others(after);
    this.#before = after;
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  #isRepeat(id: string, nowMs: number): boolean {
    const first = this.#seen.get(id);
    if (first !== undefined && nowMs < first + capacityRepeatMs) return true;
    this.#seen.set(id, nowMs);
    return false;
  }

  #strike(op: StrikeOp, after: CapacityState): void {
    const { nowMs } = after;
    const key = keyOf(this.#provider, op.kind, op);
    must(this.exhausted.get(op.id) === key, `a strike of ${op.id} on ${key}: no answer said so`);
    if (this.#isRepeat(`strike ${op.id}`, nowMs)) return;
    this.#count('strikes');
    const atMs = nowMs - op.agoMs;
    this.#strikes.set(key, [...(this.#strikes.get(key) ?? []), { id: op.id, atMs }]);
    if (op.lastOkAgoMs !== null) this.#answered(key, nowMs - op.lastOkAgoMs);
    if ((this.#oks.get(key) ?? 0) >= atMs || op.agoMs > strikeSpacingMs) return;
    const isLocked = after.locks.some((lock) => lock.key === key);
    const isStruck = after.strikes.some((strike) => strike.key === key);
    must(isLocked || isStruck, `the strike of ${op.id} on ${key} is forgotten`);
    const first = this.#before?.strikes.find((strike) => strike.key === key);
    if (first === undefined || (this.#oks.get(key) ?? 0) >= first.atMs) return;
    const apartMs = atMs - first.atMs;
    if (apartMs >= strikeSpacingMs && apartMs <= strikeWindowMs)
      must(isLocked, `two strikes on ${key}, ${apartMs} ms apart, do not lock`);
  }

  #ok(op: OkOp, nowMs: number): void {
    if (this.#isRepeat(`ok ${op.id}`, nowMs)) return;
    this.#count('oks');
    this.#answered(keyOf(this.#provider, 'quota', op), nowMs - op.agoMs);
    if (op.spendsBalance) this.#answered(keyOf(this.#provider, 'balance', op), nowMs - op.agoMs);
    if (this.#reading === null || op.probe === null || !op.spendsBalance) return;
    if (op.probe.lockId !== `reading:${this.#reading.reading.observedAtMs}`) return;
    if (op.account === 'primary') this.#reading.isLifted = true;
  }

  #answered(key: string, atMs: number): void {
    this.#oks.set(key, Math.max(atMs, this.#oks.get(key) ?? 0));
  }

  /** One lease at a time; its owner hears the same again; one that is due is granted. */
  #probe({ op, granted }: Extract<Delivered, { do: 'probe' }>, after: CapacityState): void {
    const { nowMs } = after;
    const last = this.#grants.get(op.lockId);
    const isLeased = last !== undefined && nowMs < last.atMs + probeIntervalMs;
    const lock = after.locks.find(({ id }) => id === op.lockId);
    if (isLeased && last.callId !== op.id) must(!granted, `two probes at once on ${op.lockId}`);
    if (isLeased && last.callId === op.id)
      must(granted || lock === undefined, `the probe ${op.id} was granted and then refused`);
    if (!isLeased && lock !== undefined) {
      const isDue = nowMs >= Math.max(lock.sinceMs, last?.atMs ?? 0) + probeIntervalMs;
      must(granted === isDue, `a probe of ${op.lockId}: due ${isDue}, granted ${granted}`);
    }
    if (granted && !isLeased) {
      this.#count('probes');
      this.#grants.set(op.lockId, { callId: op.id, atMs: nowMs });
    }
  }

  #mark({ key, forMs }: MarkOp, nowMs: number): void {
    const untilMs = nowMs + Math.min(forMs, capacityVendorHoldMsMax);
    this.#marks.set(key, Math.max(untilMs, this.#marks.get(key) ?? 0));
  }

  #locks(delivered: Delivered, after: CapacityState): void {
    const { nowMs } = after;
    const before = new Map(this.#before?.locks.map((lock) => [lock.id, lock]));
    for (const lock of after.locks) {
      const known = before.get(lock.id);
      before.delete(lock.id);
      if (known === undefined) this.#born(delivered, lock);
      else this.#lives(delivered, known, lock);
      const holdMs = lock.isStated ? capacityVendorHoldMsMax : guessedHoldMs;
      must(lock.untilMs <= lock.sinceMs + holdMs, `${lock.id} holds longer than ${holdMs} ms`);
      must(nowMs < lock.untilMs, `${lock.id} is there after its end`);
    }
    for (const lock of before.values()) {
      if (nowMs >= lock.untilMs) this.#count('locks lapsed');
      else must(this.#isReopenedBy(delivered, lock), `${lock.id} ended before its time`);
    }
    if (delivered.do !== 'ok' || delivered.op.probe === null) return;
    const { lockId } = delivered.op.probe;
    const held = this.#before?.locks.find(({ id }) => id === lockId);
    if (held === undefined || !this.#isReopenedBy(delivered, held)) return;
    must(!after.locks.some(({ id }) => id === lockId), `a probe's 2xx did not end ${lockId}`);
    this.#count('locks reopened');
  }

  /** Two answers far enough apart, near enough, and no 2xx since the first that the object knew of. */
  #born(delivered: Delivered, lock: LockState): void {
    this.#count('locks');
    const { key, firstStrikeAtMs, sinceMs } = lock;
    must(delivered.do === 'strike', `${lock.id} was made by ${delivered.do}`);
    const strikes = this.#strikes.get(key) ?? [];
    const first = strikes.filter(({ atMs }) => atMs === firstStrikeAtMs);
    const second = strikes.filter(({ atMs, id }) => atMs === sinceMs && id !== first[0]?.id);
    must(first.length > 0 && second.length > 0, `${lock.id}: no two answers made it`);
    const apartMs = sinceMs - firstStrikeAtMs;
    must(apartMs >= strikeSpacingMs, `${lock.id}: its strikes are ${apartMs} ms apart`);
    must(apartMs <= strikeWindowMs, `${lock.id}: its strikes are ${apartMs} ms apart`);
    const okAtMs = this.#oks.get(key) ?? 0;
    must(okAtMs < firstStrikeAtMs, `${lock.id}: a 2xx lies between its strikes`);
  }

  #lives(delivered: Delivered, known: LockState, lock: LockState): void {
    must(lock.sinceMs === known.sinceMs && lock.key === known.key, `${lock.id} changed`);
    must(lock.untilMs >= known.untilMs, `${lock.id} was shortened`);
    if (lock.untilMs === known.untilMs) return;
    this.#count('locks lengthened');
    const isStated = delivered.do === 'strike' && delivered.op.resetsInMs !== null;
    must(isStated, `${lock.id} was lengthened by ${delivered.do}`);
  }

  #isReopenedBy(delivered: Delivered, { id, key, kind }: LockState): boolean {
    if (delivered.do !== 'ok' || delivered.op.probe?.lockId !== id) return false;
    if (kind === 'balance' && !delivered.op.spendsBalance) return false;
    return keyOf(this.#provider, kind, delivered.op) === key;
  }

  /** A strike that waits was answered, within the window, and no 2xx that the object knows came after it. */
  #firstStrikes({ strikes, nowMs }: CapacityState): void {
    for (const { key, atMs } of strikes) {
      const known = this.#strikes.get(key)?.some((strike) => strike.atMs === atMs);
      must(known === true, `a strike on ${key} that nobody told`);
      must(nowMs - atMs <= strikeWindowMs, `a strike on ${key} outlives its window`);
      must((this.#oks.get(key) ?? 0) < atMs, `a strike on ${key} outlives a 2xx`);
    }
  }

  /** Reading and marks are as told. */
  #others({ reading, marks, nowMs }: CapacityState): void {
    const expected = this.#reading;
    if (expected !== null) {
      must(reading?.observedAtMs === expected.reading.observedAtMs, 'another reading');
      const isOut = expected.reading.state === 'exhausted';
      must(!isOut || reading?.isLifted === expected.isLifted, 'the reading is lifted wrongly');
    }
    const open = [...this.#marks].filter(([, untilMs]) => untilMs > nowMs).toSorted();
    const shown = marks.map(({ key, untilMs }) => [key, untilMs]).toSorted();
    must(JSON.stringify(shown) === JSON.stringify(open), 'marks are not as told');
  }
}
