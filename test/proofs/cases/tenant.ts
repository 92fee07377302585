/**
 * Cases of the kinds `tenant` and `alias`: whose upstream a name means, and which name a pool may
 * have. Called by ../cases.ts.
 */
import { same } from '../../support/proof.ts';
import { makeScenario, type Scenario } from '../../support/scenario.ts';
import { arrives, refused, relay, type Stand, sized } from '../wire/stand.ts';
import type { CaseCheck, CaseChecks } from './stands.ts';

const alias = 'api-t';

/** A tenant, its upstream `api-t` and the key that the vendor gets from it. */
async function owner(
  stand: Stand,
  name: string,
  { parentId, ...fields }: Record<string, unknown> & { readonly parentId?: string } = {},
): Promise<{ tenant: Scenario; key: string; id: string }> {
  const tenant = await makeScenario(stand.gateway, {
    name,
    ...(parentId === undefined ? {} : { parentId }),
  });
  const key = `key-of-${name}-0123456789`;
  const secret = await tenant.secret('vendor', key);
  const id = await tenant.upstream({
    name: alias,
    alias,
    scheme: 'http',
    endpoints: [{ host: '127.0.0.1', port: stand.origin.port }],
    bindings: [{ location: 'header', name: 'x-vendor-key', secret }],
    ...fields,
  });
  const route = { upstream_id: id, methods: ['GET', 'POST'], path: '/', query_allowlist: null };
  await tenant.post('/routes', route);
  return { tenant, key, id };
}

const shapes = [`/call/${alias}`, `/proxy/${alias}`];

/** The upstream's key arrives, on each surface, whatever else the call claims. */
async function reaches(
  stand: Stand,
  { token }: Scenario,
  key: string,
  claims: readonly string[] = [],
): Promise<void> {
  for (const shape of shapes) {
    const { request } = await relay(stand, { target: `${shape}/x`, key: token, headers: claims });
    arrives(request, 'GET /x', [`x-vendor-key: ${key}`, ...claims.filter(isKept)]);
  }
}

const isKept = (line: string): boolean => !/^x-weir-/i.test(line);

async function refusedOnBoth(
  stand: Stand,
  { token }: Scenario,
  status: number,
  code: string,
): Promise<void> {
  for (const shape of shapes)
    await refused(stand, { target: `${shape}/x`, key: token }, status, code);
}

const whoseAlias: CaseCheck = async (stands) => {
  const stand = await stands.wire();
  const a = await owner(stand, 'c085-a');
  const b = await owner(stand, 'c085-b', { enabled: false });
  const c = await makeScenario(stand.gateway, { name: 'c085-c' });
  await reaches(stand, a.tenant, a.key);
  await refusedOnBoth(stand, b.tenant, 503, 'routing.upstream_disabled');
  await refusedOnBoth(stand, c, 404, 'routing.not_found');
  await nearestEnabled(stand);
  await noClaim(stand, a, c);
};

/** The own one is disabled: the nearest enabled ancestor that may be seen, and never a private one. */
async function nearestEnabled(stand: Stand): Promise<void> {
  const root = await owner(stand, 'c085-root', { visibility: 'descendants' });
  const middle = await owner(stand, 'c085-middle', {
    parentId: root.tenant.tenantId,
    enabled: false,
    visibility: 'descendants',
  });
  const leaf = await owner(stand, 'c085-leaf', {
    parentId: middle.tenant.tenantId,
    enabled: false,
  });
  await reaches(stand, leaf.tenant, root.key);
  const hidden = await owner(stand, 'c085-hidden');
  const below = await owner(stand, 'c085-below', {
    parentId: hidden.tenant.tenantId,
    enabled: false,
  });
  await refusedOnBoth(stand, below.tenant, 503, 'routing.upstream_disabled');
}

