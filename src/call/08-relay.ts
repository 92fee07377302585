/**
 * 08 relay: the send. The only bytes that change are those that docs/relay-contract.md numbers.
 * Promises: native header copy, sliced target, native bodies, both `manual` options, redirects never followed, no edge cache.
 * Must never: re-send, read an answer's body, or put a URL into an error. Called by run-call with an armed custody.
 */
import { jsonBindingBodyBytesMax, jsonDepthMax, requestBodyBytesMax } from '../base/limits';
import { decodeUtf8, setTopLevelFields } from '../base/json';
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import { applyEdits } from '../domain/relay/header-edits';
import { setQueryPair } from '../domain/relay/query';
import type { AnsweredCall, GuardedCall } from './call';
import { limitBody, readAll } from './pump';

/** What the send needs from outside. */
export interface RelayPorts {
  readonly send: (request: Request) => Promise<Response>;
}

/** Refuses: downstream.error, timeout.request, payload.too_large, binding.body_invalid, request.path_invalid. */
export async function relay(call: GuardedCall, ports: RelayPorts, signal: AbortSignal): Promise<Result<AnsweredCall, Refusal>> {
  let overrun = false;
  const body = await requestBody(call, () => {
    overrun = true;
  });
  if (!body.ok) return body;
  const outgoing = outgoingRequest(call, body.value, signal);
  editHeaders(outgoing.headers, call);
  const sent = await sendOnce(ports.send(outgoing), call.upstream.firstByteTimeoutMs);
  if (overrun) return err({ code: 'payload.too_large', bytesMax: requestBodyBytesMax, what: 'body' });
  if (sent === 'fault') return err({ code: 'downstream.error', host: call.endpoint.host });
  if (sent === 'timeout') return err({ code: 'timeout.request', timeoutMs: call.upstream.firstByteTimeoutMs });
  return ok({ ...call, answer: sent });
}

type Body = ReadableStream | Uint8Array | null;

/** The body as it came; counted when it is chunked; rebuilt around the bound fields when a binding says so. */
async function requestBody(call: GuardedCall, onOverrun: () => void): Promise<Result<Body, Refusal>> {
  const body = call.request.body;
  if (call.credentials.json.length > 0) return bodyWithFields(call, body);
  if (body === null || call.declaredBytes !== null) return ok(body);
  return ok(limitBody(body, requestBodyBytesMax, onOverrun));
}

async function bodyWithFields(call: GuardedCall, body: ReadableStream | null): Promise<Result<Body, Refusal>> {
  const bytes = body === null ? new Uint8Array() : await readAll(body, jsonBindingBodyBytesMax);
  if (bytes === null) return err({ code: 'payload.too_large', bytesMax: jsonBindingBodyBytesMax, what: 'json_binding_body' });
  const text = decodeUtf8(bytes);
  if (!text.ok) return err({ code: 'binding.body_invalid', reason: text.error });
  const bound = setTopLevelFields(text.value, call.credentials.json, { depthMax: jsonDepthMax });
  if (!bound.ok) return err({ code: 'binding.body_invalid', reason: bound.error });
  return ok(new TextEncoder().encode(bound.value));
}

function outgoingRequest(call: GuardedCall, body: Body, signal: AbortSignal): Request {
  const request = call.request;
  const url = targetUrl(call);
  const common = { signal, redirect: 'manual', encodeResponseBody: 'manual', cf: { cacheTtl: -1 } } as const;
  // Only a copy of the request may carry a body on GET and HEAD.
  if (body !== null && body === request.body && (call.method === 'GET' || call.method === 'HEAD')) {
    return new Request(new Request(url, request), common);
  }
  return new Request(url, { ...common, method: call.method, headers: request.headers, body });
}

function targetUrl(call: GuardedCall): string {
  const { host, port } = call.endpoint;
  const scheme = call.upstream.scheme;
  const bare = host.includes(':') ? `[${host}]` : host;
  const authority = port === (scheme === 'https' ? 443 : 80) ? bare : `${bare}:${port}`;
  let query = call.query;
  for (const [name, value] of call.credentials.query) query = setQueryPair(query, name, value);
  const path = call.sentPath === '' ? '/' : call.sentPath;
  return query === null ? `${scheme}://${authority}${path}` : `${scheme}://${authority}${path}?${query}`;
}

/** Edits the outgoing copy in place: what is ours goes, what a rule says, then the credentials, each over its own target only. */
function editHeaders(headers: Headers, call: GuardedCall): void {
  const scan = call.headers;
  for (const name of scan.drop) headers.delete(name);
  for (const [name, value] of scan.rewrite) headers.set(name, value);
  if (!scan.acceptEncoding) headers.set('accept-encoding', 'identity');
  restoreAcceptEncoding(headers, call.request);
  if (call.credentials.json.length > 0) headers.delete('content-length');
  const rules = call.upstream.headerRules;
  if (rules !== null) applyEdits(headers, rules.request);
  for (const [name, value] of call.credentials.headers) headers.set(name, value);
}

/** The deployed edge overwrites Accept-Encoding and keeps the caller's own in `cf`. */
function restoreAcceptEncoding(headers: Headers, request: Request): void {
  const original = (request.cf as { clientAcceptEncoding?: unknown } | undefined)?.clientAcceptEncoding;
  if (typeof original === 'string') headers.set('accept-encoding', original === '' ? 'identity' : original);
}

/** One send under the first-byte watchdog. What went wrong stays here: a runtime error text can contain the URL. */
function sendOnce(answer: Promise<Response>, timeoutMs: number): Promise<Response | 'fault' | 'timeout'> {
  return new Promise((resolve) => {
    const watchdog = setTimeout(() => resolve('timeout'), timeoutMs);
    answer.then(
      (response) => {
        clearTimeout(watchdog);
        resolve(response);
      },
      () => {
        clearTimeout(watchdog);
        resolve('fault');
      },
    );
  });
}
