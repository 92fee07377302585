/**
 * D1Config: how old a configuration may be, who waits for the store, what is remembered and for how
 * long. Virtual clock.
 */
import { describe, expect, it, vi } from 'vitest';
import { D1Config } from '../../../../src/adapters/d1/config';
import type {
  ConfigReader,
  KeySnapshot,
  LoadedUpstream,
} from '../../../../src/adapters/d1/config-reader';
import {
  aliasCharsMax,
  configRetryMs,
  keyCacheMax,
  purgePauseMs,
  slugCharsMax,
  staleConfigMaxMs,
  tenantKeysMax,
  tenantLookupsMax,
  tenantViewsMax,
  unknownKeysMax,
  unknownKeyTtlMs,
} from '../../../../src/base/limits';
import { err, ok } from '../../../../src/base/result';
import type { Upstream } from '../../../../src/domain/catalog/upstream';
import type { Identity } from '../../../../src/ports/config';
import type { SealedSecret } from '../../../../src/ports/vault';
import { backgroundOf, key, startMs, unavailable, upstream } from '../../call/calls';

const ttlMs = 10_000;
const tokenOf = (n: number): string => `wk_1${String(n).padStart(42, '0')}`;
const unknown = err({ code: 'auth.failed', reason: 'unknown' });

const sealed = (id: string): SealedSecret => ({
  id,
  tenantId: 'ten_leaf',
  sealed: new Uint8Array(1),
  dataKeyVersion: 1,
  masterVersion: 1,
  wrappedDataKey: new Uint8Array(1),
});

/** What the store holds, and how it behaves. */
interface StoreState {
  version: number;
  down: boolean;
  revoked: boolean;
  expiresAtMs: number | null;
  known: boolean;
  /** The tenant of the n-th key that is read. */
  tenantOf: (read: number) => string;
  /** Set: key reads wait for it, with the answer that they had when they began. */
  gate: Promise<void> | null;
}

function world() {
  const state: StoreState = {
    version: 1,
    down: false,
    revoked: false,
    expiresAtMs: null,
    known: true,
    tenantOf: () => 'ten_leaf',
    gate: null,
  };
  const reads = { key: 0, chain: 0, upstreams: 0, secrets: 0 };
  const clock = { nowMs: startMs };
  const versionText = (): string => `v${state.version}`;
  const snapshot = (tenantId: string): KeySnapshot => ({
    chain: [tenantId, 'ten_root'],
    version: versionText(),
    ledger: { ledgerTenantId: tenantId, homeRegion: null },
    primaryDimension: 'team',
    allowsOverflow: true,
    denyRules: [],
    key: key({ tenantId, revoked: state.revoked, expiresAtMs: state.expiresAtMs }),
  });
  const reader: Pick<ConfigReader, 'key' | 'chain' | 'upstreams' | 'secretNamed'> = {
    async key() {
      const tenantId = state.tenantOf(reads.key);
      reads.key += 1;
      const answer = state.down ? null : state.known ? snapshot(tenantId) : ('unknown' as const);
      if (state.gate !== null) await state.gate;
      return answer;
    },
    async chain(tenantId) {
      reads.chain += 1;
      const ledger = { ledgerTenantId: tenantId, homeRegion: null };
      const chain = [tenantId, 'ten_root'];
      const primaryDimension = 'team';
      return state.down
        ? null
        : { chain, version: versionText(), ledger, primaryDimension, allowsOverflow: true };
    },
    async upstreams() {
      reads.upstreams += 1;
      if (state.down) return null;
      const found: LoadedUpstream[] = [{ upstream: upstream(), secrets: new Map() }];
      return { found, version: versionText() };
    },
    async secretNamed(_, name) {
      reads.secrets += 1;
      if (state.down) return null;
      return { found: name === 'none' ? null : sealed(`sec_${name}`), version: versionText() };
    },
  };
  const background = backgroundOf();
  const config = new D1Config({
    reader: reader as ConfigReader,
    mint: { genuine: async () => true },
    ttlMs,
    nowMs: () => clock.nowMs,
  });
  const identify = (n = 1) => config.identify(tokenOf(n), clock.nowMs, background);
  const warm = async (n = 1): Promise<Identity> => {
    const identity = await identify(n);
    if (!identity.ok) throw new Error(JSON.stringify(identity.error));
    return identity.value;
  };
  const at = (ageMs: number): void => {
    clock.nowMs = startMs + ageMs;
  };
  return { state, reads, clock, background, config, identify, warm, at };
}

