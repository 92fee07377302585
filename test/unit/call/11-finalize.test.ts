/** 11 finalize: the upstream's answer with four headers of ours; whose body is followed. */
import { describe, expect, it } from 'vitest';
import { finalize, isFollowed } from '../../../src/call/11-finalize';
import type { EvidencedCall } from '../../../src/call/call';
import { type BodyWatch, Silence } from '../../../src/call/pump';
import { prepareMask } from '../../../src/domain/credentials/masking';
import { SseUsageTap } from '../../../src/domain/pricing/sse-usage-tap';
import { evidenced, noCredentials, upstream } from './calls';

const silence = new Silence(1_000);
const unwatched: BodyWatch = { silence, onBytes: () => undefined, onEnd: () => undefined };
const final = (parts: Partial<EvidencedCall> = {}) => finalize(evidenced(parts), unwatched);
const secret = 'sk-vendor-0123456789';
const injected = { ...noCredentials, masks: [prepareMask(secret)] };
const tapped = { tap: new SseUsageTap({ readings: [], ends: [] }) };
const tracked = { upstream: upstream({ trackBody: true }) };

describe('the answer', () => {
  it('keeps status, text, headers and body, and gets four headers', async () => {
    const answer = new Response('body', {
      status: 418,
      statusText: 'Odd',
      headers: { 'x-a': '1', 'content-security-policy': "default-src 'self'" },
    });
    const out = final({ answer });
    expect([out.status, out.statusText, out.headers.get('x-a')]).toEqual([418, 'Odd', '1']);
    expect(await out.text()).toBe('body');
    const ours = ['x-weir-call-id', 'x-weir-error-source', 'x-content-type-options'];
    expect(ours.map((n) => out.headers.get(n))).toEqual(['call_1', 'upstream', 'nosniff']);
    expect(out.headers.get('content-security-policy')).toBe("default-src 'self', sandbox");
  });

  it.each([204, 304])('%i has no body', (status) => {
    expect(final({ answer: new Response(null, { status }) }).body).toBeNull();
  });

  it('takes the headers of a masked body, then the upstream’s rules', () => {
    const answer = new Response('x', { headers: { 'content-length': '9', etag: '1' } });
    const out = final({
      answer,
      body: new Uint8Array(3),
      bodyHeaders: [
        ['content-length', '3'],
        ['etag', null],
      ],
      upstream: upstream({
        headerRules: {
          request: { remove: [], set: [], add: [] },
          response: { remove: [], set: [['x-c', 'rule']], add: [] },
        },
      }),
    });
    expect(['content-length', 'etag', 'x-c'].map((n) => out.headers.get(n))).toEqual([
      '3',
      null,
      'rule',
    ]);
  });

  it('has no reason that shows the secret', () => {
    const answer = new Response('x', { status: 400, statusText: `bad ${secret}` });
    expect(final({ answer, credentials: injected }).statusText).toBe('bad ***');
  });

  it.each(['retry-after', 'www-authenticate'])(
    'whose %s shows the secret is withheld without it',
    (name) => {
      const answer = new Response('x', { status: 429, headers: { [name]: secret } });
      const out = final({ answer, body: null, redacted: true, credentials: injected });
      expect(out.headers.get(name)).toBeNull();
    },
  );

  it('that is withheld with a 401 keeps the challenge of its vendor and gets none of ours', () => {
    const challenge = 'Bearer realm="vendor"';
    const withheld = (headers: HeadersInit) =>
      final({ answer: new Response('x', { status: 401, headers }), body: null, redacted: true });
    const named = withheld({ 'www-authenticate': challenge });
    expect([named.status, named.headers.get('www-authenticate')]).toEqual([401, challenge]);
    expect(withheld({}).headers.get('www-authenticate')).toBeNull();
  });

  it('says what it cost where that is known, and nothing of it elsewhere', () => {
    const costs = [0, 70, null].map((costMicros) =>
      final({ costMicros }).headers.get('x-weir-cost-micro'),
    );
    expect(costs).toEqual(['0', '70', null]);
  });

  it.each([
    [{ waitMs: 119.6, resent: false }, 'wait=120'],
    [{ waitMs: 0, resent: true }, 'retry=1'],
    [{ waitMs: 40, resent: true }, 'wait=40, retry=1'],
    [null, null],
  ])('says how it was smoothed: %j', (smoothed, said) => {
    expect(final({ smoothed }).headers.get('x-weir-smoothed')).toBe(said);
  });

  it.each(['pending', null] as const)(
    'says how its task stands, where it has one: %s',
    (taskState) => {
      expect(final({ taskState }).headers.get('x-weir-async')).toBe(taskState);
    },
  );

  it('shows no cost that an upstream forged', () => {
    const answer = new Response('ok', {
      headers: { 'x-weir-cost-micro': '1', 'x-weir-idempotent-replay': 'true' },
    });
    const { headers } = final({ answer });
    expect(headers.get('x-weir-cost-micro')).toBeNull();
    expect(headers.get('x-weir-idempotent-replay')).toBeNull();
  });

  it('that is withheld keeps its status and wait, and is our problem document', async () => {
    const answer = new Response('sk', {
      status: 429,
      headers: { 'retry-after': '7', 'x-a': 'sk' },
    });
    const out = final({ answer, body: null, redacted: true });
    expect([out.status, out.headers.get('retry-after'), out.headers.get('x-a')]).toEqual([
      429,
      '7',
      null,
    ]);
    expect(await out.json()).toMatchObject({ type: 'urn:weir:problem:response.redacted' });
  });
});

