/** The real budget object: the cap holds under concurrency, one end per reservation, days, repeats, restarts. Only `Date` is faked. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OverflowBudget } from '../../../durable-objects/overflow-budget';
import {
  overflowDaysMax,
  overflowRepeatsMax,
  overflowReservationsMax,
} from '../../../src/base/limits-capacity';

const { OVERFLOW_BUDGET } = env as unknown as {
  readonly OVERFLOW_BUDGET: DurableObjectNamespace<OverflowBudget>;
};
const startMs = Date.UTC(2031, 4, 7, 20);
const dayMs = 86_400_000;
const usd = 1_000_000;
const today = '2031-05-07';

let made = 0;
/** An object of its own; calls go to whatever instance lives now. */
function budget() {
  const name = `aggregator-${++made}`;
  const stub = () => OVERFLOW_BUDGET.getByName(name);
  return {
    reserve: (id: string, micros: number, max = 20 * usd) => stub().reserve(id, micros, max),
    reconcile: (id: string, micros: number) => stub().reconcile(id, micros),
    giveBack: (id: string) => stub().giveBack(id),
    days: () => stub().days(),
    view: (day = today) => stub().view(day),
    restart: () => evictDurableObject(stub()),
    inside: (act: (object: OverflowBudget) => void) => runInDurableObject(stub(), act),
    sql: (statement: string) =>
      runInDurableObject(stub(), (_, { storage }) => storage.sql.exec(statement).toArray()),
  };
}

const reserved = { outcome: 'reserved' };
const refused = (spentMicros: number, budgetMicros = 20 * usd) => ({
  outcome: 'refused',
  spentMicros,
  budgetMicros,
});
const day = (spentMicros: number, reservedMicros: number, calls: number, name = today) => ({
  day: name,
  spentMicros,
  reservedMicros,
  calls,
});

