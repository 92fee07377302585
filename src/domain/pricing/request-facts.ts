/**
 * RequestFacts: what the caller's request says that a price depends on. Promises: a value that is
 * there twice, or in another letter case, is `ambiguous`, so that no price is chosen by a value which
 * the vendor may not read (`?limit=1&LIMIT=1000`). Must never: guess. Pure. Called by `estimate.ts`.
 */
import { type JsonPath, pathOf, readPath } from '../../base/json-path';
import { hasAlike } from '../relay/alike';
import { type QueryPair, readPair } from '../relay/query';
import type { PriceSelector, RequestUnits, RequestValue } from './price';

/** The parts of a request that prices read. */
export interface RequestFacts {
  /** `queryPairs` of the query that will be sent. */
  readonly query: readonly QueryPair[];
  /** The parsed JSON body, repeated names refused before; `undefined` when there is none. */
  readonly body: unknown;
  /** Bytes of the body; `null` when they are not known before the send. */
  readonly bodyBytes: number | null;
  /** The most that the caller wants to pay, micro-USD; `null`: not said. */
  readonly ceilingMicros: number | null;
}

/** What a request says for a value. */
export type Asked =
  | { readonly kind: 'absent' }
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'value'; readonly value: unknown };

/** What the request says for a value. */
function askedFor(facts: RequestFacts, where: RequestValue): Asked {
  if (where.in === 'query') {
    const { value, isAmbiguous } = readPair(facts.query, where.at);
    if (isAmbiguous) return { kind: 'ambiguous' };
    return value === undefined ? { kind: 'absent' } : { kind: 'value', value };
  }
  const path = pathOf(where.at);
  if (isDisputed(facts.body, path)) return { kind: 'ambiguous' };
  const found = readPath(facts.body, path);
  if (found.kind === 'missing') return { kind: 'absent' };
  if (found.kind === 'count') return { kind: 'value', value: found.count };
  return found.values.length === 1
    ? { kind: 'value', value: found.values[0] }
    : { kind: found.values.length === 0 ? 'absent' : 'ambiguous' };
}

/** Whether a member on the way has one beside it that the vendor may read in its place. */
export function isDisputed(body: unknown, path: JsonPath): boolean {
  let value = body;
  for (const step of path) {
    if (step.kind !== 'member') return false;
    if (hasAlike(value, step.name)) return true;
    const found = readPath(value, [step]);
    if (found.kind !== 'values') return false;
    [value] = found.values;
  }
  return false;
}

/** {@link askedFor} for the rows of a table, which ask for one value again and again: the last answer is kept. */
export function asker(facts: RequestFacts): (where: RequestValue) => Asked {
  let last: RequestValue | null = null;
  let said: Asked = { kind: 'absent' };
  return (where) => {
    if (last?.in !== where.in || last.at !== where.at) said = askedFor(facts, where);
    last = where;
    return said;
  };
}

/** Whether what was asked for meets a condition of a price row. Texts and numbers compare as texts, an object never. */
export function selects(asked: Asked, selector: PriceSelector): boolean {
  if (asked.kind !== 'value' || typeof asked.value === 'object') return false;
  return selector.oneOf.some((option) => String(option) === String(asked.value));
}

/**
 * How many units the request asks for. Absent: the default. More than the maximum, not a whole
 * positive number, or said twice: the maximum, since the vendor decides what that means.
 */
export function askedUnits(facts: RequestFacts, units: RequestUnits): number {
  const asked = askedFor(facts, units);
  if (asked.kind === 'absent') return Math.min(units.default, units.max);
  if (asked.kind === 'ambiguous') return units.max;
  const number = typeof asked.value === 'string' ? wholeText(asked.value) : asked.value;
  const isCount = typeof number === 'number' && Number.isSafeInteger(number) && number > 0;
  return isCount ? Math.min(number, units.max) : units.max;
}

const wholeText = (text: string): number => (/^[0-9]{1,15}$/.test(text) ? Number(text) : -1);
