/**
 * The desk: who shares an object call with whom, what rides along, what happens when an answer, an
 * object or a leader is gone.
 */
import { describe, expect, it } from 'vitest';
import {
  ledgerBatchCallersMax,
  ledgerBatchClaimsMax,
  ledgerCallTimeoutMs,
  ledgerDesksMax,
  ledgerEndsMax,
  ledgerFlushMs,
  ledgerFlushOpsMin,
  ledgerFollowLooksMax,
  ledgerFollowMs,
  ledgerGatherMs,
  ledgerLeadMs,
  ledgerWaitersMax,
} from '../../../../src/base/limits-money';
import type { EndOp } from '../../../../src/domain/ledger/operations';
import { deskWorld, home, place, settle, settled } from './desk-world';

const placed = { outcome: 'placed', leaseUntilMs: 1 };
const idsOf = (ops: readonly (readonly [string, string, ...unknown[]])[]) => ops.map((op) => op[1]);

describe('sharing an object call', () => {
  it('a lone caller pays one object call, one background, one deadline timer and no window', async () => {
    const { desk, ledger, time, background, live } = deskWorld();
    expect(await desk.place(home, place('a'), live)).toEqual(placed);
    expect(ledger.seen).toHaveLength(1);
    expect(background).toHaveLength(1);
    expect(time.started).toBe(1);
    expect(time.pending).toBe(0);
  });

  it('sixteen places that arrive together are two object calls, eight or more claims each on average', async () => {
    const { ledger, placeAll, time, background } = deskWorld();
    const answers = placeAll(16);
    await time.pass(2 * ledgerGatherMs);
    expect(await Promise.all(answers)).toEqual(Array(16).fill(placed));
    expect(ledger.seen.map(({ places }) => places.length)).toEqual([1, 15]);
    expect(background).toHaveLength(1);
    expect(time.pending).toBe(0);
  });

  it('a crowd gathers for a millisecond before the next object call; a few do not', async () => {
    const { desk, ledger, placeAll, time, live } = deskWorld();
    const first = placeAll(16);
    await time.pass(2 * ledgerGatherMs);
    await Promise.all(first);
    const one = desk.place(home, place('one'), live);
    await settled();
    expect(ledger.seen).toHaveLength(2);
    const others = placeAll(7, 'x');
    await time.pass(ledgerGatherMs);
    await Promise.all([one, ...others]);
    expect(ledger.seen[2]?.places).toHaveLength(8);
    const last = desk.place(home, place('last'), live);
    await time.pass(ledgerGatherMs);
    await last;
    const quiet = desk.place(home, place('quiet'), live);
    await settled();
    expect(ledger.seen).toHaveLength(5);
    await quiet;
  });

  it('each caller gets its own answer, whatever else is in the batch', async () => {
    const { desk, ledger, time, live } = deskWorld();
    ledger.isHeld = true;
    const first = desk.place(home, place('a'), live);
    desk.end(home, ['renew', 'r'], live);
    const now = desk.endNow(home, [settle('a'), ['free', 'idm_1']], live);
    const second = desk.place(home, place('b'), live);
    await ledger.release();
    expect(await first).toEqual(placed);
    await time.pass(ledgerGatherMs);
    await ledger.release();
    expect(await now).toEqual([{ outcome: 'settled' }, { outcome: 'freed' }]);
    expect(await second).toEqual(placed);
    expect(ledger.seen[1]?.ends).toEqual([['renew', 'r'], settle('a'), ['free', 'idm_1']]);
  });

  it('two tenants never share', async () => {
    const { desk, ledger, live } = deskWorld();
    const other = { ledgerTenantId: 'ten_2', homeRegion: 'weur' };
    await Promise.all([desk.place(home, place('a'), live), desk.place(other, place('b'), live)]);
    expect(ledger.seen).toHaveLength(2);
  });

  it('a batch stays within its operations and its claims, and nobody is left behind', async () => {
    const { desk, ledger, placeAll, time, live } = deskWorld();
    ledger.isHeld = true;
    const first = desk.place(home, place('first'), live);
    const plain = placeAll(ledgerBatchCallersMax + 5);
    const keyed = Array.from({ length: ledgerBatchClaimsMax + 5 }, (_, i) =>
      desk.place(home, place(`k${i}`, [`idm_${i}`, 's', `${i}`, 'f']), live),
    );
    ledger.isHeld = false;
    await ledger.release();
    await time.pass(10);
    expect(await Promise.all([first, ...plain, ...keyed])).toHaveLength(
      1 + plain.length + keyed.length,
    );
    const sizes = ledger.seen.map(({ places }) => places.length);
    expect(sizes).toEqual([1, ledgerBatchCallersMax, 5 + ledgerBatchClaimsMax, 5]);
  });
});

