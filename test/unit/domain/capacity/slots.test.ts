/**
 * The order of sends: places, windows, who gets which. Rates are round so that places are: 10 in a second less the jitter are 100 ms apart.
 */
import { describe, expect, it } from 'vitest';
import {
  capacityRepeatMs,
  rateBucketsMax,
  rateLimitMax,
  ratePlacesMax,
  rateWindowMsMax,
  spacerJitterMs,
} from '../../../../src/base/limits-capacity';
import type { SlotAnswer, SlotOp } from '../../../../src/domain/capacity/operations';
import { Slots } from '../../../../src/domain/capacity/slots';
import { spacingMs } from '../../../../src/domain/capacity/spacer';
import { SendWindow } from '../../../../src/domain/capacity/window';

const startMs = Date.UTC(2031, 0, 1);
const rate = { limit: 10, windowMs: 1_000 - spacerJitterMs };

const op = (id: string, more: Partial<SlotOp> = {}): SlotOp => ({
  id,
  candidates: [{ account: 'primary', bucket: 'acme' }],
  rate,
  waitMsMax: 2_000,
  isEnforced: false,
  isSpaced: true,
  ...more,
});

const two = [
  { account: 'primary', bucket: 'acme' },
  { account: 'b', bucket: 'acme#b' },
];

class Stage {
  readonly slots = new Slots();
  #serial = 0;

  take(atMs: number, more: Partial<SlotOp> = {}): SlotAnswer {
    this.#serial += 1;
    return this.slots.take(op(`c${this.#serial}`, more), startMs + atMs);
  }

  wait(atMs: number, more: Partial<SlotOp> = {}): number {
    const answer = this.take(atMs, more);
    return answer.outcome === 'go' ? answer.waitMs : -answer.retryAfterMs;
  }

  giveBack(id: string): void {
    this.slots.giveBack(id);
  }
}

describe('places', () => {
  it('are the window and the jitter apart, divided by the limit', () => {
    expect(spacingMs(rate)).toBe((rate.windowMs + spacerJitterMs) / 10);
  });

  it.each<[name: string, arrivals: readonly number[], waits: readonly number[]]>([
    ['the first goes at once', [0], [0]],
    ['those at once queue, no burst of `limit` goes', [0, 0, 0, 0], [0, 100, 200, 300]],
    ['who comes when its place is there waits for nothing', [0, 100, 200], [0, 0, 0]],
    ['who comes early waits for the rest', [0, 30, 60], [0, 70, 140]],
    ['an idle bucket saves nothing up', [0, 5_000, 5_000], [0, 0, 100]],
  ])('%s', (_, arrivals, waits) => {
    const stage = new Stage();
    expect(arrivals.map((atMs) => stage.wait(atMs))).toEqual(waits);
  });

  it('what would wait too long goes at once and takes none', () => {
    const stage = new Stage();
    const waits = Array.from({ length: 25 }, () => stage.wait(0));
    expect(waits.slice(0, 21)).toEqual(Array.from({ length: 21 }, (_, i) => i * 100));
    expect(waits.slice(21)).toEqual([0, 0, 0, 0]);
    expect(stage.wait(100)).toBe(2_000);
  });

  it('given back are the next one’s, the earliest first, each once', () => {
    const stage = new Stage();
    for (let i = 0; i < 5; i += 1) stage.take(0);
    for (const id of ['c4', 'c2', 'c2', 'nobody']) stage.giveBack(id);
    expect([stage.wait(10), stage.wait(10), stage.wait(10)]).toEqual([90, 290, 490]);
  });

  it('given back again after somebody else took it stays with that one', () => {
    const stage = new Stage();
    for (let i = 0; i < 3; i += 1) stage.take(0);
    stage.giveBack('c2');
    expect(stage.wait(10)).toBe(90);
    stage.giveBack('c2');
    expect(stage.wait(10)).toBe(290);
  });

  it('given back when their time is over are nobody’s', () => {
    const stage = new Stage();
    for (let i = 0; i < 3; i += 1) stage.take(0);
    stage.giveBack('c2');
    expect(stage.wait(150)).toBe(150);
  });

  it('given back are served until their very time', () => {
    const stage = new Stage();
    for (let i = 0; i < 3; i += 1) stage.take(0);
    stage.giveBack('c2');
    expect([stage.wait(100), stage.wait(100)]).toEqual([0, 200]);
  });

  it.each([
    ['what waited for none', { waitMsMax: -1 }],
    ['what is sent again', { isSpaced: false }],
  ])('%s takes none and gives none back', (_, more) => {
    const stage = new Stage();
    stage.take(0);
    stage.take(0, more);
    expect(stage.wait(0)).toBe(100);
    stage.giveBack('c2');
    expect(stage.wait(0)).toBe(200);
  });

  it('a repeated call keeps its place', () => {
    const stage = new Stage();
    stage.take(0);
    const again = op('again');
    expect(stage.slots.take(again, startMs)).toMatchObject({ waitMs: 100 });
    expect(stage.slots.take(again, startMs + 40)).toMatchObject({ waitMs: 60 });
    expect(stage.wait(40)).toBe(160);
  });
});

