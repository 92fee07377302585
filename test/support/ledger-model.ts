/**
 * A ledger that is too simple to be wrong: every micro-USD is a coin, every rule is a search
 * through everything that ever happened. Written from the rules (decisions sections 3 to 5, issue 3), not
 * from the object: no counters, no snapshots, no log, no leases in order.
 */
import type { BlockKind } from '../../src/domain/ledger/blocks.ts';
import type { Budget, LedgerConfig } from '../../src/domain/ledger/config.ts';
import type {
  Applied,
  Claim,
  EndAnswer,
  EndOp,
  LedgerRefusal,
  PlaceAnswer,
  PlaceOp,
  RecordedAnswer,
  RecordState,
  Tags,
} from '../../src/domain/ledger/operations.ts';
import type {
  ConfigureAnswer,
  CreditAnswer,
  Resolution,
  ResolveAnswer,
} from '../../src/domain/ledger/views.ts';
import type { OpenTask, OpenTaskAnswer, TaskState } from '../../src/domain/tasks/task.ts';
import { type Coin, Coins } from './ledger-coins.ts';

const leaseMs = 120_000;
const dayMs = 86_400_000;

/** Money that was charged at a time, for a call with these tags. `order` counts events. */
interface Charge {
  readonly micros: number;
  readonly atMs: number;
  readonly order: number;
  readonly tags: Tags | null;
}

interface ModelHold {
  readonly id: string;
  readonly micros: number;
  readonly placedAtMs: number;
  readonly order: number;
  readonly keyId: string;
  readonly tags: Tags | null;
  readonly isAgain: boolean;
  readonly record: ModelRecord | null;
  readonly coins: readonly Coin[];
  leaseUntilMs: number;
  /** The event that gave it its lease: the earlier of two equal leases ends first. */
  leased: number;
  graced: boolean;
  ending: 'settled' | 'released' | 'expired' | null;
  chargeMicros: number;
  lateMicros: number | null;
}

/** How its task stands is how its hold does. */
interface ModelTask {
  readonly hold: ModelHold;
  readonly taskId: string;
  readonly deadlineAtMs: number;
}

interface ModelRecord {
  readonly id: string;
  readonly holdId: string;
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  leaseUntilMs: number;
  state: RecordState | 'gone';
  answer: RecordedAnswer | null;
}

const dayOf = (ms: number): number => Math.floor(ms / dayMs);
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** The value of a dimension among a call's tags. */
function tagOf(tags: Tags | null, dimension: string): string | undefined {
  const pairs = tags ?? [];
  return pairs.find((_, i) => i % 2 === 1 && pairs[i - 1] === dimension);
}

export class LedgerModel {
  nowMs = 0;
  readonly holds: ModelHold[] = [];
  readonly records: ModelRecord[] = [];
  readonly tasks: ModelTask[] = [];
  readonly charges: Charge[] = [];
  /** Holds that expired, and whether a late settlement answered the question. */
  readonly reviews = new Map<string, { micros: number; closed: boolean }>();
  readonly credits = new Map<string, { kind: BlockKind; micros: number }>();
  readonly coins = new Coins();
  #events = 0;
  #config: LedgerConfig = { version: 0, dailyCapMicros: null, budgets: [] };
  /** The event since which a dimension is counted in a window. */
  #since = new Map<string, number>();

  // ── money ──

  available(): number {
    return this.coins.free().length - this.coins.debt;
  }

  held(): number {
    return sum(this.open().map((hold) => hold.micros));
  }

  settled(): number {
    return sum(this.charges.map((charge) => charge.micros));
  }

