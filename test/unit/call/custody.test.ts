/** Custody: one end, whoever is first; a waitUntil only for a call that stays open; a death before that is the log's to notice. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { custodyArmMs, custodyLatencyErrorMs } from '../../../src/base/limits';
import { Custody, clientClosed, type Ending, type Send } from '../../../src/call/custody';
import type { OpenCall } from '../../../src/ports/evidence';
import { backgroundOf, startMs } from './calls';

const answered: Ending = { outcome: 'answered', status: 200, code: null };
const timedOut: Ending = { outcome: 'timed_out', status: 504, code: 'timeout.request' };
const firstByteTimeoutMs = 5_000;

interface Begun {
  readonly ends: (readonly [Ending, number | null])[];
  readonly background: ReturnType<typeof backgroundOf>;
  readonly client: AbortController;
  readonly custody: Custody;
  readonly send: Send;
  readonly watched: Set<OpenCall>;
}

/** A custody that has begun; `gone`: the client had left before. */
function begun(options: { gone?: boolean; firstByteTimeoutMs?: number } = {}): Begun {
  const ends: (readonly [Ending, number | null])[] = [];
  const background = backgroundOf();
  const client = new AbortController();
  const watched = new Set<OpenCall>();
  const custody = new Custody(startMs, (ending, latencyMsMax) => ends.push([ending, latencyMsMax]));
  if (options.gone) client.abort();
  const send = custody.begin({
    client: client.signal,
    background,
    log: { watch: (call) => void watched.add(call), unwatch: (call) => void watched.delete(call) },
    firstByteTimeoutMs: options.firstByteTimeoutMs ?? firstByteTimeoutMs,
    nowMs: () => Date.now(),
  });
  return { ends, background, client, custody, send, watched };
}

/** The keeper's word after custodyArmMs; the call arms itself in its own context. */
async function woken({ custody }: Begun): Promise<void> {
  vi.advanceTimersByTime(custodyArmMs);
  custody.wake();
  await Promise.resolve();
}

const isSettled = (work: Promise<unknown> | undefined): Promise<boolean> =>
  Promise.race([Promise.resolve(work).then(() => true), Promise.resolve().then(() => false)]);

beforeEach(() => void vi.useFakeTimers({ now: startMs }));
afterEach(() => void vi.useRealTimers());

describe('the end', () => {
  it.each([
    ['answer, then the client leaves', answered, clientClosed],
    ['the client leaves, then the answer', clientClosed, answered],
    ['watchdog, then the client leaves', timedOut, clientClosed],
    ['the client leaves, then the watchdog', clientClosed, timedOut],
  ])('is the first one: %s', (_, first, second) => {
    const { custody, ends } = begun();
    expect(custody.end(first)).toBe(true);
    expect(custody.end(second)).toBe(false);
    expect(ends).toEqual([[first, null]]);
  });

  it('of a call that never began is written once too', () => {
    const ends: Ending[] = [];
    const custody = new Custody(startMs, (ending) => ends.push(ending));
    custody.abandon(timedOut);
    custody.abandon(timedOut);
    expect([ends, custody.ended]).toEqual([[timedOut], true]);
  });

  it('is written before the upstream is cancelled', () => {
    const order: string[] = [];
    const { custody, send, ends } = begun();
    send.signal.addEventListener('abort', () => order.push(`cancelled after ${ends.length}`));
    custody.abandon(timedOut);
    expect(order).toEqual(['cancelled after 1']);
  });
});

describe('a client that leaves', () => {
  it('after the arming ends the call as 499 and cancels the upstream', async () => {
    const call = begun();
    await woken(call);
    call.client.abort();
    expect([call.ends, call.send.signal.aborted]).toEqual([[[clientClosed, null]], true]);
  });

  it('between the begin and the arming is noticed at the arming, when the context still lives', async () => {
    const call = begun();
    call.client.abort();
    await woken(call);
    expect([call.ends, call.send.signal.aborted]).toEqual([[[clientClosed, null]], true]);
  });

  it('before the begin is noticed at the begin', () => {
    const { ends, send, watched } = begun({ gone: true });
    expect([ends, send.signal.aborted]).toEqual([[[clientClosed, null]], true]);
    expect(watched.size).toBe(0);
  });

  it('after the end changes nothing (C061)', async () => {
    const call = begun();
    await woken(call);
    call.custody.end(answered);
    call.client.abort();
    expect([call.ends, call.send.signal.aborted]).toEqual([[[answered, null]], false]);
  });

  it('with its context, before the arming, is ended by the log, with its largest latency error', () => {
    const { custody, ends, watched } = begun();
    expect([watched.has(custody), custody.armed]).toEqual([true, false]);
    custody.lapse();
    expect([ends, watched.size]).toEqual([[[clientClosed, custodyLatencyErrorMs]], 0]);
  });
});

describe('the context', () => {
  it('is held from the waking to the end, with one waitUntil', async () => {
    const call = begun();
    expect(call.background.work).toEqual([]);
    await woken(call);
    expect(call.background.work.length).toBe(1);
    expect(await isSettled(call.background.work[0])).toBe(false);
    call.custody.end(answered);
    await call.background.work[0];
  });

  it('is not held at all for a call that ends sooner, and no timer is left', async () => {
    const call = begun();
    call.custody.end(answered);
    await woken(call);
    expect([vi.getTimerCount(), call.background.work]).toEqual([0, []]);
  });

  it('is held once when it is armed twice', async () => {
    const call = begun();
    call.custody.arm();
    await woken(call);
    expect(call.background.work.length).toBe(1);
  });
});

describe('the first-byte watchdog', () => {
  it('counts from the start of the call, also after the waking', async () => {
    const call = begun();
    await woken(call);
    vi.advanceTimersByTime(firstByteTimeoutMs - custodyArmMs - 1);
    expect(await isSettled(call.send.timedOut)).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await call.send.timedOut).toBe('timeout');
  });

  it.each([custodyArmMs, 20])('of %i ms does not wait for the waking', async (timeoutMs) => {
    const { send } = begun({ firstByteTimeoutMs: timeoutMs });
    vi.advanceTimersByTime(timeoutMs);
    expect(await send.timedOut).toBe('timeout');
  });

  it('stands down when the headers come, before or after the waking', async () => {
    for (const early of [true, false]) {
      const call = begun();
      if (early) call.send.answered();
      await woken(call);
      call.send.answered();
      vi.advanceTimersByTime(firstByteTimeoutMs);
      expect(await isSettled(call.send.timedOut)).toBe(false);
    }
  });
});
