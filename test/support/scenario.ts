/**
 * A tenant with a key and a helper for upstreams, made through the management API like a user would.
 */
import type { Gateway } from './gateway.ts';

export interface Scenario {
  readonly tenantId: string;
  readonly principalId: string;
  readonly keyId: string;
  /** The access key token. */
  readonly token: string;
  /** Stores a secret; gives its `cred://` reference. */
  readonly secret: (name: string, value: string, extra?: object) => Promise<string>;
  /** Registers an upstream; gives its id. */
  readonly upstream: (fields: { name: string } & Record<string, unknown>) => Promise<string>;
  /** Any management POST in this tenant; throws unless 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly post: (path: string, body: unknown) => Promise<any>;
}

/** Makes a tenant (below `parentId` when given) with an owner principal and one key. */
export async function makeScenario(
  gateway: Gateway,
  options: { name?: string; parentId?: string; role?: string; keyFields?: object } = {},
): Promise<Scenario> {
  const tenant = await must(gateway, '/api/v1/tenants', {
    name: options.name ?? 'Test',
    ...(options.parentId === undefined ? {} : { parent_id: options.parentId }),
  });
  const at = (path: string): string => `/api/v1${path}?tenant=${tenant.id}`;
  const principal = await must(gateway, at('/principals'), {
    name: 'tester',
    role: options.role ?? 'owner',
  });
  const key = await must(gateway, at('/keys'), {
    name: 'key',
    principal_id: principal.id,
    ...options.keyFields,
  });
  const post: Scenario['post'] = (path, body) => must(gateway, at(path), body);
  return {
    tenantId: tenant.id,
    principalId: principal.id,
    keyId: key.id,
    token: key.token,
    post,
    secret: async (name, value, extra = {}) => {
      await post('/secrets', { name, value, ...extra });
      return `cred://${name}`;
    },
    upstream: async (fields) => (await post('/upstreams', fields)).id,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
async function must(gateway: Gateway, path: string, body: unknown): Promise<any> {
  const answer = await gateway.api('POST', path, body);
  if (answer.status >= 300)
    throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
