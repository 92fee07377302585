/**
 * Ledger call: one call of a tenant's object, and what its faults mean.
 * Promises: bounded in time; a fault is tried once more on a fresh stub, because every operation
 * carries an id; it never throws. Must never: keep a stub (it belongs to the request that made it)
 * or try an overloaded object again. Called by the desk and by `ledgers.ts`.
 */
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import { ledgerBusyRetryMs, ledgerCallTimeoutMs, ledgerDesksMax } from '../../base/limits-money';
import { Lru } from '../../base/lru';
import type { Applied, EndOp, LedgerBusy, PlaceOp } from '../../domain/ledger/operations';
import { packBatch, unpackAnswers } from '../../domain/ledger/wire';
import type { DeskTime, LedgerAddress, LedgerUnavailable } from '../../ports/ledger';

/** The part of an object that the road uses. */
export interface LedgerObject {
  apply(ends: readonly EndOp[], places: readonly PlaceOp[]): Promise<Applied | LedgerBusy>;
}

/** Too many calls wait for the object, or at the desk before it. */
export const ledgerBusy: LedgerBusy = { outcome: 'ledger_busy', retryAfterMs: ledgerBusyRetryMs };
/** The object gave no answer in time, or broke. */
export const ledgerUnavailable: LedgerUnavailable = {
  outcome: 'ledger_unavailable',
  retryAfterMs: ledgerBusyRetryMs,
};

/** Time of the platform. */
export const platformTime: DeskTime = {
  nowMs: () => Date.now(),
  start: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Stubs by address. The id is kept: making it hashes a name. The region counts only for the call
 * that makes the object.
 */
export function ledgerStubs(
  namespace: DurableObjectNamespace<OrgLedger>,
): (address: LedgerAddress) => DurableObjectStub<OrgLedger> {
  const ids = new Lru<string, DurableObjectId>(ledgerDesksMax);
  return ({ ledgerTenantId, homeRegion }) => {
    let id = ids.get(ledgerTenantId);
    if (id === undefined) {
      id = namespace.idFromName(ledgerTenantId);
      ids.set(ledgerTenantId, id);
    }
    if (homeRegion === null) return namespace.get(id);
    return namespace.get(id, { locationHint: homeRegion as DurableObjectLocationHint });
  };
}

/** The object of a stub as the road uses it: batches travel as flat lists. */
export const packedLedger = (stub: DurableObjectStub<OrgLedger>): LedgerObject => ({
  apply: async (ends, places) => {
    const answer = await stub.applyPacked(packBatch(ends, places));
    return 'outcome' in answer ? answer : unpackAnswers(answer);
  },
});

/** Calls a ledger: its answer, or why there is none. `attempt` makes a fresh stub each time. */
export function callLedger<T>(
  attempt: () => Promise<T>,
  time: DeskTime,
): Promise<T | LedgerBusy | LedgerUnavailable> {
  return orLate(twice(attempt), { time, ms: ledgerCallTimeoutMs, late: ledgerUnavailable });
}

/** What `work` gives, or `late` when it takes longer than `ms`; `work` must not reject. */
export function orLate<T>(
  work: Promise<T>,
  { time, ms, late }: { time: DeskTime; ms: number; late: T },
): Promise<T> {
  return new Promise((resolve) => {
    const cancel = time.start(ms, () => resolve(late));
    void work.then((value) => {
      cancel();
      resolve(value);
    });
  });
}

async function twice<T>(attempt: () => Promise<T>): Promise<T | LedgerBusy | LedgerUnavailable> {
  try {
    return await attempt();
  } catch (fault) {
    if (isOverloaded(fault)) return ledgerBusy;
  }
  // The lost attempt may have been carried out: from here "busy" does not say that nothing was done.
  try {
    const answer = await attempt();
    return isBusy(answer) ? ledgerUnavailable : answer;
  } catch {
    return ledgerUnavailable;
  }
}

const isBusy = (answer: unknown): boolean =>
  typeof answer === 'object' &&
  answer !== null &&
  'outcome' in answer &&
  answer.outcome === ledgerBusy.outcome;

/** The platform's mark on an object that has too many requests; it did nothing of this one, and another try would add to them. */
export const isOverloaded = (fault: unknown): boolean =>
  fault instanceof Error && 'overloaded' in fault && fault.overloaded === true;
