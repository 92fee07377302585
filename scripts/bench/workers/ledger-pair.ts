/**
 * Two ledger objects side by side, ours and the kit's minimal one, each called in a loop by one request in the same process.
 * `GET /ours?calls=N&claims=K` makes N object calls, one after the other, of K claims and the K settlements of the call before; `/minimal`
 * the same. Promises: the ids are made before (`/ids?count=N`), because making them is the caller's work; batches are packed and answers
 * unpacked as the desk does it. Called by `../ledger.ts`.
 */
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import { packedLedger } from '../../../src/adapters/durable/ledger-call';
import { ulid } from '../../../src/base/ids';
import type { EndOp, PlaceOp } from '../../../src/domain/ledger/operations';
import type { MinimalLedger } from './minimal-ledger';

export { OrgLedger } from '../../../durable-objects/org-ledger';
export { MinimalLedger } from './minimal-ledger';

interface Bindings {
  readonly LEDGER: DurableObjectNamespace<OrgLedger>;
  readonly MINIMAL: DurableObjectNamespace<MinimalLedger>;
}

const amountMicros = 100;
const usedMicros = 60;
/** Not a whole number of micro-USD is ever near this: enough for every run. */
const fundsMicros = 1_000_000_000_000;
const keyId = `key_${ulid(0, new Uint8Array(10))}`;

/** Ids in the order of time, as ULIDs are; made at once, because making a real one is the caller's work. */
let made = 0;
function nextId(): string {
  made += 1;
  return `hld_01KAQ3T5V8XMZN4R${1_000_000_000 + made}`;
}

async function callOurs(bindings: Bindings, name: string, calls: number, claims: number): Promise<number> {
  const stub = bindings.LEDGER.get(bindings.LEDGER.idFromName(name));
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
  return placed;
}

async function callMinimal(bindings: Bindings, name: string, calls: number, claims: number): Promise<number> {
  const stub = bindings.MINIMAL.get(bindings.MINIMAL.idFromName(name));
  let open: number[] = [];
  let numbers = made;
  let placed = 0;
  for (let call = 0; call < calls; call += 1) {
    const settling = open;
    open = [];
    const flat = [claims];
    for (let i = 0; i < claims; i += 1) {
      numbers += 1;
      open.push(numbers);
      flat.push(numbers, amountMicros);
    }
    for (const id of settling) flat.push(id, usedMicros);
    const answer = await stub.apply(flat);
    for (const one of answer) placed += one;
  }
  made = numbers;
  return placed;
}

export default {
  async fetch(request: Request, bindings: Bindings): Promise<Response> {
    const url = new URL(request.url);
    const number = (name: string): number => Number(url.searchParams.get(name) ?? 0);
    const name = url.searchParams.get('name') ?? 'bench';
    switch (url.pathname) {
      case '/ours':
        return Response.json({ placed: await callOurs(bindings, name, number('calls'), number('claims')) });
      case '/minimal':
        return Response.json({ placed: await callMinimal(bindings, name, number('calls'), number('claims')) });
      default:
        return new Response(null, { status: 404 });
    }
  },
};
