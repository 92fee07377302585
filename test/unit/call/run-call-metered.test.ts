/**
 * run-call on the platform account: whatever happens, the hold ends once, the row is written after
 * that and says what it cost.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { drainMs, holdRenewMs, meteredAnswerBytesMax } from '../../../src/base/limits-money';
import type { CallServices } from '../../../src/call/run-call';
import type { RecordedAnswer } from '../../../src/domain/ledger/operations';
import { upstream } from './calls';
import { locked, NotedCapacity } from './capacity-ports';
import { NotedDesk } from './desk';
import { answering, bought, byResult, byUsage, json, keyed, path, rowOf, told } from './paid-calls';
import { asking, play, silent, type World, woken } from './road-world';

afterEach(() => void vi.useRealTimers());

describe('a paid answer', () => {
  it('passes every port in order: the hold before the send, the settlement behind it', async () => {
    const { answer, asked, rows, desk } = bought();
    expect((await answer).headers.get('x-weir-cost-micro')).toBe('70');
    expect(asked).toEqual([
      'identify',
      'look-up',
      'own upstreams',
      'place',
      'egress',
      'credentials',
      'send',
      'settle',
      'log',
    ]);
    expect(rows).toMatchObject([
      {
        outcome: 'answered',
        status: 200,
        tier: 4,
        catalogId: 'vendor.search',
        upstreamId: null,
        host: 'api.vendor.example',
        path: '/v1/search',
        costMicros: 70,
        found: 'hit',
        holdId: desk.places[0]?.[1],
      },
    ]);
  });

  it('that its price is read from arrives whole, and says what it cost', async () => {
    const body = '{"usage": {"out": 55}}';
    const { answer, rows } = bought({ entry: byUsage, send: answering(body, json) });
    const got = await answer;
    expect([await got.text(), got.headers.get('x-weir-cost-micro')]).toEqual([body, '55']);
    expect(rows).toMatchObject([{ costMicros: 55 }]);
  });

  it.each<[string, Response, string]>([
    ['nothing', new Response(null, { status: 204 }), 'miss'],
    ['no results', Response.json({ data: [] }), 'miss'],
    ['results', Response.json({ data: [1] }), 'hit'],
  ])('with %s is counted as that', async (_, theirs, found) => {
    const { answer, rows } = bought({ entry: byResult, send: async () => theirs });
    await (await answer).text();
    expect(rows).toMatchObject([{ outcome: 'answered', found }]);
  });

  it.each([301, 404, 429, 500])('of %i is theirs, and gives the hold back', async (status) => {
    const { answer, rows, desk } = bought({ send: answering(null, { status }) });
    const got = await answer;
    expect([got.status, got.headers.get('x-weir-cost-micro')]).toEqual([status, null]);
    expect(told(desk)).toEqual([['release', 'not_billable']]);
    expect(rows).toMatchObject([
      { outcome: 'answered', status, costMicros: null, tier: 4, found: 'error' },
    ]);
  });
});

describe('a burst', () => {
  const slow = () => new Response('{}', { status: 429, headers: { 'retry-after': '1' } });
  const answeringTwice = (second: () => Promise<Response>) => {
    const answers = [async () => slow(), second];
    return async () => (answers.shift() ?? second)();
  };

  it('is sent once more on the same hold; the second answer is the answer', async () => {
    const send = answeringTwice(async () => new Response('{"a":1}'));
    const { answer, asked, rows, desk } = bought({ send });
    const got = await answer;
    expect([got.status, await got.text()]).toEqual([200, '{"a":1}']);
    expect(got.headers.get('x-weir-smoothed')).toBe('retry=1');
    expect(asked.filter((port) => port === 'send').length).toBe(2);
    expect([desk.places.length, told(desk)]).toEqual([1, [['settle', 70, true]]]);
    expect(rows).toMatchObject([{ outcome: 'answered', status: 200, costMicros: 70 }]);
  });

  it('whose second send breaks is a fault of that one, and gives the hold back', async () => {
    const send = answeringTwice(() => Promise.reject(new Error('off')));
    const { answer, rows, desk } = bought({ send });
    expect((await answer).status).toBe(502);
    expect(told(desk)).toEqual([['release', 'downstream.error']]);
    expect(rows).toMatchObject([{ outcome: 'failed', code: 'downstream.error' }]);
  });
});

describe('a refusal', () => {
  it('by the contract of the row comes before money', async () => {
    const { answer, asked } = bought({ entry: rowOf({ strictQuery: true }) }, {});
    expect((await answer).status).toBe(200);
    const strict = play(
      { found: [], entry: rowOf({ strictQuery: true }) },
      asking({}, `${path}?x=1`),
    );
    expect((await strict.answer).status).toBe(400);
    expect(strict.asked).toEqual(['identify', 'look-up', 'own upstreams', 'log']);
    expect(asked).toContain('place');
  });

  it('by the ledger sends nothing, and its row owes nothing', async () => {
    const refusal = {
      code: 'insufficient_balance',
      availableMicros: 5,
      requiredMicros: 70,
    } as const;
    const desk = new NotedDesk({ outcome: 'refused', refusal });
    const { answer, asked, rows, background } = bought({ desk });
    const got = await answer;
    expect([got.status, await got.json()]).toMatchObject([
      402,
      { available_micros: 5, required_micros: 70 },
    ]);
    expect([asked.includes('send'), desk.last]).toEqual([false, []]);
    expect(rows).toMatchObject([
      { outcome: 'refused', status: 402, costMicros: null, holdId: null },
    ]);
    await Promise.all(background.work);
  });

  it.each<[string, World]>([
    ['the address', { egress: { code: 'egress.blocked', host: 'x' } }],
    ['the credential', { credentials: { code: 'secret.not_found' } }],
  ])('by %s, behind the hold, gives it back', async (_, world) => {
    const { answer, asked, rows, desk, background } = bought(world, { headers: keyed });
    expect((await answer).ok).toBe(false);
    expect(asked).not.toContain('send');
    expect(told(desk).map(([op]) => op)).toEqual(['release', 'free']);
    expect(rows).toMatchObject([{ outcome: 'refused', costMicros: null }]);
    await Promise.all(background.work);
  });

  it('of an answer that is too large is ours, and nothing is charged', async () => {
    const body = new Uint8Array(meteredAnswerBytesMax + 1);
    const world = { entry: byUsage, send: answering(body, json) };
    const { answer, rows, desk } = bought(world, { headers: keyed });
    expect((await answer).status).toBe(502);
    expect(told(desk)).toEqual([['release', 'response_buffer_limit'], ['unknown']]);
    expect(rows).toMatchObject([
      { outcome: 'refused', code: 'response_buffer_limit', blame: 'gateway', costMicros: null },
    ]);
  });
});

describe('no answer', () => {
  const bug = (): never => {
    throw new TypeError('bug');
  };
  it.each<[string, World, string, string]>([
    [
      'a transport fault',
      { send: () => Promise.reject(new Error('off')) },
      'downstream.error',
      'failed',
    ],
    ['our own bug', { send: bug }, 'internal.error', 'failed'],
  ])(
    '%s gives the hold back and keeps the key: it may have been executed',
    async (_, world, code, outcome) => {
      const { answer, rows, desk } = bought(world, { headers: keyed });
      expect((await answer).ok).toBe(false);
      expect(told(desk)).toEqual([['release', code], ['unknown']]);
      expect(rows).toMatchObject([
        { outcome, code, costMicros: null, holdId: desk.places[0]?.[1] },
      ]);
    },
  );

  it('in time gives it back too', async () => {
    vi.useFakeTimers();
    const { answer, rows, desk, watched } = bought({ send: silent }, { headers: keyed });
    await woken(watched);
    await vi.advanceTimersByTimeAsync(130_000);
    expect((await answer).status).toBe(504);
    expect(told(desk)).toEqual([['release', 'timeout.request'], ['unknown']]);
    expect(rows).toMatchObject([{ outcome: 'timed_out', costMicros: null }]);
  });
});

it('a call that takes longer than a lease keeps its hold', async () => {
  vi.useFakeTimers();
  const sent = Promise.withResolvers<Response>();
  const { answer, watched, background, desk } = bought({ send: () => sent.promise });
  await woken(watched);
  await vi.waitUntil(() => background.work.length === 2);
  await vi.advanceTimersByTimeAsync(holdRenewMs);
  sent.resolve(new Response('ok'));
  expect((await answer).status).toBe(200);
  expect(desk.ends.map(([op]) => op)).toEqual(['renew', 'settle']);
});

describe('a client that leaves', () => {
  /** A call whose client has left while the upstream was still silent. */
  async function left(world: World, init: RequestInit = {}) {
    const client = new AbortController();
    const sent = Promise.withResolvers<Response>();
    let signal: AbortSignal | null | undefined;
    const send: CallServices['send'] = (_target, how) => {
      signal = how.signal;
      signal?.addEventListener('abort', () => sent.reject(new Error('off')));
      return sent.promise;
    };
    const call = bought({ send, ...world }, { signal: client.signal, ...init });
    await woken(call.watched);
    await vi.waitUntil(() => call.background.work.length === 2);
    client.abort();
    return { ...call, answerWith: sent.resolve, isCancelled: () => signal?.aborted };
  }
  const cancelled = { outcome: 'cancelled', status: 499, blame: 'caller' };

  it('is waited for, pays what the answer says, and its row comes after that', async () => {
    const call = await left({ entry: byUsage });
    expect([call.rows, call.isCancelled()]).toEqual([[], false]);
    call.answerWith(new Response('{"usage":{"out":55}}', json));
    await Promise.all(call.background.work);
    expect(told(call.desk)).toEqual([['settle', 55, true]]);
    expect(call.rows).toMatchObject([{ ...cancelled, costMicros: 55 }]);
  });

  it('is waited for drainMs, and then pays the fallback', async () => {
    vi.useFakeTimers();
    const call = await left({ entry: byUsage });
    await vi.advanceTimersByTimeAsync(drainMs);
    await Promise.all(call.background.work);
    expect([call.isCancelled(), told(call.desk)]).toEqual([true, [['settle', 30, true]]]);
    expect(call.rows).toMatchObject([{ ...cancelled, costMicros: 30 }]);
  });

  it('of a vendor that does not bill cancelled work lets it go and pays nothing', async () => {
    const call = await left({ entry: rowOf({ onClientDisconnect: 'cancel' }) });
    await Promise.all(call.background.work);
    expect([call.isCancelled(), told(call.desk)]).toEqual([true, [['release', 'call_cancelled']]]);
    expect(call.rows).toMatchObject([{ ...cancelled, costMicros: null }]);
  });

  it('and whose upload breaks pays nothing: the vendor never had the whole request', async () => {
    const client = new AbortController();
    const { readable, writable } = new IdentityTransformStream();
    const send: CallServices['send'] = async (_target, { body }) =>
      new Response(await new Response(body ?? null).arrayBuffer());
    const entry = rowOf({ method: 'POST' });
    const upload = { method: 'POST', body: readable, signal: client.signal };
    const { answer, desk, rows, background, watched } = bought({ send, entry }, upload);
    await woken(watched);
    await vi.waitUntil(() => background.work.length === 2);
    client.abort();
    void writable.abort(new Error('broke')).catch(() => undefined);
    await answer;
    await Promise.all(background.work);
    expect(told(desk)).toEqual([['release', 'request.body_incomplete']]);
    expect(rows).toMatchObject([{ ...cancelled, costMicros: null }]);
  });

  it('while the ledger was asked is not sent and pays nothing', async () => {
    const client = new AbortController();
    const { answer, desk, rows, background } = bought(
      { send: silent },
      { signal: client.signal, headers: keyed },
    );
    client.abort();
    await answer;
    await Promise.all(background.work);
    expect(told(desk).map(([op]) => op)).toEqual(['release', 'free']);
    expect(rows).toMatchObject([{ ...cancelled, costMicros: null }]);
  });
});

