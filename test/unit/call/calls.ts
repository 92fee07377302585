/**
 * Hand-made calls for the stage tests: one of each kind, every part replaceable. No stage of the
 * road is run to make them.
 */
import { err, ok, type Result } from '../../../src/base/result';
import type {
  AccountRung,
  AnsweredCall,
  AuthorizedCall,
  CallRequest,
  CatalogCall,
  EvidencedCall,
  GuardedCall,
  IdentifiedCall,
  ReservedCall,
  ResolvedCall,
  SettledCall,
} from '../../../src/call/call';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import type { Provider } from '../../../src/domain/catalog/provider';
import type { Binding, DenyRule, Route, Upstream } from '../../../src/domain/catalog/upstream';
import type { Refusal } from '../../../src/domain/refusal';
import type { HeaderScan } from '../../../src/domain/relay/header-scan';
import type { AccessKey } from '../../../src/domain/tenancy/access';
import type { CatalogEntry } from '../../../src/ports/catalog';
import type { Background, TenantView } from '../../../src/ports/config';
import type { PreparedCredentials } from '../../../src/ports/credentials';
import { endpoint as catalogEndpoint, provider } from '../domain/catalog/rows';

/** A token of the right shape; its check is not genuine, which no stage looks at. */
export const token = `wk_1${'a'.repeat(42)}`;
/** Another one. */
export const otherToken = `wk_1${'b'.repeat(42)}`;
/** When every hand-made call starts, epoch milliseconds. */
export const startMs = Date.UTC(2030, 0, 1);

/** A waitUntil that keeps what it was given. */
export function backgroundOf(): Background & { readonly work: Promise<unknown>[] } {
  const work: Promise<unknown>[] = [];
  return Object.assign((promise: Promise<unknown>) => void work.push(promise), { work });
}

export const key = (parts: Partial<AccessKey> = {}): AccessKey => ({
  id: 'key_1',
  tenantId: 'ten_leaf',
  principalId: 'prn_1',
  role: 'member',
  permissions: null,
  upstreamAccess: null,
  projectAccess: null,
  callCap: null,
  expiresAtMs: null,
  revoked: false,
  ...parts,
});

export const upstream = (parts: Partial<Upstream> = {}): Upstream => ({
  id: 'ups_1',
  tenantId: 'ten_leaf',
  projectId: null,
  name: 'api',
  alias: 'api.t',
  scheme: 'https',
  endpoints: [{ host: 'api.t', port: 443 }],
  basePath: '',
  bindings: [],
  headerRules: null,
  firstByteTimeoutMs: 5_000,
  idleTimeoutMs: 5_000,
  visibility: 'private',
  enabled: true,
  trackBody: false,
  needsTargetHost: false,
  routes: [],
  ...parts,
});

export const route = (parts: Partial<Route> = {}): Route => ({
  id: 'rte_1',
  methods: ['GET'],
  path: '/v1',
  queryAllowlist: null,
  suffixMode: 'append',
  priority: 0,
  ...parts,
});

export const binding = (parts: Partial<Binding> = {}): Binding => ({
  location: 'header',
  name: 'authorization',
  injector: 'bearer',
  format: null,
  source: { kind: 'secret', secretId: 'sec_1', field: null },
  ...parts,
});

export const denyRule = (parts: Partial<DenyRule> = {}): DenyRule => ({
  id: 'den_1',
  host: null,
  path: null,
  method: null,
  principalId: null,
  projectId: null,
  ...parts,
});

/** A tenant that finds `found` under every name, alias and host. */
export function tenant(
  found: Result<readonly Upstream[], Refusal> = ok([upstream()]),
  denyRules: readonly DenyRule[] = [],
): TenantView {
  return {
    tenantId: 'ten_leaf',
    chain: ['ten_leaf', 'ten_root'],
    ledger: { ledgerTenantId: 'ten_leaf', homeRegion: null },
    primaryDimension: null,
    allowsOverflow: true,
    denyRules,
    named: () => found,
    aliased: () => found,
    at: () => found,
    ownSecret: () => ok(null),
    secretsOf: () => ok(new Map()),
  };
}

