/**
 * Refusal: our "no", one arm per reason, with the data that a caller needs to act. No text for people, no status: `http/refusal-table.ts`
 * has both. Must never carry a secret, a stack, a hidden upstream's name or a value that the caller did not send.
 * Made by stages, domain rules and adapters; read by `http/problem.ts`.
 */
import type { JsonFault } from '../base/json';
import type { InputFault } from './catalog/input-contract';
import type { Alternative } from './catalog/near-ids';
import type { PlaceholderFault } from './catalog/placeholders';
import type { KeyFault } from './idempotency/idempotency-key';
import type { MetaFault } from './idempotency/meta';
import type { RecordState } from './ledger/operations';
import type { UnknownPrice } from './pricing/estimate';

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
  /** Nothing of ours is at the path; an id that is not known is `resource.not_found`. */
  | { readonly code: 'request.path_unknown' }
  | { readonly code: 'request.method_not_allowed'; readonly allowed: readonly string[] }
  | {
      readonly code: 'payload.too_large';
      readonly bytesMax: number;
      /** `keyed_body`: one with an Idempotency-Key on tier 4; `metered_body`: one that a price is read from. */
      readonly what:
        | 'body'
        | 'json_binding_body'
        | 'management_body'
        | 'keyed_body'
        | 'metered_body';
    }
  | { readonly code: 'request.body_incomplete' }
  | { readonly code: 'request.body_encoding_invalid'; readonly reason: BodyFault }
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
  // the catalog
  /** `ownUpstream`: one of the caller's that the id's first word names; null: none. */
  | {
      readonly code: 'catalog.not_found';
      readonly didYouMean: readonly string[];
      readonly ownUpstream: string | null;
    }
  | {
      readonly code: 'catalog.retired';
      readonly status: 'retired' | 'broken';
      readonly note: string;
      readonly supersededBy: string | null;
      readonly alternatives: readonly Alternative[];
    }
  | {
      readonly code: 'catalog.no_credential';
      readonly alternatives: readonly Alternative[];
      readonly ownUpstream: string | null;
    }
  | { readonly code: 'catalog.path_not_allowed'; readonly parameters: readonly string[] }
  | ({ readonly code: 'catalog.placeholder_invalid' } & PlaceholderFault)
  | { readonly code: 'catalog.parameter_invalid'; readonly fault: InputFault }
  | { readonly code: 'catalog.base_unapproved' }
  | { readonly code: 'catalog.websocket_not_metered' }
  /** Unknown and foreign ids look the same. */
  | { readonly code: 'catalog.task_not_owned' }
  // money: amounts are micro-USD, times epoch milliseconds
  | { readonly code: 'meta.invalid'; readonly pair: number; readonly reason: MetaFault['reason'] }
  | { readonly code: 'price.unknown'; readonly reason: UnknownPrice }
  | {
      readonly code: 'route_max_cost';
      readonly requiredMicros: number;
      readonly ceilingMicros: number;
    }
  | {
      readonly code: 'insufficient_balance';
      readonly availableMicros: number;
      readonly requiredMicros: number;
    }
  | {
      readonly code: 'platform_daily_cap_reached';
      readonly capMicros: number;
      readonly resetsAtMs: number;
    }
  | {
      readonly code: 'key_daily_call_cap_reached';
      readonly cap: number;
      readonly resetsAtMs: number;
    }
  | { readonly code: 'tag_blocked'; readonly dimension: string; readonly value: string }
  | ({ readonly code: 'tag_spend_cap_reached' } & TagCap)
  | ({ readonly code: 'tag_call_cap_reached' } & TagCap)
  | { readonly code: 'tag_budget_unavailable'; readonly dimension: string }
  | { readonly code: 'response_buffer_limit'; readonly bytesMax: number }
  | { readonly code: 'ledger_busy'; readonly retryAfterMs: number }
  | { readonly code: 'ledger_unavailable'; readonly retryAfterMs: number }
  | { readonly code: 'ledger.open_holds_max'; readonly holdsMax: number }
  | { readonly code: 'ledger.id_conflict' }
  | { readonly code: 'ledger.too_many_blocks'; readonly blocksMax: number }
  | { readonly code: 'ledger.holds_open' }
  // the caller's Idempotency-Key
  | { readonly code: 'idempotency.key_invalid'; readonly reason: KeyFault['reason'] }
  | { readonly code: 'idempotency.quota'; readonly bytesMax: number }
  | { readonly code: 'idempotency.mismatch' }
  | { readonly code: 'idempotency.in_progress' }
  | {
      readonly code: 'idempotency.outcome_unknown';
      readonly recordId: string;
      /** Somebody has decided that it was executed; its answer is not known. */
      readonly resolved: boolean;
    }
  | { readonly code: 'idempotency.not_unknown'; readonly state: RecordState }
  // the operator's accounts at a vendor
  | {
      readonly code: 'provider_capacity';
      readonly provider: string;
      readonly endpointId: string;
      readonly reason: 'balance' | 'quota' | 'reading';
      /** null: nobody knows. */
      readonly resetsAtMs: number | null;
      /** Until the next call that may look. */
      readonly retryAfterMs: number;
      /** Why an aggregator that was asked instead did not serve the call either; null: none was asked. */
      readonly overflow: string | null;
      readonly alternatives: readonly Alternative[];
    }
  | {
      readonly code: 'provider_rate_limited';
      readonly provider: string;
      readonly retryAfterMs: number;
    }
  | { readonly code: 'platform_account_retired' }
  | { readonly code: 'platform_account_unavailable' }
  | { readonly code: 'platform_account_split' }
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
  /** An object that has what the operator asked for does not answer. */
  | {
      readonly code: 'state.unavailable';
      readonly what: 'capacity' | 'metrics';
      readonly retryAfterMs: number;
    }
  // management
  | { readonly code: 'resource.not_found' }
  | { readonly code: 'resource.conflict'; readonly field: string }
  | { readonly code: 'internal.error' };

/** The tag of a {@link Refusal}; also the end of its problem `type` (`urn:weir:problem:<code>`). */
export type RefusalCode = Refusal['code'];

/** One field of a refused document: `path` is dotted (`endpoints.0.host`), `message` never repeats the value. */
export type FieldIssue = { readonly path: string; readonly message: string };

/** A tag whose budget is used up. */
export interface TagCap {
  readonly dimension: string;
  readonly value: string;
  /** null: the budget is for all time. */
  readonly resetsAtMs: number | null;
}

/** Why a body's framing is refused. */
export type FramingFault = 'transfer_encoding' | 'content_length' | 'chunked_get';

/** Why a body that came encoded cannot be decoded; `unknown`: its coding is none of ours, `expansion`: it is far larger decoded. */
export type BodyFault = 'unknown' | 'base64' | 'gzip' | 'expansion';

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
