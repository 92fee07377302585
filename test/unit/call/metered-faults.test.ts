/** Faults of the metered road that were found once: each of these was a wrong charge, a wrong byte or a wrong row. */
import { describe, expect, it, vi } from 'vitest';
import { ok } from '../../../src/base/result';
import { resolve } from '../../../src/call/03-resolve';
import { authorize } from '../../../src/call/04-authorize';
import { reserve } from '../../../src/call/06-reserve';
import { settle } from '../../../src/call/09-settle';
import type { CallServices } from '../../../src/call/run-call';
import type { Upstream } from '../../../src/domain/catalog/upstream';
import { judgeCaps } from '../../../src/domain/ledger/caps';
import { chatCost, meter, settled } from '../domain/pricing/prices';
import {
  answered,
  backgroundOf,
  binding,
  catalogCall,
  entryOf,
  identified,
  resolved,
  scan,
  taken,
  tenant,
  token,
  upstream,
} from './calls';
import { capacityPorts } from './capacity-ports';
import { catalogPorts } from './catalog-ports';
import { heldMoney, NotedDesk, NotedTasks } from './desk';
import { asking, play, woken } from './road-world';

const vendor = { accounts: [{ label: 'main', setting: 'VENDOR_KEY' }] };
const out = meter('out', ['usage.out'], {
  isRequired: true,
  reserve: [{ kind: 'fixed', units: 100 }],
});
const cost = {
  kind: 'usage',
  meters: [out],
  prices: [{ when: [], perMillionMicros: { out: 1_000_000 } }],
  ends: [{ kind: 'data', text: '[DONE]' }],
} as const;
const settlement = settled({ fallbackMicros: 30 });
const sse = { headers: { 'content-type': 'text/event-stream' } };
const told = (desk: NotedDesk) => desk.last.map(([op, , ...rest]) => [op, ...rest]);
const text = (chunk: string) => new TextEncoder().encode(chunk);

function stream() {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const quiet = (work: Promise<unknown>): void => void work.catch(() => undefined);
  const send: CallServices['send'] = async (_target, init) => {
    init.signal?.addEventListener('abort', () => quiet(writer.abort(new Error('off'))));
    return new Response(readable, sse);
  };
  return {
    send,
    write: (chunk: string) => quiet(writer.write(text(chunk))),
    close: () => quiet(writer.close()),
  };
}

// 1
const byModel = {
  kind: 'per_call',
  prices: [
    { when: [{ in: 'body', at: 'model', oneOf: ['dear'] }], priceMicros: 1000 },
    { when: [], priceMicros: 1 },
  ],
} as const;
it.each([
  ['that says it twice', '{"model":"dear","model":"dear"}', scan()],
  ['that is coded', '{"model":"dear"}', scan({ contentEncoding: true })],
  ['that is nested too deep', `{"model":"dear","x":${'['.repeat(70)}${']'.repeat(70)}}`, scan()],
])('a body %s does not get the price of one that asks for nothing', async (_, body, headers) => {
  const request = new Request('https://gw.test/call/vendor.search', { method: 'POST', body });
  for (const price of [byModel, chatCost]) {
    const catalog = catalogCall({}, { entry: entryOf({ method: 'POST', cost: price }) });
    const copy = request.clone();
    const allowed = await authorize(resolved({ ...taken({ request: copy }), headers, catalog }));
    if (!allowed.ok) continue;
    const desk = new NotedDesk();
    await reserve(
      allowed.value,
      { ...capacityPorts(), desk, replayBodies: null, tasks: new NotedTasks() },
      backgroundOf(),
    );
    expect(desk.places).toEqual([]);
  }
});

// 2
it('a stream of a row that is not billed when cancelled costs nothing when its client leaves', async () => {
  const client = new AbortController();
  const { send, write } = stream();
  const entry = entryOf({ cost, settlement, onClientDisconnect: 'cancel' }, vendor);
  const call = play(
    { found: [], entry, send },
    asking({ signal: client.signal }, '/call/vendor.search'),
  );
  const reader = (await call.answer).body?.getReader();
  await woken(call.watched);
  write('data: {"usage":{"out":5}}\n\n');
  await reader?.read();
  client.abort();
  await Promise.all(call.background.work);
  expect(told(call.desk)).toEqual([['release', 'call_cancelled']]);
});