describe('a keyed call', () => {
  it('is answered once its record is on disk, and its row comes after that', async () => {
    const desk = new NotedDesk();
    const onDisk = Promise.withResolvers<void>();
    desk.onDisk = onDisk.promise;
    const { answer, rows } = bought({ desk, send: answering('bytes') }, { headers: keyed });
    let isAnswered = false;
    void answer.then(() => {
      isAnswered = true;
    });
    await vi.waitUntil(() => desk.waitedFor.length === 1);
    await Promise.resolve();
    expect([isAnswered, rows]).toEqual([false, []]);
    onDisk.resolve();
    const got = await answer;
    expect([await got.text(), got.headers.get('x-weir-cost-micro')]).toEqual(['bytes', '70']);
    expect(rows).toMatchObject([{ outcome: 'answered', costMicros: 70 }]);
    const kept = desk.waitedFor[0]?.[1]?.[2] as RecordedAnswer;
    expect(new TextDecoder().decode(kept.body ?? undefined)).toBe('bytes');
    const cost = kept.headers.indexOf('x-weir-cost-micro');
    expect(kept.headers.slice(cost, cost + 2)).toEqual(['x-weir-cost-micro', '70']);
    expect(kept.headers).not.toContain('x-weir-call-id');
  });

  const first: RecordedAnswer = {
    status: 201,
    headers: ['x-a', '1'],
    body: encoderOf('first'),
    bodyRef: null,
    bodyBytes: 5,
    costMicros: 70,
  };

  it('that was answered before gets that again: nothing is sent, held or guarded', async () => {
    const desk = new NotedDesk({ outcome: 'replay', answer: first });
    const { answer, asked, rows, background } = bought({ desk }, { headers: keyed });
    const got = await answer;
    expect([got.status, await got.text(), got.headers.get('x-a')]).toEqual([201, 'first', '1']);
    expect(got.headers.get('x-weir-call-id')).toBe(rows[0]?.id);
    expect(asked.slice(3)).toEqual(['place', 'log']);
    expect(rows).toMatchObject([
      {
        outcome: 'answered',
        status: 201,
        code: 'idempotency.replayed',
        costMicros: null,
        found: null,
      },
    ]);
    await Promise.all(background.work);
  });

  it('whose first answer cannot be got now is refused, and sent by nobody', async () => {
    const answer = { ...first, body: null, bodyRef: 'records/idm_1' };
    const call = bought({ desk: new NotedDesk({ outcome: 'replay', answer }) }, { headers: keyed });
    expect((await call.answer).status).toBe(503);
    expect(call.asked).not.toContain('send');
    expect(call.rows).toMatchObject([{ outcome: 'refused', code: 'ledger_unavailable' }]);
  });

  it('whose first answer meets a bug of ours is a bare 500 with its row', async () => {
    const answer = { ...first, body: null, bodyRef: 'records/idm_1' };
    const get = () => Promise.reject(new TypeError('bug'));
    const desk = new NotedDesk({ outcome: 'replay', answer });
    const call = bought({ desk, replayBodies: { put: get, get } }, { headers: keyed });
    expect((await call.answer).status).toBe(500);
    expect(call.rows).toMatchObject([{ outcome: 'failed', code: 'internal.error' }]);
  });

  it('of an own upstream is the vendor’s: relayed as it came, and not claimed', async () => {
    let seen: string | null = null;
    const send: CallServices['send'] = async (_target, init) => {
      seen = new Headers(init.headers).get('idempotency-key');
      return new Response('ok');
    };
    const { answer, asked } = play({ send }, asking({ headers: keyed }));
    await answer;
    expect([seen, asked.includes('place')]).toEqual(['k1', false]);
  });
});

