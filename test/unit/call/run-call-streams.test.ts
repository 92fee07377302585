/**
 * run-call with a metered event stream: it passes untouched, and whoever ends it, it costs what it
 * said or what was seen of it.
 */
import { describe, expect, it, vi } from 'vitest';
import type { RecordedAnswer } from '../../../src/domain/ledger/operations';
import { NotedDesk } from './desk';
import { answering, bought, byUsage, keyed, sse, told } from './paid-calls';
import { type World, woken } from './road-world';

describe('an event stream', () => {
  const encoder = new TextEncoder();
  const usage = (units: number): string => `data: {"usage":{"out":${units}}}\n\n`;
  const done = 'data: [DONE]\n\n';

  function streaming(world: World = {}, init: RequestInit = {}) {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const quiet = (work: Promise<unknown>): void => void work.catch(() => undefined);
    const call = bought({ entry: byUsage, send: answering(readable, sse), ...world }, init);
    return {
      ...call,
      write: (text: string) => quiet(writer.write(encoder.encode(text))),
      close: () => quiet(writer.close()),
      breaks: () => quiet(writer.abort(new Error('broke'))),
    };
  }

  it('reaches the client event by event, and is settled by what it said when it has ended', async () => {
    const call = streaming();
    const got = await call.answer;
    expect(got.headers.get('x-weir-cost-micro')).toBeNull();
    const reader = got.body?.getReader();
    call.write(usage(5));
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(usage(5));
    expect([call.rows, call.desk.last]).toEqual([[], []]);
    call.write(usage(55) + done);
    await reader?.read();
    call.close();
    expect((await reader?.read())?.done).toBe(true);
    await Promise.all(call.background.work);
    expect(told(call.desk)).toEqual([['settle', 55, true]]);
    expect(call.rows).toMatchObject([{ outcome: 'answered', costMicros: 55, found: 'hit' }]);
  });

  it('that breaks costs what was metered, at least the fallback', async () => {
    const call = streaming();
    const reader = (await call.answer).body?.getReader();
    call.write(usage(44));
    await reader?.read();
    call.breaks();
    await expect(reader?.read()).rejects.toThrow();
    await Promise.all(call.background.work);
    expect(told(call.desk)).toEqual([['settle', 44, true]]);
    expect(call.rows).toMatchObject([
      { outcome: 'failed', code: 'stream.aborted', costMicros: 44 },
    ]);
  });

  it('whose client leaves is read to its end: leaving one event early is not cheaper', async () => {
    const call = streaming();
    const reader = (await call.answer).body?.getReader();
    call.write(usage(5));
    await reader?.read();
    await reader?.cancel();
    call.write(usage(55) + done);
    call.close();
    await Promise.all(call.background.work);
    expect(told(call.desk)).toEqual([['settle', 55, true]]);
    expect(call.rows).toMatchObject([{ outcome: 'cancelled', status: 499, costMicros: 55 }]);
  });

  it('whose client has gone without taking a byte is read to its end all the same', async () => {
    const client = new AbortController();
    const call = streaming({}, { signal: client.signal });
    await call.answer;
    await woken(call.watched);
    await vi.waitUntil(() => call.background.work.length === 2);
    client.abort();
    call.write(usage(5));
    call.write(usage(55) + done);
    call.close();
    await Promise.all(call.background.work);
    expect(told(call.desk)).toEqual([['settle', 55, true]]);
    expect(call.rows).toMatchObject([{ outcome: 'cancelled', status: 499, costMicros: 55 }]);
  });

  it('of a vendor that does not bill cancelled work is let go with its client', async () => {
    const entry = {
      ...byUsage,
      endpoint: { ...byUsage.endpoint, onClientDisconnect: 'cancel' },
    } as const;
    const call = streaming({ entry });
    const reader = (await call.answer).body?.getReader();
    call.write(usage(5));
    await reader?.read();
    await reader?.cancel();
    call.write(usage(55));
    await Promise.all(call.background.work);
    expect(told(call.desk)).toEqual([['release', 'call_cancelled']]);
    expect(call.rows).toMatchObject([{ outcome: 'cancelled', costMicros: null }]);
  });

  /** What a stream costs whose client takes one chunk and leaves, or stays, and which ends so. */
  async function costOf(text: string, leaves: boolean, end: 'close' | 'breaks') {
    const call = streaming();
    const reader = (await call.answer).body?.getReader();
    call.write(usage(5));
    await reader?.read();
    if (leaves) await reader?.cancel();
    call.write(text);
    if (!leaves) await reader?.read();
    call[end]();
    await reader?.read().catch(() => undefined);
    await Promise.all(call.background.work);
    return told(call.desk);
  }

  it.each<[string, string, boolean, 'close' | 'breaks']>([
    ['without a blank line behind its last event', usage(150).trimEnd(), false, 'close'],
    ['that breaks behind its last event', usage(150) + done, false, 'breaks'],
    ['whose client left, and which names no end', usage(150), true, 'close'],
  ])('%s is whole: it costs what it said, the hold or not', async (_, ...course) => {
    expect(await costOf(...course)).toEqual([['settle', 150, true]]);
  });

  it('of a keyed call does not end for its client before its record is on disk', async () => {
    const desk = new NotedDesk();
    const onDisk = Promise.withResolvers<void>();
    desk.onDisk = onDisk.promise;
    const call = streaming({ desk }, { headers: keyed });
    const reader = (await call.answer).body?.getReader();
    call.write(usage(55) + done);
    await reader?.read();
    call.close();
    let hasEnded = false;
    const end = reader?.read().then(() => {
      hasEnded = true;
    });
    await vi.waitUntil(() => desk.waitedFor.length === 1);
    await scheduler.wait(0);
    expect(hasEnded).toBe(false);
    onDisk.resolve();
    await end;
    expect(hasEnded).toBe(true);
  });

  it('of a keyed call is recorded with its bytes and headers, without the id of this call', async () => {
    const call = streaming({}, { headers: keyed });
    const text = (await call.answer).text();
    call.write(usage(5));
    call.write(usage(55) + done);
    call.close();
    await text;
    await Promise.all(call.background.work);
    const [settle, record] = call.desk.waitedFor[0] ?? [];
    expect(settle?.slice(2)).toEqual([55, true]);
    const kept = record?.[2] as RecordedAnswer;
    expect(new TextDecoder().decode(kept.body ?? undefined)).toBe(usage(5) + usage(55) + done);
    expect(kept.headers).toContain('text/event-stream');
    expect(kept.headers).not.toContain('x-weir-call-id');
    expect(call.rows).toMatchObject([{ outcome: 'answered', costMicros: 55 }]);
  });
});
