/** The DoH guard: what passes, what is refused, how long an answer lives, and who waits for whom. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  dohAnswer,
  dohEgressGuard,
  type ResolverFetch,
} from '../../../../src/adapters/egress/doh-resolver';
import {
  resolvedHostsMax,
  resolverAddressesMax,
  resolverAnswerBytesMax,
  resolverTimeoutMs,
} from '../../../../src/base/limits';
import { parseEgressAllow } from '../../../../src/domain/egress/allowance';

type Rows = readonly (readonly [type: number, data: string, ttlS: number])[];
type Family = 'A' | 'AAAA';
type Reply = (
  host: string,
  family: Family,
  init: Parameters<ResolverFetch>[1],
) => Response | Promise<Response>;

const passed = { ok: true, value: undefined };
const blocked = { ok: false, error: { code: 'egress.blocked', host: 'api.t' } };
const unresolved = { ok: false, error: { code: 'egress.unresolved', host: 'api.t' } };

const dns = (rows: Rows, status = 0, more: object = {}) =>
  new Response(
    JSON.stringify({
      Status: status,
      Answer: rows.map(([type, data, TTL]) => ({ name: 'x', type, TTL, data })),
      ...more,
    }),
  );
const a = (data: string, ttlS = 60) => [1, data, ttlS] as const;
const aaaa = (data: string, ttlS = 60) => [28, data, ttlS] as const;
/** One reply per family. */
const zone =
  (v4: Rows, v6: Rows = []): Reply =>
  (_, family) =>
    dns(family === 'A' ? v4 : v6);

function guardOver(reply: Reply, allowText = '') {
  const allow = parseEgressAllow(allowText);
  if (!allow.ok) throw new Error(allow.error);
  const asked: string[] = [];
  const state = { reply };
  const work: Promise<unknown>[] = [];
  const fetch: ResolverFetch = async (url, init) => {
    const query = new URL(url).searchParams;
    const family = query.get('type') === 'AAAA' ? 'AAAA' : 'A';
    asked.push(`${query.get('name')} ${family}`);
    return state.reply(query.get('name') ?? '', family, init);
  };
  const guard = dohEgressGuard({
    fetch,
    resolverUrl: 'https://resolver.t/dns-query?ct=1',
    allow: allow.value,
  });
  const check = (nowMs: number, host = 'api.t') =>
    guard.check(host, 443, 'name', nowMs, (p) => work.push(p));
  return { guard, check, asked, work, state };
}

