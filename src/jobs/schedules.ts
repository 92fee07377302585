/**
 * The schedules of wrangler.toml, by what they are for. A test holds both lists together; the compiler holds the jobs to this one.
 * Read by `crons.ts`.
 */

/** Tasks · copies and deletions · balances · aggregators. A day of the week by its name: the platform's 1 is Sunday, other crons' is Monday. */
export const schedules = ['* * * * *', '*/5 * * * *', '7 * * * *', '23 4 * * MON'] as const;

/** One of them, as the platform's event names it. */
export type Schedule = (typeof schedules)[number];

/** Whether an event is of a schedule that is known. */
export const isSchedule = (cron: string): cron is Schedule =>
  schedules.some((schedule) => schedule === cron);
