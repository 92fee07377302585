/** Calls of two rows on the platform account, one with a price by call and one by usage, on the whole road. */
import type { CallServices } from '../../../src/call/run-call';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import { meter, perCall, settled } from '../domain/pricing/prices';
import { entryOf, token } from './calls';
import type { NotedDesk } from './desk';
import { asking, play, type World } from './road-world';

const vendor = { accounts: [{ label: 'main', setting: 'VENDOR_KEY' }] };
export const rowOf = (row: Partial<CatalogEndpoint> = {}) =>
  entryOf({ cost: perCall(70), ...row }, vendor);
const out = meter('out', ['usage.out'], {
  isRequired: true,
  reserve: [{ kind: 'fixed', units: 100 }],
});
export const byUsage = rowOf({
  cost: {
    kind: 'usage',
    meters: [out],
    prices: [{ when: [], perMillionMicros: { out: 1_000_000 } }],
    ends: [{ kind: 'data', text: '[DONE]' }],
  },
  settlement: settled({ fallbackMicros: 30 }),
});

export const byResult = rowOf({
  cost: {
    kind: 'per_result',
    results: 'data[*]',
    prices: [{ when: [], perMillionMicros: 5_000_000 }],
    reserve: { kind: 'fixed', units: 10 },
  },
});

export const path = '/call/vendor.search';
export const keyed = { 'x-weir-key': token, 'idempotency-key': 'k1' };
export const bought = (world: World = {}, init: RequestInit = {}) =>
  play({ found: [], entry: rowOf(), ...world }, asking(init, path));
export const json = { headers: { 'content-type': 'application/json' } };
export const sse = { headers: { 'content-type': 'text/event-stream' } };
export const answering =
  (body: BodyInit | null, init: ResponseInit = {}): CallServices['send'] =>
  async () =>
    new Response(body, init);

/** Operations without the ids that the call made. */
export const told = (desk: NotedDesk) => desk.last.map(([op, , ...rest]) => [op, ...rest]);
