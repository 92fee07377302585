/**
 * Money: a hold and its record end exactly once, whoever is first; what was not sent costs nothing,
 * and hanging up is never cheaper than staying.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  drainMs,
  holdRenewMs,
  recordHeaderCharsMax,
  recordInlineBodyBytesMax,
} from '../../../src/base/limits-money';
import type { Money, Partly } from '../../../src/call/money';
import type { EndOp, RecordedAnswer } from '../../../src/domain/ledger/operations';
import { wholeDecimal } from '../../../src/domain/pricing/decimal';
import type { ReplayBodies } from '../../../src/ports/replay-bodies';
import { meter, perCall, settled } from '../domain/pricing/prices';
import { entryOf, startMs } from './calls';
import { heldMoney, moneyOf } from './desk';

const cost = perCall(70);
const row = (parts: Parameters<typeof entryOf>[0] = {}) => entryOf({ cost, ...parts }).endpoint;
const keyed = { recordId: 'idm_1' };
const answer = { status: 200, headers: ['x-a', '1'], bytes: new Uint8Array([1, 2, 3]) };

const settle = (micros: number): EndOp => ['settle', 'hld_1', micros, true];
const release = (reason: string): EndOp => ['release', 'hld_1', reason];
const free: EndOp = ['free', 'idm_1'];
const unknown: EndOp = ['unknown', 'idm_1'];

const isOver = (work: Promise<unknown> | undefined): Promise<boolean> =>
  Promise.race([Promise.resolve(work).then(() => true), Promise.resolve().then(() => false)]);

/** A client that left a call that was sent. */
function left({ money }: { money: Money }, partly?: Partly): void {
  money.sent();
  if (partly !== undefined) money.seenSoFar(() => partly);
  money.left(() => undefined);
}

beforeEach(() => void vi.useFakeTimers({ now: startMs }));
afterEach(() => void vi.useRealTimers());

const enders: readonly (readonly [string, (money: Money) => void, EndOp])[] = [
  ['settled', (money) => money.settle({ micros: 70, source: 'table' }, false), settle(70)],
  ['released', (money) => money.release('refused'), release('refused')],
  ['abandoned', (money) => money.abandon('egress.blocked', false), release('egress.blocked')],
  ['cut short', (money) => money.cutShort(), settle(100)],
];
const pairs = enders.flatMap(([first, end, op]) =>
  enders.map(([second, again]) => [first, second, end, again, op] as const),
);

describe('the end', () => {
  it.each(pairs)('%s, then %s: the first one counts', (_, __, end, again, op) => {
    const { money, desk } = heldMoney();
    end(money);
    const costMicros = money.costMicros;
    again(money);
    expect([desk.last, money.isClosed, money.costMicros]).toEqual([[op], true, costMicros]);
  });

  it('that the ledger refused tells it nothing', async () => {
    const { money, desk, background } = moneyOf();
    money.refused();
    money.abandon('insufficient_balance', false);
    expect([desk.last, money.costMicros, vi.getTimerCount()]).toEqual([[], null, 0]);
    await background.work[0];
  });

  it('is told to whom asked for it before, and at once to whom asks later', () => {
    const { money } = heldMoney();
    const told: string[] = [];
    money.whenClosed(() => told.push('before'));
    expect(told).toEqual([]);
    money.release('refused');
    money.whenClosed(() => told.push('later'));
    expect(told).toEqual(['before', 'later']);
  });

  it.each([
    ['what was settled', enders[0]?.[1], 70],
    ['nothing when it was released', enders[1]?.[1], null],
  ])('leaves %s as the cost', (_, end, costMicros) => {
    const { money } = heldMoney();
    end?.(money);
    expect(money.costMicros).toBe(costMicros);
  });

  it('of an answer that cannot cost money releases the hold', () => {
    const { money, desk } = heldMoney(keyed);
    money.settle(money.chargeOf({ status: 500, header: () => null, usage: null }), false);
    expect(desk.last).toEqual([release('not_billable'), free]);
  });
});

describe('the context', () => {
  it('is kept from before the ledger’s answer to the end', async () => {
    const { money, background } = moneyOf();
    expect(background.work.length).toBe(1);
    money.lasts();
    expect(await isOver(background.work[0])).toBe(false);
    money.release('refused');
    expect([await isOver(background.work[0]), background.work.length]).toEqual([true, 1]);
  });
});

