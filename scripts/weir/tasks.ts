/** Commands for asynchronous tasks: how they stand, and a poll by hand. Read by `commands.ts`. */

import { byCursor, type Row } from './client.ts';
import { plain, time, usd } from './columns.ts';
import { type Command, defaults, operatorOnly, shownList } from './command.ts';
import type { Column } from './render.ts';

/** `npm run weir -- tasks` */
export const tasks: Command = {
  ...defaults,
  name: 'tasks',
  isList: true,
  summary: 'Asynchronous tasks: whose money is still held, and how the others ended',
  options: [{ name: 'pending', help: 'only those that have not ended' }],
  examples: ['npm run weir -- tasks --pending', 'npm run weir -- tasks --all --json'],
  async run(client, { limit, isSet }) {
    const isWanted = (row: Row): boolean => !isSet('pending') || row.state === 'pending';
    const columns: Column<Row>[] = [
      plain('TASK', 'task_id'),
      plain('ENDPOINT', 'endpoint_id'),
      plain('STATE', 'state'),
      usd('HELD', 'held_micros'),
      time('OPENED', 'opened_at'),
      time('DEADLINE', 'deadline_at'),
      plain('HOLD', 'id'),
    ];
    const found = await client.list('/ledger/tasks', {}, limit, { ...byCursor, isWanted });
    return shownList(found, columns, isSet('pending') ? 'No task is pending.' : 'No task yet.');
  },
};

/** `npm run weir -- tasks poll` */
export const pollTasks: Command = {
  ...operatorOnly,
  name: 'tasks poll',
  summary: 'Ask vendors now how the tasks go that are due (operator)',
  examples: ['npm run weir -- tasks poll'],
  async run(client) {
    const run = await client.job('/tasks/poll', {});
    const told = Object.entries(run)
      .filter(([, count]) => count !== 0)
      .map(([outcome, count]) => `${String(count)} ${outcome}`);
    const text = told.length === 0 ? 'No task is due.' : `${told.join(', ')}.`;
    return { kind: 'shown', document: run, text };
  },
};
