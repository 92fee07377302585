/** What the refusal rows share: a case, an access key of its own, a management request as bytes, a tenant with money. */
import { makeScenario, type Scenario } from '../../support/scenario.ts';
import { operatorKey } from '../../support/test-env.ts';
import { type Scene, send, toppedUp } from './scene.ts';

/** One provoked refusal: what to prepare, what to send. */
export interface Case {
  readonly code: string;
  readonly name: string;
  readonly send: () => Promise<Buffer>;
}

/** A member of the scene's tenant with a key of its own. */
export async function keyOf(
  scene: Scene,
  role: string,
  fields: object = {},
): Promise<{ id: string; token: string }> {
  const { post } = scene.scenario;
  const name = `p${Math.random().toString(36).slice(2)}`;
  const principal = await post('/principals', { name, role });
  return post('/keys', { name: 'k', principal_id: principal.id, ...fields });
}

/** A request of the management API. */
export interface Managed {
  readonly method: string;
  /** Below `/api/v1`. */
  readonly path: string;
  readonly body?: unknown;
  readonly as?: 'operator' | 'owner';
}

/** A management request as bytes, head and body of the answer. */
export function managed(scene: Scene, asked: Managed): Promise<Buffer> {
  const { method, path, body = '', as = 'owner' } = asked;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = text === '' ? '' : 'Content-Type: application/json\r\n';
  const whole = { method, path: `/api/v1${path}`, body: text };
  if (as === 'owner') return send(scene, { ...whole, head: type });
  const head = `${type}Authorization: Bearer ${operatorKey}\r\n`;
  return send(scene, { ...whole, head, token: null });
}

/** What a tenant of its own has. */
export interface Means {
  readonly name: string;
  /** Micro-USD. */
  readonly micros: number;
  /** Fields of the tenant. */
  readonly limits?: object;
  /** Fields of its key. */
  readonly keyFields?: object;
  readonly parentId?: string;
}

/** A tenant with a ledger of its own; its key is one more canary. */
export async function tenantWith(scene: Scene, means: Means): Promise<Scenario> {
  const { name, micros, limits, ...rest } = means;
  const scenario = await makeScenario(scene.gateway, { name, ...rest });
  const { tenantId, token } = scenario;
  scene.others.push({ name: `the Weir key of ${name}`, value: token, core: token.slice(12) });
  if (limits !== undefined) {
    const path = `/api/v1/tenants/${tenantId}`;
    const { status, body } = await scene.gateway.api('PUT', path, { name, ...limits });
    if (status >= 300) throw new Error(`PUT ${path}: ${status} ${JSON.stringify(body)}`);
  }
  if (micros > 0) await toppedUp(scene, tenantId, micros);
  return scenario;
}
