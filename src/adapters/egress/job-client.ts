/**
 * JobClient: one request of a job or of the child cycle, to an aggregator or to a vendor.
 * Promises: never throws; ends within its time; the address is judged as the road judges one, redirects are not followed, the
 * answer is read to its bound and no further, no edge cache. Must never: keep or log a text of the other side, or a header of the request.
 * Made by wiring.ts, called by the jobs of overflow and tasks.
 */
import { overflowAnswerWaitMs } from '../../base/limits-capacity';
import { readWithin } from '../../base/read-within';
import { parseTarget } from '../../domain/egress/target-url';
import type { ReadyRequest } from '../../domain/overflow/test-call';
import type { Background } from '../../ports/config';
import { orLate } from '../time';
import { type OperatorParts, operatorSend, type SendTerms } from './operator-send';

/** Bounds of one request; `waitMs` is that of an aggregator's answer when it is left out. */
export interface AskRules {
  readonly bytesMax: number;
  readonly background: Background;
  readonly waitMs?: number;
}

/** An answer, read whole. */
export interface ReadAnswer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly bytes: Uint8Array;
}

export class JobClient {
  readonly #parts: OperatorParts;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** null: no answer, or one that is larger than `bytesMax`. */
  ask(
    request: ReadyRequest,
    { bytesMax, background, waitMs = overflowAnswerWaitMs }: AskRules,
  ): Promise<ReadAnswer | null> {
    const abort = new AbortController();
    const terms = { signal: abort.signal, background };
    const work = this.#answer(request, bytesMax, terms).catch(() => null);
    return orLate(work, { time: this.#parts.time, ms: waitMs, late: null, abort });
  }

  async #answer(
    request: ReadyRequest,
    bytesMax: number,
    terms: SendTerms,
  ): Promise<ReadAnswer | null> {
    const target = parseTarget(request.url, this.#parts.policy);
    if (!target.ok) return null;
    const answer = await operatorSend(this.#parts, target.value, request, terms);
    if (answer === null) return null;
    const bytes = await readWithin(answer.body, bytesMax);
    if (bytes === null) return null;
    return { status: answer.status, header: (name) => answer.headers.get(name), bytes };
  }
}
