/**
 * One of every resource in a tenant, and a valid body for every write: what the tests that walk the
 * operations table need.
 */
import { runInDurableObject } from 'cloudflare:test';
import type { Operation } from '../../../src/control-plane/operation';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import { endpoint, provider } from '../domain/catalog/rows';
import { submitted } from '../domain/tasks/rows';
import { type Api, db, makeKey, objects, startMs, type Tenant, upstreamFields } from './harness';

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
    catalog: await makeCatalogRow(),
    capacity: 'vendor',
    ...(await makeMoney(tenant.id)),
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

/** Writes one row of the catalog, which belongs to no tenant, as the import would. */
export async function makeCatalogRow(parts: Partial<CatalogEndpoint> = {}): Promise<string> {
  const row = endpoint({ id: `vendor.row-${++made}`, ...parts });
  const vendor = provider({ slug: row.provider });
  await db.batch([
    db
      .prepare('insert or ignore into catalog_providers (slug, name, document) values (?, ?, ?)')
      .bind(vendor.slug, vendor.name, JSON.stringify(vendor)),
    db
      .prepare(
        `insert into catalog_endpoints (id, provider, capability, summary, access, guide_micros, retired, document)
         values (?, ?, ?, ?, 'own', null, 0, ?)`,
      )
      .bind(row.id, row.provider, row.capability, row.summary, JSON.stringify(row)),
  ]);
  return row.id;
}

/**
 * An open hold, an idempotency record whose outcome nobody saw, and an expired hold: what the road
 * leaves in a ledger. Ids by the first segment of their paths.
 */
async function makeMoney(tenantId: string): Promise<{ idempotency: string; ledger: string }> {
  const [hold, record, review] = ['hld', 'idm', 'hld'].map(
    (prefix) => `${prefix}_01H${String(++made).padStart(23, '0')}`,
  ) as [string, string, string];
  const stub = objects.getByName(tenantId);
  await stub.topUp(`pay_${hold}`, 100);
  const claim = [record, 'prn_1', record, 'fingerprint'] as const;
  await stub.apply([], [['place', hold, 60, 'key_1', 5, ['team', 'a'], claim]]);
  await stub.openTask(submitted(hold, { deadlineMs: 60_000 }));
  await stub.apply([['unknown', record]], []);
  await runInDurableObject(stub, (_, { storage }) => {
    const insert = 'INSERT INTO review (hold_id, micros, at) VALUES (?, 7, ?)';
    storage.sql.exec(insert, review, startMs);
  });
  return { idempotency: record, ledger: review };
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
    'POST /ledger/grants': { id: `gift_${n}`, micros: 5, kind: 'promotional' },
    'POST /ledger/topups': { id: `pay_${n}`, micros: 5 },
    'POST /idempotency/{id}/resolve': { resolution: 'settle' },
    'POST /vault/rotate': {},
    'POST /capacity/{id}/reset': {},
    'POST /capacity/sweep': {},
    'POST /tasks/poll': {},
    'POST /overflow/sync': {},
    'POST /overflow/verify': {},
    'POST /tenants/{id}/data-key/rotate': {},
  };
}

/** Name of an operation in {@link bodies}. */
export const nameOf = (operation: Operation): string => `${operation.method} ${operation.path}`;

/** The path of an operation with the id of its resource. */
export const pathOf = (operation: Operation, ids: Ids): string =>
  operation.path.replace('{id}', ids[operation.path.split('/')[1] ?? ''] ?? '');
