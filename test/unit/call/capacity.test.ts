/** Capacity on the road: who is admitted, on which account, when, and what is told of the answer. */
import { describe, expect, it } from 'vitest';
import {
  capacityBodyHeadBytesMax,
  capacityRequestCharsMax,
  probeIntervalMs,
  spacerWaitMsMax,
} from '../../../src/base/limits-capacity';
import { err, ok } from '../../../src/base/result';
import { reserve } from '../../../src/call/06-reserve';
import { guard } from '../../../src/call/07-guard';
import type { CatalogCall, GuardedCall } from '../../../src/call/call';
import {
  admitCapacity,
  noteAnswer,
  refusalAfter,
  signalOf,
  takePlace,
  triggerOf,
  unsent,
} from '../../../src/call/capacity';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import type { Refusal } from '../../../src/domain/refusal';
import { perCall } from '../domain/pricing/prices';
import {
  account,
  answered,
  authorized,
  backgroundOf,
  catalogCall,
  guarded,
  noCredentials,
  reserved,
  scan,
  startMs,
  unavailable,
} from './calls';
import {
  capacityPorts,
  healthy,
  type KnownCapacity,
  locked,
  NotedCapacity,
} from './capacity-ports';
import { near } from './catalog-ports';
import { NotedDesk, NotedTasks } from './desk';

const row: Partial<CatalogEndpoint> = { cost: perCall(70) };
const twoAccounts = { accounts: [account(), account('b')] };
const paid = (parts: Partial<CatalogCall> = {}) => catalogCall(row, parts);

async function admit(known: KnownCapacity, catalog = paid(), key: string | null = null) {
  const capacity = new NotedCapacity(known);
  const admitted = await admitCapacity(
    authorized({ catalog }),
    catalog,
    { key, task: null },
    capacityPorts(capacity),
    backgroundOf(),
  );
  const labels = admitted.ok ? admitted.value.accounts.map(({ label }) => label) : admitted.error;
  return { labels, probe: admitted.ok ? admitted.value.probe : null, asked: capacity.asked };
}

describe('a call is admitted', () => {
  it.each([
    ['nothing is known', { view: null }],
    ['the provider is well', { view: healthy }],
    ['another endpoint is locked', { view: locked('vendor.other', { kind: 'quota' }) }],
    ['another account is locked', { view: locked('vendor#x') }],
  ])('without an object call when %s', async (_, known) => {
    expect(await admit(known)).toEqual({ labels: ['primary'], probe: null, asked: [] });
  });

  it('on the accounts that are not out', async () => {
    const { labels } = await admit({ view: locked('vendor') }, paid(twoAccounts));
    expect(labels).toEqual(['b']);
  });

  it('as the probe of the lock that is due, on its account', async () => {
    const grant = { id: 'call_1', lockId: 'lock_1' };
    const view = locked('vendor', { nextProbeInMs: 0 });
    const found = await admit({ view, grant });
    expect(found).toEqual({
      labels: ['primary'],
      probe: grant,
      asked: [['probe', 'vendor', { id: 'call_1', lockId: 'lock_1' }]],
    });
  });

  it('as the probe of one of several accounts: on no other', async () => {
    const due = locked('vendor#b', { id: 'lock_b', nextProbeInMs: 0 });
    const view = { ...due, locks: [...locked('vendor').locks, ...due.locks] };
    const grant = { id: 'call_1', lockId: 'lock_b' };
    const { labels, probe } = await admit({ view, grant }, paid(twoAccounts));
    expect([labels, probe]).toEqual([['b'], grant]);
  });

  it.each([
    ['the lock is gone', healthy, ['primary', 'b']],
    ['one account is free again', locked('vendor'), ['b']],
  ])('when the no to its question says that %s', async (_, news, accounts) => {
    const both = [...locked('vendor').locks, ...locked('vendor#b', { nextProbeInMs: 0 }).locks];
    const view = { ...healthy, locks: both };
    const found = await admit({ view, grant: null, news }, paid(twoAccounts));
    expect(found).toMatchObject({ labels: accounts, probe: null });
  });

  it('a free route, whatever the balance', async () => {
    const catalog = catalogCall({ cost: { kind: 'free' } });
    expect((await admit({ view: locked('vendor') }, catalog)).labels).toEqual(['primary']);
  });
});

