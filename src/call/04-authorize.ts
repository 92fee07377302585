/**
 * 04 authorize: may this key send this request there? Access lists, deny rules, the pure guards of the route, the contract of a catalog row.
 * Promises: no hold, no upstream, no store; a deny rule binds owners too. Called by run-call.
 */
import { jsonBindingBodyBytesMax, jsonBindingBodyWaitMs } from '../base/limits';
import { capacityRequestCharsMax, overflowBodyBytesMax } from '../base/limits-capacity';
import { keyedBodyBytesMax, meteredBodyBytesMax } from '../base/limits-money';
import { err, type MaybePromise, ok, type Result, whenOk } from '../base/result';
import { speaksInWords } from '../domain/capacity/signatures';
import { firstDenial } from '../domain/catalog/deny';
import {
  contractFault,
  type InputFault,
  type JudgedBody,
  readBody,
} from '../domain/catalog/input-contract';
import { fixedQueryFault, judgesBody, platformFault } from '../domain/catalog/platform-request';
import { callMethods, type DenyRule } from '../domain/catalog/upstream';
import { pricedBy } from '../domain/pricing/price-reads';
import type { Refusal } from '../domain/refusal';
import { disallowedNames } from '../domain/relay/query';
import { mayUse } from '../domain/tenancy/access';
import {
  type AuthorizedCall,
  bodyOf,
  brokenBody,
  type CatalogCall,
  grow,
  isBodyless,
  type ResolvedCall,
  spoken,
} from './call';
import { readAll } from './pump';

const authorized = { authorized: true, sentBytes: null, json: undefined } as const;

/** Refuses: authz.upstream_forbidden, authz.denied, guard.*, request.method_not_allowed, catalog.*, payload.too_large, request.body_incomplete, request.body_encoding_invalid. Nothing is owed. */
export function authorize(call: ResolvedCall): MaybePromise<Result<AuthorizedCall, Refusal>> {
  const { key, upstream } = call;
  if (!mayUse(key, upstream))
    return err({ code: 'authz.upstream_forbidden', named: spoken(call.target) });
  const denied = denial(call);
  if (denied !== null) return err({ code: 'authz.denied', rule: denied.id });
  const guarded = guardFault(call);
  if (guarded !== null) return err(guarded);
  return call.catalog === null ? ok(grow(call, authorized)) : withinContract(call, call.catalog);
}

/** A rule for a place that the provider had before holds for the place that it has now. */
function denial(call: ResolvedCall): DenyRule | null {
  const { key, upstream, endpoint, tenant, catalog } = call;
  if (tenant.denyRules.length === 0) return null;
  const who = {
    method: call.method,
    principalId: key.principalId,
    projectId: upstream.projectId,
  };
  const asSent = { host: endpoint.host, path: call.sentPath, ...who };
  const denied = firstDenial(tenant.denyRules, asSent);
  if (denied !== null || catalog === null) return denied;
  for (const { host, basePath } of catalog.entry.provider.legacyBaseUrls) {
    const path = basePath + catalog.path;
    const before = firstDenial(tenant.denyRules, { host, path, ...who });
    if (before !== null) return before;
  }
  return null;
}

