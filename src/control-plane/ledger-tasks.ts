/**
 * Asynchronous tasks that a ledger pays for: which run, which have ended and how. Promises: no text of the vendor beside its own id of the
 * task; what a task has cost is among the entries, under its hold. Operation read by `operations.ts`.
 */
import * as z from 'zod/mini';
import type { TaskView } from '../domain/tasks/task';
import { time, timeOrNull, timeText } from './fields';
import { listedFromLedger } from './ledger-pages';
import { answering, type Operation } from './operation';
import { pageOf, pageQuery } from './pagination';

/** A task. */
const taskAnswer = z.object({
  id: z.string().check(z.describe('Of the hold.')),
  task_id: z.string().check(z.describe('The vendor’s id.')),
  endpoint_id: z.string().check(z.describe('The catalog id that was called.')),
  account: z.string().check(z.describe('The operator’s account that works on it.')),
  state: z.enum(['pending', 'settled', 'released', 'timed_out']),
  held_micros: z.int(),
  opened_at: time,
  deadline_at: time,
  closed_at: z.nullable(time),
});

/** The operation on tasks. */
export const taskOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/ledger/tasks',
    permission: 'call:read',
    summary: 'List asynchronous tasks, those that have ended in the last 30 days included',
    query: pageQuery,
    answer: pageOf(taskAnswer),
    handle: (call) =>
      listedFromLedger(call, {
        name: 'task',
        read: (ledger, after) => ledger.tasks(after),
        idOf: (task) => task.holdId,
        toWire: taskWire,
      }),
  }),
];

const taskWire = (task: TaskView): z.output<typeof taskAnswer> => ({
  id: task.holdId,
  task_id: task.taskId,
  endpoint_id: task.endpointId,
  account: task.account,
  state: task.state,
  held_micros: task.heldMicros,
  opened_at: timeText(task.openedAtMs),
  deadline_at: timeText(task.deadlineAtMs),
  closed_at: timeOrNull(task.closedAtMs),
});
