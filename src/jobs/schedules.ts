/**
 * The schedules of wrangler.toml, by what they are for. A test holds both lists together; the compiler holds the jobs to this one.
 * Read by `crons.ts`.
 */

/** Tasks · copies and deletions · balances · aggregators. */
export const schedules = ['* * * * *', '*/5 * * * *', '7 * * * *', '23 4 * * 1'] as const;

/** One of them, as the platform's event names it. */
export type Schedule = (typeof schedules)[number];

/** Whether an event is of a schedule that is known. */
export const isSchedule = (cron: string): cron is Schedule =>
  schedules.some((schedule) => schedule === cron);
