/**
 * `GET /metrics`: the totals of all isolates as Prometheus text, for the operator only.
 * Promises: the operator key is judged as the management API judges it; all shards are read, so that no scrape shows one isolate; a part
 * that does not answer is 503, never a sum that has fallen. Called by `app.ts`.
 */
import { configRetryMs } from '../base/limits';
import { prometheusText } from '../domain/metrics/prometheus';
import { problemResponse } from '../http/problem';
import type { Background } from '../ports/config';
import type { MetricsReader } from '../ports/metrics';
import { authenticate, permitted } from './authentication';
import type { ManagementServices } from './services';

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
  return new Response(prometheusText(counts), {
    headers: {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}
