/**
 * Capacity objects: one call at a time, for the sweep and the operator; the road has its own way (`capacity-desk.ts`).
 * Promises: see `ports/capacity.ts`; no answer is `null`. Must never: keep a stub. Made by wiring.ts.
 */
import type { ProviderCapacity } from '../../../durable-objects/provider-capacity';
import { capacityTellWaitMs, capacityViewsMax } from '../../base/limits-capacity';
import type { CapacityState, Reading } from '../../domain/capacity/operations';
import type { CapacityObjects } from '../../ports/capacity';
import type { DeskTime } from '../../ports/ledger';
import { callObject, objectIds } from './object-call';

type Stub = DurableObjectStub<ProviderCapacity>;

/** Stubs by provider, or by `overflow:<aggregator>`. */
export function capacityStubs(
  namespace: DurableObjectNamespace<ProviderCapacity>,
): (provider: string) => Stub {
  const idOf = objectIds(namespace, capacityViewsMax);
  return (provider) => namespace.get(idOf(provider));
}

/** What the adapter is made of. */
export interface DurableCapacityObjectsParts {
  /** A fresh stub. */
  readonly stubOf: (provider: string) => Stub;
  readonly time: DeskTime;
}

export class DurableCapacityObjects implements CapacityObjects {
  readonly #parts: DurableCapacityObjectsParts;

  constructor(parts: DurableCapacityObjectsParts) {
    this.#parts = parts;
  }

  observe(provider: string, reading: Reading): Promise<true | null> {
    return this.#call(provider, async (stub) => {
      await stub.observe(reading);
      return true as const;
    });
  }

  state(provider: string): Promise<CapacityState | null> {
    return this.#call(provider, async (stub) => stub.state());
  }

  reset(provider: string, key: string | null): Promise<number | null> {
    return this.#call(provider, async (stub) => stub.reset(key));
  }

  #call<T>(provider: string, call: (stub: Stub) => Promise<T>): Promise<T | null> {
    const { stubOf, time } = this.#parts;
    return callObject(() => call(stubOf(provider)), { time, ms: capacityTellWaitMs });
  }
}
