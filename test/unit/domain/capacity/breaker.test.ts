/**
 * The breaker's rules as histories: one line per operation, times in milliseconds from the start, and what holds after it.
 */
import { describe, expect, it } from 'vitest';
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
} from '../../../../src/base/limits-capacity';
import { Breaker, readingId } from '../../../../src/domain/capacity/breaker';
import type { OkOp, StrikeOp } from '../../../../src/domain/capacity/operations';
import type { ItemRow } from '../../../../src/domain/capacity/shelf';

const startMs = Date.UTC(2031, 0, 1);
const minute = 60_000;
const hour = 3_600_000;

/** A breaker with a clock, and short words for its operations. */
class Stage {
  breaker = new Breaker('acme', []);
  #rows = new Map<string, ItemRow>();
  #serial = 0;

  strike(atMs: number, op: Partial<StrikeOp> = {}): void {
    const defaults: StrikeOp = {
      id: `s${this.#next()}`,
      kind: 'quota',
      account: 'primary',
      endpointId: 'acme.find',
      resetsInMs: null,
      agoMs: 0,
      lastOkAgoMs: null,
    };
    this.breaker.strike({ ...defaults, ...op }, startMs + atMs);
  }

  ok(atMs: number, op: Partial<OkOp> = {}): void {
    const defaults: OkOp = {
      id: `o${this.#next()}`,
      account: 'primary',
      endpointId: 'acme.find',
      spendsBalance: true,
      agoMs: 0,
      probe: null,
    };
    this.breaker.ok({ ...defaults, ...op }, startMs + atMs);
  }

  probe(atMs: number, lockId: string, id = `p${this.#next()}`): boolean {
    return this.breaker.probe({ id, lockId }, startMs + atMs);
  }

  view(atMs: number) {
    return this.breaker.view(startMs + atMs);
  }

  locked(atMs: number): readonly string[] {
    return this.view(atMs).locks.map(({ key }) => key);
  }

  struck(atMs: number): readonly string[] {
    return this.view(atMs).strikes.map(({ key }) => key);
  }

  lockId(atMs: number): string {
    return this.view(atMs).locks[0]?.id ?? 'none';
  }

  /** Two strikes, the second at `atMs`. */
  lock(atMs: number, op: Partial<StrikeOp> = {}): string {
    this.strike(atMs - strikeSpacingMs, op);
    this.strike(atMs, op);
    return this.lockId(atMs);
  }

