/** The balance collector against a scripted vendor: what is sent, every way to fail, its deadline. Virtual time. */
import { describe, expect, it } from 'vitest';
import { BalanceCollector } from '../../../../src/adapters/egress/balance-collector';
import { collectorBodyBytesMax, collectorWaitMs } from '../../../../src/base/limits-capacity';
import { err, ok } from '../../../../src/base/result';
import type { BalanceRequest } from '../../../../src/domain/catalog/balance';
import type { EgressGuard } from '../../../../src/ports/egress';
import { heldTimers } from '../../../support/held-timers';
import { account, balanceCall } from '../../domain/capacity/accounts-under-test';

type Vendor = (url: string, init: RequestInit) => Response | Promise<Response>;

/** A collector whose vendor is scripted and whose deadline comes when the test says so. */
function world(vendor: Vendor) {
  const sent: { url: string; init: RequestInit }[] = [];
  const { time, timers } = heldTimers();
  const egress: EgressGuard = {
    check: (host) =>
      host.startsWith('private.') ? err({ code: 'egress.blocked', host }) : ok(undefined),
  };
  const collector = new BalanceCollector({
    send: async (url, init) => {
      sent.push({ url, init });
      return vendor(url, init);
    },
    egress,
    policy: { allow: { pairs: new Set() }, gatewayHosts: [], httpsOnly: true },
    time,
  });
  const collect = (parts: Partial<BalanceRequest> = {}, of = account()) =>
    collector.collect({
      account: of,
      call: balanceCall(parts),
      credential: 'the-key',
      background: () => undefined,
    });
  return { sent, timers, collect };
}

const json = (document: unknown, status = 200) => Response.json(document, { status });

describe('a balance', () => {
  it('is read with the credential, uncached, and no redirect is followed', async () => {
    const { sent, timers, collect } = world(() => json({ left: 5 }));
    expect(await collect()).toMatchObject({ ok: true, value: { remaining: 5 } });
    const [{ url, init } = { url: '', init: {} }] = sent;
    expect(url).toBe('https://api.vendor.example/v1/credits');
    const headers = new Headers(init.headers);
    expect(headers.get('authorization')).toBe('Bearer the-key');
    expect(headers.get('user-agent')).toBe('weir');
    expect(init).toMatchObject({ method: 'GET', redirect: 'manual', cf: { cacheTtl: -1 } });
    expect(timers).toEqual([]);
  });

  it('of an id that only the vendor knows is read in two steps', async () => {
    const { sent, collect } = world((url) =>
      json(url.endsWith('/projects') ? { projects: [{ id: 'p-1' }] } : { left: 5 }),
    );
    const lookup = { url: 'https://api.vendor.example/v1/projects', at: 'projects[0].id' };
    const url = 'https://api.vendor.example/v1/{id}/credits';
    expect(await collect({ lookup, url, method: 'POST' })).toMatchObject({ ok: true });
    expect(sent.map(({ url: to, init }) => `${init.method} ${to}`)).toEqual([
      'GET https://api.vendor.example/v1/projects',
      'POST https://api.vendor.example/v1/p-1/credits',
    ]);
  });

  it.each<[string, Vendor, string]>([
    ['a server error', () => json({ left: 5 }, 500), 'status_500'],
    ['a refused key', () => json({ left: 5 }, 401), 'status_401'],
    [
      'a redirect',
      () => new Response(null, { status: 302, headers: { location: 'https://x.example/' } }),
      'redirected',
    ],
    ['no JSON', () => new Response('<html>'), 'no_json'],
    ['no UTF-8', () => new Response(new Uint8Array([0xff, 0xfe])), 'no_json'],
    ['nothing', () => new Response(null, { status: 204 }), 'no_json'],
    ['another shape', () => json({ credits: 5 }), 'wrong_shape'],
    [
      'more than is read',
      () => new Response(`{"left":5,"x":"${'x'.repeat(collectorBodyBytesMax)}"}`),
      'too_large',
    ],
    ['a broken connection', () => Promise.reject(new Error('reset by secret-host')), 'unreachable'],
  ])('that fails by %s is a word of ours', async (_, vendor, error) => {
    expect(await world(vendor).collect()).toEqual({ ok: false, error });
  });

  it('stops reading an endless answer at its bound', async () => {
    const chunkBytes = 64 * 1024;
    const pulls = { n: 0, isCancelled: false };
    // A stream of bytes, as every body of fetch is.
    const endless = new ReadableStream({
      type: 'bytes',
      pull(controller) {
        pulls.n += 1;
        controller.enqueue(new Uint8Array(chunkBytes));
      },
      cancel() {
        pulls.isCancelled = true;
      },
    });
    const { collect } = world(() => new Response(endless));
    expect(await collect()).toEqual({ ok: false, error: 'too_large' });
    expect(pulls.n).toBeLessThan(collectorBodyBytesMax / chunkBytes + 4);
    expect(pulls.isCancelled).toBe(true);
  });

  it.each<[string, Vendor]>([
    ['an answer that never comes', () => new Promise(() => undefined)],
    ['an answer that never ends', () => new Response(new ReadableStream())],
  ])('does not wait for %s longer than its deadline, and hangs up', async (_, vendor) => {
    const { sent, timers, collect } = world(vendor);
    const reading = collect();
    while (sent.length === 0) await Promise.resolve();
    const [timer] = timers;
    expect(timer?.ms).toBe(collectorWaitMs);
    timer?.act();
    expect(await reading).toEqual({ ok: false, error: 'late' });
    expect(sent[0]?.init.signal?.aborted).toBe(true);
  });

  it('is not asked for at an address that is not public', async () => {
    const baseUrls = [
      { scheme: 'https', host: 'private.example.com', port: 443, basePath: '' } as const,
    ];
    const { sent, collect } = world(() => json({ left: 5 }));
    const url = 'https://private.example.com/credits';
    expect(await collect({ url }, account({ baseUrls }))).toEqual({
      ok: false,
      error: 'address_refused',
    });
    expect(sent).toEqual([]);
  });

  it('is not asked for where the look-up found no usable id', async () => {
    const { sent, collect } = world(() => json({ projects: [{ id: '../admin' }] }));
    const lookup = { url: 'https://api.vendor.example/v1/projects', at: 'projects[0].id' };
    const url = 'https://api.vendor.example/v1/{id}/credits';
    expect(await collect({ lookup, url })).toEqual({ ok: false, error: 'no_id' });
    expect(sent).toHaveLength(1);
  });
});