describe('a call is refused', () => {
  const out = {
    code: 'provider_capacity',
    provider: 'vendor',
    endpointId: 'vendor.search',
    reason: 'balance',
    resetsAtMs: startMs + 3_599_000,
    retryAfterMs: 59_000,
    alternatives: near.alternatives,
  };

  it('with the reason, the reset and what else does the same, when no probe is due', async () => {
    const { labels, asked } = await admit({ view: locked('vendor') });
    // The stand-in catalog knows this row.
    expect(labels).toMatchObject({ ...out });
    expect(asked).toEqual([]);
  });

  it('when another call is the probe', async () => {
    const { labels } = await admit({ view: locked('vendor', { nextProbeInMs: 0 }), grant: null });
    expect(labels).toMatchObject({ code: 'provider_capacity', reason: 'balance' });
  });

  it('without a reset when nobody says one', async () => {
    const reading = { observedAtMs: startMs, state: 'exhausted', resetsAtMs: null } as const;
    const view = { ...healthy, reading: { ...reading, endsInMs: null, nextProbeInMs: 7 } };
    const { labels } = await admit({ view });
    expect(labels).toMatchObject({ reason: 'reading', resetsAtMs: null, retryAfterMs: 7 });
  });

  it('also when nobody knows what else does the same; that is asked again, what is known is not', async () => {
    const capacity = new NotedCapacity({ view: locked('vendor') });
    const catalog = paid();
    const answers = [err(unavailable), ok(near)];
    const ports = {
      ...capacityPorts(capacity),
      catalog: { endpoint: () => ok(null), near: () => answers.shift() ?? err(unavailable) },
    };
    const pins = { key: null, task: null };
    const shown = [];
    for (let i = 0; i < 3; i += 1) {
      const call = authorized({ catalog });
      const no = await admitCapacity(call, catalog, pins, ports, backgroundOf());
      shown.push(!no.ok && no.error.code === 'provider_capacity' && no.error.alternatives);
    }
    expect(shown).toEqual([[], near.alternatives, near.alternatives]);
  });

  it('when its key’s account is out, though another is not', async () => {
    const catalog = paid(twoAccounts);
    const views = { primary: locked('vendor'), b: locked('vendor#b') };
    const found = await Promise.all(
      Object.values(views).map(async (view) => (await admit({ view }, catalog, 'k')).labels),
    );
    expect(found.filter((one) => Array.isArray(one))).toHaveLength(1);
    expect(found.filter((one) => !Array.isArray(one))).toMatchObject([
      { code: 'provider_capacity' },
    ]);
  });
});

describe('stage 06 with an account that is out', () => {
  const run = async (
    parts: Parameters<typeof authorized>[0],
    known = { outcome: 'fresh' } as Parameters<typeof capacityPorts>[1],
  ) => {
    const capacity = new NotedCapacity({ view: locked('vendor') });
    const desk = new NotedDesk();
    const ports = {
      ...capacityPorts(capacity, known),
      desk,
      replayBodies: null,
      tasks: new NotedTasks(),
    };
    const result = await reserve(authorized({ catalog: paid(), ...parts }), ports, backgroundOf());
    return { result, desk, asked: capacity.asked };
  };
  const keyed = { headers: scan({ idempotencyKey: 'k' }) };
  const answer = {
    status: 200,
    headers: [],
    body: new Uint8Array(),
    bodyRef: null,
    bodyBytes: 0,
    costMicros: 1,
  };

  it('holds nothing', async () => {
    const { result, desk } = await run({});
    expect(result).toMatchObject({ ok: false, error: { code: 'provider_capacity' } });
    expect(desk.places).toEqual([]);
  });

  it('gives a recorded answer again', async () => {
    const { result, asked } = await run(keyed, { outcome: 'replay', answer });
    expect(result).toEqual({ ok: true, value: { replay: answer } });
    expect(asked).toEqual([['peek']]);
  });

  it.each(['mismatch', 'in_progress'] as const)('says that a key is %s', async (outcome) => {
    const { result } = await run(keyed, { outcome });
    expect(result).toMatchObject({ error: { code: `idempotency.${outcome}` } });
  });

  it('refuses a fresh key and claims nothing', async () => {
    const { result, desk } = await run(keyed);
    expect(result).toMatchObject({ error: { code: 'provider_capacity' } });
    expect(desk.places).toEqual([]);
  });
});

