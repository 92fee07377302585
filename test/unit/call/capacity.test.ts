/** Capacity on the road: who is admitted, on which account, when, and what is told of the answer. */
import { describe, expect, it } from 'vitest';
import {
  capacityBodyHeadBytesMax,
  probeIntervalMs,
  spacerWaitMsMax,
} from '../../../src/base/limits-capacity';
import { reserve } from '../../../src/call/06-reserve';
import { guard } from '../../../src/call/07-guard';
import type { CatalogCall } from '../../../src/call/call';
import {
  admitCapacity,
  noteAnswer,
  refusalAfter,
  signalOf,
  takePlace,
  triggerOf,
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
  noCredentials,
  reserved,
  scan,
  startMs,
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
    return { taken: await takePlace(call, catalog, ports, backgroundOf()), asked: capacity.asked };
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

  it('2xx is told with the probe that it was', () => {
    const probe = { id: 'call_1', lockId: 'lock_1' };
    const capacity = { accounts: [], probe };
    const told = { ...place, spendsBalance: true, probe };
    expect(note(200, null, { capacity })).toEqual([['ok', 'vendor', told]]);
  });

  it.each([400, 401, 403, 404, 413, 422, 429, 500, 503])('C073: %d strikes nothing', (status) => {
    expect(note(status, '{"error":"no"}')).toEqual([]);
  });

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

  it('C074: a phrase that the caller wrote strikes nothing', () => {
    const query = 'q=your+credit+balance+is+too+low%2C+insufficient_quota';
    const body =
      '{"error":{"message":"bad prompt: your credit balance is too low, insufficient_quota"}}';
    expect(note(400, body, { query })).toEqual([]);
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
  });
});
