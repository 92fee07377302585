/**
 * JobClient: one request of a job or of the child cycle, to an aggregator or to a vendor.
 * Promises: never throws; ends within its time; the address is judged as the road judges one, redirects are not followed, the
 * answer is read to its bound and no further, no edge cache. Must never: keep or log a text of the other side, or a header of the request.
 * Made by wiring.ts, called by the jobs of overflow and tasks.
 */
import { overflowAnswerWaitMs } from '../../base/limits-capacity';
import { readWithin } from '../../base/read-within';
import type { EgressPolicy } from '../../domain/egress/allowance';
import { parseTarget } from '../../domain/egress/target-url';
import type { ReadyRequest } from '../../domain/overflow/test-call';
import type { Background } from '../../ports/config';
import type { EgressGuard } from '../../ports/egress';
import type { DeskTime } from '../../ports/ledger';

/** What the client needs. `send` is the platform's fetch. */
export interface JobClientParts {
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  readonly egress: EgressGuard;
  readonly policy: EgressPolicy;
  readonly time: DeskTime;
}

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
  readonly #parts: JobClientParts;

  constructor(parts: JobClientParts) {
    this.#parts = parts;
  }

  /** null: no answer, or one that is larger than `bytesMax`. */
  async ask(
    request: ReadyRequest,
    { bytesMax, background, waitMs = overflowAnswerWaitMs }: AskRules,
  ): Promise<ReadAnswer | null> {
    const abort = new AbortController();
    const late = Promise.withResolvers<null>();
    const cancel = this.#parts.time.start(waitMs, () => {
      late.resolve(null);
      abort.abort();
    });
    const work = this.#answer(request, bytesMax, abort.signal, background).catch(() => null);
    const answer = await Promise.race([work, late.promise]);
    cancel();
    return answer;
  }

  async #answer(
    { url, method, headers, body }: ReadyRequest,
    bytesMax: number,
    signal: AbortSignal,
    background: Background,
  ): Promise<ReadAnswer | null> {
    const { egress, policy, time, send } = this.#parts;
    const target = parseTarget(url, policy);
    if (!target.ok) return null;
    const { host, port, judged } = target.value;
    const may = await egress.check(host, port, judged.kind, time.nowMs(), background);
    if (!may.ok) return null;
    const answer = await send(url, {
      method,
      headers: headers.map(([name, value]): [string, string] => [name, value]),
      body,
      signal,
      redirect: 'manual',
      cf: { cacheTtl: -1 },
    });
    const bytes = await readWithin(answer.body, bytesMax);
    if (bytes === null) return null;
    return { status: answer.status, header: (name) => answer.headers.get(name), bytes };
  }
}