describe('OverflowBudget', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: startMs }));
  afterEach(() => void vi.useRealTimers());

  it('C081: of five at once with an estimate of 8, a budget of 20 takes two, and refuses three before the network', async () => {
    const one = budget();
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map((id) => one.reserve(id, 8 * usd)),
    );
    expect(answers.filter(({ outcome }) => outcome === 'reserved')).toHaveLength(2);
    expect(answers.filter(({ outcome }) => outcome === 'refused')).toEqual(
      [1, 2, 3].map(() => refused(16 * usd)),
    );
    expect(await one.view()).toEqual(day(0, 16 * usd, 0));
  });

  it('takes exactly the budget, and not a micro-USD more', async () => {
    const one = budget();
    expect(await one.reserve('a', 20 * usd)).toEqual(reserved);
    expect(await one.reserve('b', 1)).toEqual(refused(20 * usd));
    expect(await one.reserve('c', 0)).toEqual(reserved);
  });

  it('C081: keeps the estimate of a run whose cost nobody tells until the day ends', async () => {
    const one = budget();
    await one.reserve('unknown', 15 * usd);
    vi.setSystemTime(Date.UTC(2031, 4, 7, 23, 59, 59, 999));
    expect(await one.reserve('b', 8 * usd)).toEqual(refused(15 * usd));
    vi.setSystemTime(Date.UTC(2031, 4, 8));
    expect(await one.reserve('c', 8 * usd)).toEqual(reserved);
    expect(await one.days()).toEqual([day(0, 8 * usd, 0, '2031-05-08'), day(0, 15 * usd, 0)]);
  });

  it('C081: gives the whole estimate back where nothing was charged', async () => {
    const one = budget();
    await one.reserve('a', 15 * usd);
    expect(await one.giveBack('a')).toBe('done');
    expect(await one.view()).toEqual(day(0, 0, 0));
    expect(await one.reserve('b', 20 * usd)).toEqual(reserved);
  });

  it.each([
    ['less', 3 * usd],
    ['more', 12 * usd],
    ['nothing', 0],
    ['more than the budget', 30 * usd],
  ])(
    'books the cost of a run that cost %s than was reserved, and counts it once',
    async (_, cost) => {
      const one = budget();
      await one.reserve('a', 8 * usd);
      expect(await one.reconcile('a', cost)).toBe('done');
      expect(await one.reconcile('a', 1)).toBe('closed');
      expect(await one.view()).toEqual(day(cost, 0, 1));
      const fits = cost + usd <= 20 * usd;
      expect(await one.reserve('b', usd)).toEqual(fits ? reserved : refused(cost));
    },
  );

  it('ends a reservation once: what came first stands', async () => {
    const one = budget();
    await one.reserve('a', 8 * usd);
    expect(await one.giveBack('a')).toBe('done');
    expect(await one.reconcile('a', 5 * usd)).toBe('closed');
    await one.reserve('b', 8 * usd);
    expect(await one.reconcile('b', 5 * usd)).toBe('done');
    expect(await one.giveBack('b')).toBe('closed');
    expect(await one.view()).toEqual(day(5 * usd, 0, 1));
  });

  it('gives the first answer to a repeat, and reserves nothing twice', async () => {
    const one = budget();
    expect(await one.reserve('a', 15 * usd)).toEqual(reserved);
    expect(await one.reserve('a', 15 * usd)).toEqual(reserved);
    expect(await one.reserve('b', 8 * usd)).toEqual(refused(15 * usd));
    await one.giveBack('a');
    expect(await one.reserve('b', 8 * usd)).toEqual(refused(15 * usd));
    expect(await one.view()).toEqual(day(0, 0, 0));
  });

  it('never says yes to a reservation that was given back, not even when it comes after', async () => {
    const one = budget();
    expect(await one.giveBack('late')).toBe('unknown');
    expect((await one.reserve('late', usd)).outcome).toBe('refused');
    await one.reserve('a', usd);
    await one.giveBack('a');
    expect((await one.reserve('a', usd)).outcome).toBe('refused');
    expect(await one.view()).toEqual(day(0, 0, 0));
  });

  it('knows nothing of a run that was not reserved', async () => {
    const one = budget();
    expect(await one.reconcile('never', usd)).toBe('unknown');
    expect(await one.view()).toEqual(day(0, 0, 0));
  });

  it('books a cost that comes after midnight in the day of its reservation', async () => {
    const one = budget();
    await one.reserve('a', 8 * usd);
    vi.setSystemTime(startMs + dayMs);
    await one.reserve('b', usd);
    expect(await one.reconcile('a', 2 * usd)).toBe('done');
    expect(await one.days()).toEqual([day(0, usd, 0, '2031-05-08'), day(2 * usd, 0, 1)]);
  });

  it('remembers everything over a restart', async () => {
    const one = budget();
    await one.reserve('a', 12 * usd);
    await one.restart();
    expect(await one.reserve('b', 9 * usd)).toEqual(refused(12 * usd));
    expect(await one.reserve('a', 12 * usd)).toEqual(reserved);
    await one.restart();
    expect(await one.reconcile('a', 4 * usd)).toBe('done');
    expect(await one.view()).toEqual(day(4 * usd, 0, 1));
  });

  it.each([-1, 0.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1])(
    'takes no amount of %d',
    async (micros) => {
      const one = budget();
      await one.inside((object) => expect(() => object.reserve('a', micros, usd)).toThrow());
      expect(await one.view()).toEqual(day(0, 0, 0));
    },
  );

  it(`keeps ${overflowDaysMax} days of totals and the reservations of two`, async () => {
    const one = budget();
    for (let n = 0; n < overflowDaysMax + 3; n += 1) {
      vi.setSystemTime(startMs + n * dayMs);
      await one.reserve(`r${n}`, usd);
    }
    const days = await one.days();
    expect(days).toHaveLength(overflowDaysMax);
    expect(days[0]).toEqual(
      day(0, usd, 0, new Date(startMs + (overflowDaysMax + 2) * dayMs).toISOString().slice(0, 10)),
    );
    expect(await one.sql('SELECT count(*) AS n FROM reservation')).toEqual([{ n: 2 }]);
    expect(await one.sql('SELECT count(*) AS n FROM day')).toEqual([{ n: overflowDaysMax }]);
  });

  it('shows today as empty before its first run', async () => {
    expect(await budget().days()).toEqual([day(0, 0, 0)]);
  });

  it(`remembers the last ${overflowRepeatsMax} refusals, and every open reservation`, async () => {
    const one = budget();
    await one.reserve('open', 20 * usd);
    await one.inside((object) => {
      for (let n = 0; n < overflowRepeatsMax + 5; n += 1) object.reserve(`no${n}`, usd, 20 * usd);
    });
    expect(await one.sql("SELECT count(*) AS n FROM reservation WHERE state = 'refused'")).toEqual([
      { n: overflowRepeatsMax },
    ]);
    expect(await one.reconcile('open', usd)).toBe('done');
  });

  it('takes no more than its bound of open reservations', async () => {
    const one = budget();
    await one.reserve('a', 1);
    await one.sql(`UPDATE day SET open = ${overflowReservationsMax}`);
    expect((await one.reserve('b', 1)).outcome).toBe('refused');
    await one.giveBack('a');
    expect(await one.reserve('c', 1)).toEqual(reserved);
  });
});
