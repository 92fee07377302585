/**
 * Custody: one end, whoever is first; a waitUntil only for a call that stays open; a death before
 * that is the log's to notice.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  custodyArmMs,
  custodyLatencyErrorMs,
  uploadBytesPerSecondMin,
} from '../../../src/base/limits';
import { Custody, clientClosed, type Ending, type Hold } from '../../../src/call/custody';
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
  readonly hold: Hold;
  readonly watched: Set<OpenCall>;
}

/** A custody that has begun; `gone`: the client had left before. */
function begun(
  options: {
    gone?: boolean;
    hasWaited?: boolean;
    onSignal?: () => void;
    firstByteTimeoutMs?: number;
    needsCancel?: boolean;
    isWhole?: boolean;
    onArmed?: () => void;
    drain?: (giveUp: () => void) => void;
  } = {},
): Begun {
  const ends: (readonly [Ending, number | null])[] = [];
  const background = backgroundOf();
  const client = new AbortController();
  const watched = new Set<OpenCall>();
  const custody = new Custody(startMs, (ending, latencyMsMax) => ends.push([ending, latencyMsMax]));
  if (options.gone) client.abort();
  const hold = custody.begin({
    client: () => {
      options.onSignal?.();
      return client.signal;
    },
    hasWaited: options.hasWaited ?? true,
    background,
    log: { watch: (call) => void watched.add(call), unwatch: (call) => void watched.delete(call) },
    firstByteTimeoutMs: options.firstByteTimeoutMs ?? firstByteTimeoutMs,
    nowMs: () => Date.now(),
    needsCancel: () => options.needsCancel ?? true,
    isWhole: () => options.isWhole ?? false,
    onArmed: () => options.onArmed?.(),
    drain: options.drain ?? null,
  });
  return { ends, background, client, custody, hold, watched };
}

const never = new Promise<Response>(() => undefined);
const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await Promise.resolve();
};

/**
 * A call that waits for `answer` and gets the keeper's word after custodyArmMs; it arms itself in
 * its own context.
 */
const noBody = (): number => 0;

async function woken({ custody, hold }: Begun, answer = never, uploadBytes = noBody) {
  const waited = { for: 'nothing yet' as Response | 'fault' | 'timeout' | 'nothing yet' };
  void hold.wait(answer, uploadBytes).then((got) => {
    waited.for = got;
  });
  vi.advanceTimersByTime(custodyArmMs);
  custody.wake();
  await turns();
  return waited;
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

  it('is counted from the beginning of the call', () => {
    expect(new Custody(startMs, () => undefined).startedAtMs).toBe(startMs);
  });

  it('is written before the upstream is cancelled', () => {
    const order: string[] = [];
    const { custody, hold, ends } = begun();
    hold.cancel?.signal.addEventListener('abort', () =>
      order.push(`cancelled after ${ends.length}`),
    );
    custody.abandon(timedOut);
    expect(order).toEqual(['cancelled after 1']);
  });
});

describe('a client that leaves', () => {
  it('after the arming ends the call as 499 and cancels the upstream', async () => {
    const call = begun();
    await woken(call);
    call.client.abort();
    expect([call.ends, call.hold.cancel?.signal.aborted]).toEqual([[[clientClosed, null]], true]);
  });

  it('between the begin and the arming is noticed at the arming, when the context still lives', async () => {
    const call = begun();
    call.client.abort();
    await woken(call);
    expect([call.ends, call.hold.cancel?.signal.aborted]).toEqual([[[clientClosed, null]], true]);
  });

  it('before the begin is noticed at the begin', () => {
    const { ends, hold, watched } = begun({ gone: true, needsCancel: false });
    expect([ends, hold.cancel?.signal.aborted]).toEqual([[[clientClosed, null]], true]);
    expect(watched.size).toBe(0);
  });

  it('after the end changes nothing (C061)', async () => {
    const call = begun();
    await woken(call);
    call.custody.end(answered);
    call.client.abort();
    expect([call.ends, call.hold.cancel?.signal.aborted]).toEqual([[[answered, null]], false]);
  });

  it('with its context, before the arming, is ended by the log, with its largest latency error', () => {
    const { custody, ends, watched } = begun();
    expect([watched.has(custody), custody.armed]).toEqual([true, false]);
    custody.lapse();
    expect([ends, watched.size]).toEqual([[[clientClosed, custodyLatencyErrorMs]], 0]);
  });
});

