/**
 * Run: one run at an aggregator, from its request to its end: where it goes on, it is asked about a bounded number of times.
 * Promises: never throws when `ask` does not; no answer is `unreached`: whether the run was made is not known; a question that fails says
 * nothing of the run, and a run that says it broke is over. Pure but for what it is handed. Called by the road's overflow branch and by `jobs/overflow-verify.ts`.
 */
import { overflowPollMs, overflowPollsMax } from '../../base/limits-capacity';
import { type Aggregator, authHeader } from './aggregators';
import {
  type EnvelopeAnswer,
  type EnvelopeOutcome,
  type EnvelopeRequest,
  parse,
  parsePoll,
  pollRequest,
  type SignalOf,
  unreached,
} from './envelope';

/** What a run is handed. */
export interface RunParts {
  readonly aggregator: Aggregator;
  /** Ours at the aggregator. */
  readonly key: string;
  /** null: no answer, or none that could be read. */
  readonly ask: (request: EnvelopeRequest) => Promise<EnvelopeAnswer | null>;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly signalOf: SignalOf;
}

/** Runs `envelope`; `pending` is a run that had not ended after the last question. */
export async function runThrough(
  envelope: EnvelopeRequest,
  parts: RunParts,
): Promise<EnvelopeOutcome> {
  const { aggregator, sleep, signalOf } = parts;
  const first = await asked(envelope, parts);
  let outcome = first === null ? unreached : parse(aggregator, first, signalOf);
  for (let polls = 0; outcome.kind === 'pending' && polls < overflowPollsMax; polls += 1) {
    const { runId } = outcome;
    await sleep(overflowPollMs);
    const answer = await asked(pollRequest(aggregator, runId), parts);
    if (answer !== null) outcome = parsePoll(aggregator, { runId, answer }, signalOf) ?? outcome;
  }
  return outcome;
}

const asked = (request: EnvelopeRequest, { key, ask }: RunParts): Promise<EnvelopeAnswer | null> =>
  ask({ ...request, headers: [...request.headers, authHeader(key)] });
