/**
 * Capacity call: one call of a provider's object, and what its faults mean.
 * Promises: bounded in time; a fault is tried once more on a fresh stub, because every operation carries an id; it never throws: no
 * answer is `null`, and the call goes on without it. Must never: keep a stub or try an overloaded object again.
 * Called by `capacity-desk.ts` and `capacity-objects.ts`.
 */
import type { ProviderCapacity } from '../../../durable-objects/provider-capacity';
import { capacityViewsMax } from '../../base/limits-capacity';
import { Lru } from '../../base/lru';
import type { DeskTime } from '../../ports/ledger';
import { isOverloaded, orLate } from './ledger-call';

/** Stubs by provider, or by `overflow:<aggregator>`. The id is kept: making it hashes a name. */
export function capacityStubs(
  namespace: DurableObjectNamespace<ProviderCapacity>,
): (provider: string) => DurableObjectStub<ProviderCapacity> {
  const ids = new Lru<string, DurableObjectId>(capacityViewsMax);
  return (provider) => {
    let id = ids.get(provider);
    if (id === undefined) {
      id = namespace.idFromName(provider);
      ids.set(provider, id);
    }
    return namespace.get(id);
  };
}

/** The answer, or `null` when there is none within `ms` milliseconds. `attempt` makes a fresh stub each time. */
export function callCapacity<T>(
  attempt: () => Promise<T>,
  { time, ms }: { readonly time: DeskTime; readonly ms: number },
): Promise<T | null> {
  return orLate(twice(attempt), { time, ms, late: null });
}

async function twice<T>(attempt: () => Promise<T>): Promise<T | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (fault) {
      if (tries === 2 || isOverloaded(fault)) return null;
    }
  }
}
