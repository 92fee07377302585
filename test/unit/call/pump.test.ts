/** The pumps: bytes, bounds, waits, and never a clean end after a broken one. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { errorBodyWaitMs, jsonBindingBodyWaitMs, pumpChunkBytes } from '../../../src/base/limits';
import {
  type BodyEnd,
  type BodyWatch,
  KeptBytes,
  limitBody,
  oneChunk,
  readAll,
  Silence,
  trackBody,
} from '../../../src/call/pump';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A byte stream under test control. */
function source() {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const quiet = (work: Promise<unknown>): void => void work.catch(() => undefined);
  return {
    readable,
    write: (text: string) => quiet(writer.write(bytes(text))),
    close: () => quiet(writer.close()),
    breaks: () => quiet(writer.abort(new Error('broke'))),
  };
}

/** Reads to the end: the text, and whether the end was clean. */
async function drained(stream: ReadableStream): Promise<readonly [string, boolean]> {
  let text = '';
  const reader = stream.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return [text, true];
      text += new TextDecoder().decode(value);
    }
  } catch {
    return [text, false];
  }
}

describe('readAll', () => {
  it('joins chunks', async () => {
    const from = source();
    const reading = readAll(from.readable, 10, 1_000);
    from.write('abc');
    from.write('def');
    from.close();
    expect(await reading).toEqual(bytes('abcdef'));
  });

  it('takes exactly bytesMax and not one more', async () => {
    const of = (text: string) => new Response(text).body as ReadableStream;
    expect(await readAll(of('12345'), 5, 1_000)).toEqual(bytes('12345'));
    expect(await readAll(of('123456'), 5, 1_000)).toBe('too_large');
  });

  /** A body of which so much has come, and the number of times that it was let go. */
  function unended(text: string) {
    const seen = { cancelled: 0 };
    const body = new ReadableStream({
      type: 'bytes',
      start: (controller) => {
        if (text !== '') controller.enqueue(bytes(text));
      },
      cancel: () => {
        seen.cancelled += 1;
      },
    });
    return { body, seen };
  }

  it.each([
    ['too_large', '123456'],
    ['late', '123'],
  ])('lets go of a body that is %s, and leaves no timer', async (why, text) => {
    const { body, seen } = unended(text);
    vi.useFakeTimers();
    const reading = readAll(body, 5, 1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([await reading, seen.cancelled, vi.getTimerCount()]).toEqual([why, 1, 0]);
    vi.useRealTimers();
  });

  it('says that a stream broke', async () => {
    const from = source();
    from.write('a');
    from.breaks();
    expect(await readAll(from.readable, 10, 1_000)).toBe('broken');
  });

  it.each([jsonBindingBodyWaitMs, errorBodyWaitMs])(
    'waits %i ms and not longer',
    async (waitMs) => {
      vi.useFakeTimers();
      const from = source();
      from.write('a');
      const reading = readAll(from.readable, 10, waitMs);
      await vi.advanceTimersByTimeAsync(waitMs);
      vi.useRealTimers();
      expect(await reading).toBe('late');
    },
  );

  it('joins what is longer than a chunk', async () => {
    const text = 'x'.repeat(2 * pumpChunkBytes + 1);
    const body = new Response(text).body as ReadableStream;
    expect(await readAll(body, text.length, 1_000)).toEqual(bytes(text));
  });
});

describe('limitBody', () => {
  const telling = (cuts: string[]) => ({
    onBytes: () => undefined,
    onCut: (why: string) => cuts.push(why),
  });

  it('passes a body of bytesMax, and tells how much of it has passed', async () => {
    const from = source();
    const cuts: string[] = [];
    const totals: number[] = [];
    const watch = {
      onBytes: (n: number) => totals.push(n),
      onCut: (why: string) => cuts.push(why),
    };
    const limited = drained(limitBody(from.readable, 6, watch));
    from.write('abc');
    from.write('def');
    from.close();
    expect([await limited, cuts, totals]).toEqual([['abcdef', true], [], [3, 6]]);
  });

  it.each([
    ['overrun', (from: ReturnType<typeof source>) => from.write('def')],
    ['broken', (from: ReturnType<typeof source>) => from.breaks()],
  ])('tells of a body that is %s before the other side sees its end', async (why, fault) => {
    const from = source();
    const order: string[] = [];
    const limited = drained(limitBody(from.readable, 5, telling(order)));
    const ended = limited.then(() => order.push('end'));
    from.write('abc');
    fault(from);
    await ended;
    expect([order, (await limited)[1]]).toEqual([[why, 'end'], false]);
  });

  it('a receiver that stops reading is no fault of the sender', async () => {
    const from = source();
    const cuts: string[] = [];
    const limited = limitBody(from.readable, 5, telling(cuts));
    from.write('abc');
    await limited.cancel();
    from.write('d');
    await Promise.resolve();
    expect(cuts).toEqual([]);
  });
});

describe('oneChunk', () => {
  afterEach(() => void vi.useRealTimers());

  /** What is made of a body of six bytes, and what is left of it for a pump. */
  function begin(idleTimeoutMs = 1_000) {
    const from = source();
    const silence = new Silence(idleTimeoutMs);
    const ended = Promise.withResolvers<BodyEnd>();
    const got = oneChunk(from.readable, 6, silence);
    const pumped = async (): Promise<readonly [string, boolean, BodyEnd]> => {
      const begun = await got;
      if (begun instanceof Uint8Array) throw new Error('nothing is left');
      const watch: BodyWatch = { begun, silence, onBytes: () => undefined, onEnd: ended.resolve };
      const [text, isClean] = await drained(trackBody(from.readable, { length: 6, watch }));
      return [text, isClean, await ended.promise];
    };
    return { from, silence, got, pumped };
  }

  it('gives a body that comes in one piece; who looks later starts no timer', async () => {
    const { from, got, silence } = begin();
    from.write('abcdef');
    expect(await got).toEqual(bytes('abcdef'));
    vi.useFakeTimers();
    silence.watch();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves one that comes in two to the pump, with its first bytes', async () => {
    const { from, pumped } = begin();
    from.write('abc');
    from.write('def');
    from.close();
    expect(await pumped()).toEqual(['abcdef', true, 'complete']);
  });

  it('waits no longer than until somebody must look', async () => {
    const { from, got, silence, pumped } = begin();
    silence.watch();
    expect(await got).not.toBeInstanceOf(Uint8Array);
    from.write('abcdef');
    expect(await pumped()).toEqual(['abcdef', true, 'complete']);
  });

  it.each([
    ['breaks before its first byte', (from: ReturnType<typeof source>) => from.breaks()],
    ['ends before its first byte', (from: ReturnType<typeof source>) => from.close()],
  ])('one that %s is no whole one for the caller', async (_, end) => {
    const { from, pumped } = begin();
    end(from);
    expect(await pumped()).toEqual(['', false, 'upstream_broke']);
  });

  it('counts the silence from its own read on', async () => {
    const { silence, pumped } = begin(20);
    silence.watch();
    expect(await pumped()).toEqual(['', false, 'idle']);
  });
});

describe('trackBody', () => {
  const tracked = (
    from: ReadableStream,
    length: number | null = null,
    idleTimeoutMs = 1_000,
    drains = false,
  ) => {
    const totals: number[] = [];
    const chunks: string[] = [];
    const ended = Promise.withResolvers<BodyEnd>();
    const silence = new Silence(idleTimeoutMs);
    const watch: BodyWatch = {
      silence,
      drains,
      onChunk: (chunk) => chunks.push(new TextDecoder().decode(chunk)),
      onBytes: (n) => totals.push(n),
      onEnd: ended.resolve,
    };
    silence.watch();
    return { body: trackBody(from, { length, watch }), totals, chunks, end: ended.promise };
  };

  it.each([null, 6])('follows a whole body (length %s)', async (length) => {
    const from = source();
    const { body, totals, end } = tracked(from.readable, length);
    const read = drained(body);
    from.write('abc');
    from.write('def');
    from.close();
    expect([await read, await end]).toEqual([['abcdef', true], 'complete']);
    expect(totals.at(-1)).toBe(6);
  });

  it.each([null, 6])('breaks with the upstream (length %s)', async (length) => {
    const from = source();
    const { body, end } = tracked(from.readable, length);
    const read = drained(body);
    from.write('abc');
    from.breaks();
    expect([(await read)[1], await end]).toEqual([false, 'upstream_broke']);
  });

  it('a body that ends before its declared length is no whole one for the caller', async () => {
    const from = source();
    const { body, end } = tracked(from.readable, 6);
    const read = drained(body);
    from.write('abc');
    from.close();
    expect([(await read)[1], await end]).toEqual([false, 'upstream_broke']);
  });

  it('a caller that stops reading left', async () => {
    const from = source();
    const { body, end } = tracked(from.readable);
    const reader = body.getReader();
    from.write('abc');
    await reader.read();
    await reader.cancel();
    from.write('def');
    expect(await end).toBe('caller_left');
  });

  it('silence of the upstream ends it', async () => {
    const from = source();
    const { body, end } = tracked(from.readable, null, 20);
    const read = drained(body);
    from.write('abc');
    expect([await read, await end]).toEqual([['abc', false], 'idle']);
  });

  it('shows every chunk as it passes', async () => {
    const from = source();
    const { body, chunks, end } = tracked(from.readable);
    const read = drained(body);
    from.write('abc');
    from.write('def');
    from.close();
    await read;
    expect([chunks, await end]).toEqual([['abc', 'def'], 'complete']);
  });

  describe('that drains', () => {
    /** A caller that takes one chunk and leaves, while the upstream goes on. */
    async function leftAfter(first: string, length: number | null = null) {
      const from = source();
      const follow = tracked(from.readable, length, 200, true);
      const reader = follow.body.getReader();
      from.write(first);
      await reader.read();
      await reader.cancel();
      return { from, ...follow };
    }

    it.each([null, 9])('reads on to the end (length %s)', async (length) => {
      const { from, totals, chunks, end } = await leftAfter('abc', length);
      from.write('def');
      from.write('ghi');
      from.close();
      expect([await end, totals.at(-1), chunks]).toEqual(['drained', 9, ['abc', 'def', 'ghi']]);
    });

    it('is no whole body when the upstream breaks meanwhile', async () => {
      const { from, end } = await leftAfter('abc');
      from.write('def');
      from.breaks();
      expect(await end).toBe('upstream_broke');
    });

    it('does not wait longer than the upstream may be silent', async () => {
      const { from, end } = await leftAfter('abc');
      from.write('def');
      expect(await end).toBe('idle');
    });

    it('and whose caller stays is complete', async () => {
      const from = source();
      const { body, end } = tracked(from.readable, null, 1_000, true);
      const read = drained(body);
      from.write('abc');
      from.close();
      expect([await read, await end]).toEqual([['abc', true], 'complete']);
    });
  });
});

describe('KeptBytes', () => {
  it('are copies: the chunk is its owner’s again', () => {
    const kept = new KeptBytes(6);
    const chunk = bytes('abc');
    kept.add(chunk);
    chunk.fill(0);
    kept.add(bytes('def'));
    expect(kept.bytes()).toEqual(bytes('abcdef'));
  });

  it('are none when they were too many, and stay none', () => {
    const kept = new KeptBytes(5);
    for (const text of ['abc', 'def', '']) kept.add(bytes(text));
    expect(kept.bytes()).toBeNull();
  });

  it('of no body are an empty one', () => {
    expect(new KeptBytes(0).bytes()).toEqual(new Uint8Array());
  });
});

describe('the silence of an upstream', () => {
  const idleTimeoutMs = 1_000;
  const watched = () => {
    vi.useFakeTimers();
    const silence = new Silence(idleTimeoutMs);
    let told = 0;
    silence.onBreak = () => {
      told += 1;
    };
    silence.watch();
    const pass = (ms: number) => {
      vi.advanceTimersByTime(ms);
      return [silence.broken, told];
    };
    return { silence, pass };
  };
  afterEach(() => void vi.useRealTimers());

  it('breaks at idleTimeoutMs of a pending read, and is told once', () => {
    const { silence, pass } = watched();
    silence.begin();
    expect(pass(idleTimeoutMs - 1)).toEqual([false, 0]);
    expect(pass(1)).toEqual([true, 1]);
    expect(pass(10 * idleTimeoutMs)).toEqual([true, 1]);
  });

  it('is none while nobody reads', () => {
    const { silence, pass } = watched();
    expect(pass(10 * idleTimeoutMs)).toEqual([false, 0]);
    silence.begin();
    silence.pause();
    expect(pass(10 * idleTimeoutMs)).toEqual([false, 0]);
    silence.begin();
    expect(pass(idleTimeoutMs)).toEqual([true, 1]);
  });

  it('is looked for by one timer, and by none behind the end', () => {
    const { silence } = watched();
    silence.watch();
    expect(vi.getTimerCount()).toBe(1);
    silence.stop();
    silence.watch();
    expect(vi.getTimerCount()).toBe(0);
    const unwatched = new Silence(idleTimeoutMs);
    unwatched.stop();
    unwatched.watch();
    expect(vi.getTimerCount()).toBe(0);
  });
});