describe('a place', () => {
  const rate = { limit: 30, windowMs: 1_000 };
  const take = async (
    known: KnownCapacity,
    catalog: CatalogCall,
    enforced: readonly string[] = [],
  ) => {
    const capacity = new NotedCapacity(known);
    const ports = { ...capacityPorts(capacity), rateEnforced: new Set(enforced) };
    const call = reserved({ catalog, capacity: { accounts: catalog.accounts, probe: null } });
    return { taken: await takePlace(call, catalog, ports), asked: capacity.asked };
  };

  it('costs no object call without a declared rate; accounts take turns', async () => {
    const catalog = paid(twoAccounts);
    const used = new Set<string>();
    for (let i = 0; i < 4; i += 1) {
      const { taken, asked } = await take({}, catalog);
      if (taken.ok) used.add(taken.value.account.label);
      expect(asked).toEqual([]);
    }
    expect([...used].sort()).toEqual(['b', 'primary']);
  });

  it.each([
    ['the provider', {}, { rate }, 'vendor'],
    ['the endpoint, which is a bucket of its own', { rate }, {}, 'vendor.search'],
  ])('is asked for in the bucket of %s', async (_, ofRow, ofProvider, bucket) => {
    const catalog = catalogCall({ ...row, ...ofRow }, twoAccounts);
    const entry = { ...catalog.entry, provider: { ...catalog.entry.provider, ...ofProvider } };
    const slot = { outcome: 'go', account: 'b', waitMs: 120 } as const;
    const { taken, asked } = await take({ slot }, { ...catalog, entry }, [bucket]);
    expect(taken).toMatchObject({
      value: { account: { label: 'b' }, waitMs: 120, takenAt: 'vendor' },
    });
    const candidates = [
      { account: 'primary', bucket },
      { account: 'b', bucket: `${bucket}#b` },
    ];
    const op = {
      id: 'call_1',
      candidates,
      rate,
      waitMsMax: spacerWaitMsMax,
      isEnforced: true,
      isSpaced: true,
    };
    expect(asked).toEqual([['take', 'vendor', op]]);
  });

  it.each([
    ['without a rate', {}],
    ['with one', { rate }],
    ['with one, of an object that names another account', { rate }, 'primary'],
  ])('is taken on the admitted accounts only, %s', async (_, ofRow, account = 'b') => {
    const catalog = catalogCall({ ...row, ...ofRow }, twoAccounts);
    const capacity = new NotedCapacity({ slot: { outcome: 'go', account, waitMs: 0 } });
    const accounts = catalog.accounts.slice(1);
    const call = reserved({ catalog, capacity: { accounts, probe: null } });
    for (let i = 0; i < 2; i += 1) {
      const taken = await takePlace(call, catalog, capacityPorts(capacity));
      expect(taken).toMatchObject({ value: { account: { label: 'b' } } });
    }
    const bucket = { account: 'b', bucket: 'vendor.search#b' };
    const asked = { candidates: [bucket], isEnforced: false };
    const { length } = Object.keys(ofRow);
    expect(capacity.asked).toMatchObject(
      Array.from({ length: 2 * length }, () => ['take', 'vendor', asked]),
    );
  });

  it('is refused with the wait of a full window', async () => {
    const { taken } = await take(
      { slot: { outcome: 'refused', retryAfterMs: 700 } },
      catalogCall({ ...row, rate }),
    );
    expect(taken).toEqual({
      ok: false,
      error: { code: 'provider_rate_limited', provider: 'vendor', retryAfterMs: 700 },
    });
  });

  it('is not needed when nobody answers', async () => {
    const { taken } = await take({ slot: null }, catalogCall({ ...row, rate }));
    expect(taken).toMatchObject({ value: { waitMs: 0, takenAt: null } });
  });

  it('is given back when the credential cannot be opened', async () => {
    const capacity = new NotedCapacity({ slot: { outcome: 'go', account: 'primary', waitMs: 0 } });
    const refusal = { code: 'credential.unavailable', reason: 'injector' } as const;
    const catalog = catalogCall({ ...row, rate });
    const call = reserved({ catalog, capacity: { accounts: catalog.accounts, probe: null } });
    const ports = {
      ...capacityPorts(capacity),
      egress: { check: () => ({ ok: true, value: undefined }) as const },
      egressPolicy: { allow: { pairs: new Set<string>() }, gatewayHosts: [], httpsOnly: true },
      credentials: { prepare: () => ({ ok: false, error: refusal }) as const },
      sign: async () => new Uint8Array(32),
    };
    expect(await guard(call, ports, backgroundOf())).toEqual({ ok: false, error: refusal });
    expect(capacity.asked.at(-1)).toEqual(['giveBack', 'vendor', 'call_1']);
  });

  it('and the probe are given back when the credential cannot be opened', async () => {
    const probe = { id: 'call_1', lockId: 'lock_1' };
    const capacity = new NotedCapacity({ slot: { outcome: 'go', account: 'primary', waitMs: 0 } });
    const refusal = { code: 'credential.unavailable', reason: 'injector' } as const;
    const catalog = catalogCall({ ...row, rate });
    const call = reserved({ catalog, capacity: { accounts: catalog.accounts, probe } });
    const ports = {
      ...capacityPorts(capacity),
      egress: { check: () => ({ ok: true, value: undefined }) as const },
      egressPolicy: { allow: { pairs: new Set<string>() }, gatewayHosts: [], httpsOnly: true },
      credentials: { prepare: () => ({ ok: false, error: refusal }) as const },
      sign: async () => new Uint8Array(32),
    };
    await guard(call, ports, backgroundOf());
    expect(capacity.asked.slice(-2)).toEqual([
      ['giveBack', 'vendor', 'call_1'],
      ['giveBackProbe', 'vendor', probe],
    ]);
  });

  it('is waited for, and shown', async () => {
    const capacity = new NotedCapacity({ slot: { outcome: 'go', account: 'primary', waitMs: 40 } });
    const catalog = catalogCall({ ...row, rate });
    const call = reserved({ catalog, capacity: { accounts: catalog.accounts, probe: null } });
    const ports = {
      ...capacityPorts(capacity),
      egress: { check: () => ({ ok: true, value: undefined }) as const },
      egressPolicy: { allow: { pairs: new Set<string>() }, gatewayHosts: [], httpsOnly: true },
      credentials: { prepare: () => ({ ok: true, value: noCredentials }) as const },
      sign: async () => new Uint8Array(32),
    };
    const guarded = await guard(call, ports, backgroundOf());
    expect(guarded).toMatchObject({
      value: { account: 'primary', smoothed: { waitMs: 40, resent: false } },
    });
    expect(capacity.asked.at(-1)).toEqual(['sleep', 40]);
  });
});

