/**
 * RequestFacts: what the caller's request says that a price depends on. Promises: a value that is
 * there twice is `ambiguous`, so that no price is chosen by a value which the vendor may not read
 * (`?limit=1&limit=1000`). Must never: guess. Pure. Called by `estimate.ts`.
 */
import { pathOf, readPath } from '../../base/json-path';
import { type QueryPair, queryPairValue } from '../relay/query';
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

type Asked =
  | { readonly kind: 'absent' }
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'value'; readonly value: unknown };

/** What the request says for a value. */
export function askedFor(facts: RequestFacts, where: RequestValue): Asked {
  if (where.in === 'query') {
    const pairs = facts.query.filter((pair) => pair.name === where.at);
    const [first] = pairs;
    if (first === undefined) return { kind: 'absent' };
    return pairs.length === 1
      ? { kind: 'value', value: queryPairValue(first.raw) }
      : { kind: 'ambiguous' };
  }
  const found = readPath(facts.body, pathOf(where.at));
  if (found.kind === 'missing') return { kind: 'absent' };
  if (found.kind === 'count') return { kind: 'value', value: found.count };
  return found.values.length === 1
    ? { kind: 'value', value: found.values[0] }
    : { kind: found.values.length === 0 ? 'absent' : 'ambiguous' };
}

/** Whether a condition of a price row holds. Texts and numbers compare as texts, an object never. */
export function selects(facts: RequestFacts, selector: PriceSelector): boolean {
  const asked = askedFor(facts, selector);
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
  if (asked.kind === 'ambiguous' || asked.value === null) return units.max;
  const number = typeof asked.value === 'string' ? wholeText(asked.value) : asked.value;
  const isCount = typeof number === 'number' && Number.isSafeInteger(number) && number > 0;
  return isCount ? Math.min(number, units.max) : units.max;
}

const wholeText = (text: string): number => (/^[0-9]{1,15}$/.test(text) ? Number(text) : -1);
