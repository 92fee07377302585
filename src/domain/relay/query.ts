/**
 * Edits a raw query without re-encoding it: pairs are found by their decoded name, kept by their
 * bytes. Promises: every pair that is not named keeps its bytes and its place, `&&`, `=x`, `??x`
 * and a pair without `=` included. Must never: print a query from parsed pairs, or compare names
 * that are not decoded (`%6Bey` is `key`). A query is what follows the first `?`: `null` is none at
 * all, `''` is a bare `?`. A `#` ends it (RFC 3986 3.4): what follows never reaches the wire, so a
 * pair appended behind it would be lost. Called by stages 01, 04, 08.
 */

import { percentEncoded } from '../../base/text-codings';
import { isAlike } from './alike';

/** A raw query: `null` when the target has no `?`, `''` when it has nothing after it. */
export type RawQuery = string | null;

/** One pair: its decoded name and its bytes. Empty pairs (`&&`) are not pairs. */
export interface QueryPair {
  readonly name: string;
  readonly raw: string;
}

/** The pairs in their order. */
export function queryPairs(raw: RawQuery): readonly QueryPair[] {
  return segmentsOf(raw)
    .filter((segment) => segment !== '')
    .map((segment) => ({ name: nameOf(segment), raw: segment }));
}

/**
 * A name or value as an origin reads it: `+` is a space, `%XX` a byte of UTF-8, a wrong escape
 * stays as it is. Tab, CR and LF go, as the URL parser on the way drops them (WHATWG URL 4.4): a
 * name must not escape comparison by one of them.
 */
export function decodeQueryPart(part: string): string {
  if (!/[%+\t\n\r]/.test(part)) return part;
  // the leading "=" makes the part a value, in which no character but "&" is special
  return (
    new URLSearchParams(`=${part.replace(/[\t\n\r]/g, '').replaceAll('&', '%26')}`).get('') ?? ''
  );
}

/** The decoded value of a pair; a pair without `=` has the empty one. */
export function queryPairValue(rawPair: string): string {
  const equals = rawPair.indexOf('=');
  return equals < 0 ? '' : decodeQueryPart(rawPair.slice(equals + 1));
}

/** What a query says for a name. */
export interface ReadPair {
  /** Decoded; `undefined`: not there. */
  readonly value: string | undefined;
  /** Given twice, in another letter case, or beside a raw `;`, where some parsers part pairs too: the vendor may read another value. */
  readonly isAmbiguous: boolean;
}

/** Reads the value of a name as far as all vendors read it alike. */
export function readPair(pairs: readonly QueryPair[], name: string): ReadPair {
  let first: QueryPair | undefined;
  let isAmbiguous = false;
  for (const pair of pairs) {
    if (pair.raw.includes(';'))
      isAmbiguous ||= pair.raw.split(';').some((part) => isAlike(nameOf(part), name));
    if (!isAlike(pair.name, name)) continue;
    isAmbiguous ||= first !== undefined || pair.name !== name;
    if (pair.name === name) first ??= pair;
  }
  return { value: first === undefined ? undefined : queryPairValue(first.raw), isAmbiguous };
}

/**
 * The query without the pairs that match, each with one separator. `null` when nothing is left of
 * one that had pairs.
 */
export function withoutQueryPairs(
  raw: RawQuery,
  match: (decodedName: string, rawPair: string) => boolean,
): RawQuery {
  if (raw === null || raw === '') return raw;
  const kept = segmentsOf(raw).filter(
    (segment) => segment === '' || !match(nameOf(segment), segment),
  );
  return kept.length === 0 ? null : kept.join('&');
}

/**
 * Sets a pair: the first of that name is replaced in place, later ones go, without one it is
 * appended.
 */
export function setQueryPair(raw: RawQuery, name: string, value: string): string {
  const pair = `${percentEncoded(name)}=${percentEncoded(value)}`;
  if (raw === null || raw === '') return pair;
  let isSet = false;
  const kept: string[] = [];
  for (const segment of segmentsOf(raw)) {
    const isTarget = segment !== '' && nameOf(segment) === name;
    if (!isTarget) kept.push(segment);
    else if (!isSet) kept.push(pair);
    isSet ||= isTarget;
  }
  if (!isSet) kept.push(pair);
  return kept.join('&');
}

/**
 * A path's own query with the caller's behind it: merged, never replaced; a bare `?` adds nothing
 * to an own query.
 */
export function mergeQuery(own: RawQuery, callers: RawQuery): RawQuery {
  if (own === null || own === '') return callers ?? own;
  return callers === null || callers === '' ? own : `${own}&${callers}`;
}

/**
 * Decoded names that are not allowed, each once, in their order. Case counts. Some origins begin a
 * pair at a semicolon too (HTML 4.01 B.2.2): no name hides behind one.
 */
export function disallowedNames(raw: RawQuery, allow: ReadonlySet<string>): string[] {
  const names = queryPairs(raw).flatMap((pair) => [pair.name, ...namesBehindSemicolons(pair.raw)]);
  return [...new Set(names)].filter((name) => !allow.has(name));
}

const namesBehindSemicolons = (rawPair: string): string[] =>
  rawPair.includes(';')
    ? rawPair
        .split(';')
        .slice(1)
        .filter((part) => part !== '')
        .map(nameOf)
    : [];

/**
 * Decoded names that occur more than once, each once: we and the origin could read different
 * values.
 */
export function repeatedNames(raw: RawQuery): string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { name } of queryPairs(raw)) {
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
  }
  return [...repeated];
}

function segmentsOf(raw: RawQuery): string[] {
  if (raw === null || raw === '') return [];
  const hash = raw.indexOf('#');
  return (hash < 0 ? raw : raw.slice(0, hash)).split('&');
}

function nameOf(rawPair: string): string {
  const equals = rawPair.indexOf('=');
  return decodeQueryPart(equals < 0 ? rawPair : rawPair.slice(0, equals));
}
