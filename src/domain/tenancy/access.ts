/**
 * Who may do what: roles, permissions, access keys and their lists.
 * Promises: deny by default; a key can only narrow what its principal's role allows. Pure. Called by stages 02, 04 and the management API.
 */

/** Roles of a principal inside its tenant, strongest first. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** What a key may be allowed. `call:invoke` is the data plane; the rest is the management API. */
export const permissions = [
  'call:invoke',
  'config:read',
  'config:write',
  'secret:write',
  'access:write',
  'call:read',
] as const;
export type Permission = (typeof permissions)[number];

const granted: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  owner: new Set(permissions),
  admin: new Set(permissions),
  member: new Set<Permission>(['call:invoke', 'config:read', 'call:read']),
  viewer: new Set<Permission>(['config:read', 'call:read']),
};

/** An access key as the road sees it. `null` lists mean "all that the role allows". Times are epoch milliseconds. */
export interface AccessKey {
  readonly id: string;
  readonly tenantId: string;
  readonly principalId: string;
  readonly role: Role;
  readonly permissions: readonly Permission[] | null;
  /** Upstream ids that the key may call. */
  readonly upstreamAccess: readonly string[] | null;
  /** Project ids whose upstreams the key may call. */
  readonly projectAccess: readonly string[] | null;
  /** Metered calls per UTC day; `null`: no cap. */
  readonly callCap: number | null;
  readonly expiresAtMs: number | null;
  readonly revoked: boolean;
}

/** Whether the key's role grants `permission` and the key does not narrow it away. */
export function may(key: Pick<AccessKey, 'role' | 'permissions'>, permission: Permission): boolean {
  return (
    granted[key.role].has(permission) &&
    (key.permissions === null || key.permissions.includes(permission))
  );
}

/** Whether `role` may manage somebody of role `other`: only an owner makes or changes an owner. */
export function outranks(role: Role, other: Role): boolean {
  return (
    role === 'owner' ||
    roles.indexOf(role) < roles.indexOf(other) ||
    (role === 'admin' && other === 'admin')
  );
}

/**
 * The access lists of a key against one upstream: both lists must pass, `null` means all.
 * An owner is not bound by them (digest A7). An upstream without a project passes any project list only when there is none.
 */
export function mayUse(
  key: AccessKey,
  upstream: { readonly id: string; readonly projectId: string | null },
): boolean {
  if (key.role === 'owner') return true;
  if (key.upstreamAccess !== null && !key.upstreamAccess.includes(upstream.id)) return false;
  if (key.projectAccess === null) return true;
  return upstream.projectId !== null && key.projectAccess.includes(upstream.projectId);
}
