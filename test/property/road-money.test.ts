/**
 * The owner of a hold under any order of events: it ends once, its record ends once, what was not
 * sent is never charged by anybody's leaving, and nothing is left running.
 */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { drainMs, holdRenewMs } from '../../src/base/limits-money';
import type { Money } from '../../src/call/money';
import type { EndOp } from '../../src/domain/ledger/operations';
import { entryOf } from '../unit/call/calls';
import { heldMoney } from '../unit/call/desk';
import { perCall, settled } from '../unit/domain/pricing/prices';

const held = 100;
const fallback = 30;
const answer = { status: 200, headers: [], bytes: new Uint8Array(3) };

const status = fc.constantFrom(null, 200, 204, 302, 404, 429, 500);
const event = fc.oneof(
  fc.record({ kind: fc.constantFrom('sent', 'left', 'record', 'cut', 'lease') }),
  fc.record({
    kind: fc.constant('settle' as const),
    micros: fc.nat(500),
    isRecorded: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('seen' as const), status }),
  fc.record({ kind: fc.constantFrom('release', 'no bill'), isRecorded: fc.boolean() }),
  fc.record({ kind: fc.constant('abandon' as const), isUnknown: fc.boolean() }),
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

async function happen(money: Money, what: Event): Promise<void> {
  switch (what.kind) {
    case 'sent':
      return money.sent();
    case 'left':
      return money.left(() => undefined);
    case 'record':
      return money.record(answer);
    case 'cut':
      return money.cutShort();
    case 'lease':
      vi.advanceTimersByTime(holdRenewMs);
      return;
    case 'settle':
      return money.settle({ micros: what.micros, source: 'usage' }, what.isRecorded);
    case 'seen':
      return money.seenSoFar(() => ({ status: what.status, header: () => null, usage: null }));
    case 'release':
      return money.release('refused');
    case 'no bill':
      return money.settle({ micros: 0, source: 'not_billable' }, what.isRecorded);
    case 'abandon':
      return money.abandon('why', what.isUnknown);
  }
}

const row = (cancels: boolean) =>
  entryOf({
    cost: perCall(70),
    settlement: settled({ fallbackMicros: fallback }),
    onClientDisconnect: cancels ? 'cancel' : 'drain',
  }).endpoint;

/** Lives one hold through the events; a last `abandon` stands for the road, which always closes. */
async function live(events: readonly Event[], options: { keyed: boolean; cancels: boolean }) {
  const { desk, money, background } = heldMoney({
    heldMicros: held,
    recordId: options.keyed ? 'idm_1' : null,
    endpoint: row(options.cancels),
  });
  for (const what of events) await happen(money, what);
  money.abandon('road_ended', true);
  await background.work[0];
  return { desk, money };
}

const endsHold = ([op]: EndOp): boolean => op === 'settle' || op === 'release';
const endsRecord = ([op]: EndOp): boolean => op === 'record' || op === 'free' || op === 'unknown';
const options = fc.record({ keyed: fc.boolean(), cancels: fc.boolean() });
const histories = fc.array(event, { maxLength: 12 });

/** Timers are virtual; what is left of them after the end is a leak. */
async function check<T>(property: fc.IAsyncProperty<T>): Promise<void> {
  vi.useFakeTimers();
  try {
    await fc.assert(property, { numRuns: 500 });
  } finally {
    vi.useRealTimers();
  }
}

describe('a hold under any order of events', () => {
  it('ends once, with its record, and leaves nothing running', async () => {
    await check(
      fc.asyncProperty(histories, options, async (events, how) => {
        const { desk, money } = await live(events, how);
        expect(desk.last.filter(endsHold).length).toBe(1);
        expect(desk.last.filter(endsRecord).length).toBe(how.keyed ? 1 : 0);
        expect(money.isClosed).toBe(true);
        const renewals = desk.ends.length;
        await vi.advanceTimersByTimeAsync(3 * Math.max(holdRenewMs, drainMs));
        expect([desk.ends.length, vi.getTimerCount()]).toEqual([renewals, 0]);
      }),
    );
  });

  it('that was settled is never taken for one that was not executed', async () => {
    await check(
      fc.asyncProperty(histories, options, async (events, how) => {
        const { desk } = await live(events, { ...how, keyed: true });
        const ops = desk.last.map(([op]) => op);
        const isPaid = ops.includes('settle');
        // A success that is paid is recorded or unknown; free only goes with an answer that is no success.
        const isSuccess = !events.some((e) => e.kind === 'settle' && !e.isRecorded);
        if (isPaid && isSuccess) expect(ops).not.toContain('free');
        if (ops.includes('record')) expect(isPaid).toBe(true);
      }),
    );
  });

  it('costs, when nobody saw its end, at most the hold and at least the fallback', async () => {
    const unseen = fc.constantFrom<Event>({ kind: 'cut' }, { kind: 'abandon', isUnknown: true });
    const before = fc.array(
      fc.constantFrom<Event>({ kind: 'seen', status: 200 }, { kind: 'lease' }, { kind: 'left' }),
      { maxLength: 6 },
    );
    await check(
      fc.asyncProperty(before, unseen, fc.boolean(), async (events, end, keyed) => {
        const history: Event[] = [{ kind: 'sent' }, ...events, { kind: 'left' }, end];
        const { money } = await live(history, { keyed, cancels: false });
        expect(money.costMicros).toBeGreaterThanOrEqual(fallback);
        expect(money.costMicros).toBeLessThanOrEqual(held);
      }),
    );
  });

  it('costs nothing when it was not sent, however its client leaves', async () => {
    const before = fc.array(
      fc.constantFrom<Event>({ kind: 'left' }, { kind: 'lease' }, { kind: 'seen', status: 200 }),
      { maxLength: 6 },
    );
    await check(
      fc.asyncProperty(before, options, async (events, how) => {
        const { money, desk } = await live(events, how);
        expect([money.costMicros, desk.last.map(([op]) => op)]).toEqual([
          null,
          how.keyed ? ['release', 'free'] : ['release'],
        ]);
      }),
    );
  });
});
