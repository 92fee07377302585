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

/** 10: an answer in which no injected credential is left. `headerEdits` are the answer headers that change; `null` value removes. */
export interface EvidencedCall extends AnsweredCall {
  readonly body: ReadableStream | Uint8Array | null;
  readonly headerEdits: readonly (readonly [name: string, value: string | null])[];
  /** Reason phrase, masked. */
  readonly reason: string;
  /** Set-Cookie lines that replace all of the upstream's; `null` keeps them untouched. */
  readonly setCookies: readonly string[] | null;
  /** Masked head of an error body for the call's row. */
  readonly evidence: string | null;
  /** The body was withheld; the answer is ours with the upstream's status. */
  readonly redacted: boolean;
}

/**
 * Adds what a stage found to the call. The same object grows along the road: a copy of some twenty fields per stage would be the dearest
 * thing that the stages do.
 */
export const grow = <T extends object, M extends object>(call: T, more: M): T & M =>
  Object.assign(call, more);
