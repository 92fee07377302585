/**
 * Polling asynchronous tasks by hand: what the Cron of every minute does. Promises: operator only; a task whose time has not come is not
 * asked for, so that a command that is repeated bothers no vendor. Operation read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { ok } from '../base/result';
import { type Operation, writing } from './operation';

const count = z.int();

const pollAnswer = z.object({
  running: count,
  settled: count,
  released: count,
  failed: count.check(z.describe('Nobody answered; asked for again later and later.')),
  gone: count.check(z.describe('Had ended before.')),
  left: count.check(z.describe('For the next run: this one took too long.')),
});

/** Body of a run: nothing to say. */
const pollBody = z.strictObject({});

/** The operation on polls. */
export const taskPollOperations: readonly Operation[] = [
  writing({
    method: 'POST',
    path: '/tasks/poll',
    permission: 'operator',
    scope: 'gateway',
    summary: 'Poll the asynchronous tasks that are due; the same runs every minute',
    body: pollBody,
    status: 200,
    answer: pollAnswer,
    async handle(call) {
      const run = await call.services.pollTasks(call.facts.background);
      return run.ok ? ok({ ...run.value }) : run;
    },
  }),
];