describe('settlements', () => {
  it('ride along with the next claim, before the places', async () => {
    const { desk, ledger, live } = deskWorld();
    await desk.place(home, place('a'), live);
    desk.end(home, settle('a'), live);
    expect(ledger.seen).toHaveLength(1);
    await desk.place(home, place('b'), live);
    expect(ledger.seen).toHaveLength(2);
    expect(ledger.seen[1]).toEqual({ ends: [settle('a')], places: [place('b')] });
  });

  it('are sent alone after a quarter of a second, under a background of their own', async () => {
    const { desk, ledger, time, background, live } = deskWorld();
    desk.end(home, settle('a'), live);
    desk.end(home, settle('b'), live);
    expect(background).toHaveLength(1);
    await time.pass(ledgerFlushMs - 1);
    expect(ledger.seen).toHaveLength(0);
    await time.pass(1);
    expect(ledger.seen.map(({ ends }) => ends.length)).toEqual([2]);
    await Promise.all(background);
    expect(time.pending).toBe(0);
  });

  it('do not wait when there are sixty-four', async () => {
    const { desk, ledger, live } = deskWorld();
    for (let i = 1; i < ledgerFlushOpsMin; i++) desk.end(home, settle(`${i}`), live);
    await settled();
    expect(ledger.seen).toHaveLength(0);
    desk.end(home, settle('last'), live);
    await settled();
    expect(ledger.seen.map(({ ends }) => ends.length)).toEqual([ledgerFlushOpsMin]);
  });

  it('under steady claims need no object call and no more than one background per life of a flusher', async () => {
    const { desk, ledger, time, background, live } = deskWorld();
    for (let i = 0; i < 200; i++) {
      await desk.place(home, place(`h${i}`), live);
      desk.end(home, settle(`h${i}`), live);
      await time.pass(20);
    }
    expect(ledger.seen.filter(({ places }) => places.length === 0)).toHaveLength(0);
    expect(background.length).toBe(200 + 1);
    await time.pass(ledgerFlushMs);
    expect(ledger.endings.size).toBe(200);
  });

  it('a release of a hold that was not sent yet takes it back', async () => {
    const { desk, ledger, time, live } = deskWorld();
    ledger.isHeld = true;
    const first = desk.place(home, place('a'), live);
    const second = desk.place(home, place('b'), live);
    desk.end(home, ['release', 'b', 'call_cancelled'], live);
    expect((await second).outcome).toBe('ledger_unavailable');
    ledger.isHeld = false;
    await ledger.release();
    await first;
    await time.pass(ledgerFlushMs);
    expect(ledger.seen.flatMap(({ places }) => idsOf(places))).toEqual(['a']);
    expect(ledger.seen.flatMap(({ ends }) => ends)).toEqual([]);
  });

  it('a release of a hold that is under way is sent after it', async () => {
    const { desk, ledger, time, live } = deskWorld();
    ledger.isHeld = true;
    const first = desk.place(home, place('a'), live);
    desk.end(home, ['release', 'a', 'call_cancelled'], live);
    ledger.isHeld = false;
    await ledger.release();
    await first;
    await time.pass(ledgerFlushMs);
    expect(ledger.endings.get('a')).toBe('release');
  });
});

