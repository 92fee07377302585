/**
 * 02 identify: whose call is this?
 * Promises: an unknown, an expired and a revoked key cost no upstream; the tenant comes from the key alone. Called by run-call.
 */
import { err, type MaybePromise, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { Background, Config } from '../ports/config';
import { type CallRequest, grow, type IdentifiedCall } from './call';

/** Refuses: auth.failed, config.unavailable. Nothing is owed. */
export async function identify(
  call: CallRequest,
  config: Pick<Config, 'identify'>,
  background: Background,
): Promise<Result<IdentifiedCall, Refusal>> {
  const found: MaybePromise<Awaited<ReturnType<Config['identify']>>> = config.identify(call.token, call.startedAtMs, background);
  const identity = found instanceof Promise ? await found : found;
  if (!identity.ok) return err(identity.error);
  return ok(grow(call, { key: identity.value.key, tenant: identity.value.tenant }));
}