describe('one answer', () => {
  it.each([
    ['one public address', zone([a('8.8.8.8')])],
    ['IPv6 only', zone([], [aaaa('2606:4700::1')])],
    ['both families', zone([a('8.8.8.8'), a('9.9.9.9')], [aaaa('2606:4700::1')])],
    ['a CNAME with a public end', zone([[5, 'internal.corp.', 60], a('8.8.8.8')])],
    [
      'one family says NXDOMAIN',
      (_: string, f: Family) => (f === 'A' ? dns([a('8.8.8.8')]) : dns([], 3)),
    ],
    [
      'one family has no Answer member',
      (_: string, f: Family) => (f === 'A' ? dns([a('8.8.8.8')]) : new Response('{"Status":0}')),
    ],
  ])('%s passes', async (_, reply) => expect(await guardOver(reply).check(0)).toEqual(passed));

  it.each([
    ['a private address first', zone([a('127.0.0.1'), a('8.8.8.8')])],
    ['a private address last', zone([a('8.8.8.8'), a('127.0.0.1')])],
    ['a private AAAA beside a public A', zone([a('8.8.8.8')], [aaaa('::1')])],
    ['a private A beside a public AAAA', zone([a('169.254.169.254')], [aaaa('2606:4700::1')])],
    ['an IPv4-mapped AAAA', zone([a('8.8.8.8')], [aaaa('::ffff:10.0.0.1')])],
    ['NAT64', zone([], [aaaa('64:ff9b::808:808')])],
    ['a private A at the end of a CNAME', zone([[5, 'x.t.', 60], a('10.0.0.1')])],
    ['an A record in the AAAA answer', zone([a('8.8.8.8')], [a('10.0.0.1')])],
    ['an address that cannot be read', zone([a('8.8.8.8'), a('127.1')])],
    [
      'a private address when the other family fails',
      (_: string, f: Family) =>
        f === 'A' ? dns([a('10.0.0.1')]) : new Response('', { status: 500 }),
    ],
  ])('C046: %s is blocked', async (_, reply) =>
    expect(await guardOver(reply).check(0)).toEqual(blocked),
  );

  const oneBad =
    (bad: () => Response | Promise<Response>): Reply =>
    (_, family) =>
      family === 'A' ? dns([a('8.8.8.8')]) : bad();
  it.each([
    ['NXDOMAIN', () => dns([], 3)],
    ['no address', () => dns([])],
    ['only a CNAME', () => dns([[5, 'x.t.', 60]])],
    ['SERVFAIL in one family', oneBad(() => dns([], 2))],
    ['a status that is no number', oneBad(() => new Response('{"Status":"0"}'))],
    ['HTTP 500 in one family', oneBad(() => new Response('{"Status":0}', { status: 500 }))],
    [
      'a redirect',
      oneBad(() => new Response(null, { status: 302, headers: { location: 'https://evil.t/' } })),
    ],
    ['no body', oneBad(() => new Response(null))],
    ['bad JSON', oneBad(() => new Response('{"Status":0,'))],
    ['JSON that is no object', oneBad(() => new Response('[]'))],
    ['an Answer that is no list', oneBad(() => new Response('{"Status":0,"Answer":{}}'))],
    ['bytes that are no UTF-8', oneBad(() => new Response(new Uint8Array([0x7b, 0xff, 0x7d])))],
    ['a truncated message', oneBad(() => dns([aaaa('2606:4700::1')], 0, { TC: true }))],
    [
      'an oversized body',
      oneBad(() => dns([], 0, { Comment: 'x'.repeat(resolverAnswerBytesMax) })),
    ],
    ['a transport fault', oneBad(() => Promise.reject(new TypeError('reset')))],
    [
      'too many addresses',
      () => dns(Array.from({ length: resolverAddressesMax / 2 + 1 }, () => a('8.8.8.8'))),
    ],
  ])('C046: %s is unresolved, which is a refusal', async (_, reply) =>
    expect(await guardOver(reply).check(0)).toEqual(unresolved),
  );

  it('a fetch that throws at once is a refusal, not an exception', async () => {
    const fetch = () => {
      throw new Error('no network');
    };
    const guard = dohEgressGuard({
      fetch,
      resolverUrl: 'https://resolver.t/',
      allow: { pairs: new Set() },
    });
    expect(await guard.check('api.t', 443, 'name', 0, () => {})).toEqual(unresolved);
  });

  it('A and AAAA are asked side by side, by the JSON API, past every cache, without following redirects', async () => {
    const seen: unknown[] = [];
    const { check, asked } = guardOver((_, family, init) => {
      seen.push({ accept: init.headers.accept, redirect: init.redirect, cf: init.cf });
      return zone([a('8.8.8.8')])('', family, init);
    });
    const pending = check(0);
    expect(asked).toEqual(['api.t A', 'api.t AAAA']);
    await pending;
    const want = { accept: 'application/dns-json', redirect: 'manual', cf: { cacheTtl: -1 } };
    expect(seen).toEqual([want, want]);
  });

  it('fetch is called without a receiver, as workerd demands', async () => {
    let receiver: unknown = 'unset';
    function fetch(this: unknown): Promise<Response> {
      receiver = this;
      return Promise.resolve(dns([a('8.8.8.8')]));
    }
    const guard = dohEgressGuard({
      fetch,
      resolverUrl: 'https://resolver.t/',
      allow: { pairs: new Set() },
    });
    await guard.check('api.t', 443, 'name', 0, () => {});
    expect(receiver).toBeUndefined();
  });
});

describe('what needs no resolver', () => {
  it('a public address passes and a private one is blocked, without a look-up', () => {
    const { guard, asked } = guardOver(zone([]));
    expect(guard.check('8.8.8.8', 443, 'address', 0, () => {})).toEqual(passed);
    expect(guard.check('2606:4700::1', 443, 'address', 0, () => {})).toEqual(passed);
    expect(guard.check('10.0.0.1', 443, 'address', 0, () => {})).toMatchObject({
      ok: false,
      error: { code: 'egress.blocked' },
    });
    expect(asked).toEqual([]);
  });

  it('an allowed pair passes only while the allowance still names it', () => {
    const { guard } = guardOver(zone([]), '127.0.0.1:9000');
    expect(guard.check('127.0.0.1', 9000, 'allowed', 0, () => {})).toEqual(passed);
    expect(guard.check('127.0.0.1', 9001, 'allowed', 0, () => {})).toMatchObject({
      ok: false,
      error: { code: 'egress.blocked' },
    });
  });
});