describe('accounts', () => {
  it('the one that waits least serves', () => {
    const stage = new Stage();
    stage.take(0);
    stage.take(0);
    expect(stage.take(0, { candidates: two })).toMatchObject({ account: 'b', waitMs: 0 });
    expect(stage.take(0, { candidates: two })).toMatchObject({ account: 'b', waitMs: 100 });
  });

  it('equals take turns', () => {
    const stage = new Stage();
    const served = Array.from({ length: 6 }, () => stage.take(0, { candidates: two }));
    const names = served.map((answer) => (answer.outcome === 'go' ? answer.account : ''));
    expect(names).toEqual(['primary', 'b', 'primary', 'b', 'primary', 'b']);
    expect(served.at(-1)).toMatchObject({ waitMs: 200 });
  });

  it('take turns without spacing as well', () => {
    const stage = new Stage();
    const served = [0, 0, 0, 0].map((at) => stage.take(at, { candidates: two, isSpaced: false }));
    expect(served).toMatchObject(['primary', 'b', 'primary', 'b'].map((account) => ({ account })));
  });

  it('a full window of one leaves the other', () => {
    const stage = new Stage();
    const again = { isSpaced: false, isEnforced: true, rate: { limit: 2, windowMs: 1_000 } };
    stage.take(0, again);
    stage.take(0, again);
    expect(stage.take(1, { ...again, candidates: two })).toMatchObject({ account: 'b' });
  });
});

describe('windows', () => {
  const again = { isSpaced: false, rate: { limit: 3, windowMs: 1_000 } };

  it.each<[name: string, isEnforced: boolean, last: number]>([
    ['an enforced full one refuses and says how long', true, -(899 + spacerJitterMs)],
    ['one that is not enforced never does', false, 0],
  ])('%s', (_, isEnforced, last) => {
    const stage = new Stage();
    const waits = [0, 50, 90].map((at) => stage.wait(at, { ...again, isEnforced }));
    expect([...waits, stage.wait(100, { ...again, isEnforced })]).toEqual([0, 0, 0, last]);
  });

  it('an unused send is not counted', () => {
    const stage = new Stage();
    for (const at of [0, 1, 2]) stage.take(at, { ...again, isEnforced: true });
    stage.giveBack('c1');
    expect(stage.wait(3, { ...again, isEnforced: true })).toBe(0);
    expect(stage.wait(4, { ...again, isEnforced: true })).toBeLessThan(0);
  });

  it('a place that its window has forgotten takes no other send along', () => {
    const stage = new Stage();
    for (const at of [0, 2_000, 2_001, 2_002]) stage.take(at, { ...again, isEnforced: true });
    stage.giveBack('c1');
    expect(stage.wait(2_003, { ...again, isEnforced: true })).toBeLessThan(0);
  });

  it('full ones of all accounts refuse until the first has room', () => {
    const stage = new Stage();
    const both = { ...again, isEnforced: true, rate: { limit: 1, windowMs: 1_000 } };
    stage.take(0, { ...both, candidates: two.slice(1) });
    stage.take(400, { ...both, candidates: two.slice(0, 1) });
    expect(stage.wait(500, { ...both, candidates: two })).toBe(-(499 + spacerJitterMs));
  });

  it('a send again is held against the places that were taken ahead', () => {
    const stage = new Stage();
    for (let i = 0; i < 15; i += 1) stage.take(0);
    expect(stage.wait(500, { isSpaced: false, isEnforced: true })).toBeLessThan(0);
    expect(stage.wait(5_000, { isSpaced: false, isEnforced: true })).toBe(0);
  });

  it('no stretch of the window ever holds more than the limit, over 2,000 random calls', () => {
    let seed = 7;
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const stage = new Stage();
    const sends: number[] = [];
    let atMs = 0;
    for (let i = 1; i <= 2_000; i += 1) {
      atMs += Math.floor(random() * 150);
      const answer = stage.take(atMs, { isEnforced: true, isSpaced: random() < 0.7 });
      if (answer.outcome === 'refused') continue;
      if (random() < 0.2) stage.giveBack(`c${i}`);
      else sends.push(atMs + answer.waitMs);
    }
    sends.sort((a, b) => a - b);
    expect(sends.length).toBeGreaterThan(1_000);
    // A wait is whole milliseconds, so a send is at most one later than its place.
    const tooClose = sends.filter((at, i) => at - (sends[i - 10] ?? -1e9) < rate.windowMs - 1);
    expect(tooClose).toEqual([]);
  });

  it('room is where the limit says it is, on both sides', () => {
    const window = new SendWindow();
    const three = { limit: 3, windowMs: 1_001 - spacerJitterMs };
    for (const at of [0, 400, 800, 1_300]) window.add(at);
    const times = [300, 600, 1_200, 1_300, 1_399, 1_400, 1_800];
    expect(times.map((at) => window.hasRoom(three, at))).toEqual([
      ...[false, false, false, false, false],
      ...[true, true],
    ]);
    expect(window.roomAtMs(three, 900)).toBe(1_400);
  });

  it('remember a bounded number of sends', () => {
    const window = new SendWindow();
    for (let i = 0; i < 2 * rateLimitMax + 5; i += 1) window.add(i);
    expect(window.count(1e9, 2e9)).toBe(2 * rateLimitMax);
  });
});

