/**
 * run-call: whatever happens to a call, it gets one answer and one row, and nothing is asked after
 * a "no".
 */
import { describe, expect, it, vi } from 'vitest';
import { custodyLatencyErrorMs, evidenceBodyBytesMax } from '../../../src/base/limits';
import { err } from '../../../src/base/result';
import type { CallServices } from '../../../src/call/run-call';
import type { Refusal } from '../../../src/domain/refusal';
import { brokenBody, unavailable, upstream } from './calls';
import { asking, play, silent, type World, woken } from './road-world';

describe('an answer', () => {
  it('passes every port in order and leaves one row', async () => {
    const { answer, asked, rows } = play();
    expect((await answer).status).toBe(200);
    expect(asked).toEqual(['identify', 'look-up', 'egress', 'credentials', 'send', 'log']);
    expect(rows).toMatchObject([
      {
        tenantId: 'ten_leaf',
        keyId: 'key_1',
        principalId: 'prn_1',
        upstreamId: 'ups_1',
        surface: 'call',
        method: 'GET',
        host: 'api.t',
        path: '/v1/x',
        outcome: 'answered',
        status: 200,
        code: null,
        blame: null,
      },
    ]);
    // Each look at the clock of this world is 7 ms later.
    expect(rows[0]?.latencyMs).toBeLessThan(100);
  });

  it.each([401, 404, 429, 500, 503])('of %i is an answer, not an error', async (status) => {
    const { answer, rows } = play({ send: async () => new Response('no', { status }) });
    const got = await answer;
    expect([got.status, got.headers.get('x-weir-error-source')]).toEqual([status, 'upstream']);
    expect(rows).toMatchObject([{ outcome: 'answered', status, code: null }]);
  });

  it('has its masked body on the row', async () => {
    const send = async () => new Response('bad sk-vendor-0123456789', { status: 401 });
    const { answer, rows } = play({ masks: true, send });
    expect(await (await answer).text()).toBe('bad ***');
    expect(rows).toMatchObject([{ outcome: 'answered', evidence: 'bad ***' }]);
  });

  it('whose body has to be masked and breaks is a fault of the upstream, not half an answer', async () => {
    const send = async () => new Response(brokenBody('bad sk-vend'), { status: 401 });
    const { answer, rows } = play({ masks: true, send });
    expect((await answer).status).toBe(502);
    expect(rows).toMatchObject([{ outcome: 'failed', status: 502, code: 'downstream.error' }]);
  });

  it('leaves at most evidenceBodyBytesMax of its body on the row', async () => {
    const send = async () => new Response('e'.repeat(evidenceBodyBytesMax + 1), { status: 500 });
    const { answer, rows } = play({ masks: true, send });
    await (await answer).text();
    expect(rows[0]?.evidence?.length).toBe(evidenceBodyBytesMax);
  });

  it('leaves a text of whole characters on the row, wherever it was cut', async () => {
    const text = `${'e'.repeat(evidenceBodyBytesMax - 1)}😀`;
    const send = async () => new Response(text, { status: 500 });
    const { answer, rows } = play({ masks: true, send });
    await (await answer).text();
    expect(rows[0]?.evidence).toBe(`${text.slice(0, -2)}\ufffd`);
  });

  it('that comes soon costs no waitUntil, and is not watched any more', async () => {
    const { answer, background, watched } = play();
    await answer;
    expect([background.work.length, watched.size]).toEqual([0, 0]);
  });

  it('that comes late holds the context until then', async () => {
    const send = Promise.withResolvers<Response>();
    const { answer, background, watched } = play({ send: () => send.promise });
    await woken(watched);
    await vi.waitUntil(() => background.work.length === 1);
    expect([...watched].map((call) => call.armed)).toEqual([true]);
    send.resolve(new Response('ok'));
    await answer;
    await Promise.all(background.work);
  });
});

const noes: readonly (readonly [string, World, number, string, readonly string[]])[] = [
  [
    'an upstream that is switched off',
    { found: [upstream({ enabled: false })] },
    503,
    'routing.upstream_disabled',
    ['identify', 'look-up', 'log'],
  ],
  ['no upstream', { found: [] }, 404, 'routing.not_found', ['identify', 'look-up', 'log']],
  [
    'a private address',
    { egress: { code: 'egress.blocked', host: 'api.t' } },
    502,
    'egress.blocked',
    ['identify', 'look-up', 'egress', 'log'],
  ],
  [
    'a missing secret',
    { credentials: { code: 'secret.not_found' } },
    500,
    'secret.not_found',
    ['identify', 'look-up', 'egress', 'credentials', 'log'],
  ],
];