describe('headers', () => {
  it('of a hop, and forged ones of ours, go on every status', () => {
    const answer = new Response('ok', {
      headers: { 'x-weir-error': '1', 'keep-alive': 'x', 'x-mine': '1' },
    });
    const { headers } = final({ answer });
    expect(['x-weir-error', 'keep-alive', 'x-mine'].map((n) => headers.get(n))).toEqual([
      null,
      null,
      '1',
    ]);
  });

  it.each([200, 302, 500])('with the secret are masked on %i', (status) => {
    const answer = new Response(null, { status, headers: { location: `https://t/?k=${secret}` } });
    expect(final({ answer, credentials: injected }).headers.get('location')).toBe(
      'https://t/?k=***',
    );
  });

  it('Set-Cookie loses our names and keeps the vendor’s lines', () => {
    const headers = new Headers({ 'x-a': '1' });
    headers.append('set-cookie', '__Host-weir_session=forged; Path=/');
    headers.append('set-cookie', 'sid=1; Path=/');
    const out = final({ answer: new Response('ok', { headers }) });
    expect(out.headers.getSetCookie()).toEqual(['sid=1; Path=/']);
  });
});

describe('a body is followed', () => {
  it.each<[string, boolean, Partial<EvidencedCall>]>([
    ['of a tracked upstream', true, tracked],
    ['that a tap reads', true, tapped],
    ['never without track_body', false, {}],
    [
      'never of a 204, tap or not',
      false,
      { ...tapped, answer: new Response(null, { status: 204 }) },
    ],
    ['never when it is withheld', false, { ...tracked, redacted: true }],
    ['never when there is none', false, { ...tracked, body: null }],
    ['never when it was read for masking', false, { ...tracked, body: new Uint8Array(1) }],
  ])('%s: %s', (_, followed, parts) => {
    expect(isFollowed(evidenced(parts))).toBe(followed);
  });

  it('to its last chunk, whatever a length beside the chunked frame says', async () => {
    const ended = Promise.withResolvers<string>();
    const watch: BodyWatch = { silence, onBytes: () => undefined, onEnd: ended.resolve };
    const headers = { 'content-length': '9', 'transfer-encoding': 'chunked' };
    const out = finalize(
      evidenced({ ...tracked, answer: new Response('12345', { headers }) }),
      watch,
    );
    expect([await out.text(), await ended.promise]).toEqual(['12345', 'complete']);
  });

  it('to its end, with its bytes', async () => {
    const ended = Promise.withResolvers<string>();
    const totals: number[] = [];
    const watch: BodyWatch = { silence, onBytes: (n) => totals.push(n), onEnd: ended.resolve };
    const out = finalize(evidenced({ ...tracked, answer: new Response('12345') }), watch);
    expect(await out.text()).toBe('12345');
    expect([totals, await ended.promise]).toEqual([[5], 'complete']);
  });
});
