/**
 * Task polls: asks vendors how the tasks go whose time has come, so that a task ends and is paid for even when its owner never looks again.
 * Promises: one poll of a task at a time, whoever fires; polls run side by side, each with its own deadline; only evidence ends a task; a
 * vendor or a store that does not answer is asked again later and later, and money is never moved by silence: the ledger gives the task up
 * at its deadline; one whose account the operator took away is given up at once. Called by `jobs/crons.ts` every minute, and by hand through wiring.ts.
 */
import type { JobClient } from '../adapters/egress/job-client';
import {
  meteredAnswerBytesMax,
  taskPollFirstMs,
  taskPollLeaseMs,
  taskPollPauseMsMax,
  taskPollRetryMs,
  taskPollStepMs,
  taskPollsMax,
  taskPollsTogetherMax,
  taskPollWaitMs,
} from '../base/limits-money';
import { sideBySide } from '../base/side-by-side';
import { percentEncoded } from '../base/text-codings';
import { accountSetting, ownerAccount } from '../domain/capacity/accounts';
import { primaryAccount } from '../domain/capacity/signal';
import type { EgressPolicy } from '../domain/egress/allowance';
import { directRequest, operatorCall, type ReadyRequest } from '../domain/overflow/test-call';
import { endOfTask, pollOf, type TaskAnswer, type TaskView } from '../domain/tasks/task';
import type { Catalog, CatalogEntry } from '../ports/catalog';
import type { Background } from '../ports/config';
import type { Ledgers } from '../ports/ledger';
import type { Report } from '../ports/report';
import type { DueTask, PollCounts, PollOutcome, TaskIndex } from '../ports/tasks';

