/**
 * The Worker with a gate in front of and behind its ledgers, one tenant at a time; everything else
 * is src/worker.ts as it is deployed.
 * `GET /gate/{before|behind|open}/{tenant id}`: from now on this tenant's batches wait before they
 * reach its object, or between the object's commit and its answer, until the gate is open; so that a
 * client can leave in exactly that moment. `GET /gate/waiting/{tenant id}` tells how many wait. Bundled by the disconnect-money proof; never part of the
 * product.
 */
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import type { Packed } from '../../../src/domain/ledger/wire';
import type { Bindings } from '../../../src/env';
import worker from '../../../src/worker';

export { MetricsHub, OrgLedger, OverflowBudget, ProviderCapacity } from '../../../src/worker';

type Namespace = DurableObjectNamespace<OrgLedger>;
type Stub = DurableObjectStub<OrgLedger>;

/** The gates that are shut, by tenant. */
const gates = new Map<string, string>();
/** Batches that wait, by tenant. */
const waiting = new Map<string, number>();
/** How often a batch looks at its gate, milliseconds. */
const lookMs = 5;

/** A promise of another request must not be awaited: each batch looks for itself. */
async function passes(gate: 'before' | 'behind', tenantId: string): Promise<void> {
  const count = (by: number) => waiting.set(tenantId, (waiting.get(tenantId) ?? 0) + by);
  count(1);
  while (gates.get(tenantId) === gate) await scheduler.wait(lookMs);
  count(-1);
}

/** A stub whose batches stop at the gates. */
function gated(stub: Stub, tenantId: string): Stub {
  const applyPacked = async (batch: Packed) => {
    await passes('before', tenantId);
    const answer = await stub.applyPacked(batch);
    await passes('behind', tenantId);
    return answer;
  };
  return new Proxy(stub, {
    get: (target, name) => (name === 'applyPacked' ? applyPacked : Reflect.get(target, name)),
  });
}

function gatedNamespace(real: Namespace): Namespace {
  const gate: Pick<Namespace, 'idFromName' | 'get'> = {
    idFromName: (name) => real.idFromName(name),
    get: (id, options) => gated(real.get(id, options), id.name ?? ''),
  };
  return gate as Namespace;
}

let served: { readonly from: Bindings; readonly bindings: Bindings } | null = null;

/** One object per isolate: the gateway keeps what it wired for the bindings that it was given. */
function gatedBindings(from: Bindings): Bindings {
  if (served?.from !== from)
    served = { from, bindings: { ...from, LEDGER: gatedNamespace(from.LEDGER) } };
  return served.bindings;
}

/** Obeys a control path; `null` for every other request. */
function control(url: string): Response | null {
  const [, gate, tenantId = ''] = /\/gate\/(before|behind|open|waiting)\/(\w+)$/.exec(url) ?? [];
  if (gate === undefined) return null;
  if (gate === 'waiting') return new Response(String(waiting.get(tenantId) ?? 0));
  gates.set(tenantId, gate);
  return new Response(null, { status: 204 });
}

export default {
  fetch: (request, bindings, context) =>
    control(request.url) ?? worker.fetch(request, gatedBindings(bindings), context),
} satisfies ExportedHandler<Bindings>;
