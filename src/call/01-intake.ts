/**
 * 01 intake: is this a request that we can relay at all, what does it name, and which of its bytes are addressed to us?
 * Promises: one pass over the headers; the path and the query are slices of the request target, never parsed and rebuilt.
 * Must never: touch the body, ask a store. Called by run-call.
 */
import { newId } from '../base/ids';
import { requestBodyBytesMax, urlBytesMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import { isAboveBytes } from '../base/utf8';
import type { EgressPolicy } from '../domain/egress/allowance';
import { parseTarget, repairScheme } from '../domain/egress/target-url';
import { readMeta } from '../domain/idempotency/meta';
import type { Refusal } from '../domain/refusal';
import { readBodyCoding } from '../domain/relay/body-coding';
import { type HeaderScan, scanHeaders } from '../domain/relay/header-scan';
import { pathFault } from '../domain/relay/path';
import { queryPairValue, type RawQuery, withoutQueryPairs } from '../domain/relay/query';
import { declaredLength, requestTarget } from '../domain/relay/request-target';
import { carriedByPair } from '../domain/tenancy/carriers';
import { type CallRequest, isBodyless, type Surface, startCall, type Target } from './call';
import { EncodedBody } from './encoded-body';

/** What intake needs to know of the deployment. */
export interface IntakeRules {
  readonly clientIpHeaders: ReadonlySet<string>;
  readonly egress: EgressPolicy;
}

/** Takes a request in. Refuses: request.*, payload.too_large, auth.failed (missing), auth.key_conflict. Nothing is owed. */
export function intake(
  request: Request,
  surface: Surface,
  startedAtMs: number,
  rules: IntakeRules,
): Result<CallRequest, Refusal> {
  const target = requestTarget(request.url);
  if (isAboveBytes(target, urlBytesMax))
    return err({ code: 'request.url_too_long', bytesMax: urlBytesMax });

  const scan = scanHeaders(request, rules.clientIpHeaders);
  if (!scan.ok) return scan;
  const framing = framingFault(scan.value, request.method);
  if (framing !== null) return err(framing);
  const encoded = encodedBody(request, scan.value);
  if (!encoded.ok) return encoded;

  const mark = target.indexOf('?');
  const rest = target.slice(surfacePrefix[surface].length, mark < 0 ? undefined : mark);
  const named = readTarget(surface, rest, rules.egress);
  if (!named.ok) return named;
  const fault = pathFault(named.value.path);
  if (fault !== null) return err({ code: 'request.path_invalid', reason: fault });

  const query = takeQueryToken(mark < 0 ? null : target.slice(mark + 1));
  const token = oneToken(scan.value.tokens, query.tokens);
  if (!token.ok) return token;
  const tags = readMeta(scan.value.meta);
  if (!tags.ok) return err({ code: 'meta.invalid', ...tags.error });

  const call = startCall({
    id: newId('call', startedAtMs),
    surface,
    startedAtMs,
    request,
    method: request.method,
    target: named.value.target,
    path: named.value.path,
    query: query.rest,
    token: token.value,
    headers: scan.value,
    encoded: encoded.value,
    declaredBytes: encoded.value === null ? declaredLength(scan.value.contentLength) : null,
    tags: tags.value,
  });
  return ok(call);
}

function framingFault(scan: HeaderScan, method: string): Refusal | null {
  if (scan.transferEncoding !== null && scan.transferEncoding.toLowerCase() !== 'chunked')
    return { code: 'request.framing_invalid', reason: 'transfer_encoding' };
  // fetch loses a GET body of unknown length without a word.
  if (scan.transferEncoding !== null && isBodyless(method))
    return { code: 'request.framing_invalid', reason: 'chunked_get' };
  if (scan.contentLength === null) return null;
  const declared = declaredLength(scan.contentLength);
  if (declared === null) return { code: 'request.framing_invalid', reason: 'content_length' };
  if (declared > requestBodyBytesMax)
    return { code: 'payload.too_large', bytesMax: requestBodyBytesMax, what: 'body' };
  return null;
}

/** A body that came encoded; `null`: it is as the upstream is to get it, or there is none. */
function encodedBody(
  request: Request,
  { bodyEncoding }: HeaderScan,
): Result<EncodedBody | null, Refusal> {
  if (bodyEncoding === null || request.body === null) return ok(null);
  const coding = readBodyCoding(bodyEncoding);
  if (coding === null) return err({ code: 'request.body_encoding_invalid', reason: 'unknown' });
  // Decoded, it has no length that is known: see above.
  if (isBodyless(request.method))
    return err({ code: 'request.framing_invalid', reason: 'chunked_get' });
  return ok(new EncodedBody(request.body, coding));
}

/** Where each surface begins. */
export const surfacePrefix: Readonly<Record<Surface, string>> = {
  call: '/call/',
  proxy: '/proxy/',
  catalog: '/catalog/call/',
};

function readTarget(surface: Surface, rest: string, policy: EgressPolicy): Result<Named, Refusal> {
  switch (surface) {
    case 'call':
      return readCallTarget(rest, policy);
    case 'proxy':
      return readAlias(rest);
    case 'catalog': {
      const [id, path] = cut(rest, rest.indexOf('/'));
      return ok({ target: { kind: 'catalog', id }, path });
    }
  }
}

type Named = { readonly target: Target; readonly path: string };

/** `name/path`, or a whole URL whose `//` a path parameter may have collapsed to `/`. */
function readCallTarget(rest: string, policy: EgressPolicy): Result<Named, Refusal> {
  const colon = rest.indexOf(':');
  const slash = rest.indexOf('/');
  if (colon > 0 && slash === colon + 1) {
    const raw = repairScheme(rest);
    const url = parseTarget(raw, policy);
    if (!url.ok && (url.error === 'private_address' || url.error === 'reserved_name')) {
      const [, host = '', path = ''] = /^[^:]+:\/\/([^/?#]*)(.*)$/.exec(raw) ?? [];
      return ok({ target: { kind: 'private_url', host }, path });
    }
    if (!url.ok) return err({ code: 'request.url_invalid', reason: url.error });
    return ok({ target: { kind: 'url', url: url.value }, path: url.value.rest });
  }
  const [name, path] = cut(rest, slash);
  return ok({ target: { kind: 'name', name }, path });
}

function readAlias(rest: string): Result<Named, Refusal> {
  const [alias, path] = cut(rest, rest.indexOf('/'));
  return ok({ target: { kind: 'alias', alias: alias.toLowerCase() }, path });
}

const cut = (rest: string, slash: number): [string, string] =>
  slash < 0 ? [rest, ''] : [rest.slice(0, slash), rest.slice(slash)];

/** Takes `?key=wk_…` out of the query, under any name; a pair that is no token is the caller's own. */
function takeQueryToken(query: RawQuery): { tokens: readonly string[]; rest: RawQuery } {
  if (query === null || !/wk_|%/.test(query)) return { tokens: [], rest: query };
  const tokens: string[] = [];
  const rest = withoutQueryPairs(query, (name, raw) => {
    const found = carriedByPair(name, queryPairValue(raw));
    tokens.push(...found);
    return found.length > 0;
  });
  return { tokens, rest };
}

function oneToken(
  fromHeaders: readonly string[],
  fromQuery: readonly string[],
): Result<string, Refusal> {
  const first = fromHeaders[0] ?? fromQuery[0];
  if (first === undefined) return err({ code: 'auth.failed', reason: 'missing' });
  for (const other of fromHeaders) if (other !== first) return err({ code: 'auth.key_conflict' });
  for (const other of fromQuery) if (other !== first) return err({ code: 'auth.key_conflict' });
  return ok(first);
}