describe('a call that is not sent after all', () => {
  const rate = { limit: 30, windowMs: 1_000 };
  const probe = { id: 'call_1', lockId: 'lock_1' };
  const place = ['giveBack', 'vendor', 'call_1'];
  const ofProvider = () => {
    const catalog = paid();
    const { entry } = catalog;
    return { ...catalog, entry: { ...entry, provider: { ...entry.provider, rate } } };
  };
  const pass = { accounts: [account()], probe: null };
  const probing = { ...pass, probe };

  it.each<[name: string, parts: Partial<GuardedCall>, given: readonly unknown[]]>([
    ['its place, by the rate of the row', { catalog: catalogCall({ rate }) }, [place]],
    ['its place, by the rate of the provider', { catalog: ofProvider(), capacity: pass }, [place]],
    [
      'its probe, where no rate is declared',
      { catalog: paid(), capacity: probing },
      [['giveBackProbe', 'vendor', probe]],
    ],
    [
      'both',
      { catalog: ofProvider(), capacity: probing },
      [place, ['giveBackProbe', 'vendor', probe]],
    ],
    ['nothing, when it took none', { catalog: paid(), capacity: pass }, []],
    ['nothing, with a credential of its caller', { catalog: { ...ofProvider(), tier: 2 } }, []],
    ['nothing, to an upstream as it is registered', { catalog: null }, []],
  ])('gives back %s', (_, parts, given) => {
    const capacity = new NotedCapacity();
    unsent(guarded(parts), capacityPorts(capacity), backgroundOf());
    expect(capacity.asked).toEqual(given);
  });
});

