/**
 * The catalog of the wire proof: a provider `meter` at the first origin, paid for by the platform
 * account. Called by the stand and by `platform.ts`.
 */

import { writeCatalog } from '../../../scripts/lib/catalog/write.ts';
import type { Gateway } from '../../support/gateway.ts';

/** The platform account's credential, and the setting that holds it. */
export const meterAccount = { METER_KEY: 'meter-platform-key-0123456789' };

/** One unit costs one micro-USD; 100 are held. */
const usage = `kind: usage
      meters:
        - { name: units, paths: [usage.units], required: true, reserve: [{ kind: fixed, units: 100 }] }
      prices: [{ per_million_micros: { units: 1000000 } }]
      ends: [{ kind: data, text: '[DONE]' }]`;

const row = (name: string, method: string, path: string, more: string): string => `
  - name: ${name}
    capability: meter.${name}
    summary: ${name}
    method: ${method}
    path: ${path}
    platform_auth: account
    ${more}`;

const perCall = 'cost: { kind: per_call, prices: [{ price_micros: 60 }] }';

const meterFile = (authority: string): string => `provider: meter
name: Meter
base_urls: ['http://${authority}/v1']
auth: [{ in: header, name: x-meter-key, as: api_key }]
required_headers: { x-version: '3' }
client_header: x-meter-client
accounts: [{ label: main, setting: METER_KEY }]
price_note: a test's own
endpoints:${[
  row('call', 'POST', '/call', perCall),
  row('usage', 'POST', '/usage', `cost:\n      ${usage}`),
  row(
    'item',
    'GET',
    '/items/{id}?view=full',
    `parameters: [{ in: path, name: id, type: string, required: true, description: id }]\n    ${perCall}`,
  ),
  row('capped', 'GET', '/capped', `ceiling_param: { name: max, unit: micro_usd }\n    ${perCall}`),
  row(
    'told',
    'POST',
    '/told',
    'strip_reported_charge: true\n    settlement: { reported: { in: body, at: usage.cost, ' +
      `per_million_micros: 1000000000000 } }\n    ${perCall}`,
  ),
].join('')}
`;

/** Writes the catalog of these rows. */
export async function writeMeterCatalog(gateway: Gateway, authority: string): Promise<void> {
  const files = [{ name: 'meter.yaml', text: meterFile(authority) }];
  await writeCatalog(await gateway.db(), authority, files);
}
