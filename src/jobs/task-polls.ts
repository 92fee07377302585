/**
 * Task polls: asks vendors how the tasks go whose time has come, so that a task ends and is paid for even when its owner never looks again.
 * Promises: one poll of a task at a time, whoever fires; polls run side by side, each with its own deadline; only evidence ends a task; a
 * vendor or a store that does not answer is asked again later and later, and money is never moved by silence: the ledger gives the task up
 * at its deadline. Called by `jobs/crons.ts` every minute, and by hand through wiring.ts.
 */
import type { TaskPoller } from '../adapters/egress/task-poller';
import {
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
import { accountSetting } from '../domain/capacity/accounts';
import { primaryAccount } from '../domain/capacity/signal';
import {
  endOf,
  type TaskAnswer,
  type TaskTerms,
  type TaskView,
  verdictOf,
} from '../domain/tasks/task';
import type { Catalog, CatalogEntry } from '../ports/catalog';
import type { Background } from '../ports/config';
import type { Ledgers } from '../ports/ledger';
import type { DueTask, PollCounts, PollOutcome, TaskIndex } from '../ports/tasks';

/** What polling needs. */
export interface TaskPollPorts {
  readonly index: TaskIndex;
  readonly ledgers: Ledgers;
  readonly catalog: Pick<Catalog, 'endpoint'>;
  readonly poller: Pick<TaskPoller, 'poll'>;
  readonly settings: ReadonlyMap<string, string>;
  readonly nowMs: () => number;
  readonly report: (event: string, facts: Readonly<Record<string, string>>) => void;
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
  const { holdId, polls } = task;
  const outcome = await outcomeOf(ports, task, background);
  if (outcome === 'running') {
    const waitMs = Math.min(taskPollFirstMs + (polls + 1) * taskPollStepMs, taskPollPauseMsMax);
    await index.next(holdId, { atMs: nowMs() + waitMs, polls: polls + 1, failures: 0 });
  } else if (outcome === 'failed') {
    const failures = task.failures + 1;
    const waitMs = taskPollRetryMs[Math.min(failures, taskPollRetryMs.length) - 1] ?? 0;
    await index.next(holdId, { atMs: nowMs() + waitMs, polls, failures });
  } else {
    await index.remove(holdId);
  }
  return outcome;
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
  const terms = JSON.parse(task.terms) as TaskTerms;
  const answer = await answerOf(ports, task, terms, background);
  if (answer === null) return 'failed';
  const verdict = verdictOf(terms, answer, task.heldMicros);
  if (verdict.kind === 'running') return isAnswered(answer) ? 'running' : 'failed';
  const end = endOf(holdId, verdict.charge);
  const applied = await ledger.apply([end], []);
  if (applied.outcome !== 'applied') return 'failed';
  return end[0] === 'settle' ? 'settled' : 'released';
}

/** A vendor that says no is asked less and less often. */
const isAnswered = ({ status }: TaskAnswer): boolean => status >= 200 && status < 300;

async function answerOf(
  { catalog, poller, settings, nowMs, report }: TaskPollPorts,
  { account, taskId, provider, holdId }: TaskView,
  { rule }: TaskTerms,
  background: Background,
): Promise<TaskAnswer | null> {
  const found = await catalog.endpoint(rule.poll, { nowMs: nowMs(), background });
  const entry = found.ok ? found.value : null;
  const setting = entry === null ? null : settingOf(entry, account);
  const credential = setting === null ? undefined : settings.get(setting);
  const faults = { provider, hold_id: holdId };
  if (entry === null || setting === null || credential === undefined) {
    report('task.not_polled', { ...faults, why: entry === null ? 'no_row' : 'no_credential' });
    return null;
  }
  const answer = await poller.poll({ entry, account, setting, credential, taskId, background });
  if (answer.ok) return answer.value;
  report('task.not_polled', { ...faults, why: answer.error });
  return null;
}

/** The setting with the credential of the account that works on the task. */
function settingOf({ provider }: CatalogEntry, label: string): string | null {
  const [primary] = provider.accounts;
  if (primary === undefined) return null;
  const { setting } = primary;
  return label === primaryAccount
    ? setting
    : accountSetting({ provider: provider.slug, label, setting });
}
