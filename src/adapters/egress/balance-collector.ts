/**
 * Balance collector: asks one vendor for one account's balance.
 * Promises: never throws; ends within `collectorWaitMs`, look-up included; the address is judged as the road judges one, redirects are
 * not followed, the answer is read to `collectorBodyBytesMax` and no further, no edge cache. Must never: keep, log or return a text of the
 * vendor beside the note that `domain/capacity/note.ts` lets through. Made by wiring.ts, called by `jobs/sweep.ts`.
 */
import { readJson } from '../../base/json-path';
import { collectorBodyBytesMax, collectorWaitMs } from '../../base/limits-capacity';
import { readWithin } from '../../base/read-within';
import { err, ok, type Result } from '../../base/result';
import {
  type CollectFault,
  type CollectRequest,
  collectRequest,
  lookedUpId,
  type Measured,
  measured,
  type SweptAccount,
} from '../../domain/capacity/collect';
import type { BalanceRequest } from '../../domain/catalog/balance';
import type { Background } from '../../ports/config';
import { orLate } from '../time';
import { type OperatorParts, operatorSend } from './operator-send';

/** One account of a provider that declares a balance call, and its credential. */
export interface CollectJob {
  readonly account: SweptAccount;
  readonly call: BalanceRequest;
  readonly credential: string;
  readonly background: Background;
}

type Collected<T> = Result<T, CollectFault>;

export class BalanceCollector {
  readonly #parts: OperatorParts;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** The balance, or why there is none. */
  collect(job: CollectJob): Promise<Collected<Measured>> {
    const abort = new AbortController();
    const work = this.#read(job, abort.signal).catch((): Collected<Measured> => err('unreachable'));
    const { time } = this.#parts;
    return orLate(work, { time, ms: collectorWaitMs, late: err('late'), abort });
  }

  async #read(job: CollectJob, signal: AbortSignal): Promise<Collected<Measured>> {
    const { call } = job;
    const url = call.lookup === null ? ok(call.url) : await this.#found(job, call.lookup, signal);
    if (!url.ok) return url;
    const request = this.#request(job, url.value, call.method);
    if (!request.ok) return request;
    const document = await this.#ask(request.value, job, signal);
    return document.ok ? measured(call, document.value, request.value.secrets) : document;
  }

  /** The balance URL with the id that the vendor knows. */
  async #found(
    job: CollectJob,
    { url, at }: NonNullable<BalanceRequest['lookup']>,
    signal: AbortSignal,
  ): Promise<Collected<string>> {
    const request = this.#request(job, url, 'GET');
    if (!request.ok) return request;
    const document = await this.#ask(request.value, job, signal);
    if (!document.ok) return document;
    const id = lookedUpId(document.value, at);
    return id.ok ? ok(job.call.url.replace('{id}', () => id.value)) : id;
  }

  #request({ account, credential }: CollectJob, url: string, method: 'GET' | 'POST') {
    return collectRequest(account, { url, method, credential }, this.#parts.policy);
  }

  async #ask(
    request: CollectRequest,
    { background }: CollectJob,
    signal: AbortSignal,
  ): Promise<Collected<unknown>> {
    const terms = { signal, background };
    const answer = await operatorSend(this.#parts, request.target, request, terms);
    if (answer === null) return err('address_refused');
    const fault = faultOf(answer.status);
    if (fault === null) return documentOf(answer);
    await answer.body?.cancel();
    return err(fault);
  }
}

function faultOf(status: number): CollectFault | null {
  if (status >= 300 && status < 400) return 'redirected';
  return status >= 200 && status < 300 ? null : `status_${status}`;
}

/** The JSON of an answer, if it is one and not too large. */
async function documentOf({ body }: Response): Promise<Collected<unknown>> {
  const bytes = await readWithin(body, collectorBodyBytesMax);
  if (bytes === null) return err('too_large');
  const document = readJson(bytes);
  return document.ok ? document : err('no_json');
}