  settledToday(): number {
    return sum(this.#chargesToday().map((charge) => charge.micros));
  }

  open(): ModelHold[] {
    return this.holds.filter((hold) => hold.ending === null);
  }

  credit(id: string, kind: BlockKind, micros: number): CreditAnswer['outcome'] {
    const known = this.credits.get(id);
    if (known !== undefined) {
      const same = known.kind === kind && known.micros === micros;
      return same ? 'credited' : 'id_conflict';
    }
    this.credits.set(id, { kind, micros });
    this.coins.add(id, kind, micros);
    return 'credited';
  }

  #charge(micros: number, tags: Tags | null, coins: readonly Coin[]): void {
    this.coins.spend(coins, micros);
    if (micros > 0) {
      this.charges.push({ micros, atMs: this.nowMs, order: this.#events, tags });
    }
    this.#events += 1;
  }

  // ── limits ──

  configure(config: LedgerConfig): ConfigureAnswer {
    if (config.version <= this.#config.version) {
      return { outcome: 'outdated', version: this.#config.version };
    }
    const since = new Map<string, number>();
    for (const { dimension, window } of config.budgets) {
      const name = `${dimension}/${window}`;
      since.set(name, this.#since.get(name) ?? this.#events);
    }
    this.#since = since;
    this.#config = config;
    this.#events += 1;
    return { outcome: 'configured', version: config.version };
  }

  #chargesToday(): Charge[] {
    return this.charges.filter((charge) => dayOf(charge.atMs) === dayOf(this.nowMs));
  }

  #midnight(): number {
    return (dayOf(this.nowMs) + 1) * dayMs;
  }

  #refusal([, , micros, keyId, callCap, tags, , isAgain]: PlaceOp): LedgerRefusal | null {
    for (const { dimension, values } of this.#config.budgets) {
      const value = tagOf(tags, dimension);
      if (value !== undefined && values.some((v) => v.value === value && v.blocked)) {
        return { code: 'tag_blocked', dimension, value };
      }
    }
    if (micros > 0 && this.available() < micros) {
      const availableMicros = this.available();
      return { code: 'insufficient_balance', availableMicros, requiredMicros: micros };
    }
    const cap = this.#config.dailyCapMicros;
    if (micros > 0 && cap !== null && this.settledToday() + this.held() + micros > cap) {
      return { code: 'daily_cap', capMicros: cap, resetsAtMs: this.#midnight() };
    }
    const calls = this.holds.filter(
      (h) => !h.isAgain && h.keyId === keyId && dayOf(h.placedAtMs) === dayOf(this.nowMs),
    );
    if (callCap !== null && isAgain === undefined && calls.length + 1 > callCap) {
      return { code: 'key_call_cap', cap: callCap, resetsAtMs: this.#midnight() };
    }
    for (const budget of this.#config.budgets) {
      const refusal = this.#overBudget(budget, tags, { micros, isAgain: isAgain === true });
      if (refusal !== null) return refusal;
    }
    return null;
  }

  #overBudget(
    budget: Budget,
    tags: Tags | null,
    { micros, isAgain }: { readonly micros: number; readonly isAgain: boolean },
  ): LedgerRefusal | null {
    const { dimension, window } = budget;
    const value = tagOf(tags, dimension);
    if (value === undefined) return null;
    const since = this.#since.get(`${dimension}/${window}`) ?? 0;
    const counts = (of: { order: number; tags: Tags | null }, atMs: number): boolean =>
      tagOf(of.tags, dimension) === value &&
      of.order >= since &&
      (window === 'total' || dayOf(atMs) === dayOf(this.nowMs));
    const calls = this.holds.filter((h) => !h.isAgain && counts(h, h.placedAtMs)).length;
    const spent = sum(this.charges.filter((c) => counts(c, c.atMs)).map((c) => c.micros));
    const mine = this.open().filter((h) => tagOf(h.tags, dimension) === value);
    const own = budget.values.find((v) => v.value === value) ?? budget;
    const resetsAtMs = window === 'day' ? this.#midnight() : null;
    if (own.callsMax !== null && !isAgain && calls + 1 > own.callsMax) {
      return { code: 'tag_call_cap', dimension, value, resetsAtMs };
    }
    const spend = spent + sum(mine.map((h) => h.micros)) + micros;
    if (micros > 0 && own.spendMaxMicros !== null && spend > own.spendMaxMicros) {
      return { code: 'tag_spend_cap', dimension, value, resetsAtMs };
    }
    return null;
  }

  // ── calls ──

  apply(ends: readonly EndOp[], places: readonly PlaceOp[]): Applied {
    const ended = ends.map((op) => this.end(op));
    return { outcome: 'applied', ends: ended, places: places.map((op) => this.place(op)) };
  }

  place(op: PlaceOp): PlaceAnswer {
    const [, id, micros, keyId, , tags, claim, isAgain] = op;
    const known = this.holds.find((hold) => hold.id === id);
    if (known !== undefined) {
      if (known.micros !== micros) return { outcome: 'id_conflict' };
      return { outcome: 'placed', leaseUntilMs: known.placedAtMs + leaseMs };
    }
    const standing = claim === null ? null : this.#standing(claim);
    if (standing !== null) return standing;
    const refusal = this.#refusal(op);
    if (refusal !== null) return { outcome: 'refused', refusal };
    const coins = this.coins.take(micros);
    const leaseUntilMs = this.nowMs + leaseMs;
    this.holds.push({
      id,
      micros,
      placedAtMs: this.nowMs,
      order: this.#events,
      keyId,
      tags,
      isAgain: isAgain === true,
      record: claim === null ? null : this.#claim(claim, id, leaseUntilMs),
      coins,
      leaseUntilMs,
      leased: this.#events,
      graced: false,
      ending: null,
      chargeMicros: 0,
      lateMicros: null,
    });
    this.#events += 1;
    return { outcome: 'placed', leaseUntilMs };
  }

  end(op: EndOp): EndAnswer {
    if (op[0] === 'record' || op[0] === 'free' || op[0] === 'unknown') return this.#recordEnd(op);
    const hold = this.holds.find((h) => h.id === op[1]);
    if (hold === undefined) return { outcome: 'unknown_hold' };
    if (op[0] === 'settle') return this.#settle(hold, op[2], op[3]);
    if (op[0] === 'release') return this.#release(hold);
    if (hold.ending !== null) return already(hold);
    this.#lease(hold);
    hold.graced = false;
    return { outcome: 'renewed', leaseUntilMs: hold.leaseUntilMs };
  }

  #settle(hold: ModelHold, chargeMicros: number, completed: boolean): EndAnswer {
    if (hold.ending === null) {
      hold.ending = 'settled';
      hold.chargeMicros = chargeMicros;
      this.#charge(chargeMicros, hold.tags, hold.coins);
      return { outcome: 'settled' };
    }
    if (hold.ending === 'settled') {
      return hold.chargeMicros === chargeMicros ? { outcome: 'settled' } : already(hold);
    }
    if (!completed) return already(hold);
    if (hold.lateMicros === null) {
      hold.lateMicros = chargeMicros;
      this.#charge(chargeMicros, hold.tags, []);
      const review = this.reviews.get(hold.id);
      if (review !== undefined) review.closed = true;
      return { outcome: 'late_settled' };
    }
    return hold.lateMicros === chargeMicros ? { outcome: 'late_settled' } : already(hold);
  }

  #release(hold: ModelHold): EndAnswer {
    if (hold.ending === 'released') return { outcome: 'released' };
    if (hold.ending !== null) return already(hold);
    hold.ending = 'released';
    this.#charge(0, hold.tags, hold.coins);
    return { outcome: 'released' };
  }