describe('a rate beyond what a catalog may declare', () => {
  it.each([
    ['its limit', { limit: rateLimitMax + 1, windowMs: 1_000 }],
    ['its window', { limit: 1, windowMs: rateWindowMsMax + 1 }],
  ])('is a bug of the isolate: %s', (_, rate) => {
    const op = {
      id: 'call_1',
      candidates: [{ account: 'primary', bucket: 'vendor' }],
      rate,
      waitMsMax: 2_000,
      isEnforced: false,
      isSpaced: true,
    };
    expect(() => new Slots().take(op, 0)).toThrow();
  });
});

describe('what is remembered', () => {
  it('an operator sees queue and window of each bucket', () => {
    const stage = new Stage();
    for (let i = 0; i < 4; i += 1) stage.take(0);
    expect(stage.slots.buckets(startMs + 150)).toEqual([
      { bucket: 'acme', queuedMs: 250, inWindow: 2 },
    ]);
  });

  it('buckets and places are bounded, the oldest goes', () => {
    const slots = new Slots();
    for (let i = 0; i < ratePlacesMax + 10; i += 1) {
      const candidates = [{ account: 'primary', bucket: `b${i % (rateBucketsMax + 1)}` }];
      slots.take(op(`c${i}`, { candidates, isSpaced: false }), startMs);
    }
    expect(slots.buckets(startMs).length).toBe(rateBucketsMax);
    // One that is still known has its first place again: no bucket is touched.
    for (const id of [`c${ratePlacesMax + 9}`, 'c0'])
      slots.take(op(id, { isSpaced: false }), startMs);
    const ofAcme = slots.buckets(startMs).filter(({ bucket }) => bucket === 'acme');
    expect(ofAcme).toMatchObject([{ inWindow: 1 }]);
  });

  it('of the buckets the one used last stays', () => {
    const slots = new Slots();
    const use = (bucket: string, id: string) =>
      slots.take(op(id, { candidates: [{ account: 'primary', bucket }] }), startMs);
    for (let i = 0; i < rateBucketsMax; i += 1) use(`b${i}`, `c${i}`);
    use('b0', 'again');
    use('one more', 'last');
    const names = slots.buckets(startMs).map(({ bucket }) => bucket);
    expect([names.includes('b0'), names.includes('b1')]).toEqual([true, false]);
  });

  it('a place is known for as long as promised', () => {
    const stage = new Stage();
    stage.take(0, { isSpaced: false });
    const first = op('c1', { isSpaced: false });
    const at = startMs + capacityRepeatMs;
    expect(stage.slots.take(first, at - 1)).toMatchObject({ waitMs: 0 });
    expect(stage.slots.buckets(at - 1)[0]?.inWindow).toBe(0);
    stage.slots.take(first, at);
    expect(stage.slots.buckets(at)[0]?.inWindow).toBe(1);
  });
});
