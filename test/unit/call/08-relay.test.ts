/** 08 relay: what goes out, and what each way of not getting an answer becomes. */
import { describe, expect, it } from 'vitest';
import { jsonBindingBodyBytesMax, uploadBytesPerSecondMin } from '../../../src/base/limits';
import { err } from '../../../src/base/result';
import { isPumped, type RelayPorts, relay } from '../../../src/call/08-relay';
import type { GuardedCall } from '../../../src/call/call';
import type { Hold } from '../../../src/call/custody';
import { pending } from '../domain/tasks/rows';
import { brokenBody, entryOf, guarded, noCredentials, scan, taken, upstream } from './calls';
import { heldMoney } from './desk';

type Sent = { readonly request: Request; readonly init: RequestInit };

/** Sends a call; `answer` is what the platform's fetch would do. */
async function sent(
  parts: Partial<GuardedCall>,
  answer: RelayPorts['send'] = async () => new Response('ok'),
  late = false,
) {
  const seen: Sent[] = [];
  const ports: RelayPorts = {
    send: (target, init) => {
      seen.push({ request: new Request(target, init), init });
      return answer(target, init);
    },
  };
  const cancel = new AbortController();
  const order: string[] = [];
  const hold: Hold = {
    cancel,
    arm: () => void order.push('armed'),
    armLater: () => undefined,
    wait: async (awaited) => (late ? 'timeout' : awaited.catch(() => 'fault' as const)),
  };
  const result = await relay(guarded(parts), ports, hold);
  return { result, cancel, order, seen, out: seen[0]?.request as Request, init: seen[0]?.init };
}

/** An upstream that waits for the rest of the body until it is let go. */
const untilAborted: RelayPorts['send'] = (_target, init) =>
  new Promise((_, reject) =>
    init.signal?.addEventListener('abort', () => reject(new Error('off'))),
  );

const incoming = (init: RequestInit = {}): Partial<GuardedCall> =>
  taken({ request: new Request('https://gw.test/call/api/v1/x', init) });
const posting = (body: BodyInit, headers: HeadersInit = {}) =>
  incoming({ method: 'POST', body, headers });
const withJson = {
  ...noCredentials,
  json: [['api_key', '"sk"'] as const],
};

const plain = upstream({ scheme: 'http' });

describe('the target', () => {
  it.each([
    [{}, 'https://api.t/v1/x'],
    [{ sentPath: '' }, 'https://api.t/'],
    [{ query: '' }, 'https://api.t/v1/x?'],
    [{ query: 'a=1&&b' }, 'https://api.t/v1/x?a=1&&b'],
    [{ endpoint: { host: 'api.t', port: 8443 } }, 'https://api.t:8443/v1/x'],
    [{ endpoint: { host: '2606:4700::1', port: 443 } }, 'https://[2606:4700::1]/v1/x'],
    [{ endpoint: { host: 'api.t', port: 80 } }, 'https://api.t:80/v1/x'],
    [{ upstream: plain, endpoint: { host: 'api.t', port: 80 } }, 'http://api.t/v1/x'],
    [{ upstream: plain, endpoint: { host: 'api.t', port: 443 } }, 'http://api.t:443/v1/x'],
    [{ sentPath: '/a%2Fb//c' }, 'https://api.t/a%2Fb//c'],
  ])('%j goes to %s', async (parts, url) => {
    expect((await sent(parts)).out.url).toBe(url);
  });

  it('a query binding replaces its own pair only', async () => {
    const credentials = { ...noCredentials, query: [['key', 'sk 1'] as const] };
    const { out } = await sent({ credentials, query: 'a=%7e&key=mine&b' });
    expect(out.url).toBe('https://api.t/v1/x?a=%7e&key=sk%201&b');
  });

  it('redirects are not followed, answers not decoded, nothing is cached at the edge', async () => {
    const { init } = await sent({});
    expect(init).toMatchObject({
      redirect: 'manual',
      encodeResponseBody: 'manual',
      cf: { cacheTtl: -1 },
    });
  });
});