describe('time', () => {
  it('a warm hit answers at once, without a promise and without a look-up', async () => {
    const { check, asked, work } = guardOver(zone([a('8.8.8.8')]));
    await check(0);
    expect(check(1_000)).toEqual(passed);
    expect(asked.length).toBe(2);
    expect(work.length).toBe(0);
  });

  it.each([
    ['the floor of 30 s', 0, 30_000],
    ['its own TTL', 100, 100_000],
    ['the ceiling of 300 s', 86_400, 300_000],
    ['the floor when the TTL is negative', -5, 30_000],
  ])('an answer lives for %s, then it is awaited again', async (_, ttlS, lifeMs) => {
    const { check } = guardOver(zone([a('8.8.8.8', ttlS)], [aaaa('2606:4700::1', 400)]));
    await check(0);
    expect(check(lifeMs - 1)).toEqual(passed);
    expect(check(lifeMs)).toBeInstanceOf(Promise);
  });

  it('the shortest TTL of the whole chain counts', () => {
    const message = {
      Status: 0,
      Answer: [
        { type: 5, TTL: 40, data: 'x' },
        { type: 1, TTL: 90, data: '8.8.8.8' },
      ],
    };
    expect(dohAnswer(message)).toEqual({ addresses: ['8.8.8.8'], ttlMs: 40_000 });
  });

  it('C047: past half of its life it is refreshed behind the answer, and a name that turned private is blocked', async () => {
    const { check, work, state, asked } = guardOver(zone([a('8.8.8.8', 60)]));
    await check(0);
    expect(check(29_999)).toEqual(passed);
    expect(work.length).toBe(0);
    state.reply = zone([a('127.0.0.1', 0)]);
    expect(check(30_000)).toEqual(passed);
    expect(check(30_001)).toEqual(passed);
    expect([work.length, asked.length]).toEqual([1, 4]);
    await Promise.all(work);
    expect(check(30_002)).toEqual(blocked);
  });

  it('a refresh whose request vanished is started again after twice the resolver timeout', async () => {
    const { check, work, state } = guardOver(zone([a('8.8.8.8', 60)]));
    await check(0);
    state.reply = () => new Promise<Response>(() => {});
    check(30_000);
    check(30_000 + resolverTimeoutMs * 2 - 1);
    expect(work.length).toBe(1);
    check(30_000 + resolverTimeoutMs * 2);
    expect(work.length).toBe(2);
  });

  it('a failed refresh leaves the known answer until its end', async () => {
    const { check, work, state } = guardOver(zone([a('8.8.8.8', 60)]));
    await check(0);
    state.reply = () => new Response('', { status: 503 });
    check(30_000);
    await Promise.all(work);
    expect(check(59_999)).toEqual(passed);
    expect(await check(60_000)).toEqual(unresolved);
  });

  it('a failure is remembered for 5 s and no longer', async () => {
    const { check, state, work } = guardOver(() => new Response('', { status: 503 }));
    await check(0);
    state.reply = zone([a('8.8.8.8')]);
    expect(check(4_999)).toEqual(unresolved);
    expect(work.length).toBe(0);
    expect(await check(5_000)).toEqual(passed);
  });

  it('every waiting request makes its own look-up and none waits for another', async () => {
    const held: ((response: Response) => void)[] = [];
    const { check, asked } = guardOver(
      () => new Promise<Response>((release) => held.push(release)),
    );
    void check(0);
    const second = check(1);
    expect(asked.length).toBe(4);
    for (const release of held.slice(2)) release(dns([a('8.8.8.8')]));
    expect(await second).toEqual(passed);
    expect(check(2)).toEqual(passed);
  });

  it('a late answer to an older question does not replace a newer one', async () => {
    const held: ((response: Response) => void)[] = [];
    const { check } = guardOver(() => new Promise<Response>((release) => held.push(release)));
    const first = check(0);
    const second = check(1);
    for (const release of held.slice(2)) release(dns([a('10.0.0.1')]));
    await second;
    for (const release of held.slice(0, 2)) release(dns([a('8.8.8.8')]));
    expect(await first).toEqual(passed);
    expect(check(2)).toEqual(blocked);
  });

  it('the cache is bounded and the name that was asked longest ago goes first', async () => {
    const { check } = guardOver(zone([a('8.8.8.8')]));
    for (let i = 0; i <= resolvedHostsMax; i += 1) await check(0, `h${i}.t`);
    expect(check(1, 'h0.t')).toBeInstanceOf(Promise);
    expect(check(1, `h${resolvedHostsMax}.t`)).toEqual(passed);
  });
});

describe('a resolver that does not answer', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ['no headers', () => new Promise<Response>(() => {})],
    [
      'a body that stops',
      () =>
        new Response(
          new ReadableStream({
            type: 'bytes',
            start: (c) => c.enqueue(new TextEncoder().encode('{')),
          }),
        ),
    ],
  ])('%s: the call is refused when the time is over, and the signal fires', async (_, hang) => {
    const signals: AbortSignal[] = [];
    const { check } = guardOver((_host, _family, init) => {
      signals.push(init.signal);
      return hang();
    });
    const pending = check(0);
    await vi.advanceTimersByTimeAsync(resolverTimeoutMs);
    expect(await pending).toEqual(unresolved);
    expect(signals.every((signal) => signal.aborted)).toBe(true);
  });

  it('no timer is left behind by a look-up that was answered', async () => {
    await guardOver(zone([a('8.8.8.8')])).check(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
