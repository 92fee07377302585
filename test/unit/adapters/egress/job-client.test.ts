/** The client of the overflow jobs: what it lets out, what it reads, and that it never waits or throws. */
import { describe, expect, it } from 'vitest';
import { JobClient } from '../../../../src/adapters/egress/job-client';
import {
  overflowAnswerBytesMax,
  overflowAnswerWaitMs,
  overflowCatalogBytesMax,
} from '../../../../src/base/limits-capacity';
import { err, ok } from '../../../../src/base/result';
import { parseEgressAllow } from '../../../../src/domain/egress/allowance';
import type { ReadyRequest } from '../../../../src/domain/overflow/test-call';
import { heldTimers } from '../../../support/held-timers';

const request = (url = 'https://api.monid.ai/v1/run'): ReadyRequest => ({
  method: 'POST',
  url,
  headers: [['x-key', 'k']],
  body: '{}',
});
const background = (): void => undefined;

function world(send: () => Promise<Response>, isPublic = true) {
  const allow = parseEgressAllow('');
  if (!allow.ok) throw new Error(allow.error);
  const sent: (readonly [string, RequestInit])[] = [];
  const { time, timers } = heldTimers();
  const client = new JobClient({
    send: (url, init) => {
      sent.push([url, init]);
      return send();
    },
    egress: { check: (host) => (isPublic ? ok(undefined) : err({ code: 'egress.blocked', host })) },
    policy: { allow: allow.value, gatewayHosts: ['gateway.example'], httpsOnly: true },
    time,
  });
  const ask = (asked = request(), bytesMax = 8) => client.ask(asked, { bytesMax, background });
  return { ask, sent, timers };
}

describe('a request', () => {
  it('goes out once as it is, follows nothing, and is not cached at the edge', async () => {
    const { ask, sent, timers } = world(async () => new Response('ok', { status: 418 }));
    const answer = await ask();
    expect(answer?.status).toBe(418);
    expect(new TextDecoder().decode(answer?.bytes)).toBe('ok');
    expect(sent).toMatchObject([
      [
        'https://api.monid.ai/v1/run',
        { method: 'POST', body: '{}', redirect: 'manual', cf: { cacheTtl: -1 } },
      ],
    ]);
    expect(timers).toEqual([]);
  });

  it('names us as a call on the operator’s account does: vendors’ edges refuse a client without a name', async () => {
    const { ask, sent } = world(async () => new Response('ok'));
    await ask();
    await ask({
      ...request(),
      headers: [
        ['user-agent', 'other'],
        ['x-key', 'k'],
      ],
    });
    const lines = sent.map(([, { headers }]) => [...new Headers(headers)]);
    const ours = [
      ['user-agent', 'weir'],
      ['x-key', 'k'],
    ];
    expect(lines).toEqual([ours, ours]);
  });

  it.each([
    'http://api.monid.ai/v1/run',
    'https://10.0.0.1/run',
    'https://gateway.example/run',
    'nonsense',
  ])('to %s is not sent', async (url) => {
    const { ask, sent } = world(async () => new Response('ok'));
    expect(await ask(request(url))).toBeNull();
    expect(sent).toEqual([]);
  });

  it('to a name that resolves to a private address is not sent', async () => {
    const { ask, sent } = world(async () => new Response('ok'), false);
    expect(await ask()).toBeNull();
    expect(sent).toEqual([]);
  });
});

describe('an answer', () => {
  it('of exactly the bound is read, a byte more is none', async () => {
    expect((await world(async () => new Response('x'.repeat(8))).ask())?.bytes).toHaveLength(8);
    expect(await world(async () => new Response('x'.repeat(9))).ask()).toBeNull();
    expect((await world(async () => new Response(null)).ask())?.bytes).toHaveLength(0);
    expect([overflowAnswerBytesMax, overflowCatalogBytesMax]).toEqual([8_388_608, 16_777_216]);
  });

  it('that breaks is none', async () => {
    expect(await world(() => Promise.reject(new Error('reset'))).ask()).toBeNull();
  });

  it('that does not come is none after the wait, and the request is let go', async () => {
    const { ask, sent, timers } = world(() => new Promise<never>(() => undefined));
    const answer = ask();
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    expect(timers.map(({ ms }) => ms)).toEqual([overflowAnswerWaitMs]);
    for (const { act } of [...timers]) act();
    expect(await answer).toBeNull();
    expect(sent.map(([, init]) => init.signal?.aborted)).toEqual([true]);
  });
});