describe('freshness', () => {
  it.each([0, 1, ttlMs / 2 - 1])(
    '%i ms old: at once, and the store is not asked',
    async (ageMs) => {
      const { reads, background, identify, warm, at } = world();
      const first = await warm();
      at(ageMs);
      expect(identify()).toEqual(ok(first));
      expect([reads, background.work.length]).toEqual([
        { key: 1, chain: 0, upstreams: 0, secrets: 0 },
        0,
      ]);
    },
  );

  it.each([ttlMs / 2, ttlMs - 1])(
    '%i ms old: at once, refreshed behind, once for all',
    async (ageMs) => {
      const { reads, background, identify, warm, at } = world();
      const first = await warm();
      at(ageMs);
      for (let i = 0; i < 5; i++) expect(identify()).toEqual(ok(first));
      await Promise.all(background.work);
      expect([reads.chain, background.work.length]).toEqual([1, 1]);
      at(ageMs + ttlMs / 2 - 1);
      expect(await identify()).toMatchObject({ ok: true });
      expect(reads.chain).toBe(1);
    },
  );

  it('at the TTL: one awaited read of the version, then fresh again', async () => {
    const { reads, identify, warm, at } = world();
    await warm();
    at(ttlMs);
    const again = identify();
    expect(again).toBeInstanceOf(Promise);
    expect((await again).ok).toBe(true);
    expect(reads).toEqual({ key: 1, chain: 1, upstreams: 0, secrets: 0 });
    expect(identify()).not.toBeInstanceOf(Promise);
  });

  it.each([ttlMs, 60_000, staleConfigMaxMs - 1])(
    '%i ms old, no store: the last good one, counted',
    async (ageMs) => {
      const { state, config, identify, warm, at } = world();
      await warm();
      state.down = true;
      at(ageMs);
      expect((await identify()).ok).toBe(true);
      expect(config.counters).toEqual({ staleServed: 1, refreshFailed: 1 });
    },
  );

  it.each([staleConfigMaxMs, staleConfigMaxMs + ttlMs])(
    '%i ms old, no store: refused',
    async (ageMs) => {
      const { state, identify, warm, at } = world();
      await warm();
      state.down = true;
      at(ageMs);
      expect(await identify()).toEqual(err(unavailable));
    },
  );

  it('serves again when the store does', async () => {
    const { state, identify, warm, at } = world();
    await warm();
    state.down = true;
    at(staleConfigMaxMs);
    await identify();
    state.down = false;
    at(staleConfigMaxMs + configRetryMs);
    expect((await identify()).ok).toBe(true);
    expect(identify()).not.toBeInstanceOf(Promise);
  });

  it('a failed read is not repeated within configRetryMs', async () => {
    const { state, reads, identify, warm, at } = world();
    await warm();
    state.down = true;
    at(ttlMs);
    await identify();
    at(ttlMs + configRetryMs - 1);
    await identify();
    expect(reads.chain).toBe(1);
    at(ttlMs + configRetryMs);
    await identify();
    expect(reads.chain).toBe(2);
  });
});

