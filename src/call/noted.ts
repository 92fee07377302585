/**
 * Noted: what an answer says of the operator's account, told to the account's object, and to the operator where no signature knows the
 * words. Promises: after the hold was closed, off the call's path; a caller's own credential says nothing. Called by run-call.
 */
import type { CapacitySignal } from '../domain/capacity/signal';
import type { Background } from '../ports/config';
import type { Report } from '../ports/report';
import type { EvidencedCall } from './call';
import { type CapacityPorts, noteAnswer, signalOf } from './capacity';

/** What noting asks. */
export interface NotedPorts extends CapacityPorts {
  readonly report: Report;
}

/** The signal of an answer; null: it says nothing of the account. */
export function noted(
  call: EvidencedCall,
  ports: NotedPorts,
  background: Background,
): CapacitySignal | null {
  const { catalog, status } = call;
  if (catalog?.tier !== 4) return null;
  const signal = status >= 400 ? signalOf(call, catalog, call.evidence, ports.nowMs()) : null;
  noteAnswer(call, catalog, signal, ports, background);
  if (signal?.kind !== 'unrecorded') return signal;
  const { provider, endpoint } = catalog.entry;
  ports.report('capacity.unrecorded', {
    call_id: call.id,
    provider: provider.slug,
    endpoint: endpoint.id,
    status,
    phrase: signal.because,
  });
  return signal;
}
