/**
 * Refusal → `application/problem+json` (RFC 9457), the same for every surface.
 * Promises: `type` is `urn:weir:problem:<code>`, X-Weir-Error: 1, X-Weir-Error-Source: gateway, blame, and the call id when there is one.
 * Must never: take text from an error object. Called by the road's exit and the management API.
 */
import type { Refusal } from '../domain/refusal';
import { weirHeaders } from './header-names';
import { type RefusalRow, refusalTable } from './refusal-table';

/** What a refusal answers with; `status` overrides the table only for `response.redacted`, which keeps the upstream's. */
export function problemResponse(
  refusal: Refusal,
  options: { callId?: string; status?: number } = {},
): Response {
  const row = refusalTable[refusal.code] as RefusalRow;
  const status = options.status ?? row.status;
  const headers = new Headers({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    [weirHeaders.error]: '1',
    [weirHeaders.errorSource]: 'gateway',
  });
  if (options.callId !== undefined) headers.set(weirHeaders.callId, options.callId);
  const retryAfterS = row.retryAfterS?.(refusal as never);
  if (retryAfterS !== undefined) headers.set('retry-after', String(retryAfterS));
  if (refusal.code === 'request.method_not_allowed')
    headers.set('allow', refusal.allowed.join(', '));
  const body = {
    type: `urn:weir:problem:${refusal.code}`,
    title: row.title,
    status,
    detail: row.detail(refusal as never),
    ...(options.callId === undefined ? {} : { instance: `/api/v1/calls/${options.callId}` }),
    blame: row.blame,
    ...row.members?.(refusal as never),
  };
  return new Response(JSON.stringify(body), { status, headers });
}
