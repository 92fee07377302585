/**
 * 11 finalize: the answer that the caller gets: a native copy of the upstream's, without what may not leave, plus four headers of ours.
 * Promises: native body and headers, whatever the status; no injected credential in a header or the reason; after this no new error exists.
 * The copy is cleaned, not the answer: every look at the headers of a Response makes one more native object. Called by run-call.
 */
import { pumpChunkBytes } from '../base/limits';
import { headerHit, maskValue } from '../domain/credentials/masking';
import type { Refusal } from '../domain/refusal';
import { cleanAnswerHeaders } from '../domain/relay/answer-headers';
import { applyEdits } from '../domain/relay/header-edits';
import { answerLength } from '../domain/relay/request-target';
import { weirHeaders } from '../http/header-names';
import { problemResponse } from '../http/problem';
import type { EvidencedCall, Smoothed } from './call';
import { type BodyWatch, trackBody } from './pump';

/** Statuses with which the Fetch standard allows no body. */
const nullBodyStatuses: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** Whether the body of this answer is followed to its end; everything else ends at the headers. */
export function isFollowed(call: EvidencedCall): boolean {
  if (!call.upstream.trackBody && call.tap === null) return false;
  if (call.redacted || nullBodyStatuses.has(call.status)) return false;
  return call.body instanceof ReadableStream;
}

/** The length of a followed body that may be here in one chunk, bytes; `null`: it is long, tells no length, or is read as it passes. */
export function shortLength({ tap, answer }: EvidencedCall): number | null {
  const length = tap === null ? answerLength(answer.headers) : null;
  return length === null || length === 0 || length > pumpChunkBytes ? null : length;
}

/** Builds the answer. `watch` is told of a body that {@link isFollowed}; another needs none. */
export function finalize(call: EvidencedCall, watch: BodyWatch | null): Response {
  if (call.redacted) return withheldAnswer(call);
  const out = call.status === 101 ? upgraded(call.answer) : copied(call, watch);
  stampHeaders(out.headers, call);
  return out;
}

function upgraded({ webSocket, headers }: Response): Response {
  return new Response(null, { status: 101, webSocket, headers });
}

/** A copy whose headers can be edited. Given as init, the answer itself is half as dear as its parts. */
function copied(call: EvidencedCall, watch: BodyWatch | null): Response {
  const { answer, status } = call;
  const body = bodyOf(call, watch);
  const reason = reasonOf(call);
  if (body === answer.body && reason === answer.statusText) return new Response(body, answer);
  const { headers } = answer;
  return new Response(body, { status, statusText: reason, headers, encodeBody: 'manual' });
}

/** The reason phrase, masked. */
function reasonOf({ answer: { statusText }, credentials: { masks } }: EvidencedCall): string {
  return headerHit(statusText, masks) ? maskValue(statusText, masks) : statusText;
}

/** What their status needs beside our body: a client still backs off, and a 401 names its scheme (RFC 9110 section 11.6.1). */
const keptWhenWithheld = ['retry-after', 'www-authenticate'] as const;

/** Their status, our body. */
function withheldAnswer(call: EvidencedCall): Response {
  const { answer, status } = call;
  const refusal: Refusal = { code: 'response.redacted', upstreamStatus: status };
  const out = problemResponse(refusal, { callId: call.id, status });
  for (const name of keptWhenWithheld) {
    const value = answer.headers.get(name);
    if (value !== null && maskValue(value, call.credentials.masks) === value)
      out.headers.set(name, value);
  }
  return out;
}

function bodyOf(call: EvidencedCall, watch: BodyWatch | null): BodyInit | null {
  if (nullBodyStatuses.has(call.status)) return null;
  if (watch === null || !isFollowed(call) || !(call.body instanceof ReadableStream))
    return call.body;
  const length = answerLength(call.answer.headers);
  return trackBody(call.body, { length, watch });
}

function stampHeaders(headers: Headers, call: EvidencedCall): void {
  cleanAnswerHeaders(headers, call.credentials.masks);
  for (const [name, value] of call.bodyHeaders) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  const rules = call.upstream.headerRules;
  if (rules !== null) applyEdits(headers, rules.response);
  headers.set(weirHeaders.callId, call.id);
  headers.set(weirHeaders.errorSource, 'upstream');
  if (call.costMicros !== null) headers.set(weirHeaders.costMicro, String(call.costMicros));
  if (call.taskState !== null) headers.set(weirHeaders.async, call.taskState);
  if (call.smoothed !== null) headers.set(weirHeaders.smoothed, smoothedText(call.smoothed));
  headers.set('x-content-type-options', 'nosniff');
  // A browser that navigates to a relayed page must not run it under our origin; a vendor's own policy stays beside ours.
  headers.append('content-security-policy', 'sandbox');
}

/** `wait=120`, `retry=1`, or both. */
function smoothedText({ waitMs, resent }: Smoothed): string {
  const wait = waitMs > 0 ? [`wait=${Math.round(waitMs)}`] : [];
  return [...wait, ...(resent ? ['retry=1'] : [])].join(', ');
}
