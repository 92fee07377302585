/**
 * Platform requests: the bounds of what a call may cost the operator's account (digest A6), tier 4 only: `platform_request`, the row's own
 * query and `ceiling_param`. Promises: as `input-contract.ts`: a call passes or is refused, a fault never repeats a value; a ceiling is exact.
 * Must never: be held against a caller's own credential: that account is the vendor's to bound. Pure.
 * Called where the platform account is offered, before the hold.
 */
import { percentEncoded } from '../../base/text-codings';
import { hasAlike, isAlike } from '../relay/alike';
import {
  queryPairs,
  queryPairValue,
  type RawQuery,
  type ReadPair,
  readPair,
  withoutQueryPairs,
} from '../relay/query';
import type { CatalogEndpoint, CeilingParam, PlatformPlace, PlatformRule } from './endpoint';
import {
  type InputFault,
  type JudgedBody,
  type JudgedInput,
  membersOf,
  unreadable,
} from './input-contract';
import type { Expectation } from './value-rule';

/** Whether the body of a call to this row has to be read before it is sent. `platform`: on tier 4. */
export const judgesBody = (
  endpoint: Pick<CatalogEndpoint, 'bodyAllowlist' | 'platformRequest'>,
  platform: boolean,
): boolean => endpoint.bodyAllowlist || (platform && rulesReadBody(endpoint.platformRequest));

/** `platform_request`: what our own account would pay for stays within its bounds. Tier 4 only, before the hold. */
export function platformFault(
  rules: readonly PlatformRule[] | null,
  { query, body }: JudgedInput,
): InputFault | null {
  if (rules === null) return null;
  if (body.kind === 'opaque' && rulesReadBody(rules)) return unreadable(body);
  for (const rule of rules) {
    const fault = faultOf(rule, (at) => foundAt({ in: rule.in, at }, query, body));
    if (fault !== null) return fault;
  }
  return null;
}

/**
 * The row's own query stands for its price: a caller's pair of such a name may only say the same, since a vendor may read it in the other's
 * place. Tier 4 only.
 */
export function fixedQueryFault(own: RawQuery, callers: RawQuery): InputFault | null {
  const fixed = queryPairs(own);
  if (fixed.length === 0) return null;
  const given = queryPairs(callers);
  for (const { name, raw } of fixed) {
    const { value, isAmbiguous } = readPair(given, name);
    if (isAmbiguous) return { kind: 'repeated', in: 'query', names: [name] };
    const same = fixed.filter((pair) => pair.name === name).map((pair) => queryPairValue(pair.raw));
    const expected = { type: 'exactly', value: queryPairValue(raw) } as const;
    if (value !== undefined && !same.includes(value))
      return { kind: 'value', in: 'query', name, expected };
  }
  return null;
}

function faultOf(rule: PlatformRule, look: (at: readonly string[]) => Found): InputFault | null {
  const unless = rule.kind === 'selector' ? rule.unless : undefined;
  if (unless !== undefined) {
    const { value, isAmbiguous } = look(unless.at);
    if (isAmbiguous) return { kind: 'repeated', in: rule.in, names: [unless.at.join('.')] };
    if (value === undefined || isExactly(rule.in, unless.equals, value)) return null;
  }
  const name = rule.at.join('.');
  const { value, isAmbiguous } = look(rule.at);
  if (isAmbiguous) return { kind: 'repeated', in: rule.in, names: [name] };
  const fault = ruleFault(rule, value);
  if (fault === 'refused') return { kind: 'option_refused', in: rule.in, name };
  if (fault === 'missing') return { kind: 'missing', in: rule.in, names: [name] };
  return fault === null ? null : { kind: 'value', in: rule.in, name, expected: fault };
}

/** Rules of the query alone leave a body alone, which may be no JSON at all. */
const rulesReadBody = (rules: readonly PlatformRule[] | null): boolean =>
  rules !== null && (rules.length === 0 || rules.some((rule) => rule.in === 'body'));

/** A query with the ceiling set to `micros` (micro-USD): exactly one pair of that name, in any letter case, behind the others. */
export function withCeiling(query: RawQuery, param: CeilingParam, micros: number): string {
  const kept = withoutQueryPairs(query, (name) => isAlike(name, param.name)) ?? '';
  const pair = `${percentEncoded(param.name)}=${ceilingText(param.unit, micros)}`;
  return kept === '' ? pair : `${kept}&${pair}`;
}

/** Exact, since a ceiling that a float rounds up is above what is held. */
function ceilingText(unit: CeilingParam['unit'], micros: number): string {
  const places = { usd: 6, usd_cents: 4, micro_usd: 0 }[unit];
  if (places === 0) return String(micros);
  const digits = String(micros).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  const whole = digits.slice(0, -places);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

function ruleFault(rule: PlatformRule, value: unknown): Expectation | 'missing' | 'refused' | null {
  switch (rule.kind) {
    case 'refused':
      return value === undefined ? null : 'refused';
    case 'count': {
      const { min, max } = rule;
      const count = Array.isArray(value) ? value.length : numberOf(rule.in, value);
      if (value === undefined) return 'missing';
      const fits = Number.isSafeInteger(count) && count >= min && count <= max;
      return fits ? null : { type: 'count', min, max };
    }
    case 'selector': {
      if (value === undefined) return rule.mayBeAbsent ? null : 'missing';
      const isEqual = isExactly(rule.in, rule.equals, value);
      return isEqual ? null : { type: 'exactly', value: rule.equals };
    }
  }
}

/** A value of the query is a text, whatever it stands for. */
const isExactly = (
  place: PlatformPlace['in'],
  equals: string | number | boolean,
  value: unknown,
): boolean => value === (place === 'query' ? String(equals) : equals);

/** Only the digits that every vendor reads alike: `1e3`, `0x10` and ` 5` count as no number. */
const numberOf = (place: 'query' | 'body', value: unknown): number => {
  if (place === 'body') return typeof value === 'number' ? value : Number.NaN;
  return typeof value === 'string' && /^(?:0|[1-9][0-9]*)$/.test(value)
    ? Number(value)
    : Number.NaN;
};

/** What a vendor reads at a place. */
type Found = Pick<ReadPair, 'isAmbiguous'> & { readonly value: unknown };

const foundAt = ({ in: place, at }: PlatformPlace, query: RawQuery, body: JudgedBody): Found =>
  place === 'query' ? readPair(queryPairs(query), at.join('.')) : inBody(body, at);

function inBody(body: JudgedBody, at: readonly string[]): Found {
  let value: unknown = body.kind === 'json' ? body.value : undefined;
  for (const name of at) {
    if (hasAlike(value, name)) return { value: undefined, isAmbiguous: true };
    value = membersOf(value)?.get(name);
  }
  return { value, isAmbiguous: false };
}