/** What polling needs. */
export interface TaskPollPorts {
  readonly index: TaskIndex;
  readonly ledgers: Ledgers;
  readonly catalog: Pick<Catalog, 'endpoint'>;
  readonly client: Pick<JobClient, 'ask'>;
  readonly policy: EgressPolicy;
  readonly settings: ReadonlyMap<string, string>;
  /** Labels of the operator's further accounts at a provider. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  readonly nowMs: () => number;
  readonly report: Report;
}

/** Polls what is due; gives how often each outcome came. Throws when the index does not answer. */
export async function pollTasks(ports: TaskPollPorts, background: Background): Promise<PollCounts> {
  const startedAtMs = ports.nowMs();
  const due = await ports.index.takeDue(startedAtMs, taskPollsMax, taskPollLeaseMs);
  // A poll that begins later would outlive the lease, and another firing would poll beside it.
  const lastAtMs = startedAtMs + taskPollLeaseMs - taskPollWaitMs;
  const counts = { running: 0, settled: 0, released: 0, failed: 0, gone: 0, left: 0 };
  await sideBySide(due, taskPollsTogetherMax, async (task) => {
    const outcome = ports.nowMs() > lastAtMs ? 'left' : await polled(ports, task, background);
    counts[outcome] += 1;
  });
  return counts;
}

async function polled(
  ports: TaskPollPorts,
  task: DueTask,
  background: Background,
): Promise<Exclude<PollOutcome, 'left'>> {
  const { index, nowMs } = ports;
  const { holdId } = task;
  const outcome = await outcomeOf(ports, task, background).catch((bug: unknown) => {
    // One task that cannot be judged keeps no other from its poll.
    const error = bug instanceof Error ? bug.name : typeof bug;
    ports.report('task.poll_bug', { hold_id: holdId, error });
    return 'failed' as const;
  });
  await noted(index, task, outcome, nowMs()).catch((fault: unknown) => {
    // It keeps no other from its poll: when the lease is over, the task is polled again.
    const error = fault instanceof Error ? fault.name : typeof fault;
    ports.report('task.not_noted', { hold_id: holdId, error });
  });
  return outcome;
}

/** When the task is asked for again; never, where it is over. */
async function noted(
  index: TaskIndex,
  { holdId, polls, failures }: DueTask,
  outcome: Exclude<PollOutcome, 'left'>,
  nowMs: number,
): Promise<void> {
  if (outcome === 'running') {
    const waitMs = Math.min(taskPollFirstMs + (polls + 1) * taskPollStepMs, taskPollPauseMsMax);
    await index.next(holdId, { atMs: nowMs + waitMs, polls: polls + 1, failures: 0 });
  } else if (outcome === 'failed') {
    const waitMs = taskPollRetryMs[Math.min(failures + 1, taskPollRetryMs.length) - 1] ?? 0;
    await index.next(holdId, { atMs: nowMs + waitMs, polls, failures: failures + 1 });
  } else {
    await index.remove(holdId);
  }
}

async function outcomeOf(
  ports: TaskPollPorts,
  { address, provider, taskId, holdId }: DueTask,
  background: Background,
): Promise<Exclude<PollOutcome, 'left'>> {
  const ledger = ports.ledgers.of(address);
  const task = await ledger.task(provider, taskId);
  if (task !== null && 'outcome' in task) return 'failed';
  if (task === null || task.holdId !== holdId || task.state !== 'pending') return 'gone';
  const found = await ports.catalog.endpoint(pollOf(task), { nowMs: ports.nowMs(), background });
  const entry = found.ok ? found.value : null;
  if (entry !== null && isRetired(ports, task, entry)) {
    ports.report('task.account_retired', { provider, hold_id: holdId, account: task.account });
    const released = await ledger.apply([['release', holdId, 'platform_account_retired']], []);
    return released.outcome === 'applied' ? 'released' : 'failed';
  }
  const answer = await answerOf(ports, task, entry, background);
  if (answer === null) return 'failed';
  const end = endOfTask(task, answer);
  if (end === null) return isAnswered(answer) ? 'running' : 'failed';
  const applied = await ledger.apply([end], []);
  if (applied.outcome !== 'applied') return 'failed';
  return end[0] === 'settle' ? 'settled' : 'released';
}

/** A vendor that says no is asked less and less often. */
const isAnswered = ({ status }: TaskAnswer): boolean => status >= 200 && status < 300;

/** Whether the account that works on it is no longer one of the operator's; one that has none of them may get them back (seed 000, accounts). */
function isRetired(
  { settings, labels }: TaskPollPorts,
  { account }: TaskView,
  { provider }: CatalogEntry,
): boolean {
  const [primary] = provider.accounts;
  if (primary === undefined || !settings.has(primary.setting)) return false;
  const owner = ownerAccount([account], [primaryAccount, ...(labels.get(provider.slug) ?? [])]);
  return !owner.ok && owner.error === 'retired';
}

async function answerOf(
  ports: TaskPollPorts,
  task: TaskView,
  entry: CatalogEntry | null,
  background: Background,
): Promise<TaskAnswer | null> {
  const request = entry === null ? null : requestOf(ports, task, entry);
  const rules = { bytesMax: meteredAnswerBytesMax, waitMs: taskPollWaitMs, background };
  const answer = request === null ? null : await ports.client.ask(request, rules);
  if (answer === null) {
    const why = request === null ? 'no_request' : 'no_answer';
    ports.report('task.not_polled', { provider: task.provider, hold_id: task.holdId, why });
  }
  return answer;
}

/** The poll, with the credential of the account that works on the task; `null`: the row or the credential does not serve it any more. */
function requestOf(
  { settings, policy }: TaskPollPorts,
  { account: label, taskId }: TaskView,
  { endpoint, provider }: CatalogEntry,
): ReadyRequest | null {
  const [primary] = provider.accounts;
  if (primary === undefined || endpoint.taskId === null) return null;
  const { setting } = primary;
  const credential = settings.get(accountSetting({ provider: provider.slug, label, setting }));
  if (credential === undefined) return null;
  const query = `${percentEncoded(endpoint.taskId)}=${percentEncoded(taskId)}`;
  const call = operatorCall(endpoint, provider, { query, bodyText: null }, policy);
  const request = call.ok ? directRequest(call.value, provider, credential) : call;
  return request.ok ? request.value : null;
}