describe('a change', () => {
  it.each([
    ['behind, at half-life', ttlMs / 2],
    ['by the awaited read, at the TTL', ttlMs],
  ])('is noticed %s: the whole view goes', async (_, ageMs) => {
    const { state, reads, background, identify, warm, at } = world();
    const before = await warm();
    state.version = 2;
    at(ageMs);
    await identify();
    await Promise.all(background.work);
    const after = await warm();
    expect(after.tenant).not.toBe(before.tenant);
    expect(reads.key).toBe(2);
  });

  it('that a look-up sees first is right for that call, is not cached, and ends the view', async () => {
    const { state, reads, warm } = world();
    const { tenant } = await warm();
    state.version = 2;
    expect(await tenant.named('api')).toMatchObject({ ok: true });
    await tenant.named('api');
    expect(reads.upstreams).toBe(2);
    expect((await warm()).tenant).not.toBe(tenant);
  });

  it('of this isolate is seen by its next call', async () => {
    const { state, config, identify, warm } = world();
    await warm();
    state.version = 2;
    state.revoked = true;
    config.forget('ten_leaf');
    expect(await identify()).toEqual(err({ code: 'auth.failed', reason: 'revoked' }));
  });

  it('of an ancestor by this isolate is seen by its next call', async () => {
    const { state, config, identify, warm } = world();
    await warm();
    state.revoked = true;
    config.forget('ten_root');
    expect((await identify()).ok).toBe(false);
  });

  it('of this isolate is not undone by a read that was on its way', async () => {
    const { state, reads, config, identify } = world();
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;
    const early = identify();
    await vi.waitUntil(() => reads.key === 1);
    state.version = 2;
    state.revoked = true;
    config.forget('ten_leaf');
    gate.resolve();
    state.gate = null;
    await early;
    expect(await identify()).toEqual(err({ code: 'auth.failed', reason: 'revoked' }));
  });
});

describe('a key', () => {
  it('that expires is refused from that moment without a read', async () => {
    const { state, reads, identify, warm, at } = world();
    state.expiresAtMs = startMs + 500;
    await warm();
    at(499);
    expect(identify()).toMatchObject({ ok: true });
    at(500);
    expect(identify()).toEqual(err({ code: 'auth.failed', reason: 'expired' }));
    expect(reads).toEqual({ key: 1, chain: 0, upstreams: 0, secrets: 0 });
  });

  it.each([0, ttlMs, staleConfigMaxMs - 1])(
    'known to be revoked stays refused without a store: %i ms',
    async (ageMs) => {
      const { state, identify, at } = world();
      state.revoked = true;
      const revoked = err({ code: 'auth.failed', reason: 'revoked' });
      expect(await identify()).toEqual(revoked);
      state.down = true;
      at(ageMs);
      expect(await identify()).toEqual(revoked);
    },
  );

  it('that was never seen is refused without a store, and not remembered as unknown', async () => {
    const { state, identify } = world();
    state.down = true;
    expect(await identify()).toEqual(err(unavailable));
    state.down = false;
    expect((await identify()).ok).toBe(true);
  });

  it('that is no token costs no read', async () => {
    const { reads, config, background } = world();
    const malformed = err({ code: 'auth.failed', reason: 'malformed' });
    expect(await config.identify('wk_short', startMs, background)).toEqual(malformed);
    expect(reads.key).toBe(0);
  });

  it('leaves memory after CONFIG_TTL_S with the first unknown token that comes, swept once per purgePauseMs', async () => {
    const { identify, at, reads } = world();
    expect((await identify(1)).ok).toBe(true);
    at(purgePauseMs);
    await identify(2);
    at(2 * purgePauseMs);
    expect((await identify(1)).ok).toBe(true);
    expect(reads.key).toBe(2);
  });

  it('that is unknown is remembered for unknownKeyTtlMs, then asked for again', async () => {
    const { state, reads, identify, at } = world();
    state.known = false;
    expect(await identify()).toEqual(unknown);
    state.known = true;
    at(unknownKeyTtlMs - 1);
    expect(await identify()).toEqual(unknown);
    expect(reads.key).toBe(1);
    at(unknownKeyTtlMs);
    expect((await identify()).ok).toBe(true);
  });

  it('that this isolate makes is known at once, whatever was remembered', async () => {
    const { state, config, identify } = world();
    state.known = false;
    await identify();
    state.known = true;
    config.forget('ten_leaf');
    expect((await identify()).ok).toBe(true);
  });
});

