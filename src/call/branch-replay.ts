/**
 * Branch replay: a keyed call that was answered before gets that answer again, and nothing is sent, held or counted.
 * Promises: the same status, headers and bytes and the first cost (decisions section 5); only the call id is its own.
 * Called by run-call, from 06.
 */
import { ledgerBusyRetryMs } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import type { RecordedAnswer } from '../domain/ledger/operations';
import type { Refusal } from '../domain/refusal';
import { weirHeaders } from '../http/header-names';
import type { ReplayBodies } from '../ports/replay-bodies';

/** Builds the answer. Refuses: ledger_unavailable, when the body cannot be got now. */
export async function replay(
  recorded: RecordedAnswer,
  callId: string,
  bodies: ReplayBodies | null,
): Promise<Result<Response, Refusal>> {
  const { status, headers: flat, bodyRef, costMicros } = recorded;
  const body = bodyRef === null ? recorded.body : await bodies?.get(bodyRef);
  if (body === undefined)
    return err({ code: 'ledger_unavailable', retryAfterMs: ledgerBusyRetryMs });
  const headers = new Headers();
  for (let i = 0; i < flat.length; i += 2) headers.append(flat[i] ?? '', flat[i + 1] ?? '');
  headers.set(weirHeaders.callId, callId);
  // Of a task that was submitted the cost was not known.
  if (costMicros !== null) headers.set(weirHeaders.costMicro, String(costMicros));
  headers.set(weirHeaders.idempotentReplay, 'true');
  const isEmpty = recorded.bodyBytes === 0 || status === 204;
  const init = { status, headers, encodeBody: 'manual' } as const;
  return ok(new Response(isEmpty ? null : body, init));
}