describe('a refusal', () => {
  it.each(noes)(
    '%s: a problem, a row, and nothing after it',
    async (_, world, status, code, ports) => {
      const { answer, asked, rows } = play(world);
      const got = await answer;
      expect(got.status).toBe(status);
      expect(got.headers.get('x-weir-call-id')).toBe(rows[0]?.id);
      expect(await got.json()).toMatchObject({ type: `urn:weir:problem:${code}`, status });
      expect(asked).toEqual(ports);
      expect(rows).toMatchObject([{ outcome: 'refused', status, code }]);
    },
  );

  it.each<Refusal>([{ code: 'auth.failed', reason: 'unknown' }, unavailable])(
    'of somebody unknown has no row and no call id: %j',
    async (refusal) => {
      const { answer, asked, rows } = play({ identity: err(refusal) });
      expect((await answer).headers.get('x-weir-call-id')).toBeNull();
      expect([asked, rows]).toEqual([['identify'], []]);
    },
  );

  it('at the door asks nobody', async () => {
    const { answer, asked } = play({}, asking({ headers: {} }));
    expect([(await answer).status, asked]).toEqual([401, []]);
  });
});

describe('no answer', () => {
  it('a transport fault is failed, 502', async () => {
    const { answer, rows, reports } = play({ send: () => Promise.reject(new Error('?key=sk')) });
    expect((await answer).status).toBe(502);
    expect(rows).toMatchObject([
      { outcome: 'failed', code: 'downstream.error', blame: 'connection' },
    ]);
    expect(JSON.stringify([rows, reports])).not.toContain('sk');
  });

  it('the watchdog is timed_out, 504, and lets the upstream go', async () => {
    const { answer, rows, background } = play({
      found: [upstream({ firstByteTimeoutMs: 5 })],
      send: silent,
    });
    expect((await answer).status).toBe(504);
    await Promise.all(background.work);
    expect(rows).toMatchObject([{ outcome: 'timed_out', status: 504, blame: 'upstream' }]);
  });

  it('a client that leaves is cancelled, 499, with its real latency', async () => {
    const client = new AbortController();
    const request = asking({ signal: client.signal });
    const { rows, background, watched } = play({ send: silent }, request);
    await woken(watched);
    await vi.waitUntil(() => background.work.length === 1);
    client.abort();
    // The runtime drops the context once nothing holds it: no answer is waited for.
    await Promise.all(background.work);
    expect(rows).toMatchObject([
      { outcome: 'cancelled', status: 499, code: 'client.closed', blame: 'caller' },
    ]);
    expect(rows[0]?.latencyMs).toBeGreaterThan(0);
  });

  it('a client that left while the stages were still waiting reaches no upstream', async () => {
    const client = new AbortController();
    let signal: AbortSignal | null | undefined;
    const send: CallServices['send'] = async (_target, init) => {
      signal = init.signal;
      return new Response('ok');
    };
    const { answer, rows } = play({ send, isCold: true }, asking({ signal: client.signal }));
    client.abort();
    await answer;
    expect(signal?.aborted).toBe(true);
    expect(rows).toMatchObject([{ outcome: 'cancelled', status: 499 }]);
  });

  it('a client whose context died before the arming is cancelled by the log, with its largest latency error', async () => {
    const { rows, watched } = play({ send: () => new Promise(() => undefined) });
    await vi.waitUntil(() => watched.size === 1);
    for (const call of watched) call.lapse();
    expect(rows).toMatchObject([
      {
        outcome: 'cancelled',
        status: 499,
        code: 'client.closed',
        latencyMs: custodyLatencyErrorMs,
      },
    ]);
    expect(watched.size).toBe(0);
  });

  it('our own bug is a bare 500 with the call id; its text is nowhere', async () => {
    const bug = (): never => {
      throw new TypeError('sk-vendor-0123456789');
    };
    const { answer, rows, reports } = play({ send: bug });
    const got = await answer;
    expect([got.status, got.headers.get('x-weir-call-id')]).toEqual([500, rows[0]?.id]);
    expect(rows).toMatchObject([
      { outcome: 'failed', status: 500, code: 'internal.error', blame: 'gateway' },
    ]);
    expect(reports).toMatchObject([['call.bug', { call_id: rows[0]?.id, error: 'TypeError' }]]);
    expect(JSON.stringify(reports) + (await got.text())).not.toContain('sk-vendor');
  });
});

it('a bug while the caller is waited for is one too: a bare 500 with its row', async () => {
  const send: CallServices['send'] = () => Promise.reject(new Error('off'));
  const sleep = () => Promise.reject(new TypeError('bug'));
  const { answer, rows, reports } = play({ send, sleep }, asking({ method: 'POST', body: 'x' }));
  expect((await answer).status).toBe(500);
  expect(rows).toMatchObject([{ outcome: 'failed', code: 'internal.error', blame: 'gateway' }]);
  expect(reports).toMatchObject([['call.bug', { error: 'TypeError' }]]);
});

