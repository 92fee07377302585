/** Hand-made catalog rows for the tests: one provider and one row, every part replaceable. */
import type {
  CatalogEndpoint,
  Parameter,
  ValueRule,
} from '../../../../src/domain/catalog/endpoint';
import type { Provider } from '../../../../src/domain/catalog/provider';

export const provider = (parts: Partial<Provider> = {}): Provider => ({
  slug: 'vendor',
  name: 'Vendor',
  baseUrls: [{ scheme: 'https', host: 'api.vendor.example', port: 443, basePath: '/v1' }],
  legacyBaseUrls: [],
  bindings: [],
  requiredHeaders: [],
  grantMethods: ['api_key'],
  clientHeader: null,
  accounts: [],
  anonymous: false,
  balance: null,
  rate: null,
  ...parts,
});

export const endpoint = (parts: Partial<CatalogEndpoint> = {}): CatalogEndpoint => ({
  id: 'vendor.search',
  provider: 'vendor',
  capability: 'web.search',
  summary: 'Search',
  method: 'GET',
  host: null,
  path: '/search',
  query: null,
  grantMethod: null,
  parameters: [],
  strictQuery: false,
  bodyAllowlist: false,
  platformRequest: null,
  ceilingParam: null,
  onClientDisconnect: 'drain',
  platformAuth: 'account',
  cost: { kind: 'free' },
  settlement: { basis: 'response', reported: null, fallbackMicros: null, reserveMicros: null },
  stripReportedCharge: false,
  task: null,
  taskId: null,
  rate: null,
  testRequest: null,
  priceNote: 'example, 2026-11-30',
  tombstone: null,
  ...parts,
});

const text: ValueRule = { type: 'string', enum: null, charsMax: null };

export const parameter = (
  place: Parameter['in'],
  name: string,
  parts: Partial<Parameter> = {},
): Parameter => ({
  in: place,
  name,
  required: false,
  rule: text,
  description: null,
  ...parts,
});
