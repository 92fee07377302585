/**
 * 06 reserve: money is set aside here, before anything is sent. Tiers 1 to 3 (own upstream, own secret, anonymous) owe nothing.
 * Promises today: every call is of tier 1 and passes unchanged. Called by run-call.
 */
import { ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { AdmittedCall, ReservedCall } from './call';

/** Refuses nothing yet. Nothing is owed. */
export function reserve(call: AdmittedCall): Result<ReservedCall, Refusal> {
  return ok(call);
}