  /** As an object that starts again from its disk. */
  restart(): void {
    for (const { kind, key, item } of this.breaker.takeChanges()) {
      if (item === null) this.#rows.delete(`${kind} ${key}`);
      else this.#rows.set(`${kind} ${key}`, { kind, key, item });
    }
    this.breaker = new Breaker('acme', structuredClone([...this.#rows.values()]));
  }

  get rows(): number {
    this.restart();
    return this.#rows.size;
  }

  /** What is on its disk of one kind. */
  onDisk(kind: ItemRow['kind']): readonly string[] {
    this.restart();
    return [...this.#rows.values()].filter((row) => row.kind === kind).map(({ key }) => key);
  }

  #next(): number {
    this.#serial += 1;
    return this.#serial;
  }
}

describe('strikes', () => {
  it.each<[name: string, strikes: readonly number[], locked: boolean]>([
    ['C076: five at once are one strike', [0, 0, 0, 0, 0], false],
    ['a burst just below the spacing is one strike', [0, 5_000, strikeSpacingMs - 1], false],
    ['C076: a second one at the spacing locks', [0, strikeSpacingMs], true],
    ['C076: a burst and a sixth at 16 s lock', [0, 0, 0, 0, 0, 16_000], true],
    ['the spacing counts from the first of a burst', [0, 10_000, 16_000], true],
    ['a second one at the very end of the window locks', [0, strikeWindowMs], true],
    ['a second one behind the window is a first one', [0, strikeWindowMs + 1], false],
    ['a first one behind the window finds its own second', [0, 700_000, 720_000], true],
  ])('%s', (_, strikes, locked) => {
    const stage = new Stage();
    for (const atMs of strikes) stage.strike(atMs);
    expect(stage.locked(strikes.at(-1) ?? 0)).toEqual(locked ? ['acme.find'] : []);
  });

  it.each<[name: string, okAtMs: number, op: Partial<OkOp>, locked: boolean]>([
    ['C076: a 200 at 8 s between them', 8_000, {}, false],
    ['a 200 of the same moment as the first', 0, {}, false],
    ['a 200 of another endpoint', 8_000, { endpointId: 'acme.list' }, true],
    ['a 200 of another account', 8_000, { account: 'b' }, true],
    ['a free 200 of the same endpoint', 8_000, { spendsBalance: false }, false],
  ])('of a quota: %s', (_, okAtMs, op, locked) => {
    const stage = new Stage();
    stage.strike(0);
    stage.ok(okAtMs, op);
    stage.strike(16_000);
    expect(stage.locked(16_000)).toEqual(locked ? ['acme.find'] : []);
  });

  it.each<[name: string, op: Partial<OkOp>, locked: boolean]>([
    ['a 200 of any endpoint that costs', { endpointId: 'acme.list' }, false],
    ['a free 200 is no recovery', { spendsBalance: false }, true],
    ['a 200 of another account is none', { account: 'b' }, true],
  ])('of a balance: %s', (_, op, locked) => {
    const stage = new Stage();
    stage.strike(0, { kind: 'balance' });
    stage.ok(8_000, op);
    stage.strike(16_000, { kind: 'balance' });
    expect(stage.locked(16_000)).toEqual(locked ? ['acme'] : []);
  });

  it.each<[name: string, op: Partial<StrikeOp>, key: string]>([
    ['a quota locks its endpoint', {}, 'acme.find'],
    ['a balance locks the provider', { kind: 'balance' }, 'acme'],
    ['a quota of another account', { account: 'b' }, 'acme.find#b'],
    ['a balance of another account', { kind: 'balance', account: 'b' }, 'acme#b'],
  ])('C076: %s and nothing else', (_, op, key) => {
    const stage = new Stage();
    stage.lock(16_000, op);
    expect(stage.locked(16_000)).toEqual([key]);
  });

  it('of two keys are not two of one', () => {
    const stage = new Stage();
    stage.strike(0);
    stage.strike(16_000, { kind: 'balance' });
    stage.strike(16_000, { account: 'b' });
    expect(stage.locked(16_000)).toEqual([]);
    expect(stage.struck(16_000).toSorted()).toEqual(['acme', 'acme.find', 'acme.find#b']);
  });

  it('a call strikes once, however often it is told', () => {
    const stage = new Stage();
    for (const atMs of [0, 5, 20_000, 40_000]) stage.strike(atMs, { id: 'one' });
    expect(stage.locked(40_000)).toEqual([]);
  });

  it('one that was told again after a 200 is still the old one', () => {
    const stage = new Stage();
    stage.strike(0, { id: 'one' });
    stage.ok(8_000);
    stage.strike(20_000, { id: 'one' });
    expect(stage.struck(20_000)).toEqual([]);
  });

  it.each<[name: string, late: Partial<StrikeOp>, locked: boolean]>([
    ['is placed where its answer was', { agoMs: 18_000 }, false],
    ['that overtook nothing locks', { agoMs: 0 }, true],
    ['of 18 s before the first locks with it', { agoMs: 38_000 }, true],
    ['of before the window says nothing', { agoMs: strikeWindowMs + 1 }, false],
  ])('a late strike %s', (_, late, locked) => {
    const stage = new Stage();
    stage.strike(0);
    stage.strike(20_000, late);
    expect(stage.locked(20_000).length > 0).toBe(locked);
  });

  it.each<[name: string, answeredAtMs: number, restarts: boolean]>([
    ['and is far enough from the next', 4_000, false],
    ['at the same moment', 8_000, false],
    ['that the object knows from its disk', 4_000, true],
  ])('a late strike of before a known 200 is over: %s', (_, answeredAtMs, restarts) => {
    const stage = new Stage();
    stage.strike(0);
    stage.ok(8_000);
    stage.strike(25_000);
    if (restarts) stage.restart();
    stage.strike(26_000, { agoMs: 26_000 - answeredAtMs });
    expect(stage.view(26_000)).toMatchObject({
      locks: [],
      strikes: [{ key: 'acme.find', agoMs: 1_000 }],
    });
  });

  it('a 200 that only the striking isolate saw is between them too', () => {
    const stage = new Stage();
    stage.strike(0);
    stage.strike(16_000, { lastOkAgoMs: 8_000 });
    expect(stage.locked(16_000)).toEqual([]);
    expect(stage.struck(16_000)).toEqual(['acme.find']);
    stage.strike(32_000, { lastOkAgoMs: 24_000 });
    expect(stage.locked(32_000)).toEqual(['acme.find']);
  });

  it('a 200 within a burst leaves what came behind it', () => {
    const stage = new Stage();
    stage.strike(0);
    stage.strike(10_000);
    stage.ok(5_000 + 6_000, { agoMs: 6_000 });
    expect(stage.view(11_000).strikes).toEqual([{ key: 'acme.find', agoMs: 1_000 }]);
    stage.strike(20_000);
    expect(stage.locked(20_000)).toEqual([]);
    stage.strike(25_000);
    expect(stage.locked(25_000)).toEqual(['acme.find']);
  });

  it('a 200 told late does not clear what came after it', () => {
    const stage = new Stage();
    stage.strike(10_000);
    stage.ok(20_000, { agoMs: 12_000 });
    expect(stage.struck(20_000)).toEqual(['acme.find']);
  });

  it('a 200 told late keeps the first of a burst that came after it', () => {
    const stage = new Stage();
    stage.strike(10_000);
    stage.strike(14_000);
    stage.ok(15_000, { agoMs: 7_000 });
    stage.strike(25_000);
    expect(stage.locked(25_000)).toEqual(['acme.find']);
  });

  it('the last known 200 is what a late strike is held against', () => {
    const stage = new Stage();
    stage.ok(8_000);
    stage.ok(20_000);
    stage.strike(40_000);
    stage.strike(41_000, { agoMs: 26_000 });
    expect(stage.locked(41_000)).toEqual([]);
  });

  it('a 200 told late does not make a known one older', () => {
    const stage = new Stage();
    stage.ok(8_000);
    stage.ok(9_000, { agoMs: 6_000 });
    stage.strike(25_000);
    stage.strike(26_000, { agoMs: 20_000 });
    expect(stage.locked(26_000)).toEqual([]);
  });

  it('a 200 told twice clears once', () => {
    const stage = new Stage();
    stage.ok(0, { id: 'one' });
    stage.strike(5_000);
    stage.ok(20_000, { id: 'one' });
    expect(stage.struck(20_000)).toEqual(['acme.find']);
  });
});

describe('locks', () => {
  it.each<[name: string, resetsInMs: number | null, holdMs: number]>([
    ['a guess holds an hour', null, guessedHoldMs],
    ['a stated reset is kept', 2 * hour, 2 * hour],
    ['a stated reset may be short', 5 * minute, 5 * minute],
    ['a far one is capped', 100 * 365 * 24 * hour, capacityVendorHoldMsMax],
  ])('%s', (_, resetsInMs, holdMs) => {
    const stage = new Stage();
    stage.lock(16_000, { resetsInMs });
    expect(stage.view(16_000).locks).toMatchObject([
      { endsInMs: holdMs, isStated: resetsInMs !== null },
    ]);
    expect(stage.locked(16_000 + holdMs - 1)).toEqual(['acme.find']);
    expect(stage.locked(16_000 + holdMs)).toEqual([]);
  });

  it('no lock is made of a reset that is over', () => {
    const stage = new Stage();
    stage.lock(16_000, { resetsInMs: 0 });
    expect(stage.locked(16_000)).toEqual([]);
  });

  it('the reset that only the first strike named is kept', () => {
    const stage = new Stage();
    stage.strike(0, { resetsInMs: 3 * hour });
    stage.strike(16_000);
    expect(stage.view(16_000).locks).toMatchObject([
      { endsInMs: 3 * hour - 16_000, isStated: true },
    ]);
  });

  it.each([
    ['first', 3 * hour, hour, 3 * hour - 16_000],
    ['second', hour, 3 * hour, 3 * hour],
  ])('of two resets the later one is kept: the %s strike’s', (_, first, second, endsInMs) => {
    const stage = new Stage();
    stage.strike(0, { resetsInMs: first });
    stage.strike(16_000, { resetsInMs: second });
    expect(stage.view(16_000).locks).toMatchObject([{ endsInMs, isStated: true }]);
  });

  it('a reset of the first strike that is over by the second is no lost strike: it is guessed', () => {
    const stage = new Stage();
    stage.strike(0, { resetsInMs: 5_000 });
    stage.strike(16_000);
    expect(stage.view(16_000).locks).toMatchObject([{ endsInMs: guessedHoldMs, isStated: false }]);
  });

  it('a reset that only a later strike names is the vendor’s word, no guess', () => {
    const stage = new Stage();
    stage.lock(16_000);
    stage.strike(26_000, { resetsInMs: 3 * hour });
    expect(stage.view(26_000).locks).toMatchObject([{ endsInMs: 3 * hour, isStated: true }]);
  });

  it.each<[name: string, resetsInMs: number | null, endsInMs: number]>([
    ['a shorter reset does not shorten', minute, 2 * hour],
    ['a guess does not shorten', null, 2 * hour],
    ['a longer reset lengthens', 3 * hour, 3 * hour + 10_000],
    ['but not beyond the cap, from the start', 100 * hour, capacityVendorHoldMsMax],
  ])('a later strike: %s', (_, resetsInMs, endsInMs) => {
    const stage = new Stage();
    const id = stage.lock(16_000, { resetsInMs: 2 * hour });
    stage.strike(26_000, { resetsInMs });
    expect(stage.view(16_000).locks).toMatchObject([{ id, endsInMs, sinceAgoMs: 0 }]);
  });

  it('strikes on a guessed lock never keep it beyond its hour', () => {
    const stage = new Stage();
    stage.lock(16_000);
    for (let at = 76_000; at < hour; at += minute) stage.strike(at);
    expect(stage.locked(16_000 + guessedHoldMs)).toEqual([]);
  });

  it('an ordinary 200 never ends one', () => {
    const stage = new Stage();
    stage.lock(16_000);
    stage.ok(20_000);
    expect(stage.locked(20_000)).toEqual(['acme.find']);
  });

  it('a new lock has a new id', () => {
    const stage = new Stage();
    const first = stage.lock(16_000);
    expect(stage.lock(16_000 + 2 * guessedHoldMs)).not.toBe(first);
  });
});

describe('probes', () => {
  it('C071: one per interval and lock, whoever asks; the lock is the first hit', () => {
    const stage = new Stage();
    const id = stage.lock(16_000);
    const first = 16_000 + probeIntervalMs;
    expect(stage.probe(16_000, id)).toBe(false);
    expect(stage.probe(first - 1, id)).toBe(false);
    expect(stage.probe(first, id)).toBe(true);
    expect(stage.probe(first, id)).toBe(false);
    expect(stage.probe(first + probeIntervalMs - 1, id)).toBe(false);
    expect(stage.probe(first + probeIntervalMs, id)).toBe(true);
  });

  it('the same call asks twice and hears the same', () => {
    const stage = new Stage();
    const id = stage.lock(16_000);
    expect(stage.probe(80_000, id, 'me')).toBe(true);
    expect(stage.probe(80_500, id, 'me')).toBe(true);
    expect(stage.probe(80_500, id, 'you')).toBe(false);
  });

  it('a restart grants no second one', () => {
    const stage = new Stage();
    const id = stage.lock(16_000);
    expect(stage.probe(80_000, id)).toBe(true);
    stage.restart();
    expect(stage.probe(81_000, id)).toBe(false);
    expect(stage.locked(81_000)).toEqual(['acme.find']);
  });

  it('one that was not sent is the next call’s at once; one that is another call’s by now stays', () => {
    const stage = new Stage();
    const lockId = stage.lock(16_000);
    const giveBack = (atMs: number, id: string) =>
      stage.breaker.giveBackProbe({ id, lockId }, startMs + atMs);
    expect(stage.probe(80_000, lockId, 'poor')).toBe(true);
    giveBack(80_100, 'poor');
    stage.restart();
    expect(stage.probe(80_200, lockId, 'rich')).toBe(true);
    giveBack(80_300, 'poor');
    giveBack(80_300, 'nobody');
    expect(stage.probe(80_400, lockId)).toBe(false);
    expect(stage.locked(80_400)).toEqual(['acme.find']);
  });

  it.each<[name: string, op: Partial<OkOp>, locked: boolean]>([
    ['its 200 ends the lock', {}, false],
    ['a 200 of another endpoint does not', { endpointId: 'acme.list' }, true],
    ['a 200 of another account does not', { account: 'b' }, true],
  ])('%s', (_, op, locked) => {
    const stage = new Stage();
    const lockId = stage.lock(16_000);
    stage.probe(80_000, lockId, 'me');
    stage.ok(81_000, { probe: { id: 'me', lockId }, ...op });
    expect(stage.locked(81_000).length > 0).toBe(locked);
  });

  it('a free 200 does not end a balance lock', () => {
    const stage = new Stage();
    const lockId = stage.lock(16_000, { kind: 'balance' });
    stage.ok(81_000, { probe: { id: 'me', lockId }, spendsBalance: false });
    expect(stage.locked(81_000)).toEqual(['acme']);
    stage.ok(82_000, { probe: { id: 'you', lockId } });
    expect(stage.locked(82_000)).toEqual([]);
  });

  it('C071: a 200 that comes after its lease still ends the same lock', () => {
    const stage = new Stage();
    const lockId = stage.lock(16_000);
    stage.probe(80_000, lockId, 'slow');
    stage.probe(80_000 + probeIntervalMs, lockId, 'next');
    stage.ok(80_000 + 2 * probeIntervalMs, { probe: { id: 'slow', lockId } });
    expect(stage.locked(80_000 + 2 * probeIntervalMs)).toEqual([]);
  });

  it('C071: a 200 of a probe of an older lock does nothing', () => {
    const stage = new Stage();
    const older = stage.lock(16_000);
    stage.probe(80_000, older, 'slow');
    const later = 16_000 + 2 * guessedHoldMs;
    stage.lock(later);
    stage.ok(later, { probe: { id: 'slow', lockId: older } });
    expect(stage.locked(later)).toEqual(['acme.find']);
  });

  it('of what is not locked there is none', () => {
    const stage = new Stage();
    const lockId = stage.lock(16_000);
    stage.ok(81_000, { probe: { id: 'me', lockId } });
    expect(stage.probe(200_000, lockId)).toBe(false);
    stage.lock(210_000);
    expect(stage.probe(300_000, 'lock:nobody')).toBe(false);
    expect(stage.probe(300_000, lockId)).toBe(false);
  });
});

describe('the reading of a sweep', () => {
  const exhausted = (atMs: number, resetsAtMs: number | null = null) =>
    ({ observedAtMs: startMs + atMs, state: 'exhausted', resetsAtMs }) as const;
  const shown = (stage: Stage, atMs: number) => stage.view(atMs).reading?.state ?? null;

  it('is unknown before the first', () => expect(shown(new Stage(), 0)).toBeNull());

  it.each<[name: string, resetsAtMs: number | null, atMs: number, state: string]>([
    ['is exhausted', null, 0, 'exhausted'],
    ['until it is stale', null, readingStaleMs, 'exhausted'],
    ['and refuses nobody when it is', null, readingStaleMs + 1, 'ok'],
    ['until the reset', startMs + hour, hour - 1, 'exhausted'],
    ['and not beyond', startMs + hour, hour, 'ok'],
  ])('%s', (_, resetsAtMs, atMs, state) => {
    const stage = new Stage();
    stage.breaker.observe(exhausted(0, resetsAtMs), startMs);
    const endsInMs = resetsAtMs === null ? null : hour - atMs;
    expect(stage.view(atMs).reading).toMatchObject({ state, resetsAtMs, endsInMs });
  });

  it('admits a probe at once, whose 200 lifts it until the next sweep', () => {
    const stage = new Stage();
    const reading = exhausted(0);
    stage.breaker.observe(reading, startMs);
    const lockId = readingId(reading);
    expect(stage.probe(1_000, lockId, 'me')).toBe(true);
    expect(stage.probe(1_000, lockId)).toBe(false);
    expect(stage.view(1_000).reading?.nextProbeInMs).toBe(probeIntervalMs);
    stage.ok(2_000, { probe: { id: 'me', lockId } });
    expect(shown(stage, 2_000)).toBe('ok');
    expect(stage.probe(2_000 + probeIntervalMs, lockId)).toBe(false);
    stage.breaker.observe(reading, startMs + 3_000);
    expect(shown(stage, 3_000)).toBe('ok');
    stage.breaker.observe(exhausted(hour), startMs + hour);
    expect(shown(stage, hour)).toBe('exhausted');
    expect(stage.probe(hour, lockId)).toBe(false);
  });

  it.each<[name: string, op: Partial<OkOp>]>([
    ['a free 200', { spendsBalance: false }],
    ['a 200 of another account', { account: 'b' }],
    ['a 200 of an older reading', { probe: { id: 'me', lockId: 'reading:1' } }],
    ['an ordinary 200', { probe: null }],
  ])('is not lifted by %s', (_, op) => {
    const stage = new Stage();
    stage.breaker.observe(exhausted(0), startMs);
    stage.ok(2_000, { probe: { id: 'me', lockId: readingId(exhausted(0)) }, ...op });
    expect(shown(stage, 2_000)).toBe('exhausted');
  });

  it('never touches a lock, and one that comes late changes nothing', () => {
    const stage = new Stage();
    stage.lock(16_000);
    stage.breaker.observe({ ...exhausted(20_000), state: 'ok' }, startMs + 20_000);
    stage.breaker.observe(exhausted(10_000), startMs + 21_000);
    expect(shown(stage, 21_000)).toBe('ok');
    expect(stage.locked(21_000)).toEqual(['acme.find']);
  });

  it('that is ok admits no probe', () => {
    const stage = new Stage();
    stage.breaker.observe({ ...exhausted(0), state: 'ok' }, startMs);
    expect(stage.probe(1_000, readingId(exhausted(0)))).toBe(false);
  });
});

describe('marks', () => {
  const mark = (stage: Stage, atMs: number, forMs: number, id: string) =>
    stage.breaker.mark({ id, key: 'v1', reason: id, forMs }, startMs + atMs);

  it('end by themselves; a shorter one does not shorten, a repeat does not lengthen', () => {
    const stage = new Stage();
    mark(stage, 0, 10_000, 'one');
    mark(stage, 1_000, 2_000, 'two');
    mark(stage, 5_000, 10_000, 'one');
    expect(stage.view(5_000).marks).toEqual([{ key: 'v1', reason: 'one', endsInMs: 5_000 }]);
    mark(stage, 6_000, 10_000, 'three');
    expect(stage.view(6_000).marks).toMatchObject([{ reason: 'three', endsInMs: 10_000 }]);
    expect(stage.view(16_000).marks).toEqual([]);
  });

  it('are capped', () => {
    const stage = new Stage();
    mark(stage, 0, 1_000 * hour, 'one');
    expect(stage.view(0).marks).toMatchObject([{ endsInMs: capacityVendorHoldMsMax }]);
  });
});

describe('the operator', () => {
  function full(): Stage {
    const stage = new Stage();
    stage.lock(16_000);
    stage.strike(16_000, { kind: 'balance' });
    stage.breaker.mark({ id: 'm', key: 'v1', reason: 'dry', forMs: hour }, startMs + 16_000);
    stage.breaker.observe(
      { observedAtMs: startMs, state: 'exhausted', resetsAtMs: null },
      startMs + 16_000,
    );
    return stage;
  }

  it.each<[key: string | null, cleared: number]>([
    [null, 4],
    ['acme.find', 1],
    ['acme', 1],
    ['v1', 1],
    ['reading', 1],
    ['nothing', 0],
  ])('clears %s: %i', (key, cleared) => {
    const stage = full();
    expect(stage.breaker.reset(key, startMs + 17_000)).toBe(cleared);
    expect(stage.breaker.reset(key, startMs + 17_000)).toBe(0);
  });

  it('sees who probes, and when the next one may', () => {
    const stage = full();
    const lockId = stage.lockId(16_000);
    stage.probe(80_000, lockId, 'me');
    const state = stage.breaker.state(startMs + 81_000, []);
    expect(state.locks).toEqual([
      {
        key: 'acme.find',
        id: lockId,
        kind: 'quota',
        firstStrikeAtMs: startMs + 1_000,
        sinceMs: startMs + 16_000,
        untilMs: startMs + 16_000 + guessedHoldMs,
        isStated: false,
        probe: {
          callId: 'me',
          grantedAtMs: startMs + 80_000,
          leaseUntilMs: startMs + 80_000 + probeIntervalMs,
        },
        nextProbeAtMs: startMs + 80_000 + probeIntervalMs,
      },
    ]);
    expect(state.strikes).toEqual([{ key: 'acme', kind: 'balance', atMs: startMs + 16_000 }]);
    expect(state.reading).toMatchObject({ isLifted: false, isStale: false });
    const later = stage.breaker.state(startMs + 80_000 + probeIntervalMs, []);
    expect(later.locks[0]?.probe).toBeNull();
  });
});

describe('what is remembered', () => {
  const empty = { observedAtMs: startMs, state: 'exhausted', resetsAtMs: null } as const;

  it('is the same after a restart', () => {
    const stage = new Stage();
    stage.lock(16_000, { resetsInMs: 2 * hour });
    stage.strike(17_000, { kind: 'balance' });
    stage.breaker.mark({ id: 'm', key: '', reason: 'auth', forMs: hour }, startMs + 17_000);
    stage.breaker.observe(
      { observedAtMs: startMs, state: 'exhausted', resetsAtMs: null },
      startMs + 17_000,
    );
    const before = stage.view(18_000);
    stage.restart();
    expect(stage.view(18_000)).toEqual(before);
  });

  it.each<[name: string, end: (stage: Stage, lockId: string) => void]>([
    ['a probe’s 200', (stage, lockId) => stage.ok(81_000, { probe: { id: 'me', lockId } })],
    ['the operator', (stage) => void stage.breaker.reset(null, startMs + 81_000)],
    ['its time', (stage) => void stage.view(16_000 + guessedHoldMs)],
  ])(
    'a lock that was ended by %s does not come back with a restart, nor does its probe stay',
    (_, end) => {
      const stage = new Stage();
      const lockId = stage.lock(16_000);
      expect(stage.probe(80_000, lockId, 'me')).toBe(true);
      stage.restart();
      end(stage, lockId);
      stage.restart();
      expect(stage.locked(82_000)).toEqual([]);
      expect([stage.onDisk('lock'), stage.onDisk('probe')]).toEqual([[], []]);
    },
  );

  it.each<[name: string, resetsInMs: number, end: (stage: Stage) => void]>([
    ['time', 64_500, (stage) => void stage.view(81_000)],
    ['the operator', 2 * hour, (stage) => void stage.breaker.reset('acme.list', startMs + 81_000)],
  ])('a lock that is ended by %s leaves the probe of another to its call', (_, resetsInMs, end) => {
    const stage = new Stage();
    stage.lock(16_000, { endpointId: 'acme.list', resetsInMs });
    stage.lock(17_000, { kind: 'balance' });
    const lockId = stage.view(17_000).locks.find(({ key }) => key === 'acme')?.id ?? 'none';
    expect(stage.probe(80_000, lockId, 'me')).toBe(true);
    end(stage);
    expect(stage.locked(81_000)).toEqual(['acme']);
    expect(stage.probe(82_000, lockId, 'you')).toBe(false);
  });

  it('a strike that a 200 cleared does not come back with a restart', () => {
    const stage = new Stage();
    stage.strike(0);
    stage.restart();
    stage.ok(8_000);
    stage.restart();
    stage.strike(16_000);
    expect(stage.locked(16_000)).toEqual([]);
  });

  it.each<[name: string, end: (stage: Stage, lockId: string) => void]>([
    [
      'the next one',
      (stage) => stage.breaker.observe({ ...empty, observedAtMs: startMs + hour }, startMs + hour),
    ],
    ['a probe’s 200', (stage, lockId) => stage.ok(2_000, { probe: { id: 'me', lockId } })],
    ['the operator', (stage) => void stage.breaker.reset('reading', startMs + 2_000)],
  ])('no probe of a reading stays that was ended by %s', (_, end) => {
    const stage = new Stage();
    stage.breaker.observe(empty, startMs);
    expect(stage.probe(1_000, readingId(empty), 'me')).toBe(true);
    expect(stage.onDisk('probe')).toEqual([readingId(empty)]);
    end(stage, readingId(empty));
    expect(stage.onDisk('probe')).toEqual([]);
  });

  it('a change is told once', () => {
    const stage = new Stage();
    stage.strike(0);
    expect(stage.breaker.takeChanges().length).toBeGreaterThan(0);
    expect(stage.breaker.takeChanges()).toEqual([]);
  });

  it('each kind says when it ends, and is gone then', () => {
    const stage = new Stage();
    stage.strike(0);
    stage.ok(1_000, { endpointId: 'acme.list' });
    const mark = { id: 'm', key: 'v1', reason: 'dry', forMs: 5 * minute };
    stage.breaker.mark(mark, startMs + 2_000);
    const dues: number[] = [];
    for (let due = stage.breaker.nextDueMs(); due !== null; due = stage.breaker.nextDueMs()) {
      dues.push(due - startMs);
      expect(dues.length).toBeLessThan(20);
      stage.breaker.prune(due);
    }
    expect(dues).toEqual([
      ...[0, 1_000, 2_000].map((atMs) => atMs + capacityRepeatMs),
      2_000 + 5 * minute,
      ...[0, 1_000].map((atMs) => atMs + strikeWindowMs + 1),
    ]);
  });

  it('goes to nothing when all has ended, and says when', () => {
    const stage = new Stage();
    stage.lock(16_000);
    stage.ok(17_000, { endpointId: 'acme.list' });
    let steps = 0;
    for (let due = stage.breaker.nextDueMs(); due !== null; due = stage.breaker.nextDueMs()) {
      stage.breaker.prune(due);
      steps += 1;
      expect(steps).toBeLessThan(20);
    }
    expect(stage.rows).toBe(0);
  });

  it('a repeat is known for as long as promised', () => {
    const stage = new Stage();
    stage.strike(0, { id: 'one' });
    stage.ok(1_000);
    stage.strike(capacityRepeatMs - 1, { id: 'one' });
    expect(stage.struck(capacityRepeatMs - 1)).toEqual([]);
  });

  it('is bounded: the oldest strike goes, a lock never', () => {
    const stage = new Stage();
    stage.lock(16_000, { endpointId: 'acme.locked' });
    for (let i = 0; i < capacityKeysMax + 10; i += 1)
      stage.strike(16_000, { endpointId: `acme.${i}` });
    const { locks, strikes } = stage.view(16_000);
    expect([locks.length, strikes.length]).toEqual([1, capacityKeysMax - 1]);
    expect(strikes.map(({ key }) => key)).not.toContain('acme.0');
    expect(strikes.map(({ key }) => key)).toContain(`acme.${capacityKeysMax + 9}`);
  });

  it('ids and successes are bounded too', () => {
    const stage = new Stage();
    for (let i = 0; i < capacityRepeatsMax + 10; i += 1) stage.ok(0, { endpointId: `acme.${i}` });
    expect(stage.rows).toBe(capacityRepeatsMax + capacityKeysMax);
  });

  it('so are marks: the oldest goes for a new one, none for one that is known', () => {
    const stage = new Stage();
    const mark = (id: number, key: number, forMs = hour) =>
      stage.breaker.mark({ id: `${id}`, key: `${key}`, reason: 'dry', forMs }, startMs);
    for (let i = 0; i < capacityKeysMax + 1; i += 1) mark(i, i);
    mark(capacityKeysMax + 1, 1, 2 * hour);
    const keys = stage.view(0).marks.map(({ key }) => key);
    expect([keys.length, keys[0], keys.at(-1)]).toEqual([
      capacityKeysMax,
      '1',
      `${capacityKeysMax}`,
    ]);
  });
});
