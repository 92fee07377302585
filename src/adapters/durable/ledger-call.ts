/**
 * Ledger call: one call of a tenant's object, and what its faults mean.
 * Promises: bounded in time; a fault is tried once more on a fresh stub, because every operation
 * carries an id; it never throws. Must never: keep a stub (it belongs to the request that made it)
 * or try an overloaded object again. Called by the desk and by `ledgers.ts`.
 */
import type { OrgLedger } from '../../../durable-objects/org-ledger';
import { ledgerBusyRetryMs, ledgerCallTimeoutMs, ledgerDesksMax } from '../../base/limits-money';
import type { Applied, EndOp, LedgerBusy, PlaceOp } from '../../domain/ledger/operations';
import { packBatch, unpackAnswers } from '../../domain/ledger/wire';
import type { DeskTime, LedgerAddress, LedgerUnavailable } from '../../ports/ledger';
import { orLate } from '../time';
import { isOverloaded, objectIds } from './object-call';

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

/** Stubs by address. The region counts only for the call that makes the object. */
export function ledgerStubs(
  namespace: DurableObjectNamespace<OrgLedger>,
): (address: LedgerAddress) => DurableObjectStub<OrgLedger> {
  const idOf = objectIds(namespace, ledgerDesksMax);
  return ({ ledgerTenantId, homeRegion }) => {
    const id = idOf(ledgerTenantId);
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
