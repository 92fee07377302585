/** Rows of calls for the tests of this folder. */
import type { FinishedCall } from '../../../../src/ports/evidence';

/** The time at which every test begins, epoch milliseconds. */
export const startMs = Date.UTC(2030, 0, 1);

/** A call that was answered after 5 ms. */
export const callRow = (n: number, endedAtMs = startMs): FinishedCall => ({
  id: `call_${n}`,
  tenantId: 'ten_1',
  keyId: null,
  principalId: null,
  upstreamId: null,
  surface: 'call',
  method: 'GET',
  host: null,
  path: null,
  outcome: 'answered',
  status: 200,
  code: null,
  blame: null,
  startedAtMs: endedAtMs - 5,
  latencyMs: 5,
  requestBytes: null,
  responseBytes: null,
  evidence: null,
  tier: null,
  catalogId: null,
  costMicros: null,
  holdId: null,
  account: null,
  signal: null,
  found: null,
  servedVia: null,
});
