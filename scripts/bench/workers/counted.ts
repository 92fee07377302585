/**
 * The gateway's own bundle with counters around its objects: how many calls of each class it makes, what a batch of the ledger carries, which
 * calls of a provider's object only read the view. For counts only, never for times. `GET /bench-counts` tells them.
 * Promises: nothing of the gateway is replaced; the classes are the bundle's, extended.
 */
import gateway, {
  ProviderCapacity as Capacity,
  OrgLedger as Ledger,
  type MetricsHub,
  type OverflowBudget,
} from '../../../src/worker';

export { MetricsHub, OverflowBudget } from '../../../src/worker';

const counts = {
  ledger: 0,
  capacity: 0,
  overflowBudget: 0,
  metrics: 0,
  capacityViews: 0,
  batches: 0,
  batchesWithPlaces: 0,
  places: 0,
  ends: 0,
};

export class OrgLedger extends Ledger {
  override applyPacked(
    batch: Parameters<Ledger['applyPacked']>[0],
  ): ReturnType<Ledger['applyPacked']> {
    const [ends, places] = batch;
    counts.batches += 1;
    counts.ends += Number(ends);
    counts.places += Number(places);
    if (Number(places) > 0) counts.batchesWithPlaces += 1;
    return super.applyPacked(batch);
  }
}

export class ProviderCapacity extends Capacity {
  override view(): ReturnType<Capacity['view']> {
    counts.capacityViews += 1;
    return super.view();
  }
}

interface Bindings {
  readonly LEDGER: DurableObjectNamespace<Ledger>;
  readonly CAPACITY: DurableObjectNamespace<Capacity>;
  readonly OVERFLOW_BUDGET: DurableObjectNamespace<OverflowBudget>;
  readonly METRICS: DurableObjectNamespace<MetricsHub>;
}

type Class = 'ledger' | 'capacity' | 'overflowBudget' | 'metrics';

let counted: { readonly from: Bindings; readonly to: Bindings } | null = null;

/** A call of an object needs a fresh stub: who counts stubs counts calls. */
function countingOne<T extends Rpc.DurableObjectBranded>(
  of: Class,
  namespace: DurableObjectNamespace<T>,
): DurableObjectNamespace<T> {
  const counting = {
    idFromName: (name: string) => namespace.idFromName(name),
    get: (...args: Parameters<typeof namespace.get>) => {
      counts[of] += 1;
      return namespace.get(...args);
    },
  };
  return counting as unknown as DurableObjectNamespace<T>;
}

function counting(bindings: Bindings): Bindings {
  if (counted?.from === bindings) return counted.to;
  const to = {
    ...bindings,
    LEDGER: countingOne('ledger', bindings.LEDGER),
    CAPACITY: countingOne('capacity', bindings.CAPACITY),
    OVERFLOW_BUDGET: countingOne('overflowBudget', bindings.OVERFLOW_BUDGET),
    METRICS: countingOne('metrics', bindings.METRICS),
  };
  counted = { from: bindings, to };
  return to;
}

type Handler = {
  fetch: (request: Request, bindings: Bindings, context: ExecutionContext) => Promise<Response>;
};

export default {
  async fetch(request: Request, bindings: Bindings, context: ExecutionContext): Promise<Response> {
    if (request.url.endsWith('/bench-counts')) return Response.json(counts);
    return (gateway as unknown as Handler).fetch(request, counting(bindings), context);
  },
};
