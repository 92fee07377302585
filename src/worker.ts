/**
 * Entry of the Worker: fetch, scheduled, queue, and the object classes. Nothing else.
 */
import { type App, app } from './app';
import { type Bindings, EnvError } from './env';
import { problemResponse } from './http/problem';
import { expireCalls } from './jobs/expire-calls';
import { copyJournals } from './jobs/journal';
import { writeQueuedCalls } from './jobs/queued-calls';
import { deliverSettlements, isSettlementQueue } from './jobs/settlements';
import { wire } from './wiring';

export { OrgLedger } from '../durable-objects/org-ledger';

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
  async scheduled(event, bindings) {
    const { env, management } = wire(bindings);
    await Promise.all([
      copyJournals(bindings.DB, management.ledgers, event.scheduledTime),
      expireCalls(bindings.DB, event.scheduledTime - env.callRetentionMs),
    ]);
  },
  async queue(batch, bindings) {
    const { callSink, management } = wire(bindings);
    if (isSettlementQueue(batch)) await deliverSettlements(batch, management.ledgers);
    else await writeQueuedCalls(batch, callSink);
  },
} satisfies ExportedHandler<Bindings>;
