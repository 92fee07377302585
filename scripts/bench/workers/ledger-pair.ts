/**
 * Two ledger objects side by side, ours and the kit's minimal one, each called in a loop by one request in the same process.
 * `GET /ours?name=N&calls=C&claims=K` makes C object calls, one after the other, of K claims and of the K settlements of the call before;
 * `/minimal` the same. `GET /one` makes one changing call of ours a request. Promises: batches are packed and answers unpacked as the desk
 * does it. Called by `../ledger.ts` and `../metered.ts`.
 */
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import { packedLedger } from '../../../src/adapters/durable/ledger-call';
import type { EndOp, PlaceOp } from '../../../src/domain/ledger/operations';
import type { MinimalLedger } from './minimal-ledger';

export { OrgLedger } from '../../../durable-objects/org-ledger';
export { MinimalLedger } from './minimal-ledger';

interface Bindings {
  readonly LEDGER: DurableObjectNamespace<OrgLedger>;
  readonly MINIMAL: DurableObjectNamespace<MinimalLedger>;
}

interface Loop {
  readonly name: string;
  readonly calls: number;
  readonly claims: number;
}

const amountMicros = 100;
const usedMicros = 60;
/** Enough for every run. */
const fundsMicros = 1_000_000_000_000;
const keyId = 'key_01KAQ3T5V8XMZN4R1000000000';

/** Ids in the order of time, as ULIDs are, and as long; making a real one is the caller's work, not the object's. */
let made = 0;
const nextId = (): string => {
  made += 1;
  return `hld_01KAQ3T5V8XMZN4R${1_000_000_000 + made}`;
};

async function callOurs({ LEDGER }: Bindings, { name, calls, claims }: Loop): Promise<number> {
  const stub = LEDGER.get(LEDGER.idFromName(name));
  await stub.topUp('tpu_bench', fundsMicros);
  const ledger = packedLedger(stub);
  let open: string[] = [];
  let placed = 0;
  for (let call = 0; call < calls; call += 1) {
    const ends: EndOp[] = [];
    const places: PlaceOp[] = [];
    for (const id of open) ends.push(['settle', id, usedMicros, true]);
    open = [];
    for (let i = 0; i < claims; i += 1) {
      const id = nextId();
      open.push(id);
      places.push(['place', id, amountMicros, keyId, null, null, null]);
    }
    const answer = await ledger.apply(ends, places);
    if (answer.outcome !== 'applied') throw new Error(answer.outcome);
    for (const one of answer.places) if (one.outcome === 'placed') placed += 1;
  }
  await ledger.apply(
    open.map((id) => ['settle', id, usedMicros, true]),
    [],
  );
  return placed;
}

async function callMinimal({ MINIMAL }: Bindings, { name, calls, claims }: Loop): Promise<number> {
  const stub = MINIMAL.get(MINIMAL.idFromName(name));
  let open: number[] = [];
  let placed = 0;
  for (let call = 0; call < calls; call += 1) {
    const settling = open;
    open = [];
    const flat = [claims];
    for (let i = 0; i < claims; i += 1) {
      made += 1;
      open.push(made);
      flat.push(made, amountMicros);
    }
    for (const id of settling) flat.push(id, usedMicros);
    for (const one of await stub.apply(flat)) placed += one;
  }
  await stub.apply([0, ...open.flatMap((id) => [id, usedMicros])]);
  return placed;
}

let lastOne: string | null = null;

/** One object call that changes the books and is waited for: a claim, and the settlement of the one before. */
async function callOnce({ LEDGER }: Bindings): Promise<Response> {
  const stub = LEDGER.get(LEDGER.idFromName('one'));
  const id = nextId();
  if (lastOne === null) await stub.topUp('tpu_bench', fundsMicros);
  const ends: EndOp[] = lastOne === null ? [] : [['settle', lastOne, usedMicros, true]];
  lastOne = id;
  const place: PlaceOp = ['place', id, amountMicros, keyId, null, null, null];
  const answer = await packedLedger(stub).apply(ends, [place]);
  const isPlaced = answer.outcome === 'applied' && answer.places[0]?.outcome === 'placed';
  return new Response(id, { status: isPlaced ? 200 : 500 });
}

export default {
  async fetch(request: Request, bindings: Bindings): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const loop: Loop = {
      name: searchParams.get('name') ?? 'bench',
      calls: Number(searchParams.get('calls') ?? 0),
      claims: Number(searchParams.get('claims') ?? 0),
    };
    switch (pathname) {
      case '/one':
        return callOnce(bindings);
      case '/ours':
        return Response.json({ placed: await callOurs(bindings, loop) });
      case '/minimal':
        return Response.json({ placed: await callMinimal(bindings, loop) });
      default:
        return new Response(null, { status: 404 });
    }
  },
};
