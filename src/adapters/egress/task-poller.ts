/**
 * Task poller: asks a vendor on one of the operator's accounts how a task goes.
 * Promises: never throws; ends within `taskPollWaitMs`; the address is judged as the road judges one, redirects are not followed, the answer
 * is read to `meteredAnswerBytesMax` and no further, no edge cache. Must never: keep or log a text of the vendor.
 * Made by wiring.ts, called by `jobs/task-polls.ts`.
 */
import { meteredAnswerBytesMax, taskPollWaitMs } from '../../base/limits-money';
import { err, ok, type Result } from '../../base/result';
import { collectRequest } from '../../domain/capacity/collect';
import { fillPath } from '../../domain/catalog/placeholders';
import { approvedBase } from '../../domain/catalog/provider';
import { encodeQueryPart } from '../../domain/relay/query';
import type { TaskAnswer } from '../../domain/tasks/task';
import type { CatalogEntry } from '../../ports/catalog';
import type { Background } from '../../ports/config';
import type { CollectorParts } from './balance-collector';
import { readWithin } from './read-within';

/** One poll. `entry` is the row that polls; `setting` names the account's credential. */
export interface PollJob {
  readonly entry: CatalogEntry;
  readonly account: string;
  readonly setting: string;
  readonly credential: string;
  readonly taskId: string;
  readonly background: Background;
}

/** Why there is no answer. */
export type PollFault = 'address_refused' | 'unusable' | 'unreachable' | 'late' | 'too_large';

type Polled = Result<TaskAnswer, PollFault>;

export class TaskPoller {
  readonly #parts: CollectorParts;

  constructor(parts: CollectorParts) {
    this.#parts = parts;
  }

  /** What the vendor answers, whatever its status. */
  async poll(job: PollJob): Promise<Polled> {
    const abort = new AbortController();
    const late = Promise.withResolvers<Polled>();
    const cancel = this.#parts.time.start(taskPollWaitMs, () => {
      late.resolve(err('late'));
      abort.abort();
    });
    const work = this.#ask(job, abort.signal).catch((): Polled => err('unreachable'));
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      cancel();
    }
  }

  async #ask(job: PollJob, signal: AbortSignal): Promise<Polled> {
    const { egress, policy, time, send } = this.#parts;
    const { provider } = job.entry;
    const url = this.#urlOf(job);
    if (url === null) return err('address_refused');
    const { account, setting, credential, background } = job;
    const asked = { url, method: 'GET', credential } as const;
    const request = collectRequest({ provider, account, setting }, asked, policy);
    if (!request.ok) return err('unusable');
    const { target, headers } = request.value;
    const may = await egress.check(
      target.host,
      target.port,
      target.judged.kind,
      time.nowMs(),
      background,
    );
    if (!may.ok) return err('address_refused');
    const answer = await send(request.value.url, {
      method: 'GET',
      headers: headers.map(([name, value]): [string, string] => [name, value]),
      signal,
      redirect: 'manual',
      cf: { cacheTtl: -1 },
    });
    const bytes = await readWithin(answer.body, meteredAnswerBytesMax);
    if (bytes === null) return err('too_large');
    const header = (name: string): string | null => answer.headers.get(name);
    return ok({ status: answer.status, header, bytes });
  }

  /** The address of the poll; `null`: the row leads nowhere that is allowed. */
  #urlOf({ entry: { endpoint, provider }, taskId }: PollJob): string | null {
    const base = approvedBase(provider, endpoint, this.#parts.policy);
    if (!base.ok || endpoint.taskId === null) return null;
    const named = `${encodeQueryPart(endpoint.taskId)}=${encodeQueryPart(taskId)}`;
    const filled = fillPath(endpoint.path, named);
    if (!filled.ok) return null;
    const { scheme, host, port, basePath } = base.value;
    const bare = host.includes(':') ? `[${host}]` : host;
    const query = endpoint.query === null ? '' : `?${endpoint.query}`;
    return `${scheme}://${bare}:${port}${basePath}${filled.value.path}${query}`;
  }
}
