/** Columns of tables, by what their members are. Called by the commands. */
import type { Row } from './client.ts';
import { amount, field, when } from './command.ts';
import { dollars } from './money.ts';
import type { Column } from './render.ts';

/** A member as it is. */
export const plain = (head: string, name: string): Column<Row> => ({
  head,
  cell: (row) => field(row, name),
});

/** A number. */
export const number = (head: string, name: string): Column<Row> => ({
  ...plain(head, name),
  right: true,
});

/** Micro-USD as dollars. */
export const usd = (head: string, name: string): Column<Row> => ({
  head,
  right: true,
  cell: (row) => ((row[name] ?? null) === null ? '' : dollars(amount(row, name))),
});

/** A time. */
export const time = (head: string, name: string): Column<Row> => ({
  head,
  cell: (row) => when(row, name),
});
