/**
 * A secret that an ancestor took back: an upstream that was bound to it while descendants could use
 * it, from the management API to what the road's credentials say.
 */
import { describe, expect, it } from 'vitest';
import { VaultCredentials } from '../../../src/adapters/vault/credentials';
import { makeApi, makeTenant, type Tenant, upstreamFields } from './harness';

const api = makeApi();

/** What a call of a new isolate gets for its upstream. */
async function prepared(tenant: Tenant, name: string) {
  const { config, vault } = makeApi().services;
  const found = await config.identify(tenant.token, api.clock.nowMs, () => undefined);
  if (!found.ok) throw new Error(JSON.stringify(found.error));
  const view = found.value.tenant;
  const named = await view.named(name);
  if (!named.ok || named.value[0] === undefined) throw new Error('no such upstream');
  const credentials = new VaultCredentials({ vault, platformSettings: new Map(), ttlMs: 10_000 });
  return credentials.prepare(named.value[0], view, api.clock.nowMs);
}

describe('a bound secret of an ancestor', () => {
  it('that descendants may use no more is a 401 of the upstream; one that is gone is a 500', async () => {
    const parent = await makeTenant(api);
    const child = await makeTenant(api, { parentId: parent.id });
    const body = { name: 'shared', value: 'sk-shared', visibility: 'descendants' };
    const secret = await api.made('POST', parent.at('/secrets'), body);
    const binding = { location: 'header', name: 'x-key', secret: 'cred://shared' };
    const fields = upstreamFields('bound', { bindings: [binding] });
    await api.made('POST', child.at('/upstreams'), fields);
    expect(await prepared(child, 'bound')).toMatchObject({ ok: true });

    const its = parent.at(`/secrets/${secret.id}`);
    await api.made('PUT', its, { ...body, visibility: 'private' });
    const denied = { code: 'auth.failed', reason: 'secret_denied' };
    expect(await prepared(child, 'bound')).toEqual({ ok: false, error: denied });

    expect((await api.send('DELETE', its)).status).toBe(204);
    expect(await prepared(child, 'bound')).toEqual({
      ok: false,
      error: { code: 'secret.not_found' },
    });
  });
});
