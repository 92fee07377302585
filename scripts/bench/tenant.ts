/**
 * Tenants of the bench, made through the management API. Promises: one that can pay for every run. Called by world.ts and sized.ts.
 */
import { must, textField } from '../lib/management.ts';
import { credential, operatorKey } from './conf.ts';

/** The most that one top-up may bring: enough for every run. */
const topUpMicros = 1_000_000_000_000;

/** A tenant with an access key, upstreams, and a ledger with money. */
export async function tenant(
  name: string,
  place: { readonly port: number; readonly originPort: number },
  upstreams: readonly (readonly [string, object])[],
): Promise<{ tenantId: string; token: string }> {
  const { port, originPort } = place;
  const post = (path: string, body: unknown) =>
    must({ port, key: operatorKey, method: 'POST', path: `/api/v1${path}`, body });
  const tenantId = textField(await post('/tenants', { name }), 'id');
  const at = (path: string): string => `${path}?tenant=${tenantId}`;
  const principal = textField(
    await post(at('/principals'), { name: 'bench', role: 'owner' }),
    'id',
  );
  const key = await post(at('/keys'), { name: 'bench', principal_id: principal });
  await post(at('/ledger/topups'), { id: `tpu_${tenantId}`, micros: topUpMicros });
  await post(at('/secrets'), { name: 'vendor', value: credential });
  for (const [upstream, extra] of upstreams) {
    const bindings = [
      { location: 'header', name: 'authorization', injector: 'bearer', secret: 'cred://vendor' },
    ];
    await post(at('/upstreams'), {
      name: upstream,
      alias: upstream,
      scheme: 'http',
      endpoints: [{ host: '127.0.0.1', port: originPort }],
      bindings,
      ...extra,
    });
  }
  return { tenantId, token: textField(key, 'token') };
}
