/** The client of the budgets: no answer is a no, and gives back what may have been reserved. */
import { describe, expect, it } from 'vitest';
import { DurableOverflowBudgets } from '../../../../src/adapters/durable/overflow-budgets';
import { overflowBudgetWaitMs } from '../../../../src/base/limits-capacity';
import { heldTimers } from '../../../support/held-timers';

type Answers = Partial<
  Record<'reserve' | 'reconcile' | 'giveBack' | 'days', () => Promise<unknown>>
>;

/** Budgets over scripted objects; the clock runs only when it is told. */
function world(answers: Answers) {
  const asked: unknown[][] = [];
  const reports: string[] = [];
  const { time, timers } = heldTimers();
  const works: Promise<unknown>[] = [];
  const method =
    (name: keyof Answers) =>
    (...args: unknown[]) => {
      asked.push([name, ...args]);
      return answers[name]?.() ?? Promise.resolve('done');
    };
  const stub = {
    reserve: method('reserve'),
    reconcile: method('reconcile'),
    giveBack: method('giveBack'),
    days: method('days'),
  };
  const budgets = new DurableOverflowBudgets({
    stubOf: (() => stub) as unknown as ConstructorParameters<
      typeof DurableOverflowBudgets
    >[0]['stubOf'],
    budgetMicros: 20_000_000,
    report: (event, facts) => reports.push(`${event} ${facts.what}`),
    time,
  });
  const background = (work: Promise<unknown>) => void works.push(work);
  return { budgets, background, asked, reports, timers, done: () => Promise.all(works) };
}

const failing = () => Promise.reject(new Error('object reset'));
const silent = () => new Promise<never>(() => undefined);

describe('a reservation', () => {
  it("is asked for with the deployment's budget, and its answer is the object's", async () => {
    const { budgets, background, asked, timers } = world({
      reserve: async () => ({ outcome: 'reserved' }),
    });
    expect(await budgets.reserve('monid', 'call_1', 7, background)).toEqual({
      outcome: 'reserved',
    });
    expect(asked).toEqual([['reserve', 'call_1', 7, 20_000_000]]);
    expect(timers).toEqual([]);
  });

  it('is asked for once more on a fresh stub when the first one fails', async () => {
    let tries = 0;
    const { budgets, background, asked } = world({
      reserve: () => (++tries === 1 ? failing() : Promise.resolve({ outcome: 'reserved' })),
    });
    expect((await budgets.reserve('monid', 'call_1', 7, background)).outcome).toBe('reserved');
    expect(asked).toHaveLength(2);
  });

  it('of an overloaded object is a no at once, and is given back', async () => {
    const overloaded = Object.assign(new Error('overloaded'), { overloaded: true });
    const { budgets, background, asked, done } = world({
      reserve: () => Promise.reject(overloaded),
    });
    expect((await budgets.reserve('monid', 'call_1', 7, background)).outcome).toBe('unavailable');
    await done();
    expect(asked.map(([name]) => name)).toEqual(['reserve', 'giveBack']);
  });

  it('without an answer is a no, is reported, and is given back', async () => {
    const { budgets, background, asked, reports, done } = world({ reserve: failing });
    expect(await budgets.reserve('monid', 'call_1', 7, background)).toEqual({
      outcome: 'unavailable',
    });
    await done();
    expect(asked.map(([name]) => name)).toEqual(['reserve', 'reserve', 'giveBack']);
    expect(reports).toEqual(['overflow.budget_silent reserve']);
  });

  it('of an object that has too many requests is a no, and is not asked for again', async () => {
    const overloaded = () => Promise.reject(Object.assign(new Error('x'), { overloaded: true }));
    const { budgets, background, asked, done } = world({ reserve: overloaded });
    expect((await budgets.reserve('monid', 'call_1', 7, background)).outcome).toBe('unavailable');
    await done();
    expect(asked.map(([name]) => name)).toEqual(['reserve', 'giveBack']);
  });

  it('of an object that is silent is a no after the wait', async () => {
    const { budgets, background, timers } = world({ reserve: silent });
    const answer = budgets.reserve('monid', 'call_1', 7, background);
    expect(timers.map(({ ms }) => ms)).toEqual([overflowBudgetWaitMs]);
    timers[0]?.act();
    expect(await answer).toEqual({ outcome: 'unavailable' });
  });
});

describe('an end', () => {
  it('goes off the path, once more when it fails, and never throws', async () => {
    const { budgets, background, asked, reports, done } = world({
      reconcile: failing,
      giveBack: failing,
    });
    budgets.close('monid', 'call_1', { kind: 'reconcile', micros: 5 }, background);
    budgets.close('monid', 'call_2', { kind: 'give_back' }, background);
    budgets.close('monid', 'call_3', null, background);
    expect(await done()).toEqual([null, null]);
    expect(asked).toEqual([
      ['reconcile', 'call_1', 5],
      ['giveBack', 'call_2'],
      ['reconcile', 'call_1', 5],
      ['giveBack', 'call_2'],
    ]);
    expect(reports).toEqual([
      'overflow.budget_silent reconcile',
      'overflow.budget_silent give_back',
    ]);
  });
});

describe('the days', () => {
  it('are null when the object does not answer', async () => {
    expect(await world({ days: failing }).budgets.days('monid')).toBeNull();
    expect(await world({ days: async () => [] }).budgets.days('monid')).toEqual([]);
  });
});
