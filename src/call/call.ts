/**
 * The types that grow: what is known of one call after each stage. A stage takes one and gives the next; nothing is optional twice.
 * Must never: carry a body, an opened secret outside `credentials`, or text for people. Called by every stage and by run-call.
 */
import type { Endpoint, Route, Upstream } from '../domain/catalog/upstream';
import type { TargetUrl } from '../domain/egress/target-url';
import type { HeaderScan } from '../domain/relay/header-scan';
import type { AccessKey } from '../domain/tenancy/access';
import type { TenantView } from '../ports/config';
import type { PreparedCredentials } from '../ports/credentials';

/** Where a call came in. */
export type Surface = 'call' | 'proxy';

/** What the caller named. */
export type Target =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'url'; readonly url: TargetUrl }
  /** A well-formed URL of an address or name that is never called; refused in 03, when we know who asks. */
  | { readonly kind: 'private_url'; readonly host: string }
  | { readonly kind: 'alias'; readonly alias: string };

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
  /** Declared Content-Length, bytes; `null` when there is none. */
  readonly declaredBytes: number | null;
}

/** 02: somebody's call. */
export interface IdentifiedCall extends CallRequest {
  readonly key: AccessKey;
  readonly tenant: TenantView;
}

/** 03: a call with a target. `sentPath` is base path + path, without query. */
export interface ResolvedCall extends IdentifiedCall {
  readonly upstream: Upstream;
  readonly endpoint: Endpoint;
  readonly route: Route | null;
  readonly sentPath: string;
}

/** 04: a call that is allowed. */
export type AuthorizedCall = ResolvedCall & { readonly authorized: true };

/** 05: admitted by the organisation's flow control. */
export type AdmittedCall = AuthorizedCall;

/** 06: whatever it will cost is set aside. */
export type ReservedCall = AdmittedCall;

/** 07: the address is public and the credential is at hand: nothing stands between this and the send. */
export interface GuardedCall extends ReservedCall {
  readonly credentials: PreparedCredentials;
}

/** 08: the upstream answered, whatever its status. */
export interface AnsweredCall extends GuardedCall {
  readonly answer: Response;
  /** Its status, read once: each look at a native object crosses out of JavaScript. */
  readonly status: number;
}

/** 10: an answer in whose body no injected credential is left. `bodyHeaders` are the headers that a masked body needs; `null` removes. */
export interface EvidencedCall extends AnsweredCall {
  readonly body: ReadableStream | Uint8Array | null;
  readonly bodyHeaders: readonly (readonly [name: string, value: string | null])[];
  /** Masked head of an error body for the call's row. */
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
    declaredBytes: taken.declaredBytes,
    key: later,
    tenant: later,
    upstream: later,
    endpoint: later,
    route: later,
    sentPath: later,
    authorized: later,
    credentials: later,
    answer: later,
    status: later,
    body: later,
    bodyHeaders: later,
    evidence: later,
    redacted: later,
  }) satisfies { readonly [field in keyof EvidencedCall]: unknown } as CallRequest;

/** Adds what a stage found to the call. The same object goes along the road. */
export const grow = <T extends object, M extends object>(call: T, more: M): T & M =>
  Object.assign(call, more);
