/**
 * A refused upload: what its sender still sends is read and thrown away, then the refusal goes out.
 * The bug that was here: the runtime resets the connection of whoever sends a body that nobody reads. A client that had not read yet saw a
 * broken pipe instead of the 402 or 429, and SDKs sent the whole upload again, twice.
 * Promises: nothing is waited for that is small, too large or not sent yet (Expect: 100-continue); bounded waits, one buffer; never throws.
 * Must never: touch a body that a stage has begun to read. Called by run-call, and by app.ts for paths that are nothing of ours.
 */
import {
  pumpChunkBytes,
  refusedBodyStallMs,
  refusedBodyWaitMs,
  requestBodyBytesMax,
  unreadBodyBytesMax,
} from '../base/limits';
import type { MaybePromise } from '../base/result';
import type { Refusal } from '../domain/refusal';
import { declaredLength } from '../domain/relay/request-target';
import { problemResponse } from '../http/problem';

/** The problem document, when its caller can take it. */
export function refusalOf(
  request: Request,
  refusal: Refusal,
  callId: string | null,
): MaybePromise<Response> {
  const response = problemResponse(refusal, callId === null ? {} : { callId });
  const body = unread(request);
  return body === null ? response : skipped(body).then(() => response);
}

/** The body whose sender would be cut off; `null`: there is none. */
function unread(request: Request): ReadableStream | null {
  const { headers } = request;
  const length = headers.get('content-length');
  const bytes = length === null ? null : declaredLength(length);
  if (length === null && !headers.has('transfer-encoding')) return null;
  if (bytes !== null && (bytes <= unreadBodyBytesMax || bytes > requestBodyBytesMax)) return null;
  if (headers.has('expect') || request.bodyUsed) return null;
  const { body } = request;
  return body === null || body.locked ? null : body;
}

/** Never rejects: it is an exit of the road. */
async function skipped(body: ReadableStream): Promise<void> {
  let reader: ReadableStreamBYOBReader | null = null;
  let total = 0;
  let seen = 0;
  let waitedMs = 0;
  const timer = setInterval(() => {
    waitedMs += refusedBodyStallMs;
    if (total === seen || waitedMs >= refusedBodyWaitMs) stop();
    seen = total;
  }, refusedBodyStallMs);
  const stop = (): void => void reader?.cancel().catch(() => undefined);
  try {
    reader = body.getReader({ mode: 'byob' });
    let room = new Uint8Array(pumpChunkBytes);
    while (total <= requestBodyBytesMax) {
      const { value, done } = await reader.read(room);
      if (done || value === undefined) return;
      total += value.byteLength;
      room = new Uint8Array(value.buffer);
    }
    stop();
  } catch {
    // It broke: nobody is left to read the refusal.
  } finally {
    clearInterval(timer);
  }
}
