/**
 * Input contracts of catalog rows, on every tier: `strict_query` and `body_allowlist` (digest A6).
 * Promises: a call is refused or passes as it is, never rewritten; a fault names parameters and rules, never a value that the caller
 * sent; names that the caller made up are cut. Pure.
 * Must never: judge a body that may be read in two ways: {@link readBody} refuses repeated members.
 * Called by stage 04, before a credential is opened. Raw calls of own upstreams are never judged here.
 */
import { decodeUtf8, type JsonFault, parseJson } from '../../base/json';
import { contractJsonDepthMax, faultNameCharsMax, faultNamesMax } from '../../base/limits-money';
import { err, ok, type Result } from '../../base/result';
import { queryPairs, queryPairValue, type RawQuery, repeatedNames } from '../relay/query';
import type { CatalogEndpoint, ParameterPlace } from './endpoint';
import { type Expectation, fitsJson, fitsText } from './value-rule';

/** A request body as the contracts see it. `opaque`: there is one that is not read (encoded, streamed). */
export type JudgedBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'opaque' }
  | { readonly kind: 'json'; readonly value: unknown };

/** Why a call breaks the contract of its row. Names are cut to what a refusal may repeat. */
export type InputFault =
  | { readonly kind: 'body_not_allowed' }
  | { readonly kind: 'body_unreadable'; readonly reason: JsonFault | 'missing' | 'opaque' }
  | {
      readonly kind: 'undeclared' | 'repeated' | 'missing';
      readonly in: ParameterPlace;
      readonly names: readonly string[];
    }
  /** A raw `;`: some vendors split pairs there, so it could hide a parameter. */
  | { readonly kind: 'separator' }
  | {
      readonly kind: 'value';
      readonly in: ParameterPlace;
      readonly name: string;
      readonly expected: Expectation;
    }
  | { readonly kind: 'option_refused'; readonly in: ParameterPlace; readonly name: string };

/** What a contract is held against. `query` is the caller's, placeholders included. */
export interface JudgedInput {
  readonly query: RawQuery;
  readonly body: JudgedBody;
}

/** Reads a JSON body for judging: strict UTF-8, no repeated member at any level, bounded depth. */
export function readBody(bytes: Uint8Array): Result<JudgedBody, InputFault> {
  const text = decodeUtf8(bytes);
  const value = text.ok ? parseJson(text.value, { depthMax: contractJsonDepthMax }) : text;
  if (!value.ok) return err({ kind: 'body_unreadable', reason: value.error });
  return ok({ kind: 'json', value: value.value });
}

/** Holds a call against the contracts of every tier. */
export function contractFault(
  endpoint: Pick<CatalogEndpoint, 'parameters' | 'strictQuery' | 'bodyAllowlist'>,
  input: JudgedInput,
): InputFault | null {
  const query = endpoint.strictQuery ? strictQueryFault(endpoint, input) : null;
  if (query !== null || !endpoint.bodyAllowlist) return query;
  return bodyFault(endpoint, input.body);
}

/**
 * `strict_query`: no body (unless the row also lists body members), only declared parameters, each once, the required ones there,
 * values within their rule.
 */
function strictQueryFault(
  endpoint: Pick<CatalogEndpoint, 'parameters' | 'bodyAllowlist'>,
  { query, body }: JudgedInput,
): InputFault | null {
  if (body.kind !== 'none' && !endpoint.bodyAllowlist) return { kind: 'body_not_allowed' };
  const declared = endpoint.parameters.filter((parameter) => parameter.in !== 'body');
  const names = new Set(declared.map((parameter) => parameter.name));
  const pairs = queryPairs(query);
  if (pairs.some(({ raw }) => raw.includes(';'))) return { kind: 'separator' };
  const undeclared = pairs.filter((pair) => !names.has(pair.name)).map((pair) => pair.name);
  if (undeclared.length > 0) return { kind: 'undeclared', in: 'query', names: shown(undeclared) };
  const repeated = repeatedNames(query);
  if (repeated.length > 0) return { kind: 'repeated', in: 'query', names: shown(repeated) };
  const given = new Map(pairs.map((pair) => [pair.name, queryPairValue(pair.raw)]));
  const missing = declared.filter(({ required, name }) => required && !given.has(name));
  if (missing.length > 0)
    return { kind: 'missing', in: 'query', names: missing.map(({ name }) => name) };
  for (const { in: place, name, rule } of declared) {
    const value = given.get(name);
    const expected = value === undefined ? null : fitsText(rule, value);
    if (expected !== null) return { kind: 'value', in: place, name, expected };
  }
  return null;
}

/** `body_allowlist`: one JSON object of declared members only, the required ones there, values within their rule. */
function bodyFault(
  endpoint: Pick<CatalogEndpoint, 'parameters'>,
  body: JudgedBody,
): InputFault | null {
  const declared = endpoint.parameters.filter((parameter) => parameter.in === 'body');
  const required = declared.filter((parameter) => parameter.required).map(({ name }) => name);
  if (body.kind === 'none' && required.length === 0) return null;
  if (body.kind !== 'json') return unreadable(body);
  const members = membersOf(body.value);
  if (members === null) return { kind: 'body_unreadable', reason: 'not_object' };
  const names = new Set(declared.map((parameter) => parameter.name));
  const undeclared = [...members.keys()].filter((name) => !names.has(name));
  if (undeclared.length > 0) return { kind: 'undeclared', in: 'body', names: shown(undeclared) };
  const missing = required.filter((name) => !members.has(name));
  if (missing.length > 0) return { kind: 'missing', in: 'body', names: missing };
  for (const { name, rule } of declared) {
    const expected = members.has(name) ? fitsJson(rule, members.get(name)) : null;
    if (expected !== null) return { kind: 'value', in: 'body', name, expected };
  }
  return null;
}

/** Own members by name; null for what is no object. */
export function membersOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return new Map(Object.entries(value));
}

/** The fault of a body that is missing or was not read. */
export const unreadable = (body: JudgedBody): InputFault => ({
  kind: 'body_unreadable',
  reason: body.kind === 'none' ? 'missing' : 'opaque',
});

const shown = (names: readonly string[]): readonly string[] =>
  [...new Set(names)].slice(0, faultNamesMax).map((name) => name.slice(0, faultNameCharsMax));
