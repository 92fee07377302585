/**
 * 08 relay: the send. The only bytes that change are those that docs/relay-contract.md numbers.
 * Promises: native header copy, sliced target, native bodies, both `manual` options, redirects never followed, no edge cache.
 * Must never: re-send, read an answer's body, or put a URL into an error. Called by run-call with an armed custody.
 */

import { decodeUtf8, setTopLevelFields } from '../base/json';
import {
  jsonBindingBodyBytesMax,
  jsonBindingBodyWaitMs,
  jsonDepthMax,
  requestBodyBytesMax,
} from '../base/limits';
import { err, ok, type Result } from '../base/result';
import { authorityOf } from '../domain/egress/target-url';
import type { Refusal } from '../domain/refusal';
import { applyEdits } from '../domain/relay/header-edits';
import { setQueryPair } from '../domain/relay/query';
import { type AnsweredCall, bodyOf, brokenBody, type GuardedCall, grow, isBodyless } from './call';
import { type Hold, uploadMs } from './custody';
import { limitBody, readAll, type UploadWatch } from './pump';

/** What the send needs from outside: the platform's fetch. */
export interface RelayPorts {
  readonly send: (target: string | Request, init: RequestInit) => Promise<Response>;
}

/** Why the caller's body did not reach its end. */
type Cut = 'overrun' | 'broken';

/** Whether JavaScript pumps this body: then the send must be cut before its stream errors. */
export const isPumped = (call: GuardedCall): boolean =>
  call.sentBytes === null &&
  call.declaredBytes === null &&
  !isBodyless(call.method) &&
  call.request.body !== null;

/** Refuses: downstream.error, timeout.request, payload.too_large, request.body_incomplete, request.body_encoding_invalid, binding.body_invalid. */
export async function relay(
  call: GuardedCall,
  ports: RelayPorts,
  hold: Hold,
): Promise<Result<AnsweredCall, Refusal>> {
  let cut: Cut | null = null;
  let uploaded = call.sentBytes?.byteLength ?? call.declaredBytes ?? 0;
  const watch: UploadWatch = {
    onBytes: (total) => {
      uploaded = total;
    },
    // workerd would end a chunked body cleanly when its stream errors: the send is cancelled first, so that a part is never a whole.
    onCut: (why) => {
      cut = why;
      hold.cancel?.abort();
    },
  };
  const rebuilt = call.credentials.json.length > 0 ? await bodyWithFields(call, hold) : null;
  if (rebuilt !== null && !rebuilt.ok) return rebuilt;
  const body = rebuilt === null ? bodyAsSent(call, watch) : rebuilt.value;
  const answer = send(call, body, ports, hold.cancel?.signal ?? null);
  const sent = await hold.wait(answer, () => uploaded);
  if (cut !== null) return err(cutRefusal(call, cut));
  if (sent === 'timeout')
    return err({
      code: 'timeout.request',
      timeoutMs: call.upstream.firstByteTimeoutMs + uploadMs(uploaded),
    });
  if (sent === 'fault' || !isAnswer(sent))
    return err({ code: 'downstream.error', host: call.endpoint.host });
  return ok(grow(call, { answer: sent, status: sent.status, bytes: null }));
}

/** Three digits from 600 on are no HTTP status (RFC 9110 15), and a 101 to what was no upgrade has no connection: no Response carries either. */
const isAnswer = (sent: Response): boolean =>
  sent.status === 101 ? sent.webSocket !== null : sent.status <= 599;

const cutRefusal = (call: GuardedCall, cut: Cut): Refusal =>
  cut === 'overrun'
    ? { code: 'payload.too_large', bytesMax: requestBodyBytesMax, what: 'body' }
    : brokenBody(call);

type Body = ReadableStream | Uint8Array | null;

/** The body as it came; counted when it is chunked. */
function bodyAsSent(call: GuardedCall, watch: UploadWatch): Body {
  const body = call.sentBytes ?? bodyOf(call);
  return body instanceof ReadableStream && isPumped(call)
    ? limitBody(body, requestBodyBytesMax, watch)
    : body;
}