describe('the lease', () => {
  it('is renewed every holdRenewMs, and not after the end', () => {
    const { money, desk } = heldMoney();
    vi.advanceTimersByTime(holdRenewMs - 1);
    expect(desk.ends).toEqual([]);
    vi.advanceTimersByTime(1 + holdRenewMs);
    expect(desk.ends).toEqual([
      ['renew', 'hld_1'],
      ['renew', 'hld_1'],
    ]);
    money.release('refused');
    vi.advanceTimersByTime(3 * holdRenewMs);
    expect(desk.ends.length).toBe(3);
  });

  it('of a call that is armed twice is renewed once, of one that has ended never', () => {
    const { money, desk } = heldMoney();
    money.lasts();
    vi.advanceTimersByTime(holdRenewMs);
    expect(desk.ends).toEqual([['renew', 'hld_1']]);
    money.release('refused');
    money.lasts();
    const soon = moneyOf();
    soon.money.release('refused');
    soon.money.lasts();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of a hold that is not there yet is not renewed', () => {
    const { desk } = moneyOf();
    vi.advanceTimersByTime(3 * holdRenewMs);
    expect(desk.ends).toEqual([]);
  });
});

describe('a call that ends without an answer that counts', () => {
  const before: readonly (readonly [string, (held: { money: Money }) => void, EndOp])[] = [
    ['was not sent', () => undefined, release('why')],
    ['was not sent, and its client left', ({ money }) => money.left(() => 0), release('why')],
    ['was sent, and its client is there', ({ money }) => money.sent(), release('why')],
    ['was sent, and its client left', left, settle(100)],
  ];
  it.each(before)('%s', (_, prepare, op) => {
    const held = heldMoney();
    prepare(held);
    held.money.abandon('why', true);
    expect(held.desk.last).toEqual([op]);
  });

  it.each([
    ['frees its key when nothing was executed', false, free],
    ['keeps its key when it may have been executed', true, unknown],
  ])('%s', (_, isUnknown, op) => {
    const { money, desk } = heldMoney(keyed);
    money.sent();
    money.abandon('why', isUnknown);
    expect(desk.last).toEqual([release('why'), op]);
  });

  it('frees its key when it was not sent, whatever its owner knows', () => {
    const { money, desk } = heldMoney(keyed);
    money.abandon('why', true);
    expect(desk.last).toEqual([release('why'), free]);
  });
});

describe('an end that nobody saw', () => {
  const out = meter('out', ['n'], { isRequired: true });
  const perMillionMicros = { out: 1_000_000 };
  const usage = { kind: 'usage', meters: [out] } as const;
  const perToken = {
    endpoint: row({
      cost: { ...usage, prices: [{ when: [], perMillionMicros }], ends: [] },
      settlement: settled({ fallbackMicros: 30 }),
    }),
    price: { ...usage, perMillionMicros },
  };
  const seen = (units: number): Partly => ({
    status: 200,
    header: () => null,
    usage: { seen: new Map([['out', wholeDecimal(units)]]), isPartial: false },
  });

  it.each([
    ['nothing was seen: the fallback', undefined, 30],
    ['less than the fallback was metered: the fallback', seen(5), 30],
    ['more was metered: that', seen(55), 55],
    ['more than the hold was metered: the hold', seen(500), 100],
  ])('%s', (_, partly, micros) => {
    for (const end of [
      (money: Money) => money.cutShort(),
      (money: Money) => money.abandon('downstream.error', true),
    ]) {
      const held = heldMoney(perToken);
      left(held, partly);
      end(held.money);
      expect([held.desk.last, held.money.costMicros]).toEqual([[settle(micros)], micros]);
    }
  });

  it('without a fallback costs the hold', () => {
    const held = heldMoney();
    left(held);
    held.money.cutShort();
    expect(held.desk.last).toEqual([settle(100)]);
  });

  it('of a status that cannot cost money costs nothing', () => {
    const held = heldMoney();
    left(held, { status: 429, header: () => null, usage: null });
    held.money.cutShort();
    expect(held.desk.last).toEqual([release('not_billable')]);
  });

  it('leaves its key unknown: it is not executed twice', () => {
    const held = heldMoney(keyed);
    left(held);
    held.money.cutShort();
    expect(held.desk.last).toEqual([settle(100), unknown]);
  });

  it.each([
    ['left', true, [release('call_cancelled'), unknown]],
    ['is there, and the stream broke', false, [settle(100), unknown]],
  ])('where cancelled work is not billed and the client %s', (_, hasLeft, ops) => {
    const endpoint = row({ onClientDisconnect: 'cancel' });
    const { money, desk } = heldMoney({ ...keyed, endpoint });
    money.sent();
    if (hasLeft) money.left(() => undefined);
    money.cutShort();
    expect([money.isCancellable, desk.last]).toEqual([true, ops]);
  });
});

