/** What `--help` shows, made from the command table. Pure. Called by `main.ts`. */
import type { Command, CommandOption } from './command.ts';

/** Options of every command. */
export const commonOptions: readonly CommandOption[] = [
  { name: 'tenant', value: 'ID', help: 'act in this tenant; the operator has to name one' },
  { name: 'url', value: 'URL', help: 'the gateway; default WEIR_URL, then the local npm start' },
  { name: 'json', help: 'one JSON document instead of a table' },
  { name: 'help', help: 'this text; behind a command, its own' },
];

/** Options of every list. */
export const listOptions: readonly CommandOption[] = [
  { name: 'limit', value: 'N', help: 'rows to show, 50 by default' },
  { name: 'all', help: 'every row' },
];

/** The options that a command takes. */
export const optionsOf = (command: Command): readonly CommandOption[] => [
  ...command.options,
  ...(command.isList ? listOptions : []),
  ...commonOptions,
];

const usage = ({ name, words }: Command): string => `${name}${words === '' ? '' : ` ${words}`}`;

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
};

const described = (options: readonly CommandOption[]): string =>
  columns(options.map((o) => [`--${o.name}${o.value === undefined ? '' : ` ${o.value}`}`, o.help]));

/** The help of all. */
export const generalHelp = (commands: readonly Command[]): string => `npm run weir -- COMMAND

${columns(commands.map((command) => [usage(command), command.summary]))}

${described(commonOptions)}

The key comes from WEIR_KEY (an access key) or OPERATOR_KEY, never from an argument; without both,
the gateway of npm start is used, with its keys and its demo tenant. Amounts are US dollars.
Exit code: 0 done, 1 refused or not answered, 2 not understood.

  npm start                                  # in another terminal
  npm run weir -- tenants
  npm run weir -- topup 25.00 --id invoice-1017
  npm run weir -- balance
  npm run -s weir -- entries --csv > entries.csv`;

/** The help of one command. */
export const commandHelp = (command: Command): string => `npm run weir -- ${usage(command)}

${command.summary}.

${described(optionsOf(command))}

${command.examples.map((example) => `  ${example}`).join('\n')}`;
