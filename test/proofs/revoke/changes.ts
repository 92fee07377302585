/**
 * What may be taken away while a key is in use, each with the answer that obeys it. Called by
 * test/proofs/revoke.ts.
 */
import type { Gateway } from '../../support/gateway.ts';
import { makeScenario, type Scenario } from '../../support/scenario.ts';

/** What the scripted origin and the gateway said to one call. */
export interface Seen {
  readonly status: number;
  /** The path and the credential that the origin received; empty when it was not asked. */
  readonly path: string;
  readonly credential: string;
}

/** A tenant with a key in use, and what changes. */
export interface Prepared {
  readonly token: string;
  /** The request target that is called all the time. */
  readonly target: string;
  /** Makes the change in isolate 0. */
  readonly change: () => Promise<void>;
  readonly obeys: (seen: Seen) => boolean;
}

export interface Change {
  readonly name: string;
  readonly prepare: (gateway: Gateway, originPort: number) => Promise<Prepared>;
}

/** The parts of a tenant that a change may need. */
interface Tenant extends Scenario {
  readonly upstreamId: string;
  readonly secretId: string;
  /** The upstream as it is registered. */
  readonly fields: Record<string, unknown>;
  readonly api: (method: string, path: string, body?: unknown) => Promise<void>;
}

const status =
  (wanted: number) =>
  (seen: Seen): boolean =>
    seen.status === wanted;

async function tenantOf(gateway: Gateway, originPort: number, parentId?: string): Promise<Tenant> {
  const scenario = await makeScenario(gateway, {
    role: 'member',
    ...(parentId === undefined ? {} : { parentId }),
  });
  const secret = await scenario.post('/secrets', { name: 'vendor', value: 'sk-before' });
  const fields = {
    name: 'api',
    alias: 'api.test',
    scheme: 'http',
    endpoints: [{ host: '127.0.0.1', port: originPort }],
    bindings: [{ location: 'header', name: 'x-api-key', secret: 'cred://vendor' }],
  };
  const upstreamId = await scenario.upstream(fields);
  const api: Tenant['api'] = async (method, path, body) => {
    const answer = await gateway.api(method, `/api/v1${path}?tenant=${scenario.tenantId}`, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status}`);
  };
  return { ...scenario, upstreamId, secretId: secret.id, fields, api };
}

/** A change that needs nothing but a tenant of its own. */
function changing(
  name: string,
  change: (tenant: Tenant) => Promise<unknown>,
  obeys: (seen: Seen) => boolean,
): Change {
  return {
    name,
    async prepare(gateway, originPort) {
      const tenant = await tenantOf(gateway, originPort);
      const target = '/call/api/v1/thing';
      return {
        token: tenant.token,
        target,
        change: async () => void (await change(tenant)),
        obeys,
      };
    },
  };
}

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
const keyFields = { name: 'key', permissions: null, upstream_access: null, project_access: null };

/** Everything that another isolate must notice within CONFIG_TTL_S. */
export const changes: readonly Change[] = [
  changing('key revoked', (t) => t.api('POST', `/keys/${t.keyId}/revoke`), status(401)),
  changing('key deleted', (t) => t.api('DELETE', `/keys/${t.keyId}`), status(401)),
  changing(
    'key expired',
    (t) => t.api('PUT', `/keys/${t.keyId}`, { ...keyFields, expires_at: inMs(200) }),
    status(401),
  ),
  changing(
    'key narrowed to other upstreams',
    (t) => t.api('PUT', `/keys/${t.keyId}`, { ...keyFields, upstream_access: [] }),
    status(403),
  ),
  changing(
    'key narrowed to other permissions',
    (t) => t.api('PUT', `/keys/${t.keyId}`, { ...keyFields, permissions: ['config:read'] }),
    status(403),
  ),
  changing(
    'principal disabled',
    (t) => t.api('PUT', `/principals/${t.principalId}`, disabledPrincipal),
    status(401),
  ),
  changing(
    'principal deleted',
    (t) => t.api('DELETE', `/principals/${t.principalId}`),
    status(401),
  ),
  changing(
    'secret replaced',
    (t) => t.api('PUT', `/secrets/${t.secretId}`, { name: 'vendor', value: 'sk-after' }),
    (seen) => seen.status === 200 && seen.credential === 'sk-after',
  ),
  changing(
    'upstream disabled',
    (t) => t.api('PUT', `/upstreams/${t.upstreamId}`, { ...t.fields, enabled: false }),
    status(503),
  ),
  changing(
    'upstream given another base path',
    (t) => t.api('PUT', `/upstreams/${t.upstreamId}`, { ...t.fields, base_path: '/other' }),
    (seen) => seen.path === '/other/v1/thing',
  ),
  changing('upstream deleted', (t) => t.api('DELETE', `/upstreams/${t.upstreamId}`), status(404)),
  changing(
    'upstream closed by a first route',
    (t) => t.api('POST', '/routes', { upstream_id: t.upstreamId, methods: ['GET'], path: '/v2' }),
    status(404),
  ),
  changing('deny rule added', (t) => t.api('POST', '/deny-rules', { path: '/v1' }), status(403)),
  {
    name: 'deny rule added by the tenant above',
    async prepare(gateway, originPort) {
      const above = await tenantOf(gateway, originPort);
      const tenant = await tenantOf(gateway, originPort, above.tenantId);
      return {
        token: tenant.token,
        target: '/call/api/v1/thing',
        change: () => above.api('POST', '/deny-rules', { path: '/v1' }),
        obeys: status(403),
      };
    },
  },
];

const disabledPrincipal = { name: 'tester', role: 'member', enabled: false };
