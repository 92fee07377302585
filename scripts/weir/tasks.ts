/** Commands for asynchronous tasks: how they stand, and a poll by hand. Read by `commands.ts`. */
import { money } from './books.ts';
import { byCursor, type Row } from './client.ts';
import { type Command, defaults, field, shownList, when } from './command.ts';
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
      { head: 'TASK', cell: (row) => field(row, 'task_id') },
      { head: 'ENDPOINT', cell: (row) => field(row, 'endpoint_id') },
      { head: 'STATE', cell: (row) => field(row, 'state') },
      money('HELD', 'held_micros'),
      { head: 'OPENED', cell: (row) => when(row, 'opened_at') },
      { head: 'DEADLINE', cell: (row) => when(row, 'deadline_at') },
      { head: 'HOLD', cell: (row) => field(row, 'id') },
    ];
    const found = await client.list('/ledger/tasks', {}, limit, { ...byCursor, isWanted });
    return shownList(found, columns, isSet('pending') ? 'No task is pending.' : 'No task yet.');
  },
};

/** `npm run weir -- tasks poll` */
export const pollTasks: Command = {
  ...defaults,
  prefers: 'operator',
  inTenant: false,
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
