/**
 * The command line from arguments to exit code. Promises: 0 done, 1 refused or not answered, 2 not
 * understood (nothing was sent); results on one stream, one-sentence errors on the other; no key in
 * either. Called by `../weir.ts` and the tests.
 */
import { parseArgs } from 'node:util';
import { Client } from './client.ts';
import { type Command, type Input, type Output, plainWord } from './command.ts';
import { commandOf, commands } from './commands.ts';
import { connect } from './connection.ts';
import { Fault } from './fault.ts';
import { commandHelp, commonOptions, generalHelp, listOptions, optionsOf } from './help.ts';
import { oneLine } from './render.ts';

/** What the command line needs of the process. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly send: typeof fetch;
  readonly write: (text: string) => void;
  readonly complain: (text: string) => void;
}

/** Rows of a list when nobody says how many. */
const limitDefault = 50;

/** Runs one command; the exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2> {
  try {
    return await run(args, terminal);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    terminal.complain(oneLine(fault.message));
    return fault.kind === 'usage' ? 2 : 1;
  }
}

async function run(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2> {
  const { words, values } = parsed(args);
  const found = commandOf(words);
  if (values.help === true || words.length === 0) {
    const text = found === null ? generalHelp(commands) : commandHelp(found.command);
    terminal.write(`${text}\n`);
    return values.help === true || words.length > 0 ? 0 : 2;
  }
  if (found === null) throw new Fault(unknownCommand(words), 'usage');
  const { command, rest } = found;
  const input = inputOf(command, rest, values);
  const client =
    command.isOffline === true ? nowhere(terminal) : clientFor(command, values, terminal);
  const output = await command.run(client, input);
  return written(output, values.json === true, terminal);
}

/** The client of a command that sends nothing. */
const nowhere = ({ send }: Terminal): Client =>
  new Client({ url: '', key: '', isOperator: false, tenant: undefined }, undefined, send);

function clientFor(command: Command, values: Values, terminal: Terminal): Client {
  const connection = connect({
    url: textOf(values.url),
    env: terminal.env,
    prefers: command.prefers,
  });
  const tenant = textOf(values.tenant) ?? (command.inTenant ? connection.tenant : undefined);
  if (connection.isOperator && command.inTenant && tenant === undefined)
    throw new Fault(
      'The operator has to name a tenant: --tenant ten_… (npm run weir -- tenants lists them).',
      'usage',
    );
  return new Client(connection, tenant, terminal.send);
}

async function written(output: Output, asJson: boolean, terminal: Terminal): Promise<0 | 1> {
  if (output.kind === 'stream') {
    for await (const part of output.parts) terminal.write(part);
    return 0;
  }
  terminal.write(`${asJson ? JSON.stringify(output.document, null, 2) : output.text}\n`);
  return output.kind === 'alarm' ? 1 : 0;
}

type Value = string | boolean | readonly string[] | undefined;
type Values = Readonly<Record<string, Value>>;

/** Every option of every command is known here; whether this one takes it is judged after. */
function parsed(args: readonly string[]): { words: readonly string[]; values: Values } {
  const all = [...commonOptions, ...listOptions, ...commands.flatMap(({ options }) => options)];
  const options = Object.fromEntries(
    all.map(({ name, value, isRepeated }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: isRepeated === true,
      },
    ]),
  );
  try {
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { words: positionals, values: values as Values };
  } catch (fault) {
    throw new Fault(argumentFault(fault), 'usage');
  }
}

/** Node's message names the argument, which may be a key that was put there by mistake. */
function argumentFault(fault: unknown): string {
  const code = fault instanceof Error && 'code' in fault ? fault.code : '';
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return 'There is no such option; a key is never an argument. npm run weir -- --help has them.';
  return 'An option lacks its value, or has one too many. npm run weir -- --help shows them.';
}

const unknownCommand = (words: readonly string[]): string => {
  const known = commands.map(({ name }) => name).join(', ');
  const sentence = `There is no such command${plainWord(words[0])}.`;
  return `${sentence} Commands: ${known}.`;
};

function inputOf(command: Command, rest: readonly string[], values: Values): Input {
  const taken = new Set(optionsOf(command).map(({ name }) => name));
  const foreign = Object.keys(values).find((name) => !taken.has(name));
  if (foreign !== undefined)
    throw new Fault(`${command.name} has no option --${foreign}.`, 'usage');
  if (rest.length < command.wordsMin || rest.length > command.wordsMax)
    throw new Fault(
      `It is: npm run weir -- ${command.name}${command.words === '' ? '' : ` ${command.words}`}`,
      'usage',
    );
  const limit = values.all === true ? Number.MAX_SAFE_INTEGER : limitOf(textOf(values.limit));
  const option = (name: string): string | undefined => textOf(values[name]);
  const all = (name: string): readonly string[] => {
    const value = values[name];
    return Array.isArray(value) ? value.map(String) : [];
  };
  return { words: rest, option, all, isSet: (name) => values[name] === true, limit };
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return limitDefault;
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new Fault('--limit is a whole number from 1.', 'usage');
}

const textOf = (value: Value): string | undefined =>
  typeof value === 'string' ? value : undefined;
