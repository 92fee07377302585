/**
 * Value rules: whether one value of a call is what its parameter declares.
 * Promises: judges the value as every vendor would read it: a number text has plain decimal digits, a number is finite and an integer
 * is exact; an expectation holds what the catalog says, never what the caller sent. Pure. Called by `input-contract.ts` and
 * `platform-request.ts`.
 */
import type { ValueRule } from './endpoint';

/** What would have been right: the rule's own words and numbers. */
export type Expectation =
  | { readonly type: 'boolean' | 'object' }
  | {
      readonly type: 'string';
      readonly oneOf: readonly string[] | null;
      readonly charsMax: number | null;
    }
  | {
      readonly type: 'integer' | 'number';
      readonly oneOf: readonly number[] | null;
      readonly min: number | null;
      readonly max: number | null;
    }
  | { readonly type: 'array'; readonly itemsMin: number; readonly itemsMax: number | null }
  | { readonly type: 'items'; readonly oneOf: readonly string[] }
  | {
      readonly type: 'item_fields';
      readonly need: 'all' | 'any';
      readonly names: readonly string[];
    }
  /** Of platform rules: a number or an array's length; one value only. */
  | { readonly type: 'count'; readonly min: number; readonly max: number }
  | { readonly type: 'exactly'; readonly value: string | number | boolean };

const decimal = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** What a decoded query value should have been, or `null` when it fits. */
export function fitsText(rule: ValueRule, text: string): Expectation | null {
  switch (rule.type) {
    case 'any':
      return null;
    case 'boolean':
      return text === 'true' || text === 'false' ? null : { type: 'boolean' };
    case 'integer':
    case 'number':
      return fitsJson(rule, decimal.test(text) ? Number(text) : text);
    case 'string':
      return fitsJson(rule, text);
    // A query has no arrays and objects; a row that declares one cannot be imported.
    case 'array':
    case 'object':
      return fitsJson(rule, undefined);
  }
}

/** What a JSON value should have been, or `null` when it fits. */
export function fitsJson(rule: ValueRule, value: unknown): Expectation | null {
  switch (rule.type) {
    case 'any':
      return null;
    case 'boolean':
      return typeof value === 'boolean' ? null : { type: 'boolean' };
    case 'object':
      return isObject(value) ? null : { type: 'object' };
    case 'string': {
      const fits =
        typeof value === 'string' &&
        (rule.enum === null || rule.enum.includes(value)) &&
        (rule.charsMax === null || value.length <= rule.charsMax);
      return fits ? null : { type: 'string', oneOf: rule.enum, charsMax: rule.charsMax };
    }
    case 'integer':
    case 'number':
      return fitsNumber(rule, value);
    case 'array':
      return fitsArray(rule, value);
  }
}

function fitsNumber(
  rule: Extract<ValueRule, { type: 'integer' | 'number' }>,
  value: unknown,
): Expectation | null {
  const { type, min, max } = rule;
  const exact = type === 'integer' ? Number.isSafeInteger : Number.isFinite;
  const fits =
    typeof value === 'number' &&
    exact(value) &&
    (rule.enum === null || rule.enum.includes(value)) &&
    (min === null || value >= min) &&
    (max === null || value <= max);
  return fits ? null : { type, oneOf: rule.enum, min, max };
}

function fitsArray(
  rule: Extract<ValueRule, { type: 'array' }>,
  value: unknown,
): Expectation | null {
  const { itemsMin, itemsMax, itemEnum, itemFields } = rule;
  const isSized =
    Array.isArray(value) &&
    value.length >= itemsMin &&
    (itemsMax === null || value.length <= itemsMax);
  if (!isSized) return { type: 'array', itemsMin, itemsMax };
  if (itemEnum !== null && !value.every((item) => itemEnum.includes(item)))
    return { type: 'items', oneOf: itemEnum };
  if (itemFields !== null && !value.every((item) => hasFields(item, itemFields)))
    return { type: 'item_fields', ...itemFields };
  return null;
}

function hasFields(
  item: unknown,
  { need, names }: { readonly need: 'all' | 'any'; readonly names: readonly string[] },
): boolean {
  if (!isObject(item)) return false;
  const has = (name: string): boolean => Object.hasOwn(item, name);
  return need === 'all' ? names.every(has) : names.some(has);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
