/**
 * Object call: one call of an object without money in it, and what every object's faults mean.
 * Promises: bounded in time; a fault is tried once more on a fresh stub, because every operation carries an id; it never throws: no
 * answer is `null`. Must never: keep a stub (it belongs to the request that made it) or try an overloaded object again.
 * Called by the adapters of objects; ledgers have a call of their own (`ledger-call.ts`).
 */
import { Lru } from '../../base/lru';
import { type Deadline, orLate } from '../time';

/** Ids by name, the last `max` kept: making one hashes its name. */
export function objectIds(
  namespace: Pick<DurableObjectNamespace, 'idFromName'>,
  max: number,
): (name: string) => DurableObjectId {
  const ids = new Lru<string, DurableObjectId>(max);
  return (name) => {
    let id = ids.get(name);
    if (id === undefined) {
      id = namespace.idFromName(name);
      ids.set(name, id);
    }
    return id;
  };
}

/** The answer, or `null` when there is none within `ms` milliseconds. `attempt` makes a fresh stub each time. */
export function callObject<T>(
  attempt: () => PromiseLike<T>,
  { time, ms }: Pick<Deadline<T>, 'time' | 'ms'>,
): Promise<T | null> {
  return orLate(twice(attempt), { time, ms, late: null });
}

async function twice<T>(attempt: () => PromiseLike<T>): Promise<T | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (fault) {
      if (tries === 2 || isOverloaded(fault)) return null;
    }
  }
}

/** The platform's mark on an object that has too many requests; it did nothing of this one. */
export const isOverloaded = (fault: unknown): boolean =>
  fault instanceof Error && 'overloaded' in fault && fault.overloaded === true;
