/**
 * The arguments of a script, held against what it takes. Promises: what is not understood is one sentence, the usage and exit code 2,
 * before anything has been done; `--help` is the usage and exit code 0. Must never: let an unknown word or a number that is none
 * through, with which a check would run nothing and pass. Called by the scripts behind npm run.
 */
import { parseArgs } from 'node:util';

/** What a script takes besides `--help`. */
export interface Taken {
  /** How it is called, and what each option does. */
  readonly usage: string;
  readonly switches?: readonly string[];
  /** Options with a whole number from 1. */
  readonly numbers?: readonly string[];
  /** Options with any other value. */
  readonly texts?: readonly string[];
  /** Words beside the options, at most; 0 by default. */
  readonly wordsMax?: number;
}

/** Arguments that were understood. */
export interface Arguments {
  readonly words: readonly string[];
  readonly isSet: (name: string) => boolean;
  readonly number: (name: string) => number | undefined;
  readonly text: (name: string) => string | undefined;
}

/** Understood, asked for help, or a sentence that says what is wrong. */
export type Read =
  | { readonly kind: 'read'; readonly given: Arguments }
  | { readonly kind: 'help' }
  | { readonly kind: 'fault'; readonly sentence: string };

const wholeNumber = /^[1-9][0-9]{0,8}$/;

/** Reads the arguments. Pure. */
export function readArguments(args: readonly string[], taken: Taken): Read {
  const { switches = [], numbers = [], texts = [], wordsMax = 0 } = taken;
  const valued = [...numbers, ...texts];
  const options = Object.fromEntries(valued.map((name) => [name, { type: 'string' as const }]));
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const values = new Map<string, string>();
  const fault = (sentence: string): Read => ({ kind: 'fault', sentence });
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      if (words.push(token.value) > wordsMax) return fault(`"${token.value}" is not known here.`);
      continue;
    }
    const { name, rawName, value } = token;
    if (name === 'help') return { kind: 'help' };
    const isSwitch = switches.includes(name);
    if (!isSwitch && !valued.includes(name)) return fault(`"${rawName}" is not known here.`);
    if (isSwitch && value !== undefined) return fault(`"${rawName}" takes no value.`);
    if (!isSwitch && (value === undefined || value.startsWith('-')))
      return fault(`"${rawName}" lacks its value.`);
    if (numbers.includes(name) && !wholeNumber.test(value ?? ''))
      return fault(`"${rawName}" wants a whole number from 1.`);
    values.set(name, value ?? '');
  }
  const text = (name: string): string | undefined => values.get(name);
  const number = (name: string): number | undefined =>
    values.has(name) ? Number(values.get(name)) : undefined;
  return { kind: 'read', given: { words, isSet: (name) => values.has(name), number, text } };
}

/** The arguments of this process; ends it when they are not understood, or ask for help. */
export function ownArguments(taken: Taken, args = process.argv.slice(2)): Arguments {
  const read = readArguments(args, taken);
  if (read.kind === 'read') return read.given;
  if (read.kind === 'fault') return notUnderstood(read.sentence, taken);
  console.log(taken.usage);
  process.exit(0);
}

/** Ends the process with a sentence and the usage. */
export function notUnderstood(sentence: string, { usage }: Taken): never {
  console.error(`${sentence}\n${usage}`);
  process.exit(2);
}
