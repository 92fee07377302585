/**
 * What a ledger answers instead of an answer, as refusals: the one place of the management API that
 * translates them. Promises: a ledger that is busy or away is a 503 with Retry-After, never a guess
 * about money. Called by the ledger's resource files.
 */
import { err, ok, type Result } from '../base/result';
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
