/** Custody: one end, whoever is first; the context is held exactly as long as something is open. */
import { describe, expect, it } from 'vitest';
import { Custody, clientClosed, type Ending } from '../../../src/call/custody';
import { backgroundOf } from './calls';

const answered: Ending = { outcome: 'answered', status: 200, code: null };
const timedOut: Ending = { outcome: 'timed_out', status: 504, code: 'timeout.request' };

function armed() {
  const ends: Ending[] = [];
  const background = backgroundOf();
  const client = new AbortController();
  const custody = new Custody((ending) => ends.push(ending));
  const cancel = custody.arm(client.signal, background);
  return { ends, background, client, custody, cancel };
}

const isSettled = (work: Promise<unknown> | undefined): Promise<boolean> =>
  Promise.race([Promise.resolve(work).then(() => true), Promise.resolve().then(() => false)]);

describe('custody', () => {
  it.each([
    ['answer, then the client leaves', answered, clientClosed],
    ['the client leaves, then the answer', clientClosed, answered],
    ['watchdog, then the client leaves', timedOut, clientClosed],
    ['the client leaves, then the watchdog', clientClosed, timedOut],
  ])('the first end stays: %s', (_, first, second) => {
    const { custody, ends } = armed();
    expect(custody.end(first)).toBe(true);
    expect(custody.end(second)).toBe(false);
    expect(ends).toEqual([first]);
  });

  it('a client that leaves ends the call as 499 and cancels the upstream', () => {
    const { client, ends, cancel } = armed();
    client.abort();
    expect([ends, cancel.signal.aborted]).toEqual([[clientClosed], true]);
  });

  it('a client that left before the arming is noticed at the arming', () => {
    const ends: Ending[] = [];
    const custody = new Custody((ending) => ends.push(ending));
    const cancel = custody.arm(AbortSignal.abort(), () => undefined);
    expect([ends, cancel.signal.aborted]).toEqual([[clientClosed], true]);
  });

  it('a client that leaves after the end changes nothing (C061)', () => {
    const { client, custody, ends, cancel } = armed();
    custody.end(answered);
    client.abort();
    expect([ends, cancel.signal.aborted]).toEqual([[answered], false]);
  });

  it('the row is written before the upstream is cancelled', () => {
    const order: string[] = [];
    const custody = new Custody(() => order.push('row'));
    const cancel = custody.arm(new AbortController().signal, () => undefined);
    cancel.signal.addEventListener('abort', () => order.push('cancel'));
    custody.abandon(timedOut);
    expect(order).toEqual(['row', 'cancel']);
  });

  it('holds the context from the arming to the end, with one waitUntil', async () => {
    const { background, custody } = armed();
    expect(background.work.length).toBe(1);
    expect(await isSettled(background.work[0])).toBe(false);
    custody.end(answered);
    await background.work[0];
  });

  it('that was never armed still ends once', () => {
    const ends: Ending[] = [];
    const custody = new Custody((ending) => ends.push(ending));
    custody.abandon(timedOut);
    custody.abandon(timedOut);
    expect([ends, custody.ended]).toEqual([[timedOut], true]);
  });
});
