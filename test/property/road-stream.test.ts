/**
 * A metered stream on the whole road, cut into any chunks and left at any of them: the bytes are
 * the upstream's, the charge is what it said, and leaving is never cheaper than staying.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordedAnswer } from '../../src/domain/ledger/operations';
import { entryOf, token } from '../unit/call/calls';
import { asking, play } from '../unit/call/road-world';
import { meter, settled } from '../unit/domain/pricing/prices';

const fallback = 30;
const held = 100;
const out = meter('out', ['usage.out'], {
  isRequired: true,
  reserve: [{ kind: 'fixed', units: held }],
});
const entry = entryOf(
  {
    cost: {
      kind: 'usage',
      meters: [out],
      prices: [{ when: [], perMillionMicros: { out: 1_000_000 } }],
      ends: [{ kind: 'data', text: '[DONE]' }],
    },
    settlement: settled({ fallbackMicros: fallback }),
  },
  { accounts: [{ label: 'main', setting: 'VENDOR_KEY' }] },
);
const headers = { 'x-weir-key': token };
const keyed = { ...headers, 'idempotency-key': 'k1' };

/** A stream of running totals, its bytes cut anywhere. */
const stream = fc
  .record({
    totals: fc.array(fc.nat(300), { minLength: 1, maxLength: 6 }),
    newline: fc.constantFrom('\n', '\r\n'),
    text: fc.constantFrom('é', '🔑', ''),
    cuts: fc.array(fc.nat(400), { maxLength: 8 }),
  })
  .map(({ totals, newline, text, cuts }) => {
    const running = totals.map((_, i) => totals.slice(0, i + 1).reduce((a, b) => a + b, 0));
    const events = running.map((total) => `data: {"t":"${text}","usage":{"out":${total}}}`);
    const whole = [...events, 'data: [DONE]'].map((event) => event + newline + newline).join('');
    const bytes = new TextEncoder().encode(whole);
    const at = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
    const chunks = [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
    return { bytes, chunks: chunks.filter((c) => c.length > 0), total: running.at(-1) ?? 0 };
  });

interface Course {
  /** Chunks that the client takes before it leaves; more than there are: it stays. */
  readonly takes: number;
  /** Chunks that the upstream sends before it breaks; more than there are: it ends well. */
  readonly sends: number;
  readonly isKeyed: boolean;
}
const course = fc.record({ takes: fc.nat(9), sends: fc.nat(9), isKeyed: fc.boolean() });
const quiet = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);

async function run(chunks: readonly Uint8Array[], { takes, sends, isKeyed }: Course) {
  const { readable, writable } = new IdentityTransformStream();
  const send = async () =>
    new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
  const request = asking({ headers: isKeyed ? keyed : headers }, '/call/vendor.search');
  const call = play({ found: [], entry, send }, request);
  const reader = (await call.answer).body?.getReader();
  const writer = writable.getWriter();
  const taken: number[] = [];
  for (const [index, chunk] of chunks.slice(0, sends).entries()) {
    const written = quiet(writer.write(chunk));
    if (index < takes) taken.push(...((await reader?.read())?.value ?? []));
    else if (index === takes) await reader?.cancel();
    await written;
  }
  const breaks = sends < chunks.length;
  void quiet(breaks ? writer.abort(new Error('broke')) : writer.close());
  const last = await reader?.read().catch(() => 'broken' as const);
  await Promise.all(call.background.work);
  const hasLeft = Math.min(sends, chunks.length) > takes;
  return { ...call, taken: new Uint8Array(taken), last, breaks, hasLeft };
}

describe('a metered stream', () => {
  it('that is whole costs what it said, whoever left and however it was cut', async () => {
    await fc.assert(
      fc.asyncProperty(stream, course, async ({ chunks, bytes, total }, { takes, isKeyed }) => {
        const call = await run(chunks, { takes, sends: chunks.length, isKeyed });
        expect(call.desk.last.filter(([op]) => op === 'settle')).toEqual([
          ['settle', call.desk.places[0]?.[1], total, true],
        ]);
        expect(call.taken).toEqual(call.hasLeft ? bytes.subarray(0, call.taken.length) : bytes);
        const record = call.desk.last.find(([op]) => op === 'record');
        const kept = record === undefined ? null : (record[2] as RecordedAnswer).body;
        expect(kept).toEqual(isKeyed ? bytes : null);
        expect(call.rows.map(({ costMicros }) => costMicros)).toEqual([total]);
      }),
      { numRuns: 100 },
    );
  });

  it('that breaks costs at least the fallback and at most the hold, and is never a whole one', async () => {
    await fc.assert(
      fc.asyncProperty(stream, course, async ({ chunks }, how) => {
        // Behind its last event a stream is whole, whatever becomes of its connection.
        const sent = await new Blob(chunks.slice(0, how.sends)).text();
        fc.pre(how.sends < chunks.length && !sent.includes('[DONE]'));
        const call = await run(chunks, how);
        const cost = call.rows[0]?.costMicros ?? -1;
        expect(cost).toBeGreaterThanOrEqual(fallback);
        expect(cost).toBeLessThanOrEqual(held);
        if (!call.hasLeft) expect(call.last).toBe('broken');
        const ends = call.desk.last.map(([op]) => op);
        expect(ends).toEqual(how.isKeyed ? ['settle', 'unknown'] : ['settle']);
      }),
      { numRuns: 100 },
    );
  });

  it('is never cheaper for a client that leaves than for one that stays', async () => {
    await fc.assert(
      fc.asyncProperty(stream, course, async ({ chunks }, how) => {
        const stays = await run(chunks, { ...how, takes: chunks.length });
        const leaves = await run(chunks, how);
        const [stayed = -1, left = -1] = [stays, leaves].map((c) => c.rows[0]?.costMicros ?? -1);
        expect(left).toBeGreaterThanOrEqual(stayed);
      }),
      { numRuns: 60 },
    );
  });
});
