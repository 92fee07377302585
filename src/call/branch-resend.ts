/**
 * Branch resend: the one re-send of the road. A 429 that says to wait a moment, on the operator's account, for a GET or HEAD without a
 * body, is sent once more on the same hold; the second answer is the answer (decisions section 5, retries).
 * Promises: never a second re-send, never a body, never what the vendor's own words call a used up quota; a full enforced window keeps the
 * first answer. Called by run-call between 08 and 09.
 */
import { errorBodyBytesMax, errorBodyDecodedBytesMax, errorBodyWaitMs } from '../base/limits';
import { resendWaitMsMax } from '../base/limits-capacity';
import { err, ok, type Result } from '../base/result';
import { waitOf } from '../domain/capacity/retry-after';
import type { Refusal } from '../domain/refusal';
import { decodeContent } from '../domain/relay/content-coding';
import { type RelayPorts, relay } from './08-relay';
import { type AnsweredCall, grow, isBodyless } from './call';
import { type CapacityPorts, mayResend, signalOf } from './capacity';
import type { Hold } from './custody';
import { readAll } from './pump';

/** What a re-send asks. */
export interface ResendPorts extends RelayPorts, CapacityPorts {
  readonly sleep: (ms: number) => Promise<void>;
}

/** Whether an answer may be such a burst; what it says is read only then. */
export function mayBeBurst(call: AnsweredCall): boolean {
  if (call.status !== 429 || call.catalog?.tier !== 4) return false;
  const { method, sentBytes, request } = call;
  return isBodyless(method) && sentBytes === null && request.body === null;
}

/** The second answer, or the first as it was. Refuses as the relay does, and when the first answer's body cannot be read. */
export async function resend(
  call: AnsweredCall,
  ports: ResendPorts,
  hold: Hold,
): Promise<Result<AnsweredCall, Refusal>> {
  const { catalog } = call;
  const { headers } = call.answer;
  const asked = waitOf((name) => headers.get(name), ports.nowMs());
  if (catalog === null || asked === null || asked > resendWaitMsMax) return ok(call);
  hold.arm();
  const read = await bodyOf(call);
  if (!read.ok) return read;
  const first = grow(call, { bytes: read.value });
  const signal = signalOf(first, catalog, textOf(first), ports.nowMs());
  if (signal?.kind !== 'burst' || signal.waitMs === null) return ok(first);
  await ports.sleep(signal.waitMs);
  if (call.request.signal.aborted) return ok(first);
  const asking = mayResend(first, catalog, ports);
  const hasRoom = asking instanceof Promise ? await asking : asking;
  if (!hasRoom) return ok(first);
  const waitMs = call.smoothed?.waitMs ?? 0;
  return relay(grow(first, { smoothed: { waitMs, resent: true } }), ports, hold);
}

async function bodyOf({
  answer,
  endpoint,
}: AnsweredCall): Promise<Result<Uint8Array | null, Refusal>> {
  if (answer.body === null) return ok(null);
  const bytes = await readAll(answer.body, errorBodyBytesMax, errorBodyWaitMs);
  if (bytes === 'too_large')
    return err({ code: 'response_buffer_limit', bytesMax: errorBodyBytesMax });
  if (bytes === 'broken' || bytes === 'late')
    return err({ code: 'downstream.error', host: endpoint.host });
  return ok(bytes);
}

function textOf({ answer, bytes }: AnsweredCall): string | null {
  if (bytes === null) return null;
  const coding = answer.headers.get('content-encoding');
  const plain = decodeContent(bytes, coding, errorBodyDecodedBytesMax);
  return plain === null ? null : new TextDecoder().decode(plain);
}
