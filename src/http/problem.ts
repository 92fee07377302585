/**
 * Refusal → `application/problem+json` (RFC 9457), the same for every surface.
 * Promises: `type` is `urn:weir:problem:<code>`, X-Weir-Error: 1, X-Weir-Error-Source: gateway, blame, and the call id when there is one;
 * `detail` stands also in `message` and `error`, for SDKs of vendors that know no problem document.
 * Must never: take text from an error object. Called by the road's exit and the management API.
 */
import type { Refusal } from '../domain/refusal';
import { weirHeaders } from './header-names';
import type { RefusalRow } from './refusal-row';
import { refusalTable } from './refusal-table';

/** Headers of every refusal; copied natively, which costs half of what an object of strings does. Never changed. */
const everyHeaders = new Headers({
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  [weirHeaders.error]: '1',
  [weirHeaders.errorSource]: 'gateway',
});

const challenge = 'Bearer realm="weir"';
const challengeOfBadKey = `${challenge}, error="invalid_token"`;

/**
 * RFC 9110 section 11.6.1: a 401 names a scheme; RFC 6750 section 3.1: the code only for a key that was sent and does not count. The realm
 * tells our challenge from a vendor's. Basic is accepted and not offered: a browser that is asked keeps the key, and sends it with what any
 * page makes it fetch from here.
 */
const challenges: Record<Extract<Refusal, { code: 'auth.failed' }>['reason'], string> = {
  missing: challenge,
  malformed: challengeOfBadKey,
  unknown: challengeOfBadKey,
  expired: challengeOfBadKey,
  revoked: challengeOfBadKey,
  secret_denied: challenge,
};

/** What a refusal answers with; `status` overrides the table only for `response.redacted`, which keeps the upstream's. */
export function problemResponse(
  refusal: Refusal,
  options: { callId?: string; status?: number } = {},
): Response {
  const row = refusalTable[refusal.code] as RefusalRow;
  const status = options.status ?? row.status;
  const retryAfterS = row.retryAfterS?.(refusal as never);
  const text = problemText(refusal, row, { ...options, status, retryAfterS });
  const response = new Response(text, { status, headers: everyHeaders });
  const { headers } = response;
  if (options.callId !== undefined) headers.set(weirHeaders.callId, options.callId);
  if (retryAfterS !== undefined) headers.set('retry-after', String(retryAfterS));
  if (refusal.code === 'request.method_not_allowed')
    headers.set('allow', refusal.allowed.join(', '));
  if (refusal.code === 'auth.failed') headers.set('www-authenticate', challenges[refusal.reason]);
  return response;
}

/** A document but for what differs by call: its id and its wait. Codes, blame and ids are ours and need no escapes. */
interface Document {
  readonly head: string;
  readonly tail: string;
}

type OpenBreaker = Extract<Refusal, { code: 'provider_capacity' }>;

/** An open breaker answers every caller with one document: the last one is kept. */
let lastOpen: { readonly of: OpenBreaker; readonly document: Document } | null = null;

function problemText(
  refusal: Refusal,
  row: RefusalRow,
  facts: {
    readonly callId?: string;
    readonly status: number;
    readonly retryAfterS: number | undefined;
  },
): string {
  const { callId, status, retryAfterS } = facts;
  const document =
    refusal.code === 'provider_capacity'
      ? openDocument(refusal, row, status)
      : documentOf(refusal, row, status);
  const instance = callId === undefined ? '' : `,"instance":"/api/v1/calls/${callId}"`;
  const wait = retryAfterS === undefined ? '' : `,"retry_after_seconds":${retryAfterS}`;
  return `${document.head}${instance}${document.tail}${wait}}`;
}

function openDocument(refusal: OpenBreaker, row: RefusalRow, status: number): Document {
  if (lastOpen !== null && isSame(lastOpen.of, refusal)) return lastOpen.document;
  lastOpen = { of: refusal, document: documentOf(refusal, row, status) };
  return lastOpen.document;
}

/** Whether two documents are the same; `retryAfterMs` is no part of what is kept. */
const isSame = (a: OpenBreaker, b: OpenBreaker): boolean =>
  a.endpointId === b.endpointId &&
  a.provider === b.provider &&
  a.reason === b.reason &&
  a.resetsAtMs === b.resetsAtMs &&
  a.overflow === b.overflow &&
  a.alternatives === b.alternatives;

function documentOf(refusal: Refusal, row: RefusalRow, status: number): Document {
  const title = JSON.stringify(row.title);
  const detail = JSON.stringify(row.detail(refusal as never));
  const members = JSON.stringify(row.members?.(refusal as never) ?? {}).slice(1, -1);
  // Said again where vendors' SDKs look for it: most print `message` or `error.message` only, and Stripe's takes an answer without `error`
  // for a success, whatever its status.
  const said = `"message":${detail},"error":{"message":${detail},"code":"${refusal.code}"}`;
  return {
    head: `{"type":"urn:weir:problem:${refusal.code}","title":${title},"status":${status},"detail":${detail}`,
    tail: `,"blame":"${row.blame}",${said}${members === '' ? '' : `,${members}`}`,
  };
}