/** Who calls is what the key says: no header, query or body makes it another. */
async function noClaim(
  stand: Stand,
  a: { tenant: Scenario; key: string },
  c: Scenario,
): Promise<void> {
  const id = c.tenantId;
  const claims = [`X-Tenant-Id: ${id}`, `X-Weir-Tenant: ${id}`, `Tenant: ${id}`];
  await reaches(stand, a.tenant, a.key, claims);
  const body = JSON.stringify({ tenant: a.tenant.tenantId, tenant_id: a.tenant.tenantId });
  const claim = `X-Weir-Tenant: ${a.tenant.tenantId}`;
  for (const shape of shapes)
    await refused(
      stand,
      {
        method: 'POST',
        target: `${shape}/x?tenant=${a.tenant.tenantId}`,
        key: c.token,
        headers: [claim, sized(body)],
        body,
      },
      404,
      'routing.not_found',
    );
}

/** The half that there is: who sees an ancestor's upstream, and whose target a shadowed alias means. */
const bareAncestor: CaseCheck = async (stands) => {
  const stand = await stands.wire();
  for (const visibility of ['private', 'descendants'] as const) {
    const root = await makeScenario(stand.gateway, { name: `c087-${visibility}` });
    const id = await root.upstream({
      name: alias,
      alias,
      scheme: 'http',
      endpoints: [{ host: '127.0.0.1', port: stand.origin.port }],
      base_path: '/root',
      visibility,
    });
    const route = { upstream_id: id, methods: ['GET'], path: '/', query_allowlist: null };
    await root.post('/routes', route);
    const child = await makeScenario(stand.gateway, { name: 'c087', parentId: root.tenantId });
    for (const shape of shapes) {
      const call = { target: `${shape}/x`, key: child.token };
      if (visibility === 'private') await refused(stand, call, 404, 'routing.not_found');
      else arrives((await relay(stand, call)).request, 'GET /root/x');
    }
    const own = await owner(stand, `c087-child-${visibility}`, { parentId: root.tenantId });
    await reaches(stand, own.tenant, own.key);
  }
  return 'visibility and shadowing; the enforced limit is of the full control plane';
};

interface Pool {
  readonly hosts: readonly string[];
  readonly port?: number;
  /** What is derived; `null`: an alias must be given. */
  readonly alias: string | null;
}

const pools: readonly Pool[] = [
  { hosts: ['us.vendor.t', 'eu.vendor.t'], alias: 'vendor.t' },
  { hosts: ['foo.co.uk', 'bar.co.uk'], alias: null },
  { hosts: ['a.pages.dev', 'b.pages.dev'], alias: null },
  { hosts: ['a.b.vendor.com', 'vendor.com'], alias: 'vendor.com' },
  { hosts: ['us.foo.com', 'eu.bar.com'], alias: null },
  { hosts: ['us.vendor.t', 'eu.vendor.t'], port: 8443, alias: 'vendor.t:8443' },
];

/** Registered where a stub resolver knows every name. */
const derived: CaseCheck = async (stands) => {
  const { gateway } = await stands.ssrf();
  for (const [at, { hosts, port = 443, alias: wanted }] of pools.entries()) {
    const tenant = await makeScenario(gateway, { name: `c088-${at}` });
    const path = `/api/v1/upstreams?tenant=${tenant.tenantId}`;
    const pool = { name: 'pool', endpoints: hosts.map((host) => ({ host, port })) };
    const { status, body } = await gateway.api('POST', path, pool);
    const what = `${hosts.join(' + ')}:${port}`;
    if (wanted !== null) {
      same([status, body.alias], [201, wanted], what);
      continue;
    }
    same([status, body.type], [400, 'urn:weir:problem:validation.error'], what);
    same(JSON.stringify(body).includes('"alias"'), true, `${what}: what is missing is named`);
    const named = await gateway.api('POST', path, { ...pool, alias: 'my-pool' });
    same([named.status, named.body.alias], [201, 'my-pool'], `${what} with an alias`);
  }
  return `${pools.length} pools`;
};

/** Checks by case. */
export const tenantChecks: CaseChecks = {
  C085: whoseAlias,
  C087: bareAncestor,
  C088: derived,
};
