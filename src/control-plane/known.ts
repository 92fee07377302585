/**
 * Whether what a body refers to exists in the tenant. Promises: a foreign id and an unknown one are
 * the same refusal, on the field that named it. Called by the resource files.
 */
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { ProjectRecord, Stored } from '../ports/store';
import { invalid } from './body';
import type { Call } from './operation';

/** The row of the tenant's that a body names. Refuses with `validation.error` on the field of its id. */
export async function named<R>(
  kind: 'principal' | 'project' | 'upstream',
  row: Stored<R>,
): Promise<Result<R, Refusal>> {
  const found = await row;
  if (found.ok || found.error.code !== 'resource.not_found') return found;
  return err(invalid({ path: `${kind}_id`, message: `names no ${kind} of yours` }));
}

/** The project that a body may name; null: none. */
export const namedProject = async (
  { services, tenantId }: Call,
  id: string | null,
): Promise<Result<ProjectRecord | null, Refusal>> =>
  id === null ? ok(null) : named('project', services.store.projects.get(tenantId, id));
