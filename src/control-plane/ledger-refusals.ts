/**
 * What a ledger answers instead of an answer, as refusals: the one place of the management API that
 * translates them. Promises: a ledger that is busy or away is a 503 with Retry-After, never a guess
 * about money. Called by the ledger's resource files.
 */
import { err, ok, type Result } from '../base/result';
import type { RecordState } from '../domain/ledger/operations';
import type { Refusal } from '../domain/refusal';
import type { FromLedger } from '../ports/ledger';

interface Absent {
  readonly outcome: 'ledger_busy' | 'ledger_unavailable';
  readonly retryAfterMs: number;
}

/** Waits for the ledger. Refuses when it is busy or does not answer. */
export async function fromLedger<T>(work: FromLedger<T>): Promise<Result<T, Refusal>> {
  const answer = await work;
  return isAbsent(answer) ? err(absent(answer)) : ok(answer);
}

function isAbsent<T>(answer: T | Absent): answer is Absent {
  if (typeof answer !== 'object' || answer === null || !('outcome' in answer)) return false;
  return answer.outcome === 'ledger_busy' || answer.outcome === 'ledger_unavailable';
}

const absent = ({ outcome, retryAfterMs }: Absent): Refusal => ({ code: outcome, retryAfterMs });

/** An id of a grant or a top-up that stands for another amount or kind. */
export const creditIdTaken: Refusal = { code: 'ledger.id_conflict' };

/** A tenant with so many blocks of credit that no other fits until one is used up. */
export const tooManyBlocks = (blocksMax: number): Refusal => ({
  code: 'ledger.too_many_blocks',
  blocksMax,
});

/** A record that has an outcome, or whose call is still running. */
export const notUnknown = (state: RecordState): Refusal => ({
  code: 'idempotency.not_unknown',
  state,
});

/** A ledger that cannot be left or deleted while holds are open in it. */
export const holdsAreOpen: Refusal = { code: 'ledger.holds_open' };