/** Holds a call against its row: contracts on every tier, the operator's own bounds on tier 4. The body is read only where one of them, or the price, asks for it. */
function withinContract(
  call: ResolvedCall,
  { entry: { endpoint, provider }, tier, callersQuery, hasRoute }: CatalogCall,
): MaybePromise<Result<AuthorizedCall, Refusal>> {
  const isOurs = tier === 4;
  if (isOurs && call.headers.upgrade) return err({ code: 'catalog.websocket_not_metered' });
  const priced = isOurs ? pricedBy(endpoint.cost) : 'nothing';
  // A price that a member chooses is read from a body that can be read in one way only.
  const isJudged = judgesBody(endpoint, isOurs) || priced === 'members';
  const isKeyed = isOurs && call.headers.idempotencyKey !== null;
  const keptBytesMax = hasRoute ? overflowBodyBytesMax : capacityRequestCharsMax;
  const isWanted = hasRoute || (isOurs && speaksInWords(provider.slug));
  const isKept = isWanted && !isBodyless(call.method) && isWithin(call, keptBytesMax);
  const isAsked = isJudged || isKeyed || priced === 'bytes';
  const read = isAsked || isKept;
  // The body of a GET can only be relayed unread: one that has to be read is refused.
  if (read && isBodyless(call.method) && call.request.body !== null)
    return err({ code: 'catalog.parameter_invalid', fault: { kind: 'body_not_allowed' } });
  const sent = read ? readSentBody(call, isKeyed ? 'keyed_body' : 'metered_body') : ok(null);
  return whenOk(sent, (sentBytes) => {
    // What is only kept is not looked at.
    const body = judgedBody(call, isAsked ? sentBytes : null, isJudged);
    if (!body.ok) return err({ code: 'catalog.parameter_invalid', fault: body.error });
    const input = { query: callersQuery, body: body.value };
    const fault =
      contractFault(endpoint, input) ??
      (isOurs
        ? (fixedQueryFault(endpoint.query, callersQuery) ??
          platformFault(endpoint.platformRequest, input))
        : null);
    if (fault !== null) return err({ code: 'catalog.parameter_invalid', fault });
    const json = body.value.kind === 'json' ? body.value.value : undefined;
    return ok(grow(call, { authorized: true as const, sentBytes, json }));
  });
}

/** A body that is kept beside the send: an envelope may need it, or an answer may be its echo. */
const isWithin = ({ declaredBytes }: ResolvedCall, bytesMax: number): boolean =>
  declaredBytes !== null && declaredBytes <= bytesMax;

/** `null`: there is no body. */
async function readSentBody(
  call: ResolvedCall,
  what: 'keyed_body' | 'metered_body',
): Promise<Result<Uint8Array | null, Refusal>> {
  const body = bodyOf(call);
  if (body === null) return ok(null);
  const bytesMax = what === 'keyed_body' ? keyedBodyBytesMax : meteredBodyBytesMax;
  const tooLarge = err({ code: 'payload.too_large', bytesMax, what } as const);
  if ((call.declaredBytes ?? 0) > bytesMax) return tooLarge;
  const bytes = await readAll(body, bytesMax, jsonBindingBodyWaitMs, call.declaredBytes);
  if (bytes === 'too_large') return tooLarge;
  if (bytes === 'broken' || bytes === 'late') return err(brokenBody(call));
  return ok(bytes);
}

/** A body that only the price or the key asks for may be no JSON: then nobody reads it. */
function judgedBody(
  call: ResolvedCall,
  bytes: Uint8Array | null,
  isJudged: boolean,
): Result<JudgedBody, InputFault> {
  if (bytes === null) return ok({ kind: call.request.body === null ? 'none' : 'opaque' });
  if (bytes.length === 0) return ok({ kind: 'none' });
  if (call.headers.contentEncoding)
    return isJudged ? err({ kind: 'body_unreadable', reason: 'opaque' }) : ok({ kind: 'opaque' });
  const read = readBody(bytes);
  return read.ok || isJudged ? read : ok({ kind: 'opaque' });
}

function guardFault(call: ResolvedCall): Refusal | null {
  const allowlist = call.route?.queryAllowlist ?? null;
  if (allowlist !== null && call.query !== null) {
    const names = disallowedNames(call.query, new Set(allowlist));
    if (names.length > 0) return { code: 'guard.query_not_allowed', names };
  }
  const { bindings } = call.upstream;
  // Whoever answers a TRACE sends back what it got (RFC 9110 9.3.8), in a success that nobody reads: the credential would be the caller's.
  if (call.method === 'TRACE' && bindings.some(({ source }) => source.kind !== 'constant'))
    return { code: 'request.method_not_allowed', allowed: callMethods };
  if (!bindings.some((b) => b.location === 'json')) return null;
  if (isBodyless(call.method)) return { code: 'binding.body_invalid', reason: 'method' };
  if (call.headers.contentEncoding) return { code: 'binding.body_invalid', reason: 'encoded' };
  if ((call.declaredBytes ?? 0) > jsonBindingBodyBytesMax)
    return {
      code: 'payload.too_large',
      bytesMax: jsonBindingBodyBytesMax,
      what: 'json_binding_body',
    };
  return null;
}
