/**
 * 11 finalize: the answer that the caller gets: the upstream's, plus four headers of ours.
 * Promises: native body and headers; 101 and statuses that a Response cannot carry go back as the native object; after this no new
 * error exists. Called by run-call.
 */
import type { Refusal } from '../domain/refusal';
import { applyEdits } from '../domain/relay/header-edits';
import { weirHeaders } from '../http/header-names';
import { problemResponse } from '../http/problem';
import type { EvidencedCall } from './call';
import { type BodyEnd, trackBody } from './pump';

/** Statuses with which the Fetch standard allows no body. */
const nullBodyStatuses: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** Builds the answer. `onBodyEnd` is called only for a `track_body` upstream with a body, and then exactly once. */
export function finalize(call: EvidencedCall, onBodyEnd: ((end: BodyEnd, bytes: number) => void) | null): Response {
  const { answer } = call;
  if (call.redacted) {
    const refusal: Refusal = { code: 'response.redacted', upstreamStatus: answer.status };
    return problemResponse(refusal, { callId: call.id, status: answer.status });
  }
  if (answer.webSocket !== null || answer.status < 200 || answer.status > 599) return answer;
  const out = new Response(bodyOf(call, onBodyEnd), {
    status: answer.status,
    statusText: answer.statusText,
    headers: answer.headers,
    encodeBody: 'manual',
  });
  stampHeaders(out.headers, call);
  return out;
}

function bodyOf(call: EvidencedCall, onBodyEnd: ((end: BodyEnd, bytes: number) => void) | null): BodyInit | null {
  if (nullBodyStatuses.has(call.answer.status)) return null;
  if (onBodyEnd === null || !(call.body instanceof ReadableStream)) return call.body;
  const declared = call.answer.headers.get('content-length');
  const length = declared !== null && /^\d{1,15}$/.test(declared) ? Number(declared) : null;
  return trackBody(call.body, { length, idleTimeoutMs: call.upstream.idleTimeoutMs, onEnd: onBodyEnd });
}

function stampHeaders(headers: Headers, call: EvidencedCall): void {
  for (const [name, value] of call.headerEdits) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  if (call.setCookies !== null) {
    headers.delete('set-cookie');
    for (const line of call.setCookies) headers.append('set-cookie', line);
  }
  const rules = call.upstream.headerRules;
  if (rules !== null) applyEdits(headers, rules.response);
  headers.set(weirHeaders.callId, call.id);
  headers.set(weirHeaders.errorSource, 'upstream');
  headers.set('x-content-type-options', 'nosniff');
  // A browser that navigates to a relayed page must not run it under our origin; a vendor's own policy stays beside ours.
  headers.append('content-security-policy', 'sandbox');
}