/** A store that does not answer. */
export const unavailable: Refusal = { code: 'config.unavailable', retryAfterMs: 1_000 };
export const downTenant = (): TenantView => tenant(err(unavailable));

export const noCredentials: PreparedCredentials = { headers: [], query: [], json: [], masks: [] };

export const scan = (parts: Partial<HeaderScan> = {}): HeaderScan => ({
  drop: [],
  rewrite: [],
  tokens: [token],
  targetHost: null,
  upgrade: false,
  acceptEncoding: 'identity',
  contentEncoding: false,
  contentLength: null,
  transferEncoding: null,
  bodyEncoding: null,
  idempotencyKey: null,
  meta: null,
  maxCostMicro: null,
  keepsReportedCharge: false,
  ...parts,
});

export function taken(parts: Partial<CallRequest> = {}): CallRequest {
  const request = parts.request ?? new Request('https://gw.test/call/api/v1/x');
  return {
    id: 'call_1',
    surface: 'call',
    startedAtMs: startMs,
    request,
    method: request.method,
    target: { kind: 'name', name: 'api' },
    path: '/v1/x',
    query: null,
    token,
    headers: scan(),
    encoded: null,
    declaredBytes: null,
    tags: null,
    ...parts,
  };
}

export const identified = (parts: Partial<IdentifiedCall> = {}): IdentifiedCall => ({
  ...taken(parts),
  key: key(),
  tenant: tenant(),
  ...parts,
});

/** A row of the catalog with its provider. */
export const entryOf = (
  row: Partial<CatalogEndpoint> = {},
  vendor: Partial<Provider> = {},
): CatalogEntry => ({ endpoint: catalogEndpoint(row), provider: provider(vendor) });

/** A call of a row on the platform account. */
export const catalogCall = (
  row: Partial<CatalogEndpoint> = {},
  parts: Partial<CatalogCall> = {},
): CatalogCall => ({
  entry: entryOf(row),
  tier: 4,
  path: '/search',
  callersQuery: null,
  plainQuery: null,
  accounts: [account()],
  hasRoute: false,
  ...parts,
});

/** One of the operator's accounts there. */
export const account = (label = 'primary', parts: Partial<Upstream> = {}): AccountRung => ({
  label,
  upstream: upstream({ id: `catalog:vendor.search:${label}`, ...parts }),
});

export const resolved = (parts: Partial<ResolvedCall> = {}): ResolvedCall => ({
  ...identified(parts),
  catalog: null,
  upstream: upstream(),
  endpoint: { host: 'api.t', port: 443 },
  route: null,
  sentPath: '/v1/x',
  ...parts,
});

export const authorized = (parts: Partial<AuthorizedCall> = {}): AuthorizedCall => ({
  ...resolved(parts),
  authorized: true,
  sentBytes: null,
  json: undefined,
  ...parts,
});

export const reserved = (parts: Partial<ReservedCall> = {}): ReservedCall => ({
  ...authorized(parts),
  money: null,
  capacity: null,
  task: null,
  ...parts,
});

export const guarded = (parts: Partial<GuardedCall> = {}): GuardedCall => ({
  ...reserved(parts),
  credentials: noCredentials,
  platformHeaders: null,
  account: null,
  smoothed: null,
  ...parts,
});

export function answered(parts: Partial<AnsweredCall> = {}): AnsweredCall {
  const answer = parts.answer ?? new Response('ok');
  return { ...guarded(parts), answer, status: answer.status, bytes: null, ...parts };
}

export const settled = (parts: Partial<SettledCall> = {}): SettledCall => ({
  ...answered(parts),
  tap: null,
  costMicros: null,
  taskState: null,
  ...parts,
});

export function evidenced(parts: Partial<EvidencedCall> = {}): EvidencedCall {
  const call = settled(parts);
  return {
    ...call,
    body: call.answer.body,
    bodyHeaders: [],
    evidence: null,
    redacted: false,
    ...parts,
  };
}

/** A body that breaks after `text`. */
export function brokenBody(text: string): ReadableStream {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const quiet = (work: Promise<unknown>): void => void work.catch(() => undefined);
  quiet(writer.write(new TextEncoder().encode(text)));
  quiet(writer.abort(new Error('broke')));
  quiet(writer.closed);
  return readable;
}
