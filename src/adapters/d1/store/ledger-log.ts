/** D1's copy of ledgers' logs, read only. Called by `store.ts`. */
import type { LedgerLogStore } from '../../../ports/store';
import { readJournal } from '../journal';
import { stored } from './statements';

/** The copies of one database. */
export function ledgerLogStore(d1: D1Database): LedgerLogStore {
  return {
    rows: (tenantId, afterSeq, limit) => stored(readJournal(d1, { tenantId, afterSeq, limit })),
  };
}
