/**
 * Placeholders: fills `{name}` of a catalog path from the caller's query and takes those pairs out of it.
 * Promises: a value stays one segment: `/ ? # \` and a `%` that is no escape are encoded, a valid `%HH` and a raw `@` stay (some vendors'
 * ids are encoded already, some e-mail APIs reject `%40`); what could leave its segment after one more decode is a fault; every other
 * query pair keeps its bytes and place. Must never: print a value in a fault. Pure. Called by stage 03.
 */
import { err, ok, type Result } from '../../base/result';
import { percentEncoded } from '../../base/text-codings';
import { pathFault } from '../relay/path';
import { queryPairs, queryPairValue, type RawQuery, withoutQueryPairs } from '../relay/query';

/** Why a path cannot be filled; `name` is the row's own. */
export interface PlaceholderFault {
  readonly kind: 'missing' | 'repeated' | 'empty' | 'unsafe';
  readonly name: string;
}

/** A filled path, encoded, and what is left of the query. */
export interface FilledPath {
  readonly path: string;
  readonly query: RawQuery;
}

const placeholder = /\{([A-Za-z0-9_.-]+)\}/g;

/** The names in a template, each once, in their order. */
export const placeholderNames = (template: string): readonly string[] => [
  ...new Set([...template.matchAll(placeholder)].map(([, name = '']) => name)),
];

/** Fills a template that starts with `/`. */
export function fillPath(
  template: string,
  callersQuery: RawQuery,
): Result<FilledPath, PlaceholderFault> {
  if (!template.includes('{')) return ok({ path: template, query: callersQuery });
  const names = placeholderNames(template);
  const values = new Map<string, string>();
  for (const name of names) {
    const value = placeholderValue(callersQuery, name);
    if (!value.ok) return value;
    values.set(name, value.value);
  }
  const path = template.replace(placeholder, (_, name: string) => values.get(name) ?? '');
  // A value that is harmless alone may end a dot segment: `.` and `%2F`.
  if (pathFault(path) !== null) return err({ kind: 'unsafe', name: names[0] ?? '' });
  return ok({ path, query: withoutQueryPairs(callersQuery, (name) => values.has(name)) });
}

function placeholderValue(query: RawQuery, name: string): Result<string, PlaceholderFault> {
  const pairs = queryPairs(query).filter((pair) => pair.name === name);
  const pair = pairs[0];
  if (pair === undefined) return err({ kind: 'missing', name });
  if (pairs.length > 1) return err({ kind: 'repeated', name });
  const value = encodeSegment(queryPairValue(pair.raw));
  // An empty segment is another resource: `/users//keys`.
  if (value === '') return err({ kind: 'empty', name });
  return pathFault(`/${value}`) === null ? ok(value) : err({ kind: 'unsafe', name });
}

/**
 * A text as one path segment: RFC 3986 unreserved characters, `@` and valid escapes as they are, all else as percent-encoded UTF-8
 * (a lone surrogate as U+FFFD).
 */
export function encodeSegment(text: string): string {
  return text
    .split(/(%[0-9a-fA-F]{2})/)
    .map((part, i) => (i % 2 === 1 ? part : encodePlain(part)))
    .join('');
}

const encodePlain = (text: string): string => percentEncoded(text).replaceAll('%40', '@');