describe('an answer', () => {
  const note = (
    status: number,
    body: string | null = null,
    parts: Parameters<typeof answered>[0] = {},
  ) => {
    const capacity = new NotedCapacity();
    const catalog = paid();
    const call = answered({
      catalog,
      account: 'b',
      answer: new Response(body, { status }),
      ...parts,
    });
    const signal = status < 400 ? null : signalOf(call, catalog, body, startMs);
    noteAnswer(call, catalog, signal, capacityPorts(capacity), backgroundOf());
    return capacity.asked;
  };
  const place = { id: 'call_1', account: 'b', endpointId: 'vendor.search' };

  it('402 strikes the account that answered', () => {
    expect(note(402)).toEqual([
      ['strike', 'vendor', { ...place, kind: 'balance', resetsInMs: null }],
    ]);
  });

  it('429 that says to wait longer than a burst strikes the quota until then', () => {
    const answer = new Response('{}', { status: 429, headers: { 'retry-after': '120' } });
    expect(note(429, '{}', { answer })).toEqual([
      ['strike', 'vendor', { ...place, kind: 'quota', resetsInMs: 120_000 }],
    ]);
  });

  it('2xx is told with the probe that it was', () => {
    const probe = { id: 'call_1', lockId: 'lock_1' };
    const capacity = { accounts: [], probe };
    const told = { ...place, spendsBalance: true, probe };
    expect(note(200, null, { capacity })).toEqual([['ok', 'vendor', told]]);
  });

  it.each([300, 302, 400, 401, 403, 404, 413, 422, 429, 500, 503])(
    'C073: %d strikes nothing',
    (status) => {
      expect(note(status, '{"error":"no"}')).toEqual([]);
    },
  );

  it('is read as far as capacityBodyHeadBytesMax', () => {
    const lusha = (text: string) => {
      const catalog = paid();
      const provider = { ...catalog.entry.provider, slug: 'lusha' };
      const call = answered({ catalog, answer: new Response(text, { status: 400 }) });
      return signalOf(call, { ...catalog, entry: { ...catalog.entry, provider } }, text, startMs);
    };
    const said = '"message":"You have reached your credit limit"}';
    const behind = (chars: number): string => `{"pad":"${'x'.repeat(chars)}",${said}`;
    expect(lusha(behind(capacityBodyHeadBytesMax - 100))?.kind).toBe('balance');
    expect(lusha(behind(capacityBodyHeadBytesMax))?.kind).not.toBe('balance');
  });

  const said = 'reached your credit limit';
  const byLusha = (parts: Parameters<typeof answered>[0]) => {
    const catalog = paid();
    const entry = { ...catalog.entry, provider: { ...catalog.entry.provider, slug: 'lusha' } };
    const text = `{"message":"You have ${said}"}`;
    const answer = new Response(text, { status: 400 });
    const call = answered({ catalog, answer, ...parts });
    return signalOf(call, { ...catalog, entry }, text, startMs)?.kind;
  };

  it.each<[name: string, parts: Parameters<typeof answered>[0]]>([
    ['query', { query: 'a=1&q=reached+your+credit+limit' }],
    ['query, percent-coded', { query: `q=${encodeURIComponent(said)}` }],
    ['query, beside an escape that is none', { query: 'a=%zz&q=reached+your+credit+limit' }],
    ['path', { sentPath: `/v1/${encodeURIComponent(said)}` }],
    ['path, before a query', { sentPath: `/v1/${encodeURIComponent(said)}`, query: 'a=1' }],
    ['body', { sentBytes: new TextEncoder().encode(`${said} is what I typed`) }],
  ])('C074: a phrase that the caller wrote strikes nothing: in the %s', (_, parts) => {
    expect(byLusha(parts)).toBe('unrecorded');
  });

  it.each<[name: string, parts: Parameters<typeof answered>[0]]>([
    ['nothing of it', {}],
    ['a part of it', { query: 'q=your+credit', sentPath: '/v1/reached' }],
    [
      'it where nobody looks any more',
      { sentBytes: new TextEncoder().encode('x'.repeat(capacityRequestCharsMax) + said) },
    ],
  ])('C074: one that it did not write strikes: it wrote %s', (_, parts) => {
    expect(byLusha(parts)).toBe('balance');
  });
});

describe('what an aggregator may serve', () => {
  const out: Refusal = {
    code: 'provider_capacity',
    provider: 'v',
    endpointId: 'v.a',
    reason: 'balance',
    resetsAtMs: null,
    retryAfterMs: 1,
    overflow: null,
    alternatives: [],
  };
  const full: Refusal = { code: 'provider_rate_limited', provider: 'v', retryAfterMs: 1 };

  it.each([
    [out, { kind: 'skip_direct' }],
    [full, { kind: 'window' }],
  ])('%o', (refusal, trigger) => {
    expect(triggerOf(refusal)).toEqual(trigger);
  });

  it('no other refusal', () => {
    expect(
      triggerOf({ code: 'insufficient_balance', availableMicros: 0, requiredMicros: 1 }),
    ).toBeNull();
  });

  it('what failed there too is a 503 with alternatives for an empty account, and nothing for a burst', async () => {
    const signal = { waitMs: 1_000, because: 'x' };
    const refusalOf = (kind: 'balance' | 'burst') =>
      refusalAfter(paid(), { ...signal, kind }, capacityPorts(), backgroundOf());
    expect(await refusalOf('balance')).toMatchObject({
      code: 'provider_capacity',
      resetsAtMs: startMs + 1_000,
      retryAfterMs: probeIntervalMs,
      alternatives: near.alternatives,
    });
    expect(await refusalOf('burst')).toBeNull();
    const unsaid = { kind: 'balance', waitMs: null, because: 'x' } as const;
    const refusal = await refusalAfter(paid(), unsaid, capacityPorts(), backgroundOf());
    expect(refusal?.resetsAtMs).toBeNull();
  });
});