describe('an answer that does not come', () => {
  it('a lost answer: the same ids again on a fresh stub, booked once', async () => {
    const { desk, ledger, stubs, live } = deskWorld();
    ledger.behaviours = ['loses_answer'];
    expect(await desk.place(home, place('a'), live)).toEqual(placed);
    expect(ledger.seen[1]).toEqual(ledger.seen[0]);
    expect(ledger.bookings).toBe(1);
    expect(stubs).toHaveLength(2);
  });

  it.each(['busy', 'overloaded'] as const)(
    'an object that is %s is not tried again',
    async (how) => {
      const { desk, ledger, live } = deskWorld();
      ledger.behaviours = [how];
      const answer = await desk.place(home, place('a'), live);
      expect(answer).toEqual({
        outcome: 'ledger_busy',
        retryAfterMs: how === 'busy' ? 700 : 1_000,
      });
      expect(ledger.seen).toHaveLength(1);
    },
  );

  it.each(['busy', 'overloaded'] as const)(
    'a lost answer, then an object that is %s: what may be placed is released, its key freed',
    async (how) => {
      const { desk, ledger, time, live } = deskWorld();
      ledger.behaviours = ['loses_answer', how];
      const answer = await desk.place(home, place('a', ['idm_a', 's', 'k', 'f']), live);
      expect(answer.outcome).toBe('ledger_unavailable');
      await time.pass(2_000);
      expect(ledger.endings.get('a')).toBe('release');
      expect(ledger.seen.at(-1)?.ends).toContainEqual(['free', 'idm_a']);
    },
  );

  it('an object that cannot be reached: everybody is told, and what may be placed is released', async () => {
    const { desk, ledger, placeAll, time, live } = deskWorld();
    ledger.otherwise = 'throws';
    const answers = placeAll(5);
    const keyed = desk.place(home, place('k', ['idm_k', 's', 'k', 'f']), live);
    await time.pass(ledgerGatherMs);
    for (const answer of await Promise.all([...answers, keyed])) {
      expect(answer.outcome).toBe('ledger_unavailable');
    }
    ledger.otherwise = 'answers';
    await time.pass(2_000);
    const ends = ledger.seen.at(-1)?.ends ?? [];
    expect(new Set(idsOf(ends))).toEqual(
      new Set(['hld_0', 'hld_1', 'hld_2', 'hld_3', 'hld_4', 'k', 'idm_k']),
    );
    expect(ends.filter((op) => op[0] === 'free')).toEqual([['free', 'idm_k']]);
  });

  it('an object that hangs is given up after the deadline', async () => {
    const { desk, ledger, time, live } = deskWorld();
    ledger.otherwise = 'hangs';
    const answer = desk.place(home, place('a'), live);
    await time.pass(ledgerCallTimeoutMs);
    expect((await answer).outcome).toBe('ledger_unavailable');
  });

  it('a placed that comes after its caller was told no is released', async () => {
    const { desk, ledger, time, live } = deskWorld();
    ledger.isHeld = true;
    const first = desk.place(home, place('a'), live);
    const second = desk.place(home, place('b'), live);
    await time.pass(ledgerCallTimeoutMs);
    expect((await first).outcome).toBe('ledger_unavailable');
    ledger.isHeld = false;
    await ledger.release(9);
    await time.pass(20_000);
    expect(await second).toEqual(placed);
    expect([ledger.endings.get('a'), ledger.endings.get('b')]).toEqual(['release', undefined]);
  });

  it('settlements wait for the next claim when there is no queue, in their order', async () => {
    const { desk, ledger, time, background, live } = deskWorld();
    ledger.otherwise = 'throws';
    desk.end(home, settle('a'), live);
    await time.pass(60_000);
    await Promise.all(background);
    const tries = ledger.seen.length;
    expect(tries).toBeLessThanOrEqual(2 * 8);
    desk.end(home, ['renew', 'b'], live);
    ledger.otherwise = 'answers';
    await desk.place(home, place('c'), live);
    expect(ledger.seen.at(-1)?.ends).toEqual([settle('a'), ['renew', 'b']]);
  });

  it('settlements go to the queue before the background ends', async () => {
    const kept: EndOp[] = [];
    const { desk, ledger, time, background, live } = deskWorld({
      keeper: {
        keep: async (_, ops) => {
          kept.push(...ops);
          return [];
        },
      },
    });
    ledger.otherwise = 'throws';
    desk.end(home, settle('a'), live);
    await time.pass(ledgerFlushMs);
    await Promise.all(background);
    expect(kept).toEqual([settle('a')]);
    expect(desk.counts.endsQueued).toBe(1);
    ledger.otherwise = 'answers';
    await desk.place(home, place('b'), live);
    expect(ledger.seen.at(-1)?.ends).toEqual([]);
  });

  it('what an endNow could not deliver is delivered later', async () => {
    const { desk, ledger, time, live } = deskWorld();
    await desk.place(home, place('a'), live);
    ledger.behaviours = ['throws', 'throws'];
    const now = await desk.endNow(home, [settle('a')], live);
    expect(now).toMatchObject({ outcome: 'ledger_unavailable' });
    await time.pass(2_000);
    expect(ledger.endings.get('a')).toBe('settle');
  });
});

