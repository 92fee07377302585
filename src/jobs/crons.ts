/**
 * Crons: what each schedule of wrangler.toml runs. A platform event names its schedule, so each has its own jobs.
 * Promises: the jobs of a schedule run side by side, and one that fails keeps none from ending; the failure is the event's.
 * Called by worker.ts.
 */

import { report } from '../adapters/telemetry/report';
import type { Bindings } from '../env';
import type { Background } from '../ports/config';
import type { Wired } from '../wiring';
import { expireCalls } from './expire-calls';
import { copyJournals } from './journal';
import { sweep } from './sweep';

/** One event. `scheduledTime` is epoch milliseconds: what the platform meant, not when it came. */
export interface CronEvent {
  readonly cron: string;
  readonly scheduledTime: number;
  readonly background: Background;
}

type Job = (wired: Wired, bindings: Bindings, event: CronEvent) => Promise<unknown>;

/** Jobs by schedule, spelled as in wrangler.toml. */
export const crons: Readonly<Record<string, readonly Job[]>> = {
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
  ],
};

/** Runs the jobs of an event; rejects with the first failure, after all have ended. */
export async function runCron(wired: Wired, bindings: Bindings, event: CronEvent): Promise<void> {
  const jobs = Object.hasOwn(crons, event.cron) ? crons[event.cron] : undefined;
  if (jobs === undefined) report('cron.unknown', { cron: event.cron });
  const ended = await Promise.allSettled(
    (jobs ?? []).map(async (job) => job(wired, bindings, event)),
  );
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
