/**
 * The gateway's own bundle with counters around its ledgers: how many objects it calls, and what a batch carries. For counts only, never for
 * times. `GET /bench-counts` tells them. Promises: nothing of the gateway is replaced; the class is the bundle's, extended.
 */
import gateway, { OrgLedger as Ledger } from '../../../src/worker';

const counts = { stubs: 0, batches: 0, batchesWithPlaces: 0, places: 0, ends: 0 };

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

interface Bindings {
  readonly LEDGER: DurableObjectNamespace<Ledger>;
}

let counted: { readonly from: Bindings; readonly to: Bindings } | null = null;

/** A call of an object needs a fresh stub: who counts stubs counts calls. */
function counting(bindings: Bindings): Bindings {
  if (counted?.from === bindings) return counted.to;
  const { LEDGER } = bindings;
  const ledger = {
    idFromName: (name: string) => LEDGER.idFromName(name),
    get: (...args: Parameters<typeof LEDGER.get>) => {
      counts.stubs += 1;
      return LEDGER.get(...args);
    },
  } as unknown as DurableObjectNamespace<Ledger>;
  counted = { from: bindings, to: { ...bindings, LEDGER: ledger } };
  return counted.to;
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
