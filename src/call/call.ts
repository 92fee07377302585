/**
 * The types that grow: what is known of one call after each stage. A stage takes one and gives the next; nothing is optional twice.
 * Must never: carry a body, an opened secret outside `credentials`, or text for people. Called by every stage and by run-call.
 */
import { requestBodyBytesMax } from '../base/limits';
import type { ProbeGrant } from '../domain/capacity/operations';
import type { Endpoint, Route, Upstream } from '../domain/catalog/upstream';
import type { TargetUrl } from '../domain/egress/target-url';
import type { Tags } from '../domain/ledger/operations';
import type { UsageTap } from '../domain/pricing/sse-usage-tap';
import type { Refusal } from '../domain/refusal';
import type { HeaderScan } from '../domain/relay/header-scan';
import type { RawQuery } from '../domain/relay/query';
import type { TaskState, TaskView } from '../domain/tasks/task';
import type { AccessKey } from '../domain/tenancy/access';
import type { CatalogEntry } from '../ports/catalog';
import type { TenantView } from '../ports/config';
import type { PreparedCredentials } from '../ports/credentials';
import type { EncodedBody } from './encoded-body';
import type { Money } from './money';

/** Where a call came in. */
export type Surface = 'call' | 'proxy' | 'catalog';

/** What the caller named. */
export type Target =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'url'; readonly url: TargetUrl }
  /** A well-formed URL of an address or name that is never called; refused in 03, when we know who asks. */
  | { readonly kind: 'private_url'; readonly host: string }
  | { readonly kind: 'alias'; readonly alias: string }
  | { readonly kind: 'catalog'; readonly id: string };

/** What the caller itself wrote: a refusal names nothing else. */
export function spoken(target: Target): string {
  switch (target.kind) {
    case 'name':
      return target.name;
    case 'alias':
      return target.alias;
    case 'url':
      return target.url.authority;
    case 'private_url':
      return target.host;
    case 'catalog':
      return target.id;
  }
}

/** 01: a request that is well formed. `path` is '' or starts with '/', exactly as sent; `query` is without '?', `null` when there is none. */
export interface CallRequest {
  readonly id: string;
  readonly surface: Surface;
  readonly startedAtMs: number;
  readonly request: Request;
  readonly method: string;
  readonly target: Target;
  readonly path: string;
  readonly query: string | null;
  readonly token: string;
  readonly headers: HeaderScan;
  /** A body that came encoded; `null`: there is none, or it is as the upstream is to get it. */
  readonly encoded: EncodedBody | null;
  /** Declared Content-Length of the body that the upstream gets, bytes; `null` when there is none. */
  readonly declaredBytes: number | null;
  /** X-Weir-Meta: dimension and value, one after the other. */
  readonly tags: Tags | null;
}

/** `fetch` takes a body of these methods only from a request that has one. */
export const isBodyless = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** The body as the upstream is to get it. */
export const bodyOf = ({ encoded, request }: CallRequest): ReadableStream | null =>
  encoded === null ? request.body : encoded.body;

/** Why a body did not come to its end. */
export function brokenBody({ encoded }: CallRequest): Refusal {
  const fault = encoded?.fault ?? null;
  if (fault === null) return { code: 'request.body_incomplete' };
  return fault === 'too_large'
    ? { code: 'payload.too_large', bytesMax: requestBodyBytesMax, what: 'body' }
    : { code: 'request.body_encoding_invalid', reason: fault };
}

/** 02: somebody's call. */
export interface IdentifiedCall extends CallRequest {
  readonly key: AccessKey;
  readonly tenant: TenantView;
}

/** With whose credential a catalog row is called: own upstream, own secret, none, the operator's account (decisions section 1). */
export type Tier = 1 | 2 | 3 | 4;

/** A call of a catalog row. `path` is below the provider's base URL, filled; `callersQuery` is the query before its placeholders were taken out: contracts and prices read that one. `plainQuery` is what the vendor is asked, before the operator's ceiling is set in it. */
export interface CatalogCall {
  readonly entry: CatalogEntry;
  readonly tier: Tier;
  readonly path: string;
  readonly callersQuery: RawQuery;
  readonly plainQuery: RawQuery;
  /** Tier 4: the accounts that the operator has there, the primary first; else empty. */
  readonly accounts: readonly AccountRung[];
  /** Whether an aggregator could serve it: then its body is kept. */
  readonly hasRoute: boolean;
}

/** One of the operator's accounts at a provider, as the upstream that its calls go to. */
export interface AccountRung {
  readonly label: string;
  readonly upstream: Upstream;
}

/** The accounts that may serve a call now; `probe`: it is the one call that goes through a lock. */
export interface CapacityPass {
  readonly accounts: readonly AccountRung[];
  readonly probe: ProbeGrant | null;
}

