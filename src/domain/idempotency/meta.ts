/**
 * X-Weir-Meta: the tags of a call, `team=search,env=prod`. Promises: all of them or a fault, before
 * anything is spent or claimed (422); no pair is dropped, cut or merged. Must never: repeat what
 * the caller wrote. Pure. Called by stage 01. Decided: digest A9 (tag budgets).
 */
import { ledgerTagCharsMax, ledgerTagPairsMax, metaCharsMax } from '../../base/limits-money';
import { err, ok, type Result } from '../../base/result';
import type { Tags } from '../ledger/operations';

/** Why the header cannot be read. `pair` counts from 1; 0 is the whole header. */
export interface MetaFault {
  readonly pair: number;
  readonly reason:
    | 'too_long'
    | 'too_many'
    /** No `=`, or nothing on one side of it; an empty header too. */
    | 'not_a_pair'
    /** `@` in a key: kept for tags that Weir may set itself. */
    | 'at_sign'
    | 'key_charset'
    | 'value_charset'
    | 'key_too_long'
    | 'value_too_long'
    | 'repeated_key';
}

/** RFC 9110 5.6.2, a token; `@` and `=` are none. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What the key of a pair can be: a limit for another one would never apply. */
export const tagNamePattern = token;
/** What its value can be: {@link valueText} without the comma that ends a pair and the white space before it. */
export const tagValuePattern = /^[\x20-\x2b\x2d-\x7e]*[\x21-\x2b\x2d-\x7e]$/;
/** Visible ASCII and inner spaces: bytes that every client sends alike. */
const valueText = /^[\x20-\x7e]+$/;
/** Optional white space of a list, RFC 9110 5.6.3. */
const aroundPair = /^[ \t]+|[ \t]+$/g;

/** Dimension and value of each pair, as `PlaceOp` carries them; `null` without the header. */
export function readMeta(header: string | null): Result<Tags | null, MetaFault> {
  if (header === null) return ok(null);
  if (header.length > metaCharsMax) return err({ pair: 0, reason: 'too_long' });
  const pairs = header.split(',');
  if (pairs.length > ledgerTagPairsMax) return err({ pair: 0, reason: 'too_many' });
  const tags: string[] = [];
  for (const [index, pair] of pairs.entries()) {
    const read = readPair(pair.replace(aroundPair, ''), tags);
    if (!read.ok) return err({ pair: index + 1, reason: read.error });
    tags.push(...read.value);
  }
  return ok(tags);
}

function readPair(
  pair: string,
  before: Tags,
): Result<readonly [key: string, value: string], MetaFault['reason']> {
  const equals = pair.indexOf('=');
  const key = pair.slice(0, Math.max(0, equals));
  const value = pair.slice(equals + 1);
  if (key === '' || value === '') return err('not_a_pair');
  if (key.includes('@')) return err('at_sign');
  if (!token.test(key)) return err('key_charset');
  if (!valueText.test(value)) return err('value_charset');
  if (key.length > ledgerTagCharsMax) return err('key_too_long');
  if (value.length > ledgerTagCharsMax) return err('value_too_long');
  const isRepeated = before.some((text, index) => index % 2 === 0 && text === key);
  return isRepeated ? err('repeated_key') : ok([key, value]);
}
