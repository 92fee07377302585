/**
 * Grants: what an actor may give to others. Promises: nobody gives more than it has: not a stronger
 * role, not a permission that its key was narrowed away from, not an upstream or project outside
 * its lists, not more calls a day than its own cap, not a longer life than its own. Pure. Called by principals and keys. The attack: a key narrowed to `access:write`
 * makes itself a second key without the narrowing.
 */
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import { type AccessKey, may, outranks, permissions, type Role } from '../domain/tenancy/access';
import type { Actor } from './operation';

/** What a key would be allowed. */
export type Grant = Pick<
  AccessKey,
  'role' | 'permissions' | 'upstreamAccess' | 'projectAccess' | 'callCap' | 'expiresAtMs'
>;

/** Whether the actor may manage a principal of that role. Refuses with `authz.forbidden`. */
export function mayManage(actor: Actor, role: Role): Result<void, Refusal> {
  if (actor.kind === 'operator' || outranks(actor.key.role, role)) return ok(undefined);
  return err({ code: 'authz.forbidden', needs: `role ${role}` });
}

/**
 * Whether the actor may give somebody that role: it must hold every permission of it. Refuses with
 * `authz.forbidden`.
 */
export function mayGiveRole(actor: Actor, role: Role): Result<void, Refusal> {
  const manages = mayManage(actor, role);
  return manages.ok ? holdsAll(actor, { role, permissions: null }) : manages;
}

/** Whether the actor may make or change a key like this. Refuses with `authz.forbidden`. */
export function mayGiveKey(actor: Actor, grant: Grant): Result<void, Refusal> {
  const manages = mayManage(actor, grant.role);
  if (!manages.ok) return manages;
  const holds = holdsAll(actor, grant);
  if (!holds.ok || actor.kind === 'operator') return holds;
  if (!isBoundWithin(actor.key.callCap, grant.callCap))
    return lacks('daily_call_cap of the new key');
  if (!isBoundWithin(actor.key.expiresAtMs, grant.expiresAtMs))
    return lacks('expires_at of the new key');
  if (actor.key.role === 'owner') return holds;
  const { upstreamAccess, projectAccess } = actor.key;
  if (!within(upstreamAccess, grant.upstreamAccess)) return lacks('upstream_access of the new key');
  if (!within(projectAccess, grant.projectAccess)) return lacks('project_access of the new key');
  return ok(undefined);
}

function holdsAll(actor: Actor, grant: Pick<Grant, 'role' | 'permissions'>): Result<void, Refusal> {
  if (actor.kind === 'operator') return ok(undefined);
  const missing = permissions.find((p) => may(grant, p) && !may(actor.key, p));
  return missing === undefined ? ok(undefined) : lacks(missing);
}

/** Cap and expiry bind an owner's key too: they are the key's, not the role's. */
const isBoundWithin = (own: number | null, given: number | null): boolean =>
  own === null || (given !== null && given <= own);

/** Whether a list gives nothing beyond the actor's own; `null` is everything. */
function within(own: readonly string[] | null, given: readonly string[] | null): boolean {
  return own === null || given?.every((id) => own.includes(id)) === true;
}

const lacks = (needs: string): Result<never, Refusal> => err({ code: 'authz.forbidden', needs });
