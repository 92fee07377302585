/**
 * Whether what a body refers to exists in the tenant. Promises: a foreign id and an unknown one are
 * the same refusal, on the field that named it. Called by the resource files.
 */
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import { invalid } from './body';
import type { Call } from './operation';

/**
 * Whether a body's project is one of the tenant's. Refuses with `validation.error` on `project_id`.
 */
export async function knownProject(
  call: Call,
  projectId: string | null,
): Promise<Result<void, Refusal>> {
  if (projectId === null) return ok(undefined);
  const known = await call.services.store.projects.existing(call.tenantId, [projectId]);
  if (!known.ok) return known;
  if (known.value.length > 0) return ok(undefined);
  return err(invalid({ path: 'project_id', message: 'names no project of yours' }));
}

/**
 * Whether a body's principal is one of the tenant's. Refuses with `validation.error` on
 * `principal_id`.
 */
export async function knownPrincipal(
  call: Call,
  principalId: string | null,
): Promise<Result<void, Refusal>> {
  if (principalId === null) return ok(undefined);
  const known = await call.services.store.principals.get(call.tenantId, principalId);
  if (known.ok) return ok(undefined);
  if (known.error.code !== 'resource.not_found') return known;
  return err(invalid({ path: 'principal_id', message: 'names no principal of yours' }));
}
