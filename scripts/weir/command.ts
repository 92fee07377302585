/**
 * Command: one row of the command table, and what it gets and gives. Promises: a command writes
 * nothing itself; what it gives is a document for `--json` and text for people. Read by `main.ts`
 * and `help.ts`; made by the command files.
 */
import type { Client, Row } from './client.ts';
import { Fault } from './fault.ts';
import { type Column, table } from './render.ts';

/** An option of one command, besides those of all. */
export interface CommandOption {
  readonly name: string;
  /** What stands for its value in the help; none: it is a switch. */
  readonly value?: string;
  readonly help: string;
  /** Whether it may be given more than once. */
  readonly isRepeated?: boolean;
}

/** The words behind the command, and its options as they were written. */
export interface Input {
  readonly words: readonly string[];
  readonly option: (name: string) => string | undefined;
  /** Every value of a repeated option. */
  readonly all: (name: string) => readonly string[];
  readonly isSet: (name: string) => boolean;
  /** Rows to show at most. */
  readonly limit: number;
}

/** What a command found or did. */
export type Output =
  | { readonly kind: 'shown'; readonly document: unknown; readonly text: string }
  /** Text that is written as it comes, whatever `--json` says. */
  | { readonly kind: 'stream'; readonly parts: AsyncIterable<string> }
  /** Shown, and the exit code says that something is wrong with the books. */
  | { readonly kind: 'alarm'; readonly document: unknown; readonly text: string };

export interface Command {
  /** `ledger audit`: what is written behind `npm run weir --`. */
  readonly name: string;
  /** Words that it takes, as the help shows them: `AMOUNT`, `[WORD…]`. */
  readonly words: string;
  readonly wordsMin: number;
  readonly wordsMax: number;
  readonly summary: string;
  /** The key that goes first when both are known: some commands are the operator's only. */
  readonly prefers: 'access' | 'operator';
  /** Whether an operator has to name the tenant. */
  readonly inTenant: boolean;
  /** Whether it needs neither a gateway nor a key; its client is not to be used. */
  readonly isOffline?: boolean;
  /** Whether it shows a list, which `--limit` and `--all` cut. */
  readonly isList: boolean;
  readonly options: readonly CommandOption[];
  readonly examples: readonly string[];
  readonly run: (client: Client, input: Input) => Promise<Output>;
}

/** A word of the arguments for a sentence; none where it may be a key that was put there by mistake. */
export const plainWord = (word = ''): string =>
  /^[a-z][a-z-]{0,19}$/.test(word) ? ` "${word}"` : '';

/** What most commands are. */
export const defaults = {
  words: '',
  wordsMin: 0,
  wordsMax: 0,
  prefers: 'access',
  inTenant: true,
  isList: false,
  options: [],
} as const;

/** What the commands of the operator on the whole gateway are. */
export const operatorOnly = { ...defaults, prefers: 'operator', inTenant: false } as const;

/** What a list command gives. */
export function shownList(
  { rows, more }: { rows: readonly Row[]; more: boolean },
  columns: readonly Column<Row>[],
  empty: string,
): Output {
  const text = table(rows, columns, empty);
  const hint = more ? '\n(more: --limit N or --all)' : '';
  return { kind: 'shown', document: rows, text: text + hint };
}

/** A member as text; empty where it is null. Throws when it is no text or number. */
export function field(row: Row, name: string): string {
  const value = row[name] ?? '';
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  throw new Fault(`The answer has a ${name} that this version of Weir does not know.`, 'failed');
}

/** A member as a number; throws when it is none. */
export function amount(row: Row, name: string): number {
  const value = row[name];
  if (typeof value === 'number') return value;
  throw new Fault(`The answer has no ${name}.`, 'failed');
}

/** A member that is a list of objects; throws when it is none. */
export function rowsIn(row: Row, name: string): readonly Row[] {
  const value = row[name];
  if (Array.isArray(value)) return value as readonly Row[];
  throw new Fault(`The answer has no ${name}.`, 'failed');
}

/** A time without its milliseconds: `2030-01-01 00:00:00Z`. */
export const when = (row: Row, name: string): string =>
  field(row, name)
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');

/** Tags as `team=a env=prod`. */
export function tags(row: Row): string {
  const { tags: value } = row;
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([name, text]) => `${name}=${String(text)}`)
    .join(' ');
}
