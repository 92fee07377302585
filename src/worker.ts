/**
 * Entry of the Worker: fetch, scheduled, queue, and the object classes. Nothing else.
 */
import { type App, app } from './app';
import { type Bindings, EnvError } from './env';
import { problemResponse } from './http/problem';
import { runCron } from './jobs/crons';
import { writeQueuedCalls } from './jobs/queued-calls';
import { deliverSettlements, isSettlementQueue } from './jobs/settlements';
import { wire } from './wiring';

export { MetricsHub } from '../durable-objects/metrics-hub';
export { OrgLedger } from '../durable-objects/org-ledger';
export { OverflowBudget } from '../durable-objects/overflow-budget';
export { ProviderCapacity } from '../durable-objects/provider-capacity';

let served: { readonly from: Bindings; readonly app: App } | null = null;

function appOf(bindings: Bindings): App {
  if (served === null || served.from !== bindings)
    served = { from: bindings, app: app(wire(bindings)) };
  return served.app;
}

export default {
  fetch(request, bindings, context) {
    try {
      return appOf(bindings).fetch(request, context);
    } catch (fault) {
      // Fails closed: without a usable environment nothing is served, and the reason is for the operator's log.
      console.error(
        JSON.stringify({
          event: 'start.error',
          reason: fault instanceof EnvError ? fault.message : 'unknown',
        }),
      );
      return problemResponse({ code: 'internal.error' });
    }
  },
  async scheduled({ cron, scheduledTime }, bindings, context) {
    const background = (work: Promise<unknown>): void => context.waitUntil(work);
    await runCron(wire(bindings), bindings, { cron, scheduledTime, background });
  },
  async queue(batch, bindings) {
    const { callSink, management } = wire(bindings);
    if (isSettlementQueue(batch)) await deliverSettlements(batch, management.ledgers);
    else await writeQueuedCalls(batch, callSink);
  },
} satisfies ExportedHandler<Bindings>;
