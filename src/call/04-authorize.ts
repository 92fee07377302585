/**
 * 04 authorize: may this key send this request there? Access lists, then deny rules, then the pure guards of the route.
 * Promises: no hold, no upstream, no store; a deny rule binds owners too. Called by run-call.
 */
import { jsonBindingBodyBytesMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import { firstDenial } from '../domain/catalog/deny';
import type { Refusal } from '../domain/refusal';
import { disallowedNames } from '../domain/relay/query';
import { may, mayUse } from '../domain/tenancy/access';
import { type AuthorizedCall, grow, type ResolvedCall } from './call';

const authorized = { authorized: true } as const;

/** Refuses: authz.*, guard.*, payload.too_large. Nothing is owed. */
export function authorize(call: ResolvedCall): Result<AuthorizedCall, Refusal> {
  const { key, upstream, endpoint } = call;
  if (!may(key, 'call:invoke')) return err({ code: 'authz.forbidden', needs: 'call:invoke' });
  if (!mayUse(key, upstream)) return err({ code: 'authz.upstream_forbidden', named: spoken(call) });
  const denied = firstDenial(call.tenant.denyRules, {
    host: endpoint.host,
    path: call.sentPath,
    method: call.method,
    principalId: key.principalId,
    projectId: upstream.projectId,
  });
  if (denied !== null) return err({ code: 'authz.denied', rule: denied.id });
  const guarded = guardFault(call);
  return guarded === null ? ok(grow(call, authorized)) : err(guarded);
}

/** What the caller itself wrote: a refusal names nothing else. */
function spoken({ target }: ResolvedCall): string {
  switch (target.kind) {
    case 'name':
      return target.name;
    case 'alias':
      return target.alias;
    case 'url':
      return target.url.authority;
    case 'private_url':
      return target.host;
  }
}

function guardFault(call: ResolvedCall): Refusal | null {
  const allowlist = call.route?.queryAllowlist ?? null;
  if (allowlist !== null && call.query !== null) {
    const names = disallowedNames(call.query, new Set(allowlist));
    if (names.length > 0) return { code: 'guard.query_not_allowed', names };
  }
  if (!call.upstream.bindings.some((b) => b.location === 'json')) return null;
  if (call.method === 'GET' || call.method === 'HEAD')
    return { code: 'binding.body_invalid', reason: 'method' };
  if (call.headers.contentEncoding) return { code: 'binding.body_invalid', reason: 'encoded' };
  if ((call.declaredBytes ?? 0) > jsonBindingBodyBytesMax)
    return {
      code: 'payload.too_large',
      bytesMax: jsonBindingBodyBytesMax,
      what: 'json_binding_body',
    };
  return null;
}