describe('a call that is only counted', () => {
  it('owes nothing: its client may leave, and its row has no cost', async () => {
    const client = new AbortController();
    const world = { key: { callCap: 3 }, found: [upstream()], send: silent };
    const { rows, desk, background, watched } = play(world, asking({ signal: client.signal }));
    await woken(watched);
    await vi.waitUntil(() => background.work.length === 2);
    client.abort();
    await Promise.all(background.work);
    expect(desk.last.length).toBe(1);
    expect(rows).toMatchObject([
      { outcome: 'cancelled', status: 499, costMicros: null, tier: null },
    ]);
  });

  it('is answered as if nobody counted', async () => {
    const { answer, rows, desk } = play({ key: { callCap: 3 } });
    const got = await answer;
    expect([got.status, got.headers.get('x-weir-cost-micro')]).toEqual([200, null]);
    expect(told(desk)).toEqual([['settle', 0, true]]);
    expect(rows).toMatchObject([{ outcome: 'answered', costMicros: null }]);
  });
});

function encoderOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

describe('a call that is refused behind its guards and was not sent', () => {
  const grant = { id: 'call_1', lockId: 'lock_1' };
  const capacity = () =>
    new NotedCapacity({
      view: locked('vendor', { nextProbeInMs: 0 }),
      grant,
      slot: { outcome: 'go', account: 'primary', waitMs: 0 },
    });
  const entry = rowOf({ method: 'POST', rate: { limit: 1, windowMs: 1_000 } });
  const bound: World = { entry, bound: [['key', '"k"']] };
  const posted = (body: string): RequestInit => ({ method: 'POST', body });

  it('gives its place and its probe to the next one', async () => {
    const asked = capacity();
    const { answer } = bought({ ...bound, capacity: asked }, posted('no JSON'));
    expect((await answer).status).toBe(400);
    const given = asked.asked.filter((one) => JSON.stringify(one).includes('giveBack'));
    expect(given).toEqual([
      ['giveBack', 'vendor', expect.stringMatching(/^call_/)],
      ['giveBackProbe', 'vendor', grant],
    ]);
  });

  it('keeps both when its vendor may have been asked', async () => {
    const asked = capacity();
    const send = () => Promise.reject(new Error('off'));
    const { answer } = bought({ ...bound, capacity: asked, send }, posted('{}'));
    expect((await answer).status).toBe(502);
    expect(JSON.stringify(asked.asked)).not.toContain('giveBack');
  });
});
