/**
 * 07 guard: our own host, the address rules, the resolver, the credentials; nothing after a "no" is
 * asked.
 */
import { describe, expect, it } from 'vitest';
import { err, ok, type Result } from '../../../src/base/result';
import { type GuardPorts, guard } from '../../../src/call/07-guard';
import type { CatalogCall, ReservedCall } from '../../../src/call/call';
import type { Refusal } from '../../../src/domain/refusal';
import type { PreparedCredentials } from '../../../src/ports/credentials';
import {
  account,
  backgroundOf,
  catalogCall,
  entryOf,
  key,
  noCredentials,
  reserved,
  scan,
  startMs,
  tenant,
  upstream,
} from './calls';
import { capacityPorts, NotedCapacity } from './capacity-ports';

interface Answers {
  readonly egress?: Result<void, Refusal>;
  readonly credentials?: Result<PreparedCredentials, Refusal>;
  readonly allow?: readonly string[];
  readonly later?: boolean;
  readonly capacity?: NotedCapacity;
}

function portsOf(answers: Answers): { ports: GuardPorts; asked: unknown[][] } {
  const asked: unknown[][] = [];
  const soon = <T>(value: T) => (answers.later ? Promise.resolve(value) : value);
  const ports: GuardPorts = {
    ...capacityPorts(answers.capacity),
    egress: {
      check: (...args) => {
        asked.push(['egress', ...args.slice(0, 4)]);
        return soon(answers.egress ?? ok(undefined));
      },
    },
    egressPolicy: {
      allow: { pairs: new Set(answers.allow) },
      gatewayHosts: ['self.t'],
      httpsOnly: true,
    },
    credentials: {
      prepare: (_upstream, _tenant, nowMs) => {
        asked.push(['credentials', nowMs]);
        return soon(answers.credentials ?? ok(noCredentials));
      },
    },
    sign: async (input) => {
      asked.push(['sign']);
      return new Uint8Array(await crypto.subtle.digest('SHA-256', input));
    },
  };
  return { ports, asked };
}

const run = async (parts: Partial<ReservedCall> = {}, answers: Answers = {}) => {
  const { ports, asked } = portsOf(answers);
  const call = reserved(parts);
  return { call, asked, result: await guard(call, ports, backgroundOf()) };
};
const pass = { accounts: [account()], probe: null };
const at = (host: string, port = 443) => ({ endpoint: { host, port } });

