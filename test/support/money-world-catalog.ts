/**
 * The catalog of a money world: one provider `lab`, whose base URL is the priced origin, and one
 * endpoint of each kind of price. Every price is small and round, so that a wrong charge shows.
 * Called by `money-world.ts` and the proofs.
 */

/** Micro-USD of a call of `lab.fixed`, `lab.look`, `lab.cancel` and `lab.success`. */
export const callMicros = 60;
/** Held for a call of `lab.usage` and `lab.stream`; one unit costs one micro-USD. */
export const usageHoldMicros = 100;
/** Charged for a call of these whose answer does not tell its usage. */
export const usageFallbackMicros = 80;
/** The vendor's key, as the platform account sends it in `x-lab-key`. */
export const labKey = 'lab-platform-key-0123456789';
/** Name of the platform setting that holds it. */
export const labSetting = 'LAB_KEY';

/** YAML of a price of `callMicros` a call. */
export const perCall = `{ kind: per_call, prices: [{ price_micros: ${callMicros} }] }`;
const usage = `kind: usage
      meters:
        - { name: units, paths: [usage.units], required: true, reserve: [{ kind: fixed, units: ${usageHoldMicros} }] }
      prices: [{ per_million_micros: { units: 1000000 } }]`;

/** YAML of an endpoint of `lab`; `more` is its price and what else it has, indented by four. */
export const row = (name: string, method: string, more: string): string => `
  - name: ${name}
    capability: lab.${name}
    summary: ${name}
    method: ${method}
    path: /${name}
    platform_auth: account
    ${more}`;

/** The rows that every world has; ids are `lab.NAME`. */
const rows = [
  row('fixed', 'POST', `cost: ${perCall}`),
  row('look', 'GET', `cost: ${perCall}`),
  row('cancel', 'POST', `on_client_disconnect: cancel\n    cost: ${perCall}`),
  row('success', 'POST', `cost: { kind: per_success, prices: [{ price_micros: ${callMicros} }] }`),
  row('free', 'POST', 'cost: { kind: free }'),
  row(
    'usage',
    'POST',
    `settlement: { fallback_micros: ${usageFallbackMicros} }\n    cost:\n      ${usage}`,
  ),
  row(
    'stream',
    'POST',
    `settlement: { fallback_micros: ${usageFallbackMicros} }\n    cost:\n      ${usage}\n      ends: [{ kind: data, text: '[DONE]' }]`,
  ),
  row(
    'stream_cancel',
    'POST',
    `on_client_disconnect: cancel\n    settlement: { fallback_micros: ${usageFallbackMicros} }\n    cost:\n      ${usage}\n      ends: [{ kind: data, text: '[DONE]' }]`,
  ),
];

/** The file of the provider; `more` is the YAML of further endpoints, indented by two. */
export const labFile = (authority: string, more = ''): string => `provider: lab
name: Lab
base_urls: ['http://${authority}/v1']
auth: [{ in: header, name: x-lab-key, as: api_key }]
accounts: [{ label: main, setting: ${labSetting} }]
price_note: a test's own
endpoints:${rows.join('')}${more === '' ? '' : `\n${more}`}
`;

/** A file of another provider: `more` stands before its endpoints, `endpoints` are made by {@link row}. */
export const providerFile = (
  slug: string,
  { authority, setting, more = '', endpoints }: ProviderFile,
): { name: string; text: string } => ({
  name: `${slug}.yaml`,
  text: `provider: ${slug}
name: ${slug}
base_urls: ['http://${authority}/${slug}']
auth: [{ in: header, name: x-${slug}-key, as: api_key }]
accounts: [{ label: main, setting: ${setting} }]
${more}price_note: a test's own
endpoints:${endpoints.join('')}
`,
});

interface ProviderFile {
  readonly authority: string;
  readonly setting: string;
  readonly more?: string;
  readonly endpoints: readonly string[];
}
