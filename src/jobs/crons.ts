/**
 * Crons: what each schedule of wrangler.toml runs. A platform event names its schedule, so each has its own jobs.
 * Promises: the jobs of a schedule run side by side, and one that fails keeps none from ending; the failure is the event's.
 * Called by worker.ts.
 */
import { report } from '../adapters/telemetry/report';
import { snapshotRetentionMs } from '../base/limits-capacity';
import type { Bindings } from '../env';
import type { Background } from '../ports/config';
import type { Wired } from '../wiring';
import { expireCalls } from './expire-calls';
import { expireSnapshots } from './expire-snapshots';
import { copyJournals } from './journal';
import { overflowWeekly } from './overflow-verify';
import { isSchedule, type Schedule } from './schedules';
import { sweep } from './sweep';
import { pollTasks } from './task-polls';

/** One event. `scheduledTime` is epoch milliseconds: what the platform meant, not when it came. */
export interface CronEvent {
  readonly cron: string;
  readonly scheduledTime: number;
  readonly background: Background;
}

type Job = (wired: Wired, bindings: Bindings, event: CronEvent) => Promise<unknown>;

/** Jobs by schedule. */
const crons: Readonly<Record<Schedule, readonly Job[]>> = {
  '* * * * *': [({ taskPorts }, _, { background }) => pollTasks(taskPorts, background)],
  '*/5 * * * *': [
    ({ management }, { DB }, { scheduledTime }) =>
      copyJournals(DB, management.ledgers, scheduledTime),
    ({ env }, { DB }, { scheduledTime }) => expireCalls(DB, scheduledTime - env.callRetentionMs),
  ],
  '7 * * * *': [
    ({ sweepPorts }, _, { scheduledTime, background }) =>
      sweep(sweepPorts, {
        job: 'sweep',
        scheduledAtMs: scheduledTime,
        only: null,
        background,
      }),
    (_, { DB }, { scheduledTime }) => expireSnapshots(DB, scheduledTime - snapshotRetentionMs),
  ],
  '23 4 * * MON': [
    ({ overflowPorts }, _, { scheduledTime, background }) =>
      overflowWeekly(overflowPorts, { scheduledAtMs: scheduledTime, background }),
  ],
};

/** Runs the jobs of an event; rejects after all have ended, with the failure, or with all of them in one. */
export async function runCron(wired: Wired, bindings: Bindings, event: CronEvent): Promise<void> {
  const { cron } = event;
  if (!isSchedule(cron)) return report('cron.unknown', { cron });
  const ended = await Promise.allSettled(
    crons[cron].map(async (job) => job(wired, bindings, event)),
  );
  const failures = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('; '));
  if (failures.length > 0) throw failures[0];
}
