/**
 * 01 intake: is this a request that we can relay at all, what does it name, and which of its bytes are addressed to us?
 * Promises: one pass over the headers; the path and the query are slices of the request target, never parsed and rebuilt.
 * Must never: touch the body, ask a store. Called by run-call.
 */
import { newId } from '../base/ids';
import { headerBytesMax, headerCountMax, requestBodyBytesMax, urlBytesMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import type { EgressPolicy } from '../domain/egress/allowance';
import { parseTarget, repairScheme } from '../domain/egress/target-url';
import type { Refusal } from '../domain/refusal';
import { mentionsOwnCookie, withoutOwnCookies } from '../domain/relay/cookies';
import { dropsFromRequest } from '../domain/relay/header-policy';
import { pathFault } from '../domain/relay/path';
import { queryPairValue, type RawQuery, withoutQueryPairs } from '../domain/relay/query';
import { carrierHeaders, readCarrier } from '../domain/tenancy/carriers';
import { isToken } from '../domain/tenancy/token';
import { weirHeaders } from '../http/header-names';
import type { CallRequest, HeaderScan, Surface, Target } from './call';

/** What intake needs to know of the deployment. */
export interface IntakeRules {
  readonly clientIpHeaders: ReadonlySet<string>;
  readonly egress: EgressPolicy;
}

const controlBytes = /[\x00-\x08\x0a-\x1f\x7f]/;
const decimal = /^\d{1,15}$/;
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const keptDespiteConnection: ReadonlySet<string> = new Set(['close', 'keep-alive', 'upgrade', 'host', 'content-length']);
/** What JavaScript sees in place of a byte that is not UTF-8: a rewritten header would send it instead of the byte. */
const replacement = '\ufffd';

interface Scan extends HeaderScan {
  readonly tokens: readonly string[];
  readonly contentLength: string | null;
  readonly transferEncoding: string | null;
}

/** Takes a request in. Refuses: request.*, payload.too_large, auth.failed (missing), auth.key_conflict. Nothing is owed. */
export function intake(request: Request, surface: Surface, startedAtMs: number, rules: IntakeRules): Result<CallRequest, Refusal> {
  const url = request.url;
  const target = url.slice(url.indexOf('/', url.indexOf('://') + 3));
  if (target.length > urlBytesMax) return err({ code: 'request.url_too_long', bytesMax: urlBytesMax });

  const scan = scanHeaders(request, rules.clientIpHeaders);
  if (!scan.ok) return scan;
  const framing = framingFault(scan.value, request.method);
  if (framing !== null) return err(framing);

  const mark = target.indexOf('?');
  const rest = target.slice(surface.length + 2, mark < 0 ? undefined : mark);
  const named = surface === 'call' ? readCallTarget(rest, rules.egress) : readAlias(rest);
  if (!named.ok) return named;
  const fault = pathFault(named.value.path);
  if (fault !== null) return err({ code: 'request.path_invalid', reason: fault });

  const query = takeQueryToken(mark < 0 ? null : target.slice(mark + 1));
  const token = oneToken(scan.value.tokens, query.tokens);
  if (!token.ok) return token;

  return ok({
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
    declaredBytes: scan.value.contentLength === null ? null : Number(scan.value.contentLength),
  });
}

function scanHeaders(request: Request, clientIp: ReadonlySet<string>): Result<Scan, Refusal> {
  const drop: string[] = [];
  const rewrite: [string, string][] = [];
  const tokens: string[] = [];
  let targetHost: string | null = null;
  let contentLength: string | null = null;
  let transferEncoding: string | null = null;
  let nominated: string | null = null;
  let upgrade = false;
  let acceptEncoding: string | null = null;
  let contentEncoding = false;
  let bytes = 0;
  const pairs = [...request.headers];
  if (pairs.length > headerCountMax) return err({ code: 'request.headers_too_large', limit: 'count', max: headerCountMax });
  for (let i = 0; i < pairs.length; i++) {
    const [name, value] = pairs[i] as [string, string];
    bytes += name.length + value.length;
    // The one thing that the runtime's parser lets through and an origin may read as a new line or field.
    if (controlBytes.test(value)) return err({ code: 'request.header_invalid', header: name });
    if (carrierHeaders.has(name)) {
      const carried = readCarrier(name, value);
      if (carried !== null) {
        tokens.push(...carried.tokens);
        if (carried.rest === null || dropsFromRequest(name, clientIp)) drop.push(name);
        else if (carried.rest.includes(replacement)) return err({ code: 'request.header_invalid', header: name });
        else rewrite.push([name, carried.rest]);
        continue;
      }
    }
    if (name === 'upgrade') upgrade = value.toLowerCase() === 'websocket';
    else if (name === 'accept-encoding') acceptEncoding = value;
    else if (name === 'content-encoding') contentEncoding = true;
    else if (name === 'content-length') contentLength = value;
    else if (name === 'transfer-encoding') transferEncoding = value;
    else if (name === weirHeaders.targetHost) targetHost = value;
    else if (name === 'connection') nominated = value;
    else if (name === 'cookie' && mentionsOwnCookie(value)) {
      const kept = withoutOwnCookies(value);
      if (kept === null) drop.push(name);
      else if (kept.includes(replacement)) return err({ code: 'request.header_invalid', header: name });
      else if (kept !== value) rewrite.push([name, kept]);
    }
    if (dropsFromRequest(name, clientIp) && !(upgrade && name === 'upgrade')) drop.push(name);
  }
  if (bytes > headerBytesMax) return err({ code: 'request.headers_too_large', limit: 'bytes', max: headerBytesMax });
  const named = nominated === null ? [] : nominatedNames(nominated);
  drop.push(...named);
  if (named.includes('accept-encoding')) acceptEncoding = null;
  const found = { drop, rewrite, tokens, targetHost, contentLength, transferEncoding, upgrade, acceptEncoding, contentEncoding };
  return ok(found);
}

/** Headers that the caller's Connection names are for this hop only (RFC 9110 7.6.1); framing, host and the upgrade are ours to keep. */
function nominatedNames(connection: string): string[] {
  const names = connection.toLowerCase().split(',').map((name) => name.trim());
  return names.filter((name) => headerName.test(name) && !keptDespiteConnection.has(name));
}

function framingFault(scan: Scan, method: string): Refusal | null {
  if (scan.transferEncoding !== null && scan.transferEncoding.toLowerCase() !== 'chunked')
    return { code: 'request.framing_invalid', reason: 'transfer_encoding' };
  // fetch loses a GET body of unknown length without a word.
  if (scan.transferEncoding !== null && (method === 'GET' || method === 'HEAD'))
    return { code: 'request.framing_invalid', reason: 'chunked_get' };
  if (scan.contentLength === null) return null;
  if (!decimal.test(scan.contentLength)) return { code: 'request.framing_invalid', reason: 'content_length' };
  if (Number(scan.contentLength) > requestBodyBytesMax)
    return { code: 'payload.too_large', bytesMax: requestBodyBytesMax, what: 'body' };
  return null;
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

/** Takes `?key=wk_…` out of the query; a `key` pair that is no token is the caller's own. */
function takeQueryToken(query: RawQuery): { tokens: readonly string[]; rest: RawQuery } {
  if (query === null || !/wk_|%/.test(query)) return { tokens: [], rest: query };
  const tokens: string[] = [];
  const rest = withoutQueryPairs(query, (name, raw) => {
    const token = name === 'key' ? queryPairValue(raw) : '';
    if (!isToken(token)) return false;
    tokens.push(token);
    return true;
  });
  return { tokens, rest };
}

function oneToken(fromHeaders: readonly string[], fromQuery: readonly string[]): Result<string, Refusal> {
  const first = fromHeaders[0] ?? fromQuery[0];
  if (first === undefined) return err({ code: 'auth.failed', reason: 'missing' });
  for (const other of fromHeaders) if (other !== first) return err({ code: 'auth.key_conflict' });
  for (const other of fromQuery) if (other !== first) return err({ code: 'auth.key_conflict' });
  return ok(first);
}
