/**
 * JSON paths: where one value of a parsed document is. Grammar, own and small:
 *   path  = start *step        start = member | "[" index "]" | "[*]" | "[" quoted "]"
 *   step  = "." member | "[" index "]" | "[*]" | "[" quoted "]"
 * member is letters, digits, `_`, `-`, `$`; quoted is a JSON string; index counts from 0; `[*]` is
 * every entry of an array, and as the last step it means their number.
 * Promises: reads own members only (`__proto__` is a name like others); bounded steps; no recursion.
 * Must never: throw on a document, whatever it holds. Called by whoever reads a document of a
 * vendor or of the catalog.
 */
import { assert } from './assert';
import { decodeUtf8, type JsonFault } from './json';
import { jsonPathCharsMax, jsonPathStepsMax, jsonPathsKeptMax } from './limits-money';
import { err, ok, type Result } from './result';

/** One step of a path. */
export type PathStep =
  | { readonly kind: 'member'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'each' };

/** A parsed path; at least one step. */
export type JsonPath = readonly PathStep[];

/** Why a text is no path. */
export type JsonPathFault = 'syntax' | 'too_long' | 'too_deep';

const memberStep = /\.?([A-Za-z0-9_$-]+)/y;
const bracketStep = /\[(?:(\*)|(0|[1-9][0-9]{0,8})|("(?:[^"\\]|\\.)*"))\]/y;

/** Parses a path text, or says why it is none. */
export function parsePath(text: string): Result<JsonPath, JsonPathFault> {
  if (text.length > jsonPathCharsMax) return err('too_long');
  const steps: PathStep[] = [];
  let at = 0;
  while (at < text.length) {
    if (steps.length === jsonPathStepsMax) return err('too_deep');
    const step = text.charAt(at) === '[' ? bracketAt(text, at) : memberAt(text, at);
    if (step === null) return err('syntax');
    steps.push(step.step);
    at = step.end;
  }
  return steps.length === 0 ? err('syntax') : ok(steps);
}

interface StepAt {
  readonly step: PathStep;
  readonly end: number;
}

function memberAt(text: string, at: number): StepAt | null {
  if ((text.charAt(at) === '.') !== at > 0) return null;
  memberStep.lastIndex = at;
  const name = memberStep.exec(text)?.[1];
  return name === undefined ? null : { step: { kind: 'member', name }, end: memberStep.lastIndex };
}

function bracketAt(text: string, at: number): StepAt | null {
  bracketStep.lastIndex = at;
  const match = bracketStep.exec(text);
  if (match === null) return null;
  const [, star, index, quoted] = match;
  const end = bracketStep.lastIndex;
  if (star !== undefined) return { step: { kind: 'each' }, end };
  if (index !== undefined) return { step: { kind: 'index', index: Number(index) }, end };
  const name = quoted === undefined ? null : unquoted(quoted);
  return name === null ? null : { step: { kind: 'member', name }, end };
}

function unquoted(quoted: string): string | null {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return null;
  }
}

/** Paths that were parsed: the catalog repeats a few thousand texts, call after call. */
const parsed = new Map<string, JsonPath>();

/** The path of a text that the catalog has checked; asserts that it is one. Kept for the next call. */
export function pathOf(text: string): JsonPath {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const path = parsePath(text);
  assert(path.ok, 'a path of the catalog does not parse');
  if (parsed.size >= jsonPathsKeptMax) parsed.clear();
  parsed.set(text, path.value);
  return path.value;
}

/** Whether a path selects more than one value, or counts. */
export const isPlural = (path: JsonPath): boolean => path.some((step) => step.kind === 'each');

/** What a path finds: `missing` where a member or an entry is absent or another kind of value. */
export type Found =
  | { readonly kind: 'missing' }
  | { readonly kind: 'values'; readonly values: readonly unknown[] }
  /** The last step is `[*]`. */
  | { readonly kind: 'count'; readonly count: number };

const missing: Found = { kind: 'missing' };

/**
 * Reads a path. Without `[*]`: one value. With it: the value of every entry that has one, in their
 * order, or the number of entries; no values when the array is empty, `missing` when it is absent.
 */
export function readPath(document: unknown, path: JsonPath): Found {
  let values: readonly unknown[] = [document];
  for (const [at, step] of path.entries()) {
    if (values.length === 0) break;
    if (step.kind === 'each') {
      const lists = values.filter((value): value is unknown[] => Array.isArray(value));
      if (lists.length === 0) return missing;
      if (at === path.length - 1) return { kind: 'count', count: entries(lists) };
      values = lists.flat();
    } else {
      values = stepped(values, step);
      if (values.length === 0) return missing;
    }
  }
  return { kind: 'values', values };
}

const entries = (lists: readonly (readonly unknown[])[]): number =>
  lists.reduce((sum, list) => sum + list.length, 0);

function stepped(values: readonly unknown[], step: Exclude<PathStep, { kind: 'each' }>): unknown[] {
  const next: unknown[] = [];
  for (const value of values) {
    const inner = step.kind === 'index' ? entryOf(value, step.index) : memberOf(value, step.name);
    if (inner !== undefined) next.push(inner);
  }
  return next;
}

const entryOf = (value: unknown, index: number): unknown =>
  Array.isArray(value) ? value[index] : undefined;

/** An own member of an object; undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

/**
 * The value of a JSON text in bytes: strict UTF-8, no byte order mark. Repeated names are the
 * vendor's affair here: the last one counts, as for every client.
 */
export const readJson = (bytes: Uint8Array): Result<unknown, JsonFault> => parsedOf(bytes);

/** The same, but a whole number that no double holds (an id of 64 bits) is the text of its digits, not another number. */
export const readJsonExactly = (bytes: Uint8Array): Result<unknown, JsonFault> =>
  parsedOf(bytes, exactly);

function exactly(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?[0-9]+$/.test(source) ? source : value;
}

function parsedOf(bytes: Uint8Array, reviver?: typeof exactly): Result<unknown, JsonFault> {
  const text = decodeUtf8(bytes);
  if (!text.ok) return text;
  if (text.value.trim() === '') return err('empty');
  try {
    const value: unknown = JSON.parse(text.value, reviver);
    return ok(value);
  } catch {
    return err('syntax');
  }
}
