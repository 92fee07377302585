/**
 * A secret that is named like a provider, from the management API to what the road gets: whose it
 * is along the chain, and that it opens.
 */
import { describe, expect, it } from 'vitest';
import type { Upstream } from '../../../src/domain/catalog/upstream';
import type { TenantView } from '../../../src/ports/config';
import { upstream } from '../call/calls';
import { makeApi, makeTenant, type Tenant } from './harness';

const api = makeApi();

const make = (secretId: string): Upstream => upstream({ id: `around ${secretId}` });

/** What the road of a new isolate sees with the tenant's key. */
async function view(tenant: Tenant): Promise<TenantView> {
  const { config } = makeApi().services;
  const found = await config.identify(tenant.token, api.clock.nowMs, () => undefined);
  if (!found.ok) throw new Error(JSON.stringify(found.error));
  return found.value.tenant;
}

/** The value of the secret that serves a call of `provider`; `null` without one. */
async function valueFor(tenant: Tenant, provider = 'vendor'): Promise<string | null> {
  const road = await view(tenant);
  const own = await road.ownSecret('key', provider, make);
  if (!own.ok) throw new Error(JSON.stringify(own.error));
  if (own.value === null) return null;
  const sealed = await road.secretsOf(own.value);
  if (!sealed.ok || sealed.value.size !== 1) throw new Error('not one secret');
  const [[id, secret] = []] = [...sealed.value];
  if (id === undefined || secret === undefined || secret === 'denied') throw new Error('no secret');
  expect(own.value.id).toBe(`around ${id}`);
  const opened = await api.services.vault.open(secret);
  return opened.ok ? opened.value : JSON.stringify(opened.error);
}

const store = (tenant: Tenant, value: string, visibility = 'private', name = 'vendor') =>
  api.made('POST', tenant.at('/secrets'), { name, value, visibility });

describe('the secret that is named like a provider', () => {
  it("is the tenant's own, private or not", async () => {
    const tenant = await makeTenant(api);
    expect(await valueFor(tenant)).toBeNull();
    await store(tenant, 'sk-own');
    await store(tenant, 'sk-other', 'private', 'vendor2');
    expect(await valueFor(tenant)).toBe('sk-own');
    expect(await valueFor(tenant, 'vendor2')).toBe('sk-other');
    expect(await valueFor(tenant, 'Vendor')).toBeNull();
  });

  it("is an ancestor's only if descendants may use it; the closest one first", async () => {
    const root = await makeTenant(api);
    const parent = await makeTenant(api, { parentId: root.id });
    const leaf = await makeTenant(api, { parentId: parent.id });
    await store(root, 'sk-root', 'descendants');
    expect(await valueFor(leaf)).toBe('sk-root');
    const closer = await store(parent, 'sk-parent', 'private');
    expect([await valueFor(leaf), await valueFor(parent)]).toEqual(['sk-root', 'sk-parent']);
    await api.made('PUT', parent.at(`/secrets/${closer.id}`), {
      name: 'vendor',
      value: 'sk-parent',
      visibility: 'descendants',
    });
    expect(await valueFor(leaf)).toBe('sk-parent');
    await store(leaf, 'sk-leaf');
    expect([await valueFor(leaf), await valueFor(root)]).toEqual(['sk-leaf', 'sk-root']);
  });

  it("is never a sibling's or a descendant's", async () => {
    const root = await makeTenant(api);
    const one = await makeTenant(api, { parentId: root.id });
    const other = await makeTenant(api, { parentId: root.id });
    await store(one, 'sk-one', 'descendants');
    expect([await valueFor(other), await valueFor(root)]).toEqual([null, null]);
  });

  it('that is rotated, stored or deleted is noticed by the isolate that did it', async () => {
    const tenant = await makeTenant(api);
    const { config } = api.services;
    const look = async () => {
      const found = await config.identify(tenant.token, api.clock.nowMs, () => undefined);
      if (!found.ok) throw new Error(JSON.stringify(found.error));
      const own = await found.value.tenant.ownSecret('key', 'vendor', make);
      return own.ok && own.value !== null ? own.value : null;
    };
    expect(await look()).toBeNull();
    const secret = await store(tenant, 'sk-1');
    const first = await look();
    expect(first).not.toBeNull();
    expect(await look()).toBe(first);
    await api.made('PUT', tenant.at(`/secrets/${secret.id}`), { name: 'vendor', value: 'sk-2' });
    expect(await look()).not.toBe(first);
    await api.send('DELETE', tenant.at(`/secrets/${secret.id}`));
    expect(await look()).toBeNull();
  });
});