describe('a client that left', () => {
  it('is waited for drainMs and not longer', () => {
    const { money } = heldMoney();
    let givenUp = 0;
    money.sent();
    money.left(() => {
      givenUp += 1;
    });
    vi.advanceTimersByTime(drainMs - 1);
    expect([givenUp, money.hasLeft]).toEqual([0, true]);
    vi.advanceTimersByTime(1);
    expect(givenUp).toBe(1);
  });

  it.each([
    ['before', [], ['told']],
    ['after', ['told'], ['told']],
  ])('is told of to whom asks %s it', (when, asked, told) => {
    const { money } = heldMoney();
    const heard: string[] = [];
    const ask = (): void => money.whenLeft(() => heard.push('told'));
    if (when === 'after') money.left(() => undefined);
    ask();
    expect(heard).toEqual(asked);
    if (when === 'before') money.left(() => undefined);
    expect(heard).toEqual(told);
  });

  it('when all is closed starts no wait', () => {
    const { money } = heldMoney();
    money.release('refused');
    money.left(() => undefined);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not waited for once all is closed', async () => {
    const { money } = heldMoney();
    let givenUp = 0;
    money.left(() => {
      givenUp += 1;
    });
    money.release('refused');
    await vi.advanceTimersByTimeAsync(2 * drainMs);
    expect([givenUp, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

describe('a keyed answer', () => {
  const paid = { micros: 70, source: 'table' } as const;

  /** A store of bodies that names them, or does not keep them. */
  function bodiesOf(ref: string | undefined) {
    const kept: unknown[] = [];
    const bodies: ReplayBodies = {
      put: async (recordId, { length }) => {
        kept.push([recordId, length]);
        return ref;
      },
      get: async () => undefined,
    };
    return { bodies, kept };
  }

  it('has to be read, as one that has a price in it has to: it must not be coded', () => {
    const settlement = settled({
      reported: { in: 'body', at: 'usd', perMillionMicros: 1, times: null },
    });
    const read = [moneyOf(keyed), moneyOf({ endpoint: row({ settlement }) }), moneyOf()];
    expect(read.map(({ money }) => money.readsAnswers)).toEqual([true, true, false]);
  });

  it('whose vendor says, with a success, that it failed is not recorded, and its key is free', () => {
    const { money, desk } = heldMoney(keyed);
    money.settle({ micros: 0, source: 'vendor_failed' }, true);
    expect(desk.last).toEqual([release('vendor_failed'), free]);
  });

  it('that is no success frees its key', () => {
    const { money, desk } = heldMoney(keyed);
    money.settle(paid, false);
    expect(desk.last).toEqual([settle(70), free]);
  });

  it('is settled and recorded in one step, and its hold stays open until then', async () => {
    const { money, desk, background } = heldMoney(keyed);
    money.settle(paid, true);
    expect([desk.last, money.isClosed, money.costMicros]).toEqual([[], false, 70]);
    const onDisk = Promise.withResolvers<void>();
    desk.onDisk = onDisk.promise;
    const recording = money.record(answer);
    await vi.advanceTimersByTimeAsync(holdRenewMs);
    expect([money.isClosed, desk.ends]).toEqual([false, [['renew', 'hld_1']]]);
    onDisk.resolve();
    await recording;
    const { status, headers, bytes } = answer;
    const kept = { status, headers, body: bytes, bodyRef: null, bodyBytes: 3, costMicros: 70 };
    expect(desk.waitedFor).toEqual([[settle(70), ['record', 'idm_1', kept]]]);
    expect([money.isClosed, money.costMicros]).toEqual([true, 70]);
    await background.work[0];
  });

  it.each([
    ['a bug', (money: Money) => money.abandon('internal.error', true)],
    ['a second settlement', (money: Money) => money.settle(paid, false)],
  ])('that was recorded is not ended again by %s', async (_, end) => {
    const { money, desk } = heldMoney(keyed);
    money.settle(paid, true);
    await money.record(answer);
    end(money);
    await money.record(answer);
    expect(desk.last.map(([op]) => op)).toEqual(['settle', 'record']);
  });

  it.each([
    ['a bug', (money: Money) => money.abandon('internal.error', true)],
    ['a refusal', (money: Money) => money.release('refused')],
    ['a stream that is cut', (money: Money) => money.cutShort()],
  ])(
    'that is being recorded is not ended by %s: one end is on its way to the disk',
    async (_, end) => {
      const { money, desk } = heldMoney(keyed);
      const onDisk = Promise.withResolvers<void>();
      desk.onDisk = onDisk.promise;
      let closed = 0;
      money.whenClosed(() => {
        closed += 1;
      });
      money.settle(paid, true);
      const recording = money.record(answer);
      end(money);
      onDisk.resolve();
      await recording;
      expect([closed, money.costMicros]).toEqual([1, 70]);
      expect(desk.last.map(([op]) => op)).toEqual(['settle', 'record']);
    },
  );

  it('that was not settled is not recorded', async () => {
    const { money, desk } = heldMoney(keyed);
    await money.record(answer);
    expect([desk.last, money.isClosed]).toEqual([[], false]);
  });

  const large = { ...answer, bytes: new Uint8Array(recordInlineBodyBytesMax + 1) };

  it('of recordInlineBodyBytesMax is in its record, one byte more beside it', async () => {
    for (const [bytes, ref] of [
      [large.bytes.subarray(1), null],
      [large.bytes, 'records/idm_1'],
    ] as const) {
      const { bodies, kept } = bodiesOf('records/idm_1');
      const { money, desk } = heldMoney({ ...keyed, bodies });
      money.settle(paid, true);
      await money.record({ ...answer, bytes });
      const recorded = desk.waitedFor[0]?.[1]?.[2];
      expect(recorded).toMatchObject({ bodyRef: ref, bodyBytes: bytes.length });
      const { body } = recorded as RecordedAnswer;
      expect(body?.length ?? null).toBe(ref === null ? bytes.length : null);
      expect(kept).toEqual(ref === null ? [] : [['idm_1', bytes.length]]);
    }
  });

  it('is recorded with its own bytes alone: a clone carries all that a view stands on', async () => {
    const { money, desk } = heldMoney(keyed);
    money.settle(paid, true);
    const bytes = new Uint8Array(new ArrayBuffer(65_536), 7, 3);
    await money.record({ ...answer, bytes });
    const recorded = desk.waitedFor[0]?.[1]?.[2];
    expect(recorded).toMatchObject({ body: new Uint8Array(3), bodyBytes: 3 });
    expect((recorded as RecordedAnswer).body?.buffer.byteLength).toBe(3);
  });

  it('with as much header text as a record holds is recorded', async () => {
    const { money, desk } = heldMoney(keyed);
    money.settle(paid, true);
    const headers = ['x-a', 'v'.repeat(recordHeaderCharsMax - 'x-a'.length)];
    await money.record({ ...answer, headers });
    expect(desk.waitedFor[0]?.[1]?.[0]).toBe('record');
  });

  it.each([
    ['whose body the store did not keep', large, bodiesOf(undefined).bodies],
    ['that is large where no store is', large, null],
    ['that is too large to keep', null, bodiesOf('records/idm_1').bodies],
    [
      'with more header text than a record holds',
      { ...answer, headers: ['x-a', 'v'.repeat(recordHeaderCharsMax)] },
      null,
    ],
  ])('%s costs what it costs, and its outcome is unknown', async (_, seen, bodies) => {
    const { money, desk } = heldMoney({ ...keyed, bodies });
    money.settle(paid, true);
    await money.record(seen);
    expect([desk.waitedFor, money.costMicros]).toEqual([[[settle(70), unknown]], 70]);
  });
});

describe('a call that is only counted', () => {
  it('costs nothing, is let go when its client leaves, and needs no answer', () => {
    const { money, desk } = heldMoney({ endpoint: null, heldMicros: 0, price: { kind: 'free' } });
    expect([money.isCancellable, money.plan.readings]).toEqual([true, []]);
    money.settle(money.chargeOf({ status: 500, header: () => null, usage: null }), false);
    expect([desk.last, money.costMicros]).toEqual([[settle(0)], null]);
  });

  it('and whose stream broke costs nothing either', () => {
    const { money, desk } = heldMoney({ endpoint: null, heldMicros: 0, price: { kind: 'free' } });
    money.sent();
    money.cutShort();
    expect([desk.last, money.costMicros]).toEqual([[settle(0)], null]);
  });
});
