/**
 * One of every resource in a tenant, and a valid body for every write: what the tests that walk the
 * operations table need.
 */
import type { Operation } from '../../../src/control-plane/operation';
import { type Api, db, makeKey, startMs, type Tenant, upstreamFields } from './harness';

/** Ids of one tenant's resources by the first segment of their path. */
export type Ids = Readonly<Record<string, string>>;

let made = 0;

/** Makes one of every resource. */
export async function makeOneOfEach(api: Api, tenant: Tenant): Promise<Ids> {
  const n = ++made;
  const post = (path: string, body: unknown) => api.made('POST', tenant.at(path), body);
  const project = await post('/projects', { name: `project ${n}` });
  const principal = await makeKey(api, tenant.id, 'member');
  const secret = await post('/secrets', { name: `secret-${n}`, value: 'value' });
  const upstream = await post('/upstreams', upstreamFields(`upstream-${n}`));
  const route = await post('/routes', { upstream_id: upstream.id, methods: ['GET'], path: '/v1' });
  const rule = await post('/deny-rules', { host: 'deny.example' });
  return {
    tenants: tenant.id,
    projects: project.id,
    principals: principal.principalId,
    keys: principal.keyId,
    secrets: secret.id,
    upstreams: upstream.id,
    routes: route.id,
    'deny-rules': rule.id,
    calls: await makeCall(tenant.id),
  };
}

/** Writes one call row, as the call log would. */
export async function makeCall(tenantId: string): Promise<string> {
  const id = `call_01H${String(++made).padStart(23, '0')}`;
  await db
    .prepare(
      `insert into calls (id, tenant_id, surface, method, outcome, status, started_at, latency_ms, evidence)
       values (?, ?, 'call', 'GET', 'answered', 200, ?, 5, 'masked')`,
    )
    .bind(id, tenantId, startMs)
    .run();
  return id;
}

/** A valid body of every write, by method and path; `ids` are the caller's own resources. */
export function bodies(ids: Ids): Readonly<Record<string, object>> {
  const n = ++made;
  return {
    'POST /tenants': { name: `tenant ${n}` },
    'PUT /tenants/{id}': { name: `tenant ${n}` },
    'POST /projects': { name: `project ${n}` },
    'PUT /projects/{id}': { name: `project ${n}` },
    'POST /principals': { name: `body principal ${n}`, role: 'member' },
    'PUT /principals/{id}': { name: `body principal ${n}`, role: 'member' },
    'POST /keys': { name: 'key', principal_id: ids.principals },
    'PUT /keys/{id}': { name: 'key' },
    'POST /secrets': { name: `secret-${n}`, value: 'value' },
    'PUT /secrets/{id}': { name: `secret-${n}`, value: 'value' },
    'POST /upstreams': upstreamFields(`upstream-${n}`),
    'PUT /upstreams/{id}': upstreamFields(`upstream-${n}`),
    'POST /routes': { upstream_id: ids.upstreams, methods: ['PUT'], path: `/r${n}` },
    'PUT /routes/{id}': { methods: ['PUT'], path: `/r${n}` },
    'POST /deny-rules': { host: 'deny.example' },
    'PUT /deny-rules/{id}': { host: 'deny.example' },
    'POST /vault/rotate': {},
    'POST /tenants/{id}/data-key/rotate': {},
  };
}

/** Name of an operation in {@link bodies}. */
export const nameOf = (operation: Operation): string => `${operation.method} ${operation.path}`;

/** The path of an operation with the id of its resource. */
export const pathOf = (operation: Operation, ids: Ids): string =>
  operation.path.replace('{id}', ids[operation.path.split('/')[1] ?? ''] ?? '');