describe('a bug before anybody knows who calls', () => {
  it('is a bare 500 of nobody', async () => {
    const { answer, rows, reports } = play({ identity: 'bug' });
    const got = await answer;
    expect([got.status, got.headers.get('x-weir-call-id'), rows]).toEqual([500, null, []]);
    expect(reports).toMatchObject([['call.bug', { call_id: null }]]);
  });
});

describe('a send that broke while its body was under way', () => {
  const off: CallServices['send'] = () => Promise.reject(new Error('off'));

  it.each<[name: string, leaves: boolean, row: object]>([
    [
      'because its caller left, as the runtime says a moment later: cancelled',
      true,
      { outcome: 'cancelled', status: 499, code: 'client.closed', blame: 'caller' },
    ],
    [
      'with its caller still there: failed',
      false,
      { outcome: 'failed', status: 502, code: 'downstream.error', blame: 'connection' },
    ],
  ])('%s', async (_, leaves, row) => {
    const client = new AbortController();
    const sleep = async () => void (leaves && client.abort());
    const request = asking({ method: 'POST', body: 'x', signal: client.signal });
    const { answer, rows } = play({ send: off, sleep }, request);
    await answer;
    expect(rows).toMatchObject([row]);
  });

  it.each<[name: string, init: RequestInit, world: World]>([
    ['that has none', {}, { send: off }],
    ['whose answer was late', { body: 'x' }, { send: silent }],
  ])('is not waited for after a call %s', async (_, init, world) => {
    const slept: number[] = [];
    const sleep = async (ms: number) => void slept.push(ms);
    const found = [upstream({ firstByteTimeoutMs: 5 })];
    const { answer } = play({ found, sleep, ...world }, asking({ method: 'POST', ...init }));
    await answer;
    expect(slept).toEqual([]);
  });

  it('is let go when its caller leaves', async () => {
    const client = new AbortController();
    const signals: (AbortSignal | null | undefined)[] = [];
    const send: CallServices['send'] = (target, init) => {
      signals.push(init.signal);
      return silent(target, init);
    };
    const request = asking({ method: 'POST', body: 'x', signal: client.signal });
    const { answer, rows, watched, background } = play({ send }, request);
    await woken(watched);
    await vi.waitUntil(() => background.work.length === 1);
    client.abort();
    await Promise.all([answer, ...background.work]);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
    expect(rows).toMatchObject([{ outcome: 'cancelled', status: 499, blame: 'caller' }]);
  });
});

it('an answer whose body may not be shown says so on its row', async () => {
  const send = async () => new Response(new Uint8Array([31, 139, 0]), codedAs('gzip'));
  const { answer, rows } = play({ masks: true, send });
  expect(await (await answer).json()).toMatchObject({ upstream_status: 401 });
  expect(rows).toMatchObject([{ outcome: 'answered', status: 401, code: 'response.redacted' }]);
});

const codedAs = (coding: string): ResponseInit => ({
  status: 401,
  headers: { 'content-encoding': coding },
  encodeBody: 'manual',
});

describe('a tracked body', () => {
  const found = [upstream({ trackBody: true })];

  it('in which the upstream falls silent is timed out, and whose fault that is', async () => {
    const { readable } = new IdentityTransformStream();
    const silentSoon = [upstream({ trackBody: true, idleTimeoutMs: 5 })];
    const world = { found: silentSoon, send: async () => new Response(readable) };
    const { answer, rows, background } = play(world);
    await expect((await answer).text()).rejects.toThrow();
    await Promise.all(background.work);
    expect(rows).toMatchObject([
      { outcome: 'timed_out', status: 504, code: 'timeout.idle', blame: 'upstream' },
    ]);
  });

  it('ends its call with its bytes when it has ended', async () => {
    const { answer, rows, background } = play({ found, send: async () => new Response('12345') });
    const got = await answer;
    expect(rows).toEqual([]);
    expect(await got.text()).toBe('12345');
    await Promise.all(background.work);
    expect(rows).toMatchObject([{ outcome: 'answered', status: 200, responseBytes: 5 }]);
  });

  it('that the client leaves keeps the bytes so far', async () => {
    const client = new AbortController();
    const { readable, writable } = new IdentityTransformStream();
    const request = asking({ signal: client.signal });
    const world = { found, send: async () => new Response(readable) };
    const { answer, rows, watched, background } = play(world, request);
    const reader = (await answer).body?.getReader();
    await woken(watched);
    await vi.waitUntil(() => background.work.length === 1);
    await Promise.all([
      writable.getWriter().write(new TextEncoder().encode('123')),
      reader?.read(),
    ]);
    client.abort();
    expect(rows).toMatchObject([{ outcome: 'cancelled', status: 499, responseBytes: 3 }]);
  });

  it.each([204, 205, 304])('that %i does not have ends its call at the headers', async (status) => {
    const { answer, rows } = play({ found, send: async () => new Response(null, { status }) });
    await answer;
    expect(rows).toMatchObject([{ outcome: 'answered', status }]);
  });
});
