/** Every command, in the order of the help. Read by `main.ts`, `help.ts` and the tests. */
import { audit, balance, entries, holds } from './books.ts';
import { call } from './call.ts';
import { capacityCommands } from './capacity.ts';
import { capacityClassify } from './capacity-classify.ts';
import { capacitySnapshots, capacitySweep } from './capacity-sweep.ts';
import type { Command } from './command.ts';
import { grant, topup } from './credits.ts';
import { calls, catalogSearch, tenants } from './directory.ts';
import { hold } from './hold.ts';
import { keys, revokeKey } from './keys.ts';
import { closeReview, records, resolveRecord, reviews } from './open-ends.ts';
import { overflowCommands } from './overflow.ts';
import { pollTasks, tasks } from './tasks.ts';

/** The table. */
export const commands: readonly Command[] = [
  balance,
  holds,
  hold,
  tasks,
  pollTasks,
  entries,
  calls,
  call,
  audit,
  topup,
  grant,
  reviews,
  closeReview,
  records,
  resolveRecord,
  catalogSearch,
  tenants,
  keys,
  revokeKey,
  ...capacityCommands,
  capacitySweep,
  capacitySnapshots,
  capacityClassify,
  ...overflowCommands,
];

/** The command that the words begin with, the longer name first, and the words behind it. */
export function commandOf(
  words: readonly string[],
): { command: Command; rest: readonly string[] } | null {
  const two = commands.find((command) => command.name === words.slice(0, 2).join(' '));
  if (two !== undefined && words.length > 1) return { command: two, rest: words.slice(2) };
  const one = commands.find((command) => command.name === words[0]);
  return one === undefined ? null : { command: one, rest: words.slice(1) };
}