describe('a leader that is gone', () => {
  it('its followers repeat the same operations after their own two seconds, together', async () => {
    const { desk, ledger, time, placeAll } = deskWorld();
    ledger.behaviours = ['hangs'];
    void desk.place(home, place('leader'), () => undefined);
    const followers = placeAll(4);
    await time.pass(ledgerFollowMs - 1);
    expect(ledger.seen).toHaveLength(1);
    await time.pass(1 + ledgerGatherMs);
    expect(await Promise.all(followers)).toEqual(Array(4).fill(placed));
    expect(ledger.seen).toHaveLength(2);
    expect(idsOf(ledger.seen[1]?.places ?? [])).toEqual([
      'hld_0',
      'leader',
      'hld_1',
      'hld_2',
      'hld_3',
    ]);
    expect(desk.counts.takeovers).toBe(1);
  });

  it('a newcomer does not wait for them', async () => {
    const { desk, ledger, time, live } = deskWorld();
    ledger.behaviours = ['hangs'];
    void desk.place(home, place('leader'), () => undefined);
    await time.pass(ledgerFollowMs);
    expect(await desk.place(home, place('new'), live)).toEqual(placed);
    expect(idsOf(ledger.seen[1]?.places ?? [])).toEqual(['new', 'leader']);
  });

  it('one that led for a second calls the newest follower, which leads under its own background', async () => {
    const { desk, ledger, time, background, live } = deskWorld();
    const newest: Promise<unknown>[] = [];
    ledger.isHeld = true;
    const first = desk.place(home, place('first'), live);
    const second = desk.place(home, place('second'), live);
    const third = desk.place(home, place('third'), (work) => void newest.push(work));
    await time.pass(ledgerLeadMs);
    ledger.isHeld = false;
    await ledger.release();
    await time.pass(ledgerGatherMs);
    expect(await Promise.all([first, second, third])).toEqual(Array(3).fill(placed));
    expect(ledger.seen.map(({ places }) => idsOf(places))).toEqual([
      ['first'],
      ['third', 'second'],
    ]);
    expect([background.length, newest.length]).toEqual([1, 1]);
  });

  it('when every object call hangs, each follower has its answer after a bounded time', async () => {
    const { ledger, time, placeAll } = deskWorld();
    ledger.otherwise = 'hangs';
    const answers = placeAll(20);
    await time.pass(ledgerFollowMs * ledgerFollowLooksMax + ledgerCallTimeoutMs);
    for (const answer of await Promise.all(answers)) {
      expect(answer.outcome).toBe('ledger_unavailable');
    }
    expect(ledger.seen.length).toBeLessThan(20);
  });
});

describe('bounds', () => {
  it('more waiters than fit are told that the ledger is busy, and only they', async () => {
    const { ledger, placeAll, time } = deskWorld();
    ledger.isHeld = true;
    const answers = placeAll(ledgerWaitersMax + 4);
    await settled();
    ledger.isHeld = false;
    await ledger.release();
    await time.pass(20);
    const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'ledger_busy')).toHaveLength(3);
    expect(outcomes.slice(-3)).toEqual(Array(3).fill('ledger_busy'));
  });

  it('a settlement and its record are delivered, however many wait', async () => {
    const { desk, ledger, placeAll, time, live } = deskWorld();
    await desk.place(home, place('mine', ['idm_1', 's', 'k', 'f']), live);
    ledger.isHeld = true;
    const answers = placeAll(ledgerWaitersMax + 1);
    await settled();
    const ends: EndOp[] = [settle('mine'), ['unknown', 'idm_1']];
    expect(await desk.endNow(home, ends, live)).toMatchObject({ outcome: 'ledger_busy' });
    ledger.isHeld = false;
    await ledger.release();
    await time.pass(ledgerFlushMs);
    await Promise.all(answers);
    expect(ledger.seen.flatMap((call) => call.ends)).toEqual(ends);
  });

  it('settlements that nobody takes are given up, oldest first, and counted', async () => {
    const { desk, ledger, time, live } = deskWorld();
    ledger.otherwise = 'throws';
    for (let i = 0; i < ledgerEndsMax + 7; i++) desk.end(home, settle(`${i}`), live);
    await time.pass(10_000);
    expect(desk.counts.endsDropped).toBe(7);
    ledger.otherwise = 'answers';
    const answer = desk.place(home, place('a'), live);
    await time.pass(ledgerGatherMs);
    expect(await answer).toEqual(placed);
    const delivered = ledger.seen.filter(({ places }) => places.length > 0)[0]?.ends ?? [];
    expect(delivered[0]?.[1]).toBe('7');
  });

  it('more tenants than fit: idle desks are forgotten, busy ones are not', async () => {
    const { desk, ledger, live } = deskWorld();
    const tenant = (i: number) => ({ ledgerTenantId: `ten_${i}`, homeRegion: null });
    for (let i = 0; i < ledgerDesksMax + 10; i++) {
      expect(await desk.place(tenant(i), place(`h${i}`), live)).toEqual(placed);
    }
    ledger.otherwise = 'hangs';
    for (let i = 0; i < ledgerDesksMax; i++) void desk.place(tenant(-i), place(`b${i}`), live);
    await settled();
    const late = await desk.place(tenant(999_999), place('late'), live);
    expect(late.outcome).toBe('ledger_busy');
  });
});