describe('the headers', () => {
  it('lose what was ours, keep the rest, and take rules before credentials', async () => {
    const headers = { 'x-weir-key': 't', 'x-a': '1', 'x-b': '2', authorization: 'mine' };
    const { out } = await sent({
      ...incoming({ headers }),
      headers: scan({ drop: ['x-weir-key'], rewrite: [['x-b', '3']] }),
      credentials: { ...noCredentials, headers: [['authorization', 'Bearer sk']] },
      upstream: upstream({
        headerRules: {
          request: { remove: ['x-a'], set: [['authorization', 'rule']], add: [['x-b', '4']] },
          response: { remove: [], set: [], add: [] },
        },
      }),
    });
    const seen = ['x-weir-key', 'x-a', 'x-b', 'authorization'].map((name) => out.headers.get(name));
    expect(seen).toEqual([null, null, '3, 4', 'Bearer sk']);
  });

  it.each([
    [null, undefined, 'identity'],
    ['br', undefined, 'br'],
    ['gzip, br', { clientAcceptEncoding: 'gzip' }, 'gzip'],
    ['gzip, br', { clientAcceptEncoding: '' }, 'identity'],
  ])('Accept-Encoding is the caller’s own (sent: %s, cf: %j): %s', async (own, cf, value) => {
    const request = new Request('https://gw.test/call/api/v1/x', {
      headers: own === null ? {} : { 'accept-encoding': own },
      ...(cf === undefined ? {} : { cf }),
    });
    const { out } = await sent({ ...taken({ request }), headers: scan({ acceptEncoding: own }) });
    expect(out.headers.get('accept-encoding')).toBe(value);
  });
});

describe('a call on the platform account', () => {
  const account = {
    ...incoming({ headers: { 'user-agent': 'mine', 'idempotency-key': 'k1', 'x-client': 'me' } }),
    credentials: { ...noCredentials, headers: [['authorization', 'Bearer sk'] as const] },
  };

  it('loses what its vendor must not learn, and gets what it may', async () => {
    const { out } = await sent({
      ...account,
      platformHeaders: [
        ['user-agent', 'weir'],
        ['idempotency-key', 'digest'],
        ['x-client', null],
      ],
    });
    const names = ['user-agent', 'idempotency-key', 'x-client', 'authorization'];
    const seen = names.map((name) => out.headers.get(name));
    expect(seen).toEqual(['weir', 'digest', null, 'Bearer sk']);
  });

  it('on any other tier keeps them as they came', async () => {
    const { out } = await sent({ ...account, platformHeaders: null });
    const seen = ['user-agent', 'idempotency-key', 'x-client'].map((n) => out.headers.get(n));
    expect(seen).toEqual(['mine', 'k1', 'me']);
  });

  const reported = {
    basis: 'response',
    reported: { in: 'body', at: 'cost', perMillionMicros: 1, times: null },
    fallbackMicros: null,
    reserveMicros: null,
  } as const;

  it.each([
    ['for its price', { endpoint: entryOf({ settlement: reported }).endpoint }],
    ['for its record', { recordId: 'idm_1' }],
  ])('whose answer is read %s asks for no coding', async (_, parts) => {
    const { money } = heldMoney(parts);
    const headers = scan({ acceptEncoding: 'br' });
    const { out } = await sent({
      ...incoming({ headers: { 'accept-encoding': 'br' } }),
      headers,
      money,
    });
    money.release('test');
    expect(out.headers.get('accept-encoding')).toBe('identity');
  });

  it('that polls a task asks for no coding: its answer is read', async () => {
    const request = { headers: { 'accept-encoding': 'br' } };
    const headers = scan({ acceptEncoding: 'br' });
    const { out } = await sent({ ...incoming(request), headers, task: pending() });
    expect(out.headers.get('accept-encoding')).toBe('identity');
  });

  it('is sent from its send on: what breaks before costs nothing, even to a client that left', async () => {
    const ends: string[] = [];
    for (const parts of [
      {},
      { ...posting('[1]'), credentials: withJson },
    ] satisfies Partial<GuardedCall>[]) {
      const { money, desk } = heldMoney();
      const { seen } = await sent({ ...parts, money });
      money.left(() => undefined);
      money.abandon('why', true);
      ends.push(`${seen.length} ${desk.last[0]?.[0]}`);
    }
    expect(ends).toEqual(['1 settle', '0 release']);
  });

  it('whose client had left before is not sent', async () => {
    const { money, desk } = heldMoney();
    const cancel = new AbortController();
    cancel.abort();
    const hold: Hold = {
      cancel,
      arm: () => undefined,
      armLater: () => undefined,
      wait: async () => 'fault',
    };
    await relay(guarded({ money }), { send: async () => new Response('ok') }, hold);
    money.left(() => undefined);
    money.abandon('why', true);
    expect(desk.last).toEqual([['release', 'hld_1', 'why']]);
  });
});

describe('a body', () => {
  const post = posting('x');
  it.each<[name: string, parts: Partial<GuardedCall>, pumped: boolean]>([
    ['of unknown length', post, true],
    ['of a declared length', { ...post, declaredBytes: 1 }, false],
    ['that was read before', { ...post, sentBytes: new Uint8Array(1) }, false],
    ['that is none', incoming({ method: 'POST' }), false],
    ['of a GET', { ...post, method: 'GET' }, false],
    ['of a HEAD', { ...post, method: 'HEAD' }, false],
  ])('%s: the send must be cut before it: %j', (_, parts, pumped) => {
    expect(isPumped(guarded(parts))).toBe(pumped);
  });
});