describe('guard', () => {
  it.each([false, true])('a public host with its credentials passes (later: %s)', async (later) => {
    const { call, asked, result } = await run({}, { later });
    expect(result).toEqual(ok({ ...call, credentials: noCredentials, platformHeaders: null }));
    const egress = ['egress', 'api.t', 443, 'name', startMs];
    expect(asked).toEqual([egress, ['credentials', startMs]]);
  });

  it.each([
    ['the host that the call came in on', at('gw.test')],
    ['the gateway’s own name', at('self.t')],
    ['a private address', at('10.0.0.1')],
    ['plain http', { upstream: upstream({ scheme: 'http' }), ...at('api.t', 80) }],
  ])('%s is refused before anything is asked', async (_, parts) => {
    const { asked, result } = await run(parts);
    const host = (parts as ReservedCall).endpoint.host;
    expect(result).toEqual(err({ code: 'egress.blocked', host }));
    expect(asked).toEqual([]);
  });

  it.each([
    ['https://gw.test./call/x', 'gw.test', 443],
    ['https://gw.test.:8443/call/x', 'gw.test', 8443],
    ['https://GW.test/call/x', 'gw.test', 443],
    ['http://gw.test/call/x', 'gw.test', 80],
    ['https://[2606:4700::1]/call/x', '2606:4700::1', 443],
    ['https://[2606:4700::1]:8443/call/x', '2606:4700::1', 8443],
  ])('%s is our own host too', async (url, host, port) => {
    // `new Request` would write the URL anew.
    const request = { url } as Request;
    const { result } = await run({ ...at(host, port), request });
    expect(result).toEqual(err({ code: 'egress.blocked', host }));
  });

  it.each([
    ['https://gw.test.example/call/x', 'gw.test'],
    ['https://gw.testing/call/x', 'gw.test'],
  ])('%s is not our own host', async (url, host) => {
    expect((await run({ ...at(host), request: { url } as Request })).result.ok).toBe(true);
  });

  it('another port of the host that the call came in on is not a loop', async () => {
    expect((await run(at('gw.test', 8443))).result.ok).toBe(true);
  });

  it('an allowed pair is told to the resolver as allowed', async () => {
    const parts = { upstream: upstream({ scheme: 'http' }), ...at('127.0.0.1', 9000) };
    const { asked, result } = await run(parts, { allow: ['127.0.0.1:9000'] });
    expect([result.ok, asked[0]?.[3]]).toEqual([true, 'allowed']);
  });

  it.each<Refusal>([
    { code: 'egress.blocked', host: 'api.t' },
    { code: 'egress.unresolved', host: 'api.t' },
  ])('the resolver says %j: no credential is opened', async (refusal) => {
    const { asked, result } = await run({}, { egress: err(refusal) });
    expect(result).toEqual(err(refusal));
    expect(asked.map(([port]) => port)).toEqual(['egress']);
  });

  it.each<Refusal>([
    { code: 'secret.not_found' },
    { code: 'credential.unavailable', reason: 'injector' },
    { code: 'config.unavailable', retryAfterMs: 1_000 },
  ])('the credentials say %j', async (refusal) => {
    expect((await run({}, { credentials: err(refusal) })).result).toEqual(err(refusal));
  });

  it.each([1, 2, 3, 4] as const)(
    'a no to a call on tier %i that took nothing gives nothing back',
    async (tier) => {
      const no: Refusal = { code: 'secret.not_found' };
      const capacity = new NotedCapacity();
      const parts = { catalog: catalogCall({}, { tier }), capacity: tier === 4 ? pass : null };
      const { result } = await run(parts, { credentials: err(no), capacity });
      expect([result, capacity.asked]).toEqual([err(no), []]);
    },
  );
});

describe('a call that has to wait for its turn', () => {
  /** One of the platform account, and its turn. */
  function waiting() {
    const client = new AbortController();
    const turn = Promise.withResolvers<void>();
    const capacity = new NotedCapacity({ slot: { outcome: 'go', account: 'primary', waitMs: 40 } });
    const { ports } = portsOf({ capacity });
    const request = new Request('https://gw.test/call/api/v1/x', { signal: client.signal });
    const catalog = catalogCall({ rate: { limit: 30, windowMs: 1_000 } });
    const seen: { passed: boolean; headers?: unknown } = { passed: false };
    const passing = Promise.resolve(
      guard(
        reserved({ request, catalog, capacity: pass }),
        { ...ports, sleep: () => turn.promise },
        backgroundOf(),
      ),
    ).then((result) => {
      seen.passed = result.ok;
      if (result.ok) seen.headers = result.value.platformHeaders;
    });
    const given = () => capacity.asked.filter((one) => Array.isArray(one) && one[0] === 'giveBack');
    return { client, turn, seen, passing, given };
  }
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await Promise.resolve();
  };

  it('passes when it has come, keeps its place, and shows its vendor no client', async () => {
    const { turn, seen, passing, given } = waiting();
    await turns();
    expect(seen.passed).toBe(false);
    turn.resolve();
    await passing;
    expect([seen.headers, given()]).toEqual([[['user-agent', 'weir']], []]);
  });

  it.each([
    ['while it waits', 'during'],
    ['before', 'before'],
  ])(
    'and whose caller leaves %s waits no longer, and its place is the next one’s',
    async (_, at) => {
      const { client, passing, given } = waiting();
      if (at === 'during') await turns();
      client.abort();
      // Its turn never comes.
      await passing;
      expect(given()).toEqual([['giveBack', 'vendor', 'call_1']]);
    },
  );
});

