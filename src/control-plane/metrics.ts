/**
 * `GET /metrics`: the totals of all isolates as Prometheus text, for the operator only.
 * Promises: the operator key is judged as the management API judges it; all shards are read, so that no scrape shows one isolate; a part
 * that does not answer is 503, never a sum that has fallen. Called by `app.ts`.
 */
import { configRetryMs } from '../base/limits';
import { prometheusText } from '../domain/metrics/prometheus';
import type { Counts } from '../domain/metrics/series';
import { problemResponse } from '../http/problem';
import { refusalTable } from '../http/refusal-table';
import type { Background } from '../ports/config';
import { failOpens, type MetricsReader } from '../ports/metrics';
import { authenticate, permitted } from './authentication';
import type { ManagementServices } from './services';

/** What alerts wait for is there before it is counted: `increase()` over a series that comes with a 1 does not see that 1. */
const zeros: Counts = Object.fromEntries([
  ...Object.keys(refusalTable).map((code) => [`refusals|${code}`, 0] as const),
  ...failOpens.map((what) => [`fail_open|${what}`, 0] as const),
]);

/** Answers one scrape. */
export async function metricsPage(
  request: Request,
  services: ManagementServices,
  metrics: MetricsReader,
  background: Background,
): Promise<Response> {
  const identified = await authenticate(request, services, background);
  if (!identified.ok) return problemResponse(identified.error);
  const may = permitted(identified.value.actor, 'operator');
  if (!may.ok) return problemResponse(may.error);
  const counts = await metrics.read();
  if (counts === null)
    return problemResponse({
      code: 'state.unavailable',
      what: 'metrics',
      retryAfterMs: configRetryMs,
    });
  return new Response(prometheusText({ ...zeros, ...counts }), {
    headers: {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}