describe('the body', () => {
  it('passes as it is', async () => {
    const { out } = await sent({ ...posting('{"a": 1}'), declaredBytes: 8 });
    expect([out.method, await out.text()]).toEqual(['POST', '{"a": 1}']);
  });

  it('without a length is counted and passes', async () => {
    const { out } = await sent(posting('counted'));
    expect(await out.text()).toBe('counted');
  });

  it('gets the bound field and loses its old length', async () => {
    const parts = posting('{"b":1.0}', { 'content-length': '9' });
    const { out } = await sent({ ...parts, credentials: withJson, declaredBytes: 9 });
    expect(JSON.parse(await out.text())).toEqual({ b: 1, api_key: 'sk' });
    expect(out.headers.get('content-length')).not.toBe('9');
  });

  it('that was read before goes out as those bytes, with its length', async () => {
    const { out, init } = await sent({
      ...posting('x', { 'content-length': '3' }),
      sentBytes: new Uint8Array([1, 2, 3]),
    });
    expect(init?.body).toEqual(new Uint8Array([1, 2, 3]));
    expect([...(await out.bytes())]).toEqual([1, 2, 3]);
  });

  it('that was read before and takes a field is read no second time', async () => {
    const sentBytes = new TextEncoder().encode('{"b":1}');
    const { out } = await sent({ ...posting('used'), sentBytes, credentials: withJson });
    expect(JSON.parse(await out.text())).toEqual({ b: 1, api_key: 'sk' });
  });

  it('that has to be read is read by an armed call', async () => {
    const { order } = await sent({ ...posting('{}'), credentials: withJson });
    expect(order).toEqual(['armed']);
  });

  it.each([
    ['', 'empty'],
    ['[1]', 'not_object'],
    ['{"a":1,"a":2}', 'duplicate_key'],
    ['{"a":', 'syntax'],
    ['\ufeff{}', 'bom'],
    [`{"a":${'['.repeat(200)}${']'.repeat(200)}}`, 'too_deep'],
  ])('%j cannot take a field: %s, and nothing is sent', async (body, reason) => {
    const { result, seen } = await sent({ ...posting(body), credentials: withJson });
    expect(result).toEqual(err({ code: 'binding.body_invalid', reason }));
    expect(seen).toEqual([]);
  });

  it('above jsonBindingBodyBytesMax without a declared length is refused, and nothing is sent', async () => {
    const body = new Uint8Array(jsonBindingBodyBytesMax + 1);
    const { result, seen } = await sent({ ...posting(body), credentials: withJson });
    const bytesMax = jsonBindingBodyBytesMax;
    expect(result).toEqual(err({ code: 'payload.too_large', bytesMax, what: 'json_binding_body' }));
    expect(seen).toEqual([]);
  });

  it.each([
    ['counted', noCredentials],
    ['read for a binding', withJson],
  ])('that breaks while it is %s is the caller’s fault', async (_, credentials) => {
    const { result } = await sent({ ...posting(brokenBody('{"a":')), credentials }, untilAborted);
    expect(result).toEqual(err({ code: 'request.body_incomplete' }));
  });

  it('that breaks cancels the send before anything of it can end cleanly', async () => {
    const { cancel } = await sent(posting(brokenBody('{"a":')), untilAborted);
    expect(cancel.signal.aborted).toBe(true);
  });
});

describe('no answer', () => {
  it('a transport fault says the host, never the fault’s text', async () => {
    const { result } = await sent({}, () => Promise.reject(new Error('https://api.t/?key=sk')));
    expect(result).toEqual(err({ code: 'downstream.error', host: 'api.t' }));
  });

  it('the watchdog ends a silent upstream', async () => {
    const { result } = await sent({}, () => new Promise(() => undefined), true);
    expect(result).toEqual(err({ code: 'timeout.request', timeoutMs: 5_000 }));
  });

  it('and says the time that the body of the request had beside it', async () => {
    const parts = { ...posting('x'), declaredBytes: 2 * uploadBytesPerSecondMin };
    const { result } = await sent(parts, () => new Promise(() => undefined), true);
    expect(result).toEqual(err({ code: 'timeout.request', timeoutMs: 7_000 }));
  });

  it.each([101, 600, 999])('%i, which no Response carries, is none', async (status) => {
    // The constructor refuses what fetch gives.
    const answer = Object.defineProperty(new Response(null), 'status', { value: status });
    const { result } = await sent({}, async () => answer);
    expect(result).toEqual(err({ code: 'downstream.error', host: 'api.t' }));
  });

  it.each([200, 304, 404, 500, 599])('%i is an answer', async (status) => {
    const answer = new Response(null, { status });
    const { result } = await sent({}, async () => answer);
    expect(result.ok && result.value.answer).toBe(answer);
  });
});