describe('a client that leaves a call that somebody pays for', () => {
  const drained = () => {
    const giveUps: (() => void)[] = [];
    const call = begun({ drain: (giveUp) => giveUps.push(giveUp) });
    return { ...call, giveUps };
  };

  it('ends it as 499 and keeps the upstream, until it is given up', async () => {
    const call = drained();
    await woken(call);
    call.client.abort();
    const { signal } = call.hold.cancel ?? new AbortController();
    expect([call.ends, signal.aborted]).toEqual([[[clientClosed, null]], false]);
    expect(call.giveUps.length).toBe(1);
    call.giveUps[0]?.();
    expect(signal.aborted).toBe(true);
  });

  it('after its end has nothing to wait for', async () => {
    const call = drained();
    await woken(call);
    call.custody.end(answered);
    call.client.abort();
    expect([call.giveUps, call.ends]).toEqual([[], [[answered, null]]]);
  });

  it('before the begin is never sent, so never waited for', () => {
    const giveUps: unknown[] = [];
    const { hold, ends } = begun({ gone: true, drain: (giveUp) => giveUps.push(giveUp) });
    expect([hold.cancel?.signal.aborted, giveUps, ends]).toEqual([
      true,
      [],
      [[clientClosed, null]],
    ]);
  });

  it('while the watchdog gives up is a fault of the upstream: it is let go', async () => {
    const call = drained();
    await woken(call);
    call.custody.abandon(timedOut);
    call.client.abort();
    expect([call.ends, call.hold.cancel?.signal.aborted]).toEqual([[[timedOut, null]], true]);
    expect(call.giveUps).toEqual([]);
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

  it('is not held at all for a call that ends sooner: no timer, no waitUntil, not watched', () => {
    const { custody, hold, background, watched } = begun();
    void hold.wait(never, noBody);
    custody.end(answered);
    expect([vi.getTimerCount(), background.work, watched.size]).toEqual([0, [], 0]);
  });

  it('is held once when it is armed twice', async () => {
    const call = begun();
    call.custody.arm();
    await woken(call);
    expect(call.background.work.length).toBe(1);
  });
});

it.each([
  [false, 0],
  [true, 1],
])('the signal of a client is made only where the call has waited: %s', (hasWaited, made) => {
  let signals = 0;
  const call = begun({ hasWaited, onSignal: () => signals++ });
  expect([signals, call.custody.ended]).toEqual([made, false]);
});

describe('the switch of the send', () => {
  it.each([true, false])(
    'is made only when the context may outlive the call: %s',
    (needsCancel) => {
      expect(begun({ needsCancel }).hold.cancel !== null).toBe(needsCancel);
    },
  );
});

describe('the wait for headers', () => {
  it('ends with the answer or its fault, and never rejects', async () => {
    const answer = new Response('ok');
    expect(await begun().hold.wait(Promise.resolve(answer), noBody)).toBe(answer);
    expect(await begun().hold.wait(Promise.reject(new Error('?key=sk')), noBody)).toBe('fault');
  });

  it('that comes soon costs neither a timer nor a waitUntil', async () => {
    const call = begun();
    await call.hold.wait(Promise.resolve(new Response('ok')), noBody);
    expect([vi.getTimerCount(), call.background.work]).toEqual([0, []]);
  });

  it.each([0, 2 * firstByteTimeoutMs])(
    'ends at firstByteTimeoutMs from the send, also after the waking: sent after %i ms',
    async (beforeMs) => {
      const call = begun();
      vi.advanceTimersByTime(beforeMs);
      const waited = await woken(call);
      vi.advanceTimersByTime(firstByteTimeoutMs - custodyArmMs - 1);
      await turns();
      expect(waited.for).toBe('nothing yet');
      vi.advanceTimersByTime(1);
      await turns();
      expect(waited.for).toBe('timeout');
    },
  );

  it('of an upload that goes on ends when the slowest that there is would have been through', async () => {
    let bytes = uploadBytesPerSecondMin;
    const waited = await woken(begun(), never, () => bytes);
    const passes = async (ms: number): Promise<void> => {
      vi.advanceTimersByTime(ms);
      await turns();
    };
    await passes(firstByteTimeoutMs - custodyArmMs);
    bytes *= 3;
    await passes(1_000);
    await passes(1_999);
    expect(waited.for).toBe('nothing yet');
    await passes(1);
    expect(waited.for).toBe('timeout');
  });

  it.each([custodyArmMs, 20])('of %i ms does not wait for the waking', async (timeoutMs) => {
    const waited = begun({ firstByteTimeoutMs: timeoutMs }).hold.wait(never, noBody);
    vi.advanceTimersByTime(timeoutMs);
    expect(await waited).toBe('timeout');
  });

  it('that begins when the keeper has spoken already is under the watchdog at once', async () => {
    const call = begun();
    call.custody.wake();
    const waited = call.hold.wait(never, noBody);
    expect(call.custody.armed).toBe(true);
    vi.advanceTimersByTime(firstByteTimeoutMs);
    expect(await waited).toBe('timeout');
  });

  it('of an armed call, which the keeper does not wake, is under the watchdog at once', async () => {
    const call = begun();
    call.custody.arm();
    const waited = call.hold.wait(never, noBody);
    vi.advanceTimersByTime(firstByteTimeoutMs);
    expect(await Promise.race([waited, turns()])).toBe('timeout');
  });

  it('that was woken ends with the answer too, and its watchdog stands down', async () => {
    const late = Promise.withResolvers<Response>();
    const answer = new Response('ok');
    const waited = await woken(begun(), late.promise);
    late.resolve(answer);
    await turns();
    expect([waited.for, vi.getTimerCount()]).toEqual([answer, 0]);
  });
});

describe('a body that is followed', () => {
  it('is armed by the keeper, and only then looked after', async () => {
    const call = begun();
    let looked = 0;
    call.custody.armLater(1_000, () => looked++);
    expect([call.custody.armed, looked]).toEqual([false, 0]);
    call.custody.wake();
    await turns();
    expect([call.custody.armed, looked]).toEqual([true, 1]);
  });

  it('is armed at once when the keeper has spoken before, or silence may not last that long', () => {
    const woke = begun();
    woke.custody.wake();
    const short = begun();
    for (const [{ custody }, idleMs] of [
      [woke, 1_000],
      [short, custodyArmMs],
    ] as const) {
      custody.armLater(idleMs, () => undefined);
      expect(custody.armed).toBe(true);
    }
  });

  it('is looked after at once where the call is armed, and once', async () => {
    const call = begun();
    let looked = 0;
    call.custody.arm();
    call.custody.armLater(1_000, () => looked++);
    expect(looked).toBe(1);
    call.custody.wake();
    await turns();
    expect(looked).toBe(1);
  });

  it('that ends sooner costs neither a timer nor a waitUntil', async () => {
    const call = begun();
    call.custody.armLater(1_000, () => undefined);
    call.custody.end(answered);
    call.custody.wake();
    await turns();
    expect([vi.getTimerCount(), call.background.work]).toEqual([0, []]);
  });
});

it('a client that leaves behind the last event of its stream has not left early: the upstream is let go, the end is the stream’s', async () => {
  const call = begun({ isWhole: true });
  await woken(call);
  call.client.abort();
  expect([call.ends, call.hold.cancel?.signal.aborted]).toEqual([[], true]);
});

it('what only a long call needs begins when it is armed, once', async () => {
  let armed = 0;
  const call = begun({ onArmed: () => armed++ });
  expect(armed).toBe(0);
  await woken(call);
  call.custody.arm();
  expect(armed).toBe(1);
});
