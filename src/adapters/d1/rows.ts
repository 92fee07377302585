/**
 * Rows → domain records: the one place where stored JSON is read back into types.
 * Promises: what was validated when it was written is read as it was written. Called by the D1 adapters.
 */
import type { CatalogEndpoint } from '../../domain/catalog/endpoint';
import type { Provider } from '../../domain/catalog/provider';
import type { Binding, HeaderRules, Route, Upstream } from '../../domain/catalog/upstream';
import {
  type AccessKey,
  type Permission,
  permissions,
  type Role,
} from '../../domain/tenancy/access';
import type { accessKeys, routes, upstreams } from './schema';

const known: ReadonlySet<string> = new Set(permissions);

/** An access key with its principal's role; a key of a disabled principal reads as revoked. */
export function toAccessKey(
  row: typeof accessKeys.$inferSelect,
  role: Role,
  principalEnabled: boolean,
): AccessKey {
  return {
    id: row.id,
    tenantId: row.tenantId,
    principalId: row.principalId,
    role,
    permissions:
      row.permissions === null
        ? null
        : row.permissions.filter((p): p is Permission => known.has(p)),
    upstreamAccess: row.upstreamAccess,
    projectAccess: row.projectAccess,
    callCap: row.dailyCallCap,
    expiresAtMs: row.expiresAt,
    revoked: row.revokedAt !== null || !principalEnabled,
  };
}

/** A route. */
export function toRoute(row: typeof routes.$inferSelect): Route {
  return {
    id: row.id,
    methods: row.methods,
    path: row.path,
    queryAllowlist: row.queryAllowlist,
    suffixMode: row.suffixMode,
    priority: row.priority,
  };
}

/** An upstream with its routes in matching order. */
export function toUpstream(
  row: typeof upstreams.$inferSelect,
  ownRoutes: readonly Route[],
): Upstream {
  return {
    id: row.id,
    tenantId: row.tenantId,
    projectId: row.projectId,
    name: row.name,
    alias: row.alias,
    scheme: row.scheme,
    endpoints: row.endpoints,
    basePath: row.basePath,
    bindings: row.bindings as Binding[],
    headerRules: (row.headerRules ?? null) as HeaderRules | null,
    firstByteTimeoutMs: row.firstByteTimeoutMs,
    idleTimeoutMs: row.idleTimeoutMs,
    visibility: row.visibility,
    enabled: row.enabled,
    trackBody: row.trackBody,
    needsTargetHost: row.needsTargetHost,
    routes: ownRoutes,
  };
}

/** A provider of the catalog. A row that an older version imported lacks what was added since: that is null. */
export const toProvider = (document: Provider): Provider => ({
  ...document,
  balance: document.balance ?? null,
  rate: document.rate ?? null,
});

/** An endpoint of the catalog; the same. */
export const toCatalogEndpoint = (document: CatalogEndpoint): CatalogEndpoint => ({
  ...document,
  rate: document.rate ?? null,
  testRequest: document.testRequest ?? null,
  task: document.task ?? null,
  taskId: document.taskId ?? null,
});
