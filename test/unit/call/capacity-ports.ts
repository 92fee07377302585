/** Capacity for the stage tests: a view by hand, and a note of what was asked and told. */
import type { Overflow } from '../../../src/call/branch-overflow';
import type { CapacityPorts } from '../../../src/call/capacity';
import type { CapacityView, ProbeGrant, SlotAnswer } from '../../../src/domain/capacity/operations';
import type { PeekAnswer } from '../../../src/domain/ledger/operations';
import type { Capacity } from '../../../src/ports/capacity';
import { startMs } from './calls';
import { catalogPorts } from './catalog-ports';

/** A provider of which nothing is known to be wrong. */
export const healthy: CapacityView = { locks: [], strikes: [], reading: null, marks: [] };

/** A view with one lock on `key`. */
export const locked = (
  key: string,
  parts: Partial<CapacityView['locks'][number]> = {},
): CapacityView => ({
  ...healthy,
  locks: [
    {
      key,
      id: 'lock_1',
      kind: 'balance',
      sinceAgoMs: 1_000,
      endsInMs: 3_599_000,
      nextProbeInMs: 59_000,
      isStated: false,
      ...parts,
    },
  ],
});

export interface KnownCapacity {
  /** null: nothing is known. */
  readonly view?: CapacityView | null;
  readonly grant?: ProbeGrant | null;
  /** What a question for a probe brings beside its answer. */
  readonly news?: CapacityView;
  readonly slot?: SlotAnswer | null;
}

export class NotedCapacity implements Capacity {
  readonly asked: unknown[] = [];
  readonly #known: KnownCapacity;
  #news: CapacityView | null = null;

  constructor(known: KnownCapacity = {}) {
    this.#known = known;
  }

  standing() {
    const { view: first = healthy } = this.#known;
    const view = this.#news ?? first;
    return view === null ? null : { view, ageMs: 0 };
  }

  async probe(provider: string, op: Parameters<Capacity['probe']>[1]) {
    this.asked.push(['probe', provider, op]);
    this.#news = this.#known.news ?? null;
    return this.#known.grant ?? null;
  }

  giveBackProbe(provider: string, grant: Parameters<Capacity['giveBackProbe']>[1]) {
    this.asked.push(['giveBackProbe', provider, grant]);
  }

  async take(provider: string, op: Parameters<Capacity['take']>[1]) {
    this.asked.push(['take', provider, op]);
    return this.#known.slot ?? null;
  }

  giveBack(provider: string, id: string) {
    this.asked.push(['giveBack', provider, id]);
  }

  strike(provider: string, op: Parameters<Capacity['strike']>[1]) {
    this.asked.push(['strike', provider, op]);
  }

  ok(provider: string, op: Parameters<Capacity['ok']>[1]) {
    this.asked.push(['ok', provider, op]);
  }

  mark(provider: string, mark: Parameters<Capacity['mark']>[1]) {
    this.asked.push(['mark', provider, mark]);
  }
}

/** Nothing overflows. */
export const noOverflow: Overflow = {
  mode: 'off',
  aggregators: [],
  keyOf: () => null,
  routes: { routeFor: () => null },
  ask: async () => null,
  budgets: {
    reserve: async () => ({ outcome: 'unavailable' }),
    close: () => undefined,
    days: async () => null,
  },
};

/** The ports of stages 06 and 07 that have to do with capacity; sleeping takes no time and is noted. */
export function capacityPorts(
  capacity: NotedCapacity = new NotedCapacity(),
  known: PeekAnswer = { outcome: 'fresh' },
): CapacityPorts & {
  readonly sleep: (ms: number) => Promise<void>;
  readonly peek: () => Promise<PeekAnswer>;
  readonly failOpen: (what: string) => void;
} {
  return {
    capacity,
    catalog: catalogPorts(null).ports.catalog,
    rateEnforced: new Set(),
    nowMs: () => startMs,
    failOpen: (what) => void capacity.asked.push(['failOpen', what]),
    sleep: async (ms) => void capacity.asked.push(['sleep', ms]),
    peek: async () => {
      capacity.asked.push(['peek']);
      return known;
    },
  };
}
