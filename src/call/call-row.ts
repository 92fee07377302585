/**
 * Call row: what one call leaves in the call log. Promises: no body, no query, no secret; the row of a child call says the same of the
 * caller and its own of the rest. Pure. Called by run-call.
 */
import { evidenceBodyBytesMax } from '../base/limits';
import type { Refusal } from '../domain/refusal';
import { withoutTokens } from '../domain/tenancy/token';
import type { Blame, FinishedCall } from '../ports/evidence';
import type { Child } from './branch-overflow';
import type { IdentifiedCall, ResolvedCall } from './call';
import { clientClosed, type Ending } from './custody';
import type { BodyEnd } from './pump';

/** What is known when a call has ended. */
export interface CallFacts {
  readonly call: IdentifiedCall;
  readonly target: ResolvedCall | null;
  readonly ending: Ending;
  readonly startedAtMs: number;
  readonly latencyMs: number;
  readonly blame: Blame | null;
  readonly evidence: string | null;
  readonly responseBytes: number | null;
  readonly costMicros: number | null;
  readonly holdId: string | null;
  readonly account: string | null;
  readonly signal: string | null;
  readonly found: FinishedCall['found'];
}

/** The row of a call. */
export function rowOfCall(facts: CallFacts): FinishedCall {
  const { call, target, ending } = facts;
  const catalog = target?.catalog ?? null;
  return {
    id: call.id,
    tenantId: call.key.tenantId,
    keyId: call.key.id,
    principalId: call.key.principalId,
    upstreamId: catalog === null || catalog.tier === 1 ? (target?.upstream.id ?? null) : null,
    surface: call.surface,
    method: call.method,
    host: target?.endpoint.host ?? null,
    path: target === null ? null : withoutTokens(target.sentPath),
    outcome: ending.outcome,
    status: ending.status,
    code: ending.code,
    blame: ending.outcome === 'cancelled' ? 'caller' : facts.blame,
    startedAtMs: facts.startedAtMs,
    latencyMs: facts.latencyMs,
    requestBytes: call.declaredBytes,
    responseBytes: facts.responseBytes,
    evidence: facts.evidence === null ? null : headOf(facts.evidence),
    tier: catalog?.tier ?? null,
    catalogId: catalog?.entry.endpoint.id ?? null,
    costMicros: facts.costMicros,
    holdId: facts.holdId,
    account: facts.account,
    signal: facts.signal,
    found: facts.found,
    servedVia: null,
  };
}

/**
 * The head of an error text, in a copy: a slice keeps the whole of it in memory, 8 MiB for 8 KiB, as long as the row waits. A pair of
 * surrogates that is cut apart becomes U+FFFD.
 */
const headOf = (text: string): string =>
  text.length <= evidenceBodyBytesMax
    ? text
    : copying.decode(new TextEncoder().encode(text.slice(0, evidenceBodyBytesMax)));

const copying = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

/** A row with what an aggregator made of the call: its own, or its parent's when the parent was never sent. */
export const servedElsewhere = (row: FinishedCall, child: Child): FinishedCall => ({
  ...row,
  host: child.host,
  outcome: child.isServed ? 'answered' : 'failed',
  status: child.status,
  code: child.code,
  blame: child.isServed ? null : 'upstream',
  evidence: null,
  costMicros: child.costMicros,
  holdId: child.holdId,
  account: null,
  signal: null,
  found: null,
  servedVia: child.servedVia,
});

/** How the row reads for a refusal: a caller that stopped sending is a cancelled call, whatever we answer. */
export function endingOf(refusal: Refusal, status: number): Ending {
  const { code } = refusal;
  if (code === 'request.body_incomplete') return { outcome: 'cancelled', status: 499, code };
  if (code === 'timeout.request') return { outcome: 'timed_out', status, code };
  return { outcome: code === 'downstream.error' ? 'failed' : 'refused', status, code };
}

/** A caller that has seen the last event of a stream has it whole, however it leaves. */
export function bodyEnding(
  end: BodyEnd,
  status: number,
  hasEnded: boolean,
): readonly [Ending, Blame | null] {
  switch (hasEnded && end !== 'drained' ? 'complete' : end) {
    case 'complete':
      return [{ outcome: 'answered', status, code: null }, null];
    case 'caller_left':
    case 'drained':
      return [clientClosed, 'caller'];
    case 'idle':
      return [{ outcome: 'timed_out', status: 504, code: 'timeout.idle' }, 'upstream'];
    case 'upstream_broke':
      return [{ outcome: 'failed', status, code: 'stream.aborted' }, 'connection'];
  }
}

/** Whether the vendor never had the whole body of the request. */
export const isBodyFault = ({ code }: Refusal): boolean =>
  code === 'request.body_incomplete' || code === 'request.body_encoding_invalid';

/** Whether the vendor may have executed a call that ends so. */
export const isOutcomeUnknown = ({ code }: Refusal): boolean =>
  code === 'downstream.error' || code === 'timeout.request' || code === 'response_buffer_limit';