// 3
it('an own secret follows its provider to another base URL', async () => {
  const kept = new Map<string, Upstream>();
  const ownSecret = (cacheKey: string, provider: string, make: (id: string) => Upstream) => {
    const name = `${provider} ${cacheKey}`;
    const made = kept.get(name) ?? make('sec_1');
    kept.set(name, made);
    return ok(made);
  };
  const hosts: string[] = [];
  for (const host of ['old.vendor.example', 'new.vendor.example']) {
    const { ports } = catalogPorts(
      entryOf({}, { baseUrls: [{ scheme: 'https', host, port: 443, basePath: '' }] }),
    );
    const call = identified({
      target: { kind: 'catalog', id: 'vendor.search' },
      path: '',
      tenant: { ...tenant(ok([])), ownSecret },
    });
    const result = await resolve(call, ports, backgroundOf());
    hosts.push(result.ok ? result.value.endpoint.host : result.error.code);
  }
  expect(hosts).toEqual(['old.vendor.example', 'new.vendor.example']);
});

// 4
it('a call that is only counted keeps the Accept-Encoding of its caller', async () => {
  let seen: string | null = null;
  const send: CallServices['send'] = async (_target, init) => {
    seen = new Headers(init.headers).get('accept-encoding');
    return new Response('ok');
  };
  const headers = { 'x-weir-key': token, 'accept-encoding': 'br' };
  await play({ key: { callCap: 3 }, send }, asking({ headers })).answer;
  expect(seen).toBe('br');
});

// 5
it('a keyed success that costs nothing was executed: its key is not free', async () => {
  const price = { kind: 'per_success', priceMicros: 70 } as const;
  const { endpoint } = entryOf({
    cost: { kind: 'per_success', prices: [{ when: [], priceMicros: 70 }] },
  });
  const { money, desk } = heldMoney({ recordId: 'idm_1', endpoint, price });
  const hold = { cancel: null, arm: () => undefined, armLater: () => undefined };
  const call = answered({ money, answer: new Response(null, { status: 204 }) });
  await settle(call, hold, { desk, tasks: new NotedTasks() }, backgroundOf());
  expect(desk.last.map(([op]) => op)).not.toContain('free');
});

// 6
describe('a call that reserves nothing', () => {
  const op = ['place', 'hld_1', 0, 'key_1', 3, null, null] as const;
  it.each([
    ['a balance below zero', { availableMicros: -5 }, null],
    ['a day whose settlements passed its cap', { settledTodayMicros: 70 }, 60],
  ])('is not refused by %s', (_, parts, dailyCapMicros) => {
    const tally = {
      settledTodayMicros: 0,
      callsToday: new Map(),
      budgets: [],
      endsAtMs: 0,
      ...parts,
    };
    const books = {
      availableMicros: 0,
      heldMicros: 0,
      config: { dailyCapMicros },
      tally,
      ...parts,
    };
    expect(judgeCaps(books as never, op)).toBeNull();
  });
});

// 7
it('a client that closes behind the last event has had it all: answered', async () => {
  const client = new AbortController();
  const { send, write, close } = stream();
  const call = play(
    { found: [], entry: entryOf({ cost, settlement }, vendor), send },
    asking({ signal: client.signal }, '/call/vendor.search'),
  );
  const reader = (await call.answer).body?.getReader();
  await woken(call.watched);
  await vi.waitUntil(() => call.background.work.length === 2);
  write('data: {"usage":{"out":55}}\n\ndata: [DONE]\n\n');
  await reader?.read();
  client.abort();
  close();
  await Promise.all(call.background.work);
  expect(call.rows).toMatchObject([{ outcome: 'answered', costMicros: 55 }]);
});

// 8
it('the row of a catalog call on an own upstream names that upstream', async () => {
  const own = upstream({
    id: 'ups_own',
    endpoints: [{ host: 'api.vendor.example', port: 443 }],
    basePath: '/v1',
    bindings: [binding()],
  });
  const call = play(
    { found: [], own: [own], entry: entryOf({}, vendor) },
    asking({}, '/call/vendor.search'),
  );
  await call.answer;
  expect(call.rows).toMatchObject([{ tier: 1, upstreamId: 'ups_own' }]);
});
