/**
 * Operator send: one request on the operator's behalf that is nobody's call. Promises: the address is judged as the road judges one,
 * redirects are not followed, no edge cache, and the vendor sees the client that it sees behind a call on the operator's account.
 * Must never: read the answer. Called by `balance-collector.ts` and `job-client.ts`.
 */
import type { EgressPolicy } from '../../domain/egress/allowance';
import type { TargetUrl } from '../../domain/egress/target-url';
import type { ReadyRequest } from '../../domain/overflow/test-call';
import { platformUserAgent } from '../../http/header-names';
import type { Background } from '../../ports/config';
import type { EgressGuard } from '../../ports/egress';
import type { DeskTime } from '../../ports/ledger';

/** What whoever sends needs. `send` is the platform's fetch. */
export interface OperatorParts {
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  readonly egress: EgressGuard;
  readonly policy: EgressPolicy;
  readonly time: DeskTime;
}

/** How one request is sent. */
export interface SendTerms {
  readonly signal: AbortSignal;
  readonly background: Background;
}

/** The answer, unread; `null`: the address is refused. Rejects when nobody answers. */
export async function operatorSend(
  { egress, time, send }: OperatorParts,
  { host, port, judged }: TargetUrl,
  { url, method, headers, body }: ReadyRequest,
  { signal, background }: SendTerms,
): Promise<Response | null> {
  const may = await egress.check(host, port, judged.kind, time.nowMs(), background);
  if (!may.ok) return null;
  return send(url, {
    method,
    headers: namedHeaders(headers),
    body,
    signal,
    redirect: 'manual',
    cf: { cacheTtl: -1 },
  });
}

/** Rules of vendors' edges refuse a client without a name (seed 000, platform tier). */
function namedHeaders(headers: ReadyRequest['headers']): Headers {
  const named = new Headers();
  for (const [name, value] of headers) named.append(name, value);
  named.set('user-agent', platformUserAgent);
  return named;
}
