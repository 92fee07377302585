/**
 * The management API over a real D1, vault, ledgers and configuration, with a scripted resolver and a clock
 * that stands still. Used by the api tests of this folder; every test file has its own database.
 */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import { CapacityStore } from '../../../src/adapters/d1/capacity-store';
import { D1Config } from '../../../src/adapters/d1/config';
import { ConfigReader } from '../../../src/adapters/d1/config-reader';
import { d1Store } from '../../../src/adapters/d1/store/store';
import { TokenMint } from '../../../src/adapters/vault/token-check';
import { AesVault, type MasterKeys } from '../../../src/adapters/vault/vault';
import { err, ok } from '../../../src/base/result';
import { managementApi } from '../../../src/control-plane/api';
import type { ManagementServices } from '../../../src/control-plane/services';
import { type Bindings, parseEnv } from '../../../src/env';
import type { CapacityObjects } from '../../../src/ports/capacity';
import type { SweepByHand } from '../../../src/ports/capacity-records';
import type { EgressGuard } from '../../../src/ports/egress';
import type { Ledger, Ledgers } from '../../../src/ports/ledger';
import { operatorKey, testBindings } from '../../support/test-env';

const bindings = env as unknown as Bindings;
export const db: D1Database = bindings.DB;

/** The real objects, without the client between them and the port. */
export const objects = bindings.LEDGER as DurableObjectNamespace<OrgLedger>;
export const realLedgers: Ledgers = {
  of: ({ ledgerTenantId }) => objects.getByName(ledgerTenantId) as unknown as Ledger,
};

/** The time at which every test begins, epoch milliseconds. */
export const startMs = Date.UTC(2030, 0, 1);

/**
 * Names below `.blocked.test` are private, names below `.gone.test` do not exist, everything else
 * is public.
 */
const resolver: EgressGuard = {
  check(host) {
    if (host.endsWith('.blocked.test')) return err({ code: 'egress.blocked', host });
    if (host.endsWith('.gone.test')) return err({ code: 'egress.unresolved', host });
    return ok(undefined);
  },
};

export interface ApiOptions {
  readonly vars?: Record<string, string>;
  readonly masterKeys?: MasterKeys;
  readonly ledgers?: Ledgers;
  readonly capacity?: CapacityObjects;
  readonly sweepByHand?: SweepByHand;
  readonly pollTasks?: ManagementServices['pollTasks'];
  readonly overflow?: Partial<ManagementServices['overflow']>;
  readonly overflowBudgets?: ManagementServices['overflowBudgets'];
}

/** No task is due. */
const noPolls = { running: 0, settled: 0, released: 0, failed: 0, gone: 0, left: 0 };

/** Objects at which nothing is known. */
const quietObjects: CapacityObjects = {
  observe: async () => true,
  state: async () => ({
    nowMs: startMs,
    locks: [],
    strikes: [],
    reading: null,
    marks: [],
    buckets: [],
  }),
  reset: async () => 0,
};

/** Jobs that others have at work, and no route. */
const quietOverflow: ManagementServices['overflow'] = {
  sync: async () => ok({ outcome: 'skipped' }),
  verify: async () => ok({ outcome: 'skipped' }),
  routes: async () => ok([]),
};

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Json = any;
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
  readonly text: string;
}

export interface Api {
  readonly services: ManagementServices;
  readonly clock: { nowMs: number };
  /**
   * One request; as the operator unless a key is given (`null`: no key at all). A string body is
   * sent as it is.
   */
  readonly send: (
    method: string,
    path: string,
    options?: { key?: string | null; body?: unknown; headers?: Record<string, string> },
  ) => Promise<Answer>;
  /** The same, which must succeed; gives the body. */
  readonly made: (method: string, path: string, body?: unknown, key?: string) => Promise<Json>;
}

/** An isolate of its own: nothing cached, the database shared. */
export function makeApi(options: ApiOptions = {}): Api {
  const vars = parseEnv({ ...bindings, ...testBindings, ...options.vars });
  const clock = { nowMs: startMs };
  const nowMs = () => clock.nowMs;
  const mint = new TokenMint(vars.keyCheckSecrets);
  const masterKeys = options.masterKeys ?? vars.masterKeys;
  const vault = new AesVault({ masterKeys, ttlMs: vars.configTtlMs, clock: nowMs });
  const reader = new ConfigReader(db, () => undefined);
  const config = new D1Config({ reader, mint, ttlMs: vars.configTtlMs, nowMs });
  const store = d1Store(db);
  const ledgers = options.ledgers ?? realLedgers;
  const capacity = options.capacity ?? quietObjects;
  const capacityRecords = new CapacityStore(db);
  const ports = {
    store,
    config,
    ledgers,
    mint,
    vault,
    egress: resolver,
    capacity,
    capacityRecords,
  };
  const sweepByHand: SweepByHand = options.sweepByHand ?? (async () => ok({ outcome: 'skipped' }));
  const overflow = { ...quietOverflow, ...options.overflow };
  const overflowBudgets = options.overflowBudgets ?? { days: async () => [] };
  const byHand = { sweepByHand, pollTasks: options.pollTasks ?? (async () => ok(noPolls)) };
  const services = { env: vars, ...ports, ...byHand, overflow, overflowBudgets, clock: nowMs };
  const app = managementApi(services);
  const send: Api['send'] = async (method, path, { key = operatorKey, body, headers } = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const auth: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const init = {
      method,
      headers: { ...auth, ...headers },
      ...(body === undefined ? {} : { body: text }),
    };
    const context = createExecutionContext();
    const answer = await app.fetch(new Request(`https://gateway.test${path}`, init), {}, context);
    const read = await answer.text();
    await waitOnExecutionContext(context);
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    const json: Json = isJson ? JSON.parse(read) : null;
    return { status: answer.status, headers: answer.headers, body: json, text: read };
  };
  const made: Api['made'] = async (method, path, body, key) => {
    const answer = await send(method, path, { body, ...(key === undefined ? {} : { key }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return { services, clock, send, made };
}

export interface Tenant {
  readonly id: string;
  /** Adds `?tenant=` to a path. */
  readonly at: (path: string) => string;
  readonly principalId: string;
  readonly token: string;
}

let made = 0;

/** A tenant with one principal of `role` and a key of it. */
export async function makeTenant(
  api: Api,
  options: { parentId?: string; role?: string; keyFields?: object } = {},
): Promise<Tenant> {
  const parent = options.parentId === undefined ? {} : { parent_id: options.parentId };
  const tenant = await api.made('POST', '/tenants', { name: `Tenant ${++made}`, ...parent });
  const at = (path: string) => `${path}${path.includes('?') ? '&' : '?'}tenant=${tenant.id}`;
  const { principalId, token } = await makeKey(
    api,
    tenant.id,
    options.role ?? 'owner',
    options.keyFields,
  );
  return { id: tenant.id, at, principalId, token };
}

/** Another principal of a tenant, with a key. */
export async function makeKey(api: Api, tenantId: string, role: string, fields: object = {}) {
  const query = `?tenant=${tenantId}`;
  const name = `principal ${++made}`;
  const principal = await api.made('POST', `/principals${query}`, { name, role });
  const body = { name: 'key', principal_id: principal.id, ...fields };
  const key = await api.made('POST', `/keys${query}`, body);
  return {
    principalId: principal.id as string,
    keyId: key.id as string,
    token: key.token as string,
  };
}

/** A smallest valid upstream body. */
export const upstreamFields = (name: string, extra: object = {}) => ({
  name,
  endpoints: [{ host: `${name}.vendor.example` }],
  ...extra,
});
