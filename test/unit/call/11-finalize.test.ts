/** 11 finalize: the upstream's answer with four headers of ours; whose body is followed. */
import { describe, expect, it } from 'vitest';
import { finalize, isFollowed } from '../../../src/call/11-finalize';
import type { EvidencedCall } from '../../../src/call/call';
import type { BodyWatch } from '../../../src/call/pump';
import { evidenced, upstream } from './calls';

const unwatched: BodyWatch = { onBytes: () => undefined, onEnd: () => undefined };
const final = (parts: Partial<EvidencedCall> = {}) => finalize(evidenced(parts), unwatched);
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

  it('takes the evidence’s edits, then its cookies, then the upstream’s rules', () => {
    const answer = new Response('x', { headers: { 'x-a': 'sk', 'x-b': '1', 'set-cookie': 'a=1' } });
    const out = final({
      answer,
      headerEdits: [
        ['x-a', '***'],
        ['x-b', null],
      ],
      setCookies: ['b=2', 'c=3'],
      upstream: upstream({
        headerRules: {
          request: { remove: [], set: [], add: [] },
          response: { remove: [], set: [['x-c', 'rule']], add: [] },
        },
      }),
    });
    expect(['x-a', 'x-b', 'x-c'].map((n) => out.headers.get(n))).toEqual(['***', null, 'rule']);
    expect(out.headers.getSetCookie()).toEqual(['b=2', 'c=3']);
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

describe('a body is followed', () => {
  it.each<[string, boolean, Partial<EvidencedCall>]>([
    ['of a tracked upstream', true, tracked],
    ['never without track_body', false, {}],
    ['never when it is withheld', false, { ...tracked, redacted: true }],
    ['never when there is none', false, { ...tracked, body: null }],
    ['never when it was read for masking', false, { ...tracked, body: new Uint8Array(1) }],
  ])('%s: %s', (_, followed, parts) => {
    expect(isFollowed(evidenced(parts))).toBe(followed);
  });

  it('to its end, with its bytes', async () => {
    const ended = Promise.withResolvers<string>();
    const totals: number[] = [];
    const watch: BodyWatch = { onBytes: (n) => totals.push(n), onEnd: ended.resolve };
    const out = finalize(evidenced({ ...tracked, answer: new Response('12345') }), watch);
    expect(await out.text()).toBe('12345');
    expect([totals, await ended.promise]).toEqual([[5], 'complete']);
  });
});