  /** Open holds in the order in which their leases end. */
  #byLease(): ModelHold[] {
    return this.open().sort((a, b) => a.leaseUntilMs - b.leaseUntilMs || a.leased - b.leased);
  }

  #lease(hold: ModelHold): void {
    hold.leaseUntilMs = this.nowMs + leaseMs;
    hold.leased = this.#events;
    this.#events += 1;
    this.#prolong(hold);
  }

  /** The alarm ran. */
  due(): void {
    for (const hold of this.#byLease().filter((h) => h.leaseUntilMs <= this.nowMs)) {
      const task = this.tasks.find((one) => one.hold === hold);
      if (task !== undefined && task.deadlineAtMs > this.nowMs) {
        this.#lease(hold);
        hold.graced = false;
        continue;
      }
      hold.ending = 'expired';
      this.#charge(0, hold.tags, hold.coins);
      this.reviews.set(hold.id, { micros: hold.micros, closed: false });
    }
  }

  // ── tasks ──

  openTask({ holdId, taskId, deadlineMs }: OpenTask): OpenTaskAnswer {
    const mine = this.tasks.some(({ hold }) => hold.id === holdId);
    if (mine) return { outcome: 'opened' };
    if (this.tasks.some((one) => one.taskId === taskId)) return { outcome: 'known' };
    const hold = this.open().find(({ id }) => id === holdId);
    if (hold === undefined) return { outcome: 'not_open' };
    this.tasks.push({ hold, taskId, deadlineAtMs: this.nowMs + deadlineMs });
    this.#lease(hold);
    hold.graced = false;
    return { outcome: 'opened' };
  }

  /** How a task stands. */
  taskState({ hold }: ModelTask): TaskState {
    if (hold.ending === null) return 'pending';
    if (hold.ending === 'settled' || hold.lateMicros !== null) return 'settled';
    return hold.ending === 'released' ? 'released' : 'timed_out';
  }

  /** The object lost its memory and started again. */
  restart(): void {
    for (const hold of this.#byLease().filter((h) => !h.graced)) {
      this.#lease(hold);
      hold.graced = true;
    }
  }

  // ── records ──

  /** The records as of now. */
  liveRecords(): ModelRecord[] {
    for (const record of this.records) {
      if (record.state === 'claimed' && record.leaseUntilMs <= this.nowMs) record.state = 'unknown';
      if (record.state !== 'claimed' && record.expiresAtMs <= this.nowMs) record.state = 'gone';
    }
    return this.records.filter((record) => record.state !== 'gone');
  }

  resolve(id: string, resolution: Resolution): ResolveAnswer {
    const record = this.liveRecords().find((r) => r.id === id);
    if (record === undefined) return { outcome: 'unknown_record' };
    if (record.state === 'gone') return { outcome: 'unknown_record' };
    if (record.state !== 'unknown') return { outcome: 'not_unknown', state: record.state };
    record.state = resolution.kind === 'settle' ? 'resolved' : 'gone';
    const hold = this.holds.find((h) => h.id === record.holdId);
    if (hold === undefined) return { outcome: 'resolved', chargedMicros: 0 };
    const isOfTask = this.tasks.some((one) => one.hold === hold);
    if (isOfTask && hold.ending === null) return { outcome: 'resolved', chargedMicros: 0 };
    if (resolution.kind === 'free') {
      this.#release(hold);
      return { outcome: 'resolved', chargedMicros: 0 };
    }
    const charge = resolution.chargeMicros ?? hold.micros;
    const before = this.#events;
    this.#settle(hold, charge, true);
    return { outcome: 'resolved', chargedMicros: this.#events > before ? charge : 0 };
  }

  #prolong({ record, leaseUntilMs }: ModelHold): void {
    if (record === null || !this.liveRecords().includes(record)) return;
    if (record.state === 'claimed') record.leaseUntilMs = leaseUntilMs;
  }

  #claim([id, scope, key, fingerprint]: Claim, holdId: string, leaseUntilMs: number): ModelRecord {
    const record: ModelRecord = {
      id,
      holdId,
      scope,
      key,
      fingerprint,
      expiresAtMs: this.nowMs + dayMs,
      leaseUntilMs,
      state: 'claimed',
      answer: null,
    };
    this.records.push(record);
    return record;
  }

  /** What a key's record says about another claim of it; `null`: the key is fresh. */
  #standing([id, scope, key, fingerprint]: Claim): PlaceAnswer | null {
    const live = this.liveRecords();
    const record = live.find((r) => r.scope === scope && r.key === key);
    if (record === undefined) {
      return live.some((r) => r.id === id) ? { outcome: 'id_conflict' } : null;
    }
    if (record.fingerprint !== fingerprint) return { outcome: 'mismatch' };
    if (record.answer !== null) return { outcome: 'replay', answer: record.answer };
    if (record.state === 'claimed') return { outcome: 'in_progress' };
    const resolved = record.state === 'resolved';
    return { outcome: 'outcome_unknown', recordId: record.id, resolved };
  }

  #recordEnd(
    op: Extract<EndOp, readonly ['record' | 'free' | 'unknown', ...unknown[]]>,
  ): EndAnswer {
    const record = this.liveRecords().find((r) => r.id === op[1]);
    if (record === undefined || record.state === 'gone') {
      return op[0] === 'free' ? { outcome: 'freed' } : { outcome: 'unknown_record' };
    }
    const { state } = record;
    if (state === 'recorded' && op[0] === 'record') return { outcome: 'recorded' };
    if (state === 'recorded' || state === 'resolved') return { outcome: 'record_closed', state };
    if (op[0] === 'unknown') {
      record.state = 'unknown';
      return { outcome: 'marked_unknown' };
    }
    record.state = op[0] === 'free' ? 'gone' : 'recorded';
    if (op[0] === 'record') record.answer = op[2];
    return { outcome: op[0] === 'free' ? 'freed' : 'recorded' };
  }
}

function already({ ending, chargeMicros, lateMicros }: ModelHold): EndAnswer {
  if (ending === null) throw new Error('the model says that an open hold has ended');
  return { outcome: 'already_ended', ending, chargeMicros, lateMicros };
}