describe('no request waits for another one', () => {
  it('cold calls read for themselves', async () => {
    const { reads, identify } = world();
    const both = [identify(), identify()];
    expect(both[0]).not.toBe(both[1]);
    expect((await Promise.all(both)).every((result) => result.ok)).toBe(true);
    expect(reads.key).toBe(2);
  });

  it('cold look-ups read for themselves, a later one finds them', async () => {
    const { reads, warm } = world();
    const { tenant } = await warm();
    await Promise.all([tenant.named('api'), tenant.named('api')]);
    expect(reads.upstreams).toBe(2);
    expect(tenant.named('api')).not.toBeInstanceOf(Promise);
    expect([tenant.aliased('api'), tenant.at('api', 443)].every((r) => r instanceof Promise)).toBe(
      true,
    );
  });

  it('nor for a store that is known not to answer', async () => {
    const { state, reads, identify, warm, at } = world();
    await warm();
    state.down = true;
    at(ttlMs);
    await identify();
    at(ttlMs + configRetryMs);
    const before = reads.chain;
    const [first] = await Promise.all(Array.from({ length: 20 }, () => identify()));
    expect(first?.ok).toBe(true);
    expect(reads.chain - before).toBeLessThanOrEqual(1);
  });
});

describe("a provider's own secret", () => {
  const around = (secretId: string): Upstream => upstream({ id: secretId });
  const never = (): never => {
    throw new Error('made twice');
  };

  it('is read once; then the same upstream, at once, with its sealed secret', async () => {
    const { reads, warm } = world();
    const { tenant } = await warm();
    const made = await tenant.ownSecret('vendor.search', 'vendor', around);
    if (!made.ok || made.value === null) throw new Error('no upstream');
    expect(made.value.id).toBe('sec_vendor');
    const again = tenant.ownSecret('vendor.search', 'vendor', never);
    if (again instanceof Promise || !again.ok) throw new Error('not at once');
    expect(again.value).toBe(made.value);
    const secrets = await tenant.secretsOf(made.value);
    expect(secrets).toEqual(ok(new Map([['sec_vendor', sealed('sec_vendor')]])));
    expect(reads.secrets).toBe(1);
  });

  it('serves every row of the provider: another upstream, no other read', async () => {
    const { reads, warm } = world();
    const { tenant } = await warm();
    const first = await tenant.ownSecret('vendor.search', 'vendor', around);
    const second = tenant.ownSecret('vendor.find', 'vendor', around);
    if (second instanceof Promise || !second.ok || !first.ok) throw new Error('not at once');
    expect(second.value).not.toBe(first.value);
    expect(second.value === null ? null : await tenant.secretsOf(second.value)).toEqual(
      ok(new Map([['sec_vendor', sealed('sec_vendor')]])),
    );
    expect(reads.secrets).toBe(1);
  });

  it('that does not exist is remembered too, for every row', async () => {
    const { reads, warm } = world();
    const { tenant } = await warm();
    expect(await tenant.ownSecret('none.a', 'none', never)).toEqual(ok(null));
    expect(tenant.ownSecret('none.a', 'none', never)).toEqual(ok(null));
    expect(tenant.ownSecret('none.b', 'none', never)).toEqual(ok(null));
    expect(reads.secrets).toBe(1);
  });

  it('two cold calls read for themselves and get one upstream', async () => {
    const { reads, warm } = world();
    const { tenant } = await warm();
    const [a, b] = await Promise.all([
      tenant.ownSecret('vendor.search', 'vendor', around),
      tenant.ownSecret('vendor.search', 'vendor', around),
    ]);
    if (!a.ok || !b.ok) throw new Error('refused');
    expect(a.value).toBe(b.value);
    expect(reads.secrets).toBe(2);
  });

  it('of a newer configuration is right for that call, is not cached, and ends the view', async () => {
    const { state, reads, warm } = world();
    const { tenant } = await warm();
    state.version = 2;
    const made = await tenant.ownSecret('vendor.search', 'vendor', around);
    if (!made.ok || made.value === null) throw new Error('no upstream');
    expect(await tenant.secretsOf(made.value)).toMatchObject({ ok: true, value: { size: 1 } });
    await tenant.ownSecret('vendor.search', 'vendor', around);
    expect(reads.secrets).toBe(2);
    expect((await warm()).tenant).not.toBe(tenant);
  });

  it('is never guessed: a store that does not answer refuses, and is asked again', async () => {
    const { state, warm } = world();
    const { tenant } = await warm();
    state.down = true;
    expect(await tenant.ownSecret('vendor.search', 'vendor', never)).toEqual(err(unavailable));
    state.down = false;
    expect(await tenant.ownSecret('vendor.search', 'vendor', around)).toMatchObject({ ok: true });
  });
});

