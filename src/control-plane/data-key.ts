/**
 * The data key that a secret of a tenant is sealed with. Promises: one that opens under a master
 * key of this deployment; one whose master key is lost is followed by another, so that what cannot
 * be opened any more can at least be stored again; two who make one at once agree on the stored
 * one. Called by `secrets.ts` and `vault.ts`.
 */
import { configRetryMs } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { WrappedDataKey } from '../ports/vault';
import type { Call } from './operation';

/** The newest one, made where there is none that opens. Refuses with `config.unavailable`. */
export async function dataKeyOf(
  call: Call,
  tenantId: string,
): Promise<Result<WrappedDataKey, Refusal>> {
  const { store, vault } = call.services;
  const known = await store.dataKeys.newest(tenantId);
  if (!known.ok) return known;
  const key = known.value;
  if (key !== null && (await vault.opens(key))) return ok(key);
  return nextDataKey(call, tenantId, key);
}

/**
 * The one after `newest`. This isolate may be of an older deployment than the one that wrapped
 * `newest`, for moments: what it wraps now could be lost with its master key.
 */
export async function nextDataKey(
  call: Call,
  tenantId: string,
  newest: WrappedDataKey | null,
): Promise<Result<WrappedDataKey, Refusal>> {
  const { store, vault } = call.services;
  if (newest !== null && newest.masterVersion > vault.newestMasterVersion)
    return err({ code: 'config.unavailable', retryAfterMs: configRetryMs });
  const made = await vault.newDataKey(tenantId, (newest?.version ?? 0) + 1);
  const added = await store.dataKeys.add(made, call.facts.nowMs);
  if (!added.ok) return added;
  const stored = await store.dataKeys.newest(tenantId);
  if (!stored.ok) return stored;
  return stored.value === null ? err({ code: 'resource.not_found' }) : ok(stored.value);
}