/** The body rebuilt around the bound fields. */
async function bodyWithFields(call: GuardedCall, hold: Hold): Promise<Result<Uint8Array, Refusal>> {
  const body = bodyOf(call);
  hold.arm();
  const bytes =
    call.sentBytes ??
    (body === null
      ? new Uint8Array()
      : await readAll(body, jsonBindingBodyBytesMax, jsonBindingBodyWaitMs, call.declaredBytes));
  if (bytes === 'too_large')
    return err({
      code: 'payload.too_large',
      bytesMax: jsonBindingBodyBytesMax,
      what: 'json_binding_body',
    });
  if (bytes === 'broken' || bytes === 'late') return err(brokenBody(call));
  const text = decodeUtf8(bytes);
  if (!text.ok) return err({ code: 'binding.body_invalid', reason: text.error });
  const bound = setTopLevelFields(text.value, call.credentials.json, { depthMax: jsonDepthMax });
  if (!bound.ok) return err({ code: 'binding.body_invalid', reason: bound.error });
  return ok(new TextEncoder().encode(bound.value));
}

/** `encodeResponseBody` counts only in fetch's own init: anywhere else a coded answer would be decoded. */
function send(
  call: GuardedCall,
  body: Body,
  ports: RelayPorts,
  signal: AbortSignal | null,
): Promise<Response> {
  const { request } = call;
  const headers = new Headers(request.headers);
  editHeaders(headers, call);
  const how = {
    headers,
    signal,
    redirect: 'manual',
    encodeResponseBody: 'manual',
    cf: { cacheTtl: -1 },
  } as const;
  const url = targetUrl(call);
  // From here the vendor may have been asked, whatever comes back.
  if (signal?.aborted !== true) call.money?.sent();
  // Only a copy of the request may carry a body on GET and HEAD.
  if (body !== null && isBodyless(call.method)) return ports.send(new Request(url, request), how);
  return ports.send(url, { ...how, method: call.method, body });
}

function targetUrl(call: GuardedCall): string {
  const { host, port } = call.endpoint;
  const { scheme } = call.upstream;
  const authority = authorityOf(scheme, host, port);
  let query = call.query;
  for (const [name, value] of call.credentials.query) query = setQueryPair(query, name, value);
  const path = call.sentPath === '' ? '/' : call.sentPath;
  return query === null
    ? `${scheme}://${authority}${path}`
    : `${scheme}://${authority}${path}?${query}`;
}

/** Edits the outgoing copy in place: what is ours goes, what a rule says, then the credentials, each over its own target only. */
function editHeaders(headers: Headers, call: GuardedCall): void {
  const scan = call.headers;
  for (const [name, value] of scan.rewrite) headers.set(name, value);
  for (const name of scan.drop) headers.delete(name);
  // What is read here must not be coded (decisions section 5).
  const isRead = call.money?.readsAnswers === true || call.task !== null;
  if (scan.acceptEncoding === null || isRead) headers.set('accept-encoding', 'identity');
  else if (edgeCodings.test(scan.acceptEncoding)) restoreAcceptEncoding(headers, call.request);
  if (call.credentials.json.length > 0) headers.delete('content-length');
  const rules = call.upstream.headerRules;
  if (rules !== null) applyEdits(headers, rules.request);
  for (const [name, value] of call.credentials.headers) headers.set(name, value);
  if (call.platformHeaders !== null)
    for (const [name, value] of call.platformHeaders)
      if (value === null) headers.delete(name);
      else headers.set(name, value);
}

/** What the deployed edge writes; anything else is the caller's own, and reading `cf` costs as much as a header copy. */
const edgeCodings = /^(?:(?:gzip|br|zstd)(?:, ?|$))+$/;

/** The deployed edge overwrites Accept-Encoding and keeps the caller's own in `cf`. */
function restoreAcceptEncoding(headers: Headers, request: Request): void {
  const original = (request.cf as { clientAcceptEncoding?: unknown } | undefined)
    ?.clientAcceptEncoding;
  if (typeof original === 'string')
    headers.set('accept-encoding', original === '' ? 'identity' : original);
}
