/**
 * 02 identify: whose call is this?
 * Promises: an unknown, an expired and a revoked key cost no upstream; the tenant comes from the key alone. Called by run-call.
 */
import { type MaybePromise, ok, type Result, whenHere } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { Background, Config } from '../ports/config';
import { type CallRequest, grow, type IdentifiedCall } from './call';

/** Refuses: auth.failed, config.unavailable. Nothing is owed. */
export function identify(
  call: CallRequest,
  config: Pick<Config, 'identify'>,
  background: Background,
): MaybePromise<Result<IdentifiedCall, Refusal>> {
  return whenHere(config.identify(call.token, call.startedAtMs, background), (identity) =>
    identity.ok
      ? ok(grow(call, { key: identity.value.key, tenant: identity.value.tenant }))
      : identity,
  );
}