describe('what the vendor of a platform account learns', () => {
  const keyed = { headers: scan({ idempotencyKey: 'k1' }) };
  const clientHeader = 'x-client';
  const onTier = (tier: CatalogCall['tier'], parts: Partial<ReservedCall> = {}) => ({
    catalog: catalogCall({}, { tier, entry: entryOf({}, { clientHeader }) }),
    ...parts,
  });
  const told = async (parts: Partial<ReservedCall>) => {
    const { result } = await run(parts);
    return new Map(result.ok ? (result.value.platformHeaders ?? []) : []);
  };
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

  it.each([1, 2, 3] as const)('nothing of ours on tier %i', async (tier) => {
    const { result, asked } = await run(onTier(tier, keyed));
    expect(result).toMatchObject({ ok: true, value: { platformHeaders: null } });
    expect(asked.map(([port]) => port)).not.toContain('sign');
  });

  it('is our name for the client, its tenant as a digest, and its key as another', async () => {
    const headers = await told(onTier(4, keyed));
    expect([...headers.keys()]).toEqual(['user-agent', 'idempotency-key', clientHeader]);
    expect(headers.get('user-agent')).toBe('weir');
    expect(headers.get('idempotency-key')).toMatch(uuid);
    expect(headers.get(clientHeader)).toMatch(/^t_[0-9a-f]{24}$/);
  });

  it('is the digest of the key where the vendor asks for no client: never the key itself', async () => {
    const headers = await told({ ...keyed, catalog: catalogCall() });
    expect([...headers.keys()]).toEqual(['user-agent', 'idempotency-key']);
    expect(headers.get('idempotency-key')).toMatch(uuid);
  });

  it('is no key where the caller sent none, and no client where the vendor asks for none', async () => {
    const catalog = catalogCall();
    expect([...(await told({ catalog })).keys()]).toEqual(['user-agent']);
  });

  it('differs by tenant, principal, primary tag and key, and stays the same for a repeat', async () => {
    const view = { ...tenant(), primaryDimension: 'team' };
    const calls: Partial<ReservedCall>[] = [
      keyed,
      { headers: scan({ idempotencyKey: 'k2' }) },
      { ...keyed, key: key({ tenantId: 'ten_other' }) },
      { ...keyed, key: key({ principalId: 'prn_2' }) },
      { ...keyed, tenant: view, tags: ['team', 'a'] },
      { ...keyed, tenant: view, tags: ['team', 'b'] },
    ];
    const keyOf = async (parts: Partial<ReservedCall>) =>
      (await told(onTier(4, parts))).get('idempotency-key');
    const keys = await Promise.all(calls.map(keyOf));
    expect(new Set(keys).size).toBe(calls.length);
    expect(await keyOf({ ...keyed, key: key({ id: 'key_2' }), startedAtMs: startMs + 1 })).toBe(
      keys[0],
    );
  });

  it('of a client is the same for every key of its tenant, and another for another tenant', async () => {
    const clientOf = async (parts: Partial<ReservedCall>) =>
      (await told(onTier(4, parts))).get(clientHeader);
    const ours = await clientOf(keyed);
    expect(await clientOf({ key: key({ id: 'key_2', principalId: 'prn_2' }) })).toBe(ours);
    expect(await clientOf({ key: key({ tenantId: 'ten_other' }) })).not.toBe(ours);
  });

  it('of a client is another one at another vendor: two of them cannot join what they know', async () => {
    const clientAt = async (slug: string) => {
      const entry = entryOf({}, { clientHeader, slug });
      return (await told({ catalog: catalogCall({}, { tier: 4, entry }) })).get(clientHeader);
    };
    expect(await clientAt('vendor-a')).not.toBe(await clientAt('vendor-b'));
  });
});
