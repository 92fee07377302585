/**
 * The demo tenant: made once through the management API, as an operator would; on later starts only
 * its upstream's port may change.
 * Promises: idempotent; a demo that the database no longer knows is made anew. Called by start.
 */
import { type DevEnv, operatorKeyOf } from './dev-env.ts';
import { type ApiRequest, callManagement, must, textField } from './management.ts';

/** Where the gateway is and what is known already. */
export interface DemoNeeds {
  readonly port: number;
  readonly vendorPort: number;
  readonly env: DevEnv;
}

/** Makes sure that the demo works; gives what has to be remembered. */
export async function ensureDemo(needs: DemoNeeds): Promise<DevEnv> {
  const known = await knownUpstream(needs);
  if (known === null) return makeDemo(needs);
  if (known.port !== needs.vendorPort) await moveUpstream(needs);
  return {};
}

/**
 * The demo upstream as the demo key sees it, or `null` when there is no such key or upstream any
 * more.
 */
async function knownUpstream({ port, env }: DemoNeeds): Promise<{ readonly port: number } | null> {
  const { DEMO_KEY: key, DEMO_UPSTREAM: id } = env;
  if (key === undefined || id === undefined) return null;
  const { status, body } = await callManagement({
    port,
    key,
    method: 'GET',
    path: `/api/v1/upstreams/${id}`,
  });
  if (status !== 200) return null;
  const { endpoints } = body as { readonly endpoints: readonly { readonly port: number }[] };
  return { port: endpoints[0]?.port ?? 0 };
}

async function makeDemo(needs: DemoNeeds): Promise<DevEnv> {
  const post = poster(needs);
  const tenant = textField(await post('/tenants', { name: 'Demo' }), 'id');
  const at = (path: string): string => `${path}?tenant=${tenant}`;
  const principal = textField(await post(at('/principals'), { name: 'demo', role: 'owner' }), 'id');
  const token = textField(
    await post(at('/keys'), { name: 'demo', principal_id: principal }),
    'token',
  );
  await post(at('/secrets'), { name: 'demo', value: needs.env.DEMO_CREDENTIAL });
  const upstream = textField(await post(at('/upstreams'), demoUpstream(needs.vendorPort)), 'id');
  return { DEMO_TENANT: tenant, DEMO_KEY: token, DEMO_UPSTREAM: upstream };
}

/** The vendor's old port was taken, so the upstream follows it. */
async function moveUpstream({ port, vendorPort, env }: DemoNeeds): Promise<void> {
  const { DEMO_KEY: key = '', DEMO_UPSTREAM: id } = env;
  await must({
    port,
    key,
    method: 'PUT',
    path: `/api/v1/upstreams/${id}`,
    body: demoUpstream(vendorPort),
  });
}

const demoUpstream = (vendorPort: number): object => ({
  name: 'demo',
  alias: 'demo',
  scheme: 'http',
  endpoints: [{ host: '127.0.0.1', port: vendorPort }],
  bindings: [
    { location: 'header', name: 'authorization', injector: 'bearer', secret: 'cred://demo' },
  ],
});

function poster({
  port,
  env,
}: DemoNeeds): (path: string, body: object) => Promise<Record<string, unknown>> {
  const key = operatorKeyOf(env);
  return (path, body) =>
    must({ port, key, method: 'POST', path: `/api/v1${path}`, body } satisfies ApiRequest);
}