describe('memory is bounded', () => {
  it('unknown keys: unknownKeysMax, in a cache that evicts no real key', async () => {
    const { state, reads, identify, warm } = world();
    await warm(1);
    state.known = false;
    for (let n = 2; n <= unknownKeysMax + 2; n++) await identify(n);
    const before = reads.key;
    await identify(unknownKeysMax + 2);
    await identify(2);
    expect(reads.key - before).toBe(1);
    expect(identify(1)).toMatchObject({ ok: true });
  });

  it('tenants: tenantViewsMax, the least recently used goes', async () => {
    const { state, reads, identify, warm } = world();
    state.tenantOf = (read) => `ten_${read}`;
    for (let n = 0; n <= tenantViewsMax; n++) await warm(n);
    const before = reads.key;
    // Past half-life nothing has changed, so only a tenant that is gone is read anew.
    await identify(tenantViewsMax);
    expect(reads.key).toBe(before);
  });

  it('tokens recognised without hashing: keyCacheMax', async () => {
    const { state, identify, warm } = world();
    state.tenantOf = (read) => `ten_${read % 10}`;
    for (let n = 0; n <= keyCacheMax; n++) await warm(n);
    expect(identify(keyCacheMax)).not.toBeInstanceOf(Promise);
    expect(identify(0)).toBeInstanceOf(Promise);
  });

  it('keys of one tenant: tenantKeysMax', async () => {
    const { reads, identify, warm, at } = world();
    for (let n = 0; n <= tenantKeysMax; n++) await warm(n);
    at(ttlMs);
    const before = reads.key;
    await identify(tenantKeysMax);
    await identify(0);
    expect(reads.key - before).toBe(1);
  });

  it('look-ups of one tenant: tenantLookupsMax, misses included', async () => {
    const { reads, warm } = world();
    const { tenant } = await warm();
    for (let n = 0; n <= tenantLookupsMax; n++) await tenant.named(`n${n}`);
    expect(tenant.named(`n${tenantLookupsMax}`)).not.toBeInstanceOf(Promise);
    await tenant.named('n0');
    expect(reads.upstreams).toBe(tenantLookupsMax + 2);
  });

  it('no look-up of a name that none can have: it is neither asked for nor kept', async () => {
    const { reads, warm } = world();
    const { tenant } = await warm();
    expect(tenant.named('n'.repeat(slugCharsMax + 1))).toEqual(ok([]));
    expect(tenant.aliased('a'.repeat(aliasCharsMax + 1))).toEqual(ok([]));
    expect(reads.upstreams).toBe(0);
    await tenant.named('n'.repeat(slugCharsMax));
    await tenant.aliased('a'.repeat(aliasCharsMax));
    expect(reads.upstreams).toBe(2);
  });
});
