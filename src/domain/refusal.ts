/**
 * Refusal: our "no", one arm per reason, with the data that a caller needs to act. No text for people, no status: `http/refusal-table.ts`
 * has both. Must never carry a secret, a stack, a hidden upstream's name or a value that the caller did not send.
 * Made by stages, domain rules and adapters; read by `http/problem.ts`.
 */
import type { JsonFault } from '../base/json';

export type { JsonFault };

/** One expected "no". */
export type Refusal =
  // the request itself
  | { readonly code: 'validation.error'; readonly issues: readonly FieldIssue[] }
  | { readonly code: 'request.header_invalid'; readonly header: string }
  | { readonly code: 'request.framing_invalid'; readonly reason: FramingFault }
  | {
      readonly code: 'request.path_invalid';
      readonly reason: 'dot_segment' | 'backslash' | 'escape';
    }
  | { readonly code: 'request.url_invalid'; readonly reason: UrlFault }
  | { readonly code: 'request.url_too_long'; readonly bytesMax: number }
  | {
      readonly code: 'request.headers_too_large';
      readonly limit: 'count' | 'bytes';
      readonly max: number;
    }
  | { readonly code: 'request.method_not_allowed'; readonly allowed: readonly string[] }
  | {
      readonly code: 'payload.too_large';
      readonly bytesMax: number;
      readonly what: 'body' | 'json_binding_body' | 'management_body';
    }
  | { readonly code: 'request.body_incomplete' }
  // who
  | {
      readonly code: 'auth.failed';
      readonly reason:
        | 'missing'
        | 'malformed'
        | 'unknown'
        | 'expired'
        | 'revoked'
        | 'secret_denied';
    }
  | { readonly code: 'auth.key_conflict' }
  | { readonly code: 'authz.forbidden'; readonly needs: string }
  | { readonly code: 'authz.upstream_forbidden'; readonly named: string }
  | { readonly code: 'authz.denied'; readonly rule: string }
  // where
  | { readonly code: 'routing.not_found'; readonly surface: 'call' | 'proxy' | 'catalog' }
  | { readonly code: 'routing.ambiguous'; readonly names: readonly string[] }
  | { readonly code: 'routing.upstream_disabled' }
  | { readonly code: 'routing.missing_target_host'; readonly hosts: readonly string[] }
  | { readonly code: 'routing.invalid_target_host' }
  | { readonly code: 'routing.unknown_target_host' }
  | { readonly code: 'route.not_found' }
  | { readonly code: 'guard.query_not_allowed'; readonly names: readonly string[] }
  // credentials
  | { readonly code: 'secret.not_found' }
  | { readonly code: 'credential.unavailable'; readonly reason: 'platform_setting' | 'injector' }
  | { readonly code: 'binding.body_invalid'; readonly reason: JsonFault | 'encoded' | 'method' }
  // egress
  | { readonly code: 'egress.blocked'; readonly host: string }
  | { readonly code: 'egress.unresolved'; readonly host: string }
  // the other side, when no answer of theirs exists
  | { readonly code: 'downstream.error'; readonly host: string }
  | { readonly code: 'timeout.request'; readonly timeoutMs: number }
  | { readonly code: 'response.redacted'; readonly upstreamStatus: number }
  // our own stores
  | { readonly code: 'config.unavailable'; readonly retryAfterMs: number }
  // management
  | { readonly code: 'resource.not_found' }
  | { readonly code: 'resource.conflict'; readonly field: string }
  | { readonly code: 'internal.error' };

/** The tag of a {@link Refusal}; also the end of its problem `type` (`urn:weir:problem:<code>`). */
export type RefusalCode = Refusal['code'];

/** One field of a refused document: `path` is dotted (`endpoints.0.host`), `message` never repeats the value. */
export type FieldIssue = { readonly path: string; readonly message: string };

/** Why a body's framing is refused. */
export type FramingFault = 'transfer_encoding' | 'content_length' | 'chunked_get';

/** Why a URL cannot be a target. */
export type UrlFault =
  | 'scheme'
  | 'userinfo'
  | 'backslash'
  | 'host'
  | 'numeric_host'
  | 'private_address'
  | 'reserved_name'
  | 'port'
  | 'whitespace';
