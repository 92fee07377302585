/**
 * 09 settle: which answers are read before their headers go out, which are tapped, which stay
 * native, and what each costs.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { meteredAnswerBytesMax, meteredAnswerWaitMs } from '../../../src/base/limits-money';
import { err, ok } from '../../../src/base/result';
import { type SettleHold, settle } from '../../../src/call/09-settle';
import type { SettledCall } from '../../../src/call/call';
import type { Money, MoneyParts } from '../../../src/call/money';
import { wholeDecimal } from '../../../src/domain/pricing/decimal';
import type { FrozenPrice } from '../../../src/domain/pricing/estimate';
import type { Cost, Settlement } from '../../../src/domain/pricing/price';
import { meter, perCall, settled } from '../domain/pricing/prices';
import { answered, backgroundOf, brokenBody, entryOf } from './calls';
import { heldMoney, NotedDesk, NotedTasks } from './desk';

const opened: Money[] = [];
afterEach(() => {
  for (const money of opened.splice(0)) money.release('test');
});

const out = meter('out', ['usage.out'], { isRequired: true });
const perMillionMicros = { out: 1_000_000 };
const usage = { kind: 'usage', meters: [out], perMillionMicros } as const;
const ends = [{ kind: 'data', text: '[DONE]' } as const];
const byUsage = priced(
  { kind: 'usage', meters: [out], prices: [{ when: [], perMillionMicros }], ends },
  usage,
  settled({ fallbackMicros: 30 }),
);
const byCall = priced(perCall(70), { kind: 'per_call', priceMicros: 70 });
const keyed = { recordId: 'idm_1' };
const json = { headers: { 'content-type': 'application/json' } };
const sse = { headers: { 'content-type': 'text/event-stream; charset=utf-8' } };

const unheld: SettleHold = { cancel: null, arm: () => undefined, armLater: () => undefined };

function priced(cost: Cost, price: FrozenPrice, settlement: Settlement = settled()) {
  return { endpoint: entryOf({ cost, settlement }).endpoint, price };
}

async function run(body: BodyInit | null, init: ResponseInit, parts: Partial<MoneyParts>) {
  const held = heldMoney(parts);
  opened.push(held.money);
  const answer = new Response(body, { ...init, encodeBody: 'manual' });
  let armed = 0;
  const call = answered({ answer, money: held.money });
  const hold = { cancel: null, arm: () => armed++, armLater: () => void armed++ };
  const ports = { desk: held.desk, tasks: new NotedTasks() };
  const result = await settle(call, hold, ports, backgroundOf());
  return { ...held, answer, result, isArmed: armed > 0 };
}

async function settledCall(...args: Parameters<typeof run>) {
  const { result, ...rest } = await run(...args);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return { ...rest, call: result.value as SettledCall };
}

it('a call that owes nothing passes unchanged, without a promise', () => {
  const call = answered();
  const ports = { desk: new NotedDesk(), tasks: new NotedTasks() };
  const result = settle(call, unheld, ports, backgroundOf());
  expect(result).toEqual(
    ok({ ...call, bytes: null, tap: null, costMicros: null, taskState: null }),
  );
  expect(call.answer.bodyUsed).toBe(false);
});

describe('an answer that its price is read from', () => {
  it('is read whole before its headers go out, by an armed call, and settled by what it says', async () => {
    const { call, desk, isArmed } = await settledCall('{"usage":{"out":55}}', json, byUsage);
    expect(new TextDecoder().decode(call.bytes ?? undefined)).toBe('{"usage":{"out":55}}');
    expect([call.costMicros, desk.last, isArmed]).toEqual([
      55,
      [['settle', 'hld_1', 55, true]],
      true,
    ]);
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/problem+json',
    'application/vnd.x.v1+json',
  ])('of type %s is one', async (type) => {
    const init = { headers: { 'content-type': type } };
    expect((await settledCall('{"usage":{"out":55}}', init, byUsage)).call.costMicros).toBe(55);
  });

  it.each([
    ['audio/mpeg', 'x'],
    ['text/plain', '{"usage":{"out":55}}'],
    ['application/jsonlines', '{"usage":{"out":55}}'],
    ['', '{"usage":{"out":55}}'],
  ])('of type %s is none: it stays native and costs the fallback', async (type, body) => {
    const init = { headers: { 'content-type': type } };
    const { call, desk, isArmed } = await settledCall(body, init, byUsage);
    expect([call.bytes, call.costMicros, isArmed]).toEqual([null, 30, false]);
    expect(call.answer.bodyUsed).toBe(false);
    expect(desk.last).toEqual([['settle', 'hld_1', 30, true]]);
  });

  it('of another type costs the fallback with a key too: what is read for its record has no other price', async () => {
    const init = { headers: { 'content-type': 'text/plain' } };
    const { call } = await settledCall('{"usage":{"out":55}}', init, { ...byUsage, ...keyed });
    expect([call.costMicros, call.bytes?.byteLength]).toEqual([30, 20]);
  });

  it.each([
    ['no usage', '{}'],
    ['no JSON', 'oops'],
    ['a usage that is no number', '{"usage":{"out":"many"}}'],
  ])('that has %s costs the fallback, and keeps its bytes', async (_, body) => {
    const { call } = await settledCall(body, json, byUsage);
    expect([call.costMicros, new TextDecoder().decode(call.bytes ?? undefined)]).toEqual([
      30,
      body,
    ]);
  });

  it('costs more than was held where it says so', async () => {
    const { call } = await settledCall('{"usage":{"out":500}}', json, byUsage);
    expect(call.costMicros).toBe(500);
  });

  it.each(['gzip', 'deflate'] as const)(
    'that is coded all the same (%s) is decoded for its price alone',
    async (coding) => {
      const plain = new Blob(['{"usage":{"out":55}}']).stream();
      const coded = await new Response(plain.pipeThrough(new CompressionStream(coding))).bytes();
      const init = { headers: { ...json.headers, 'content-encoding': coding } };
      const { call } = await settledCall(coded, init, byUsage);
      expect([call.costMicros, call.bytes]).toEqual([55, coded]);
    },
  );

  it('in a coding that we cannot undo costs the fallback', async () => {
    const init = { headers: { ...json.headers, 'content-encoding': 'zstd' } };
    expect((await settledCall('x', init, byUsage)).call.costMicros).toBe(30);
  });

  it('of meteredAnswerBytesMax is read; one byte more is refused before any header, and nothing is charged', async () => {
    const body = (bytes: number) => `{"usage":{"out":55}}`.padEnd(bytes, ' ');
    const { call } = await settledCall(body(meteredAnswerBytesMax), json, byUsage);
    expect(call.costMicros).toBe(55);
    const { result, desk, money } = await run(body(meteredAnswerBytesMax + 1), json, byUsage);
    expect(result).toEqual(err({ code: 'response_buffer_limit', bytesMax: meteredAnswerBytesMax }));
    expect([desk.last, money.isClosed]).toEqual([[], false]);
  });

  it('that breaks is no answer, and what was seen of it is what a client that left pays', async () => {
    const { result, desk, money } = await run(brokenBody('{"us'), json, byUsage);
    expect(result).toEqual(err({ code: 'downstream.error', host: 'api.t' }));
    expect(desk.last).toEqual([]);
    money.sent();
    money.left(() => undefined);
    money.abandon('downstream.error', true);
    expect(desk.last).toEqual([['settle', 'hld_1', 30, true]]);
  });
});

describe('an answer whose length was promised', () => {
  afterEach(() => void vi.useRealTimers());

  function reading(body: BodyInit, promisedBytes: number) {
    const { money, desk } = heldMoney(byUsage);
    opened.push(money);
    const headers = { ...json.headers, 'content-length': String(promisedBytes) };
    const answer = new Response(body, { headers });
    const cancel = new AbortController();
    const waits: (readonly [ms: number, then: () => void])[] = [];
    const hold: SettleHold = {
      cancel,
      arm: () => undefined,
      armLater: (ms, then) => void waits.push([ms, then]),
    };
    const ports = { desk, tasks: new NotedTasks() };
    const settling = settle(answered({ answer, money }), hold, ports, backgroundOf());
    return { answer, cancel, waits, settling };
  }

  it('is read without a timer, and needs none when the waking comes behind its end', async () => {
    const { settling, waits } = reading('{"usage":{"out":55}}', 20);
    expect(await settling).toMatchObject({ ok: true, value: { costMicros: 55 } });
    vi.useFakeTimers();
    for (const [, wake] of waits) wake();
    expect([waits.map(([ms]) => ms), vi.getTimerCount()]).toEqual([[meteredAnswerWaitMs], 0]);
  });

  it('that stalls is let go after meteredAnswerWaitMs, and is no answer', async () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    vi.useFakeTimers();
    const { cancel, settling, waits } = reading(readable, 20);
    cancel.signal.addEventListener('abort', () => void writer.abort(new Error('let go')));
    for (const [, wake] of waits) wake();
    vi.advanceTimersByTime(meteredAnswerWaitMs - 1);
    expect(cancel.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(cancel.signal.aborted).toBe(true);
    expect(await settling).toEqual(err({ code: 'downstream.error', host: 'api.t' }));
  });

  it('and ends behind the waking leaves no timer', async () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    vi.useFakeTimers();
    const { settling, waits } = reading(readable, 2);
    for (const [, wake] of waits) wake();
    await writer.write(new TextEncoder().encode('{}'));
    await writer.close();
    expect(await settling).toMatchObject({ ok: true });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of meteredAnswerBytesMax is read, one of a byte more is refused unread', async () => {
    const most = reading('{"usage":{"out":55}}', meteredAnswerBytesMax);
    expect(await most.settling).toMatchObject({ ok: true, value: { costMicros: 55 } });
    const more = reading('{"usage":{"out":55}}', meteredAnswerBytesMax + 1);
    const bytesMax = meteredAnswerBytesMax;
    expect(await more.settling).toEqual(err({ code: 'response_buffer_limit', bytesMax }));
    expect([more.answer.bodyUsed, more.waits]).toEqual([false, []]);
  });
});

it('an answer that was read before is not read again', async () => {
  const { money, desk } = heldMoney(byUsage);
  opened.push(money);
  const answer = new Response('{}', { ...json, status: 429 });
  const bytes = await answer.bytes();
  const call = answered({ answer, money, bytes });
  const result = await settle(call, unheld, { desk, tasks: new NotedTasks() }, backgroundOf());
  expect(result).toMatchObject({ ok: true, value: { bytes } });
});

it('an error that breaks while it is read costs nothing, whoever left', async () => {
  const { desk, money } = await run(brokenBody('{"er'), { ...json, status: 500 }, byUsage);
  money.sent();
  money.left(() => undefined);
  money.abandon('downstream.error', true);
  expect(desk.last).toEqual([['release', 'hld_1', 'not_billable']]);
});

describe('an answer that says nothing about money', () => {
  it('stays native and costs its table', async () => {
    const { call, desk } = await settledCall('{}', json, byCall);
    expect([call.bytes, call.tap, call.costMicros, call.answer.bodyUsed]).toEqual([
      null,
      null,
      70,
      false,
    ]);
    expect(desk.last).toEqual([['settle', 'hld_1', 70, true]]);
  });

  it('costs what its header reports', async () => {
    const reported = {
      in: 'header',
      at: 'x-cost',
      perMillionMicros: 1_000_000,
      times: null,
    } as const;
    const price = { kind: 'per_call', priceMicros: 70 } as const;
    const parts = priced(perCall(70), price, settled({ reported }));
    const costs: (number | null)[] = [];
    for (const text of ['12', '0', 'much'])
      costs.push((await settledCall('{}', { headers: { 'x-cost': text } }, parts)).call.costMicros);
    expect(costs).toEqual([12, 0, 100]);
  });

  it.each([301, 304, 401, 404, 429, 500, 503])('of %i costs nothing', async (status) => {
    const { call, desk } = await settledCall(null, { status }, byCall);
    expect([call.costMicros, desk.last]).toEqual([null, [['release', 'hld_1', 'not_billable']]]);
  });
});

describe('an event stream', () => {
  it('gets a tap and is not read: its cost is not known yet', async () => {
    const { call, desk, isArmed, money } = await settledCall('data: {}\n\n', sse, byUsage);
    expect([call.tap === null, call.bytes, call.costMicros]).toEqual([false, null, null]);
    expect([call.answer.bodyUsed, desk.last, isArmed, money.isClosed]).toEqual([
      false,
      [],
      false,
      false,
    ]);
  });

  it('whose client leaves costs what its tap has seen, at least the fallback', async () => {
    const { call, desk, money } = await settledCall('', sse, byUsage);
    call.tap?.push(new TextEncoder().encode('data: {"usage":{"out":44}}\n\n'));
    expect(call.tap?.usage().seen.get('out')).toEqual(wholeDecimal(44));
    money.sent();
    money.left(() => undefined);
    money.cutShort();
    expect(desk.last).toEqual([['settle', 'hld_1', 44, true]]);
  });

  it.each(['Text/Event-Stream', 'text/event-stream;charset=utf-8'])(
    'of type %s is one',
    async (type) => {
      const init = { headers: { 'content-type': type } };
      expect((await settledCall('data: {}\n\n', init, byUsage)).call.tap).not.toBeNull();
    },
  );

  it('without a body ends at its headers: nobody would ever see it end', async () => {
    const { call, money } = await settledCall(null, sse, byUsage);
    expect([call.tap, call.costMicros, money.isClosed]).toEqual([null, 30, true]);
  });

  it('that is coded all the same is decoded for its price', async () => {
    const plain = new Blob(['data: {"usage":{"out":44}}\n\n']).stream();
    const coded = await new Response(plain.pipeThrough(new CompressionStream('gzip'))).bytes();
    const init = { headers: { ...sse.headers, 'content-encoding': 'gzip' } };
    const { call } = await settledCall('', init, byUsage);
    call.tap?.push(coded);
    call.tap?.end();
    expect(call.tap?.usage().seen.get('out')).toEqual(wholeDecimal(44));
  });

  it('in the coding identity says its usage as it passes', async () => {
    const init = { headers: { ...sse.headers, 'content-encoding': 'identity' } };
    const { call } = await settledCall('', init, byUsage);
    call.tap?.push(new TextEncoder().encode('data: {"usage":{"out":44}}\n\n'));
    expect(call.tap?.usage().seen.get('out')).toEqual(wholeDecimal(44));
  });

  it('that nobody reads ends at its headers', async () => {
    const { call } = await settledCall('data: {}\n\n', sse, byCall);
    expect([call.tap, call.costMicros, call.answer.bodyUsed]).toEqual([null, 70, false]);
  });

  it('of a keyed call is tapped for its record, whatever its price', async () => {
    const { call } = await settledCall('data: {}\n\n', sse, { ...byCall, ...keyed });
    expect(call.tap).not.toBeNull();
  });

  it.each([404, 500])('of %i is none: it is settled at its headers', async (status) => {
    const { call, money } = await settledCall('data: {}\n\n', { ...sse, status }, byUsage);
    expect([call.tap, call.bytes, money.isClosed]).toEqual([null, null, true]);
  });
});

describe('a keyed call', () => {
  it.each([
    ['bytes', 'audio/mpeg'],
    ['JSON', 'application/json'],
    ['no type', ''],
  ])('reads a success of %s for its record, and stays open until that', async (_, type) => {
    const init = { headers: { 'content-type': type } };
    const { call, desk, money } = await settledCall('body', init, { ...byCall, ...keyed });
    expect(new TextDecoder().decode(call.bytes ?? undefined)).toBe('body');
    expect([call.costMicros, money.isClosed, desk.last]).toEqual([70, false, []]);
  });

  it('whose success is too large to keep is refused before any header', async () => {
    const body = new Uint8Array(meteredAnswerBytesMax + 1);
    const { result } = await run(body, {}, { ...byCall, ...keyed });
    expect(result).toMatchObject({ error: { code: 'response_buffer_limit' } });
  });

  it.each([300, 404])('frees its key on any other answer (%i), unread', async (status) => {
    const { call, desk } = await settledCall('no', { status }, { ...byCall, ...keyed });
    expect([call.bytes, call.answer.bodyUsed]).toEqual([null, false]);
    expect(desk.last.at(-1)?.[0]).toBe('free');
  });

  it.each([520, 522, 524])(
    'keeps its key from a second execution where Cloudflare says %i in the place of a vendor that has the request',
    async (status) => {
      const { call, desk, money } = await settledCall(
        'error code',
        { status },
        { ...byCall, ...keyed },
      );
      expect([call.costMicros, money.isClosed]).toEqual([null, true]);
      expect(desk.last.map(([op]) => op)).toEqual(['release', 'unknown']);
    },
  );

  it.each([500, 504, 521, 523, 525, 526, 530])(
    'frees it on %i: not sent, or the vendor’s no',
    async (status) => {
      const { desk } = await settledCall('no', { status }, { ...byCall, ...keyed });
      expect(desk.last.map(([op]) => op)).toEqual(['release', 'free']);
    },
  );

  it('whose client left before such an answer is not free either', async () => {
    const held = heldMoney({ ...byCall, ...keyed });
    opened.push(held.money);
    held.money.sent();
    held.money.left(() => undefined);
    const answer = new Response('error code: 524', { status: 524 });
    const ports = { desk: held.desk, tasks: new NotedTasks() };
    await settle(answered({ answer, money: held.money }), unheld, ports, backgroundOf());
    expect(held.desk.last.map(([op]) => op)).toEqual(['release', 'unknown']);
  });
});
