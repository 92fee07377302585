/**
 * 05 admit: the organisation's flow control (rate, concurrency) sits here, before money: root calls only.
 * Promises today: the call passes unchanged; no limit can be configured yet, so none is silently ignored. Called by run-call.
 */
import { ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { AdmittedCall, AuthorizedCall } from './call';

/** Refuses nothing yet. Nothing is owed. */
export function admit(call: AuthorizedCall): Result<AdmittedCall, Refusal> {
  return ok(call);
}