/** What smoothing did: milliseconds that the call waited for its place, and whether it was sent again after a burst. */
export interface Smoothed {
  readonly waitMs: number;
  readonly resent: boolean;
}

/** 03: a call with a target. `sentPath` is base path + path, without query. */
export interface ResolvedCall extends IdentifiedCall {
  /** `null`: a call of an upstream as it is registered. */
  readonly catalog: CatalogCall | null;
  readonly upstream: Upstream;
  readonly endpoint: Endpoint;
  readonly route: Route | null;
  readonly sentPath: string;
}

/** 04: a call that is allowed. `sentBytes`: its body, where a rule or a price had to read it; `json`: what it says, `undefined` when it is none. */
export interface AuthorizedCall extends ResolvedCall {
  readonly authorized: true;
  readonly sentBytes: Uint8Array | null;
  readonly json: unknown;
}

/** 05: admitted by the organisation's flow control. */
export type AdmittedCall = AuthorizedCall;

/** 06: whatever it will cost is set aside; `null`: nothing is owed. */
export interface ReservedCall extends AdmittedCall {
  readonly money: Money | null;
  /** `null`: no account of the operator's serves it. */
  readonly capacity: CapacityPass | null;
  /** The task that the call names on the operator's account; `null`: none. */
  readonly task: TaskView | null;
}

/** 07: the address is public and the credential is at hand: nothing stands between this and the send. */
export interface GuardedCall extends ReservedCall {
  readonly credentials: PreparedCredentials;
  /** Headers in which a platform account's vendor learns who calls, without learning it; `null` value removes. */
  readonly platformHeaders: readonly (readonly [name: string, value: string | null])[] | null;
  /** Label of the platform account that is injected; `null`: none is. */
  readonly account: string | null;
  readonly smoothed: Smoothed | null;
}

/** 08: the upstream answered, whatever its status. `bytes`: its body, where it had to be read (a burst that may be sent again). */
export interface AnsweredCall extends GuardedCall {
  readonly answer: Response;
  /** Its status, read once: each look at a native object crosses out of JavaScript. */
  readonly status: number;
  readonly bytes: Uint8Array | null;
}

/** 09: what it costs is known, or will be when its stream has ended (`tap`). `bytes`: the body, where it had to be read. */
export interface SettledCall extends AnsweredCall {
  readonly tap: UsageTap | null;
  /** Micro-USD, when known before the headers go out. */
  readonly costMicros: number | null;
  /** How the task stands that the call started or asked for; `null`: there is none. */
  readonly taskState: TaskState | null;
}

/** 10: an answer in whose body no injected credential is left. `bodyHeaders` are the headers that a masked body needs; `null` removes. */
export interface EvidencedCall extends SettledCall {
  readonly body: ReadableStream | Uint8Array | null;
  readonly bodyHeaders: readonly (readonly [name: string, value: string | null])[];
  /** Masked text of an error body; its head is kept on the call's row. */
  readonly evidence: string | null;
  /** The body was withheld; the answer is ours with the upstream's status. */
  readonly redacted: boolean;
}

/** Stands in a call for what a later stage finds; no stage reads a field before it is set: the types do not have it. */
const later = undefined as never;

/**
 * The fields that later stages set, laid out from the start: an object that grows by itself is copied and its shape changed at every
 * stage, which would be the dearest thing that the stages do.
 */
export const startCall = (taken: CallRequest): CallRequest =>
  ({
    id: taken.id,
    surface: taken.surface,
    startedAtMs: taken.startedAtMs,
    request: taken.request,
    method: taken.method,
    target: taken.target,
    path: taken.path,
    query: taken.query,
    token: taken.token,
    headers: taken.headers,
    encoded: taken.encoded,
    declaredBytes: taken.declaredBytes,
    tags: taken.tags,
    key: later,
    tenant: later,
    catalog: later,
    upstream: later,
    endpoint: later,
    route: later,
    sentPath: later,
    authorized: later,
    sentBytes: later,
    json: later,
    money: later,
    capacity: later,
    task: later,
    credentials: later,
    platformHeaders: later,
    account: later,
    smoothed: later,
    answer: later,
    status: later,
    bytes: later,
    tap: later,
    costMicros: later,
    taskState: later,
    body: later,
    bodyHeaders: later,
    evidence: later,
    redacted: later,
  }) satisfies { readonly [field in keyof EvidencedCall]: unknown } as CallRequest;

/** Adds what a stage found to the call. The same object goes along the road. */
export const grow = <T extends object, M extends object>(call: T, more: M): T & M =>
  Object.assign(call, more);
