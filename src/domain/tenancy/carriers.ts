/**
 * Where a Weir key may stand, and how it is taken out again without touching anything else (decisions section 2; SDKs have names of their own
 * for the place, so a header or query pair that is nothing but a Weir key counts under any name).
 * Promises: every whole token in a carrier is found; what is not a token there is the caller's own and stays, byte for byte. Pure.
 * Called by stage 01; the management API takes a key in X-Weir-Key and Authorization: Bearer only.
 */
import { isToken, tokenChars, tokensIn } from './token';

/** Headers in which SDKs put an API key. */
const carrierHeaders: ReadonlySet<string> = new Set([
  'x-weir-key',
  'authorization',
  'sec-websocket-protocol',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
]);

/** Whether a header can hold a key: one of the carriers, or one whose whole value may be a key (`apikey: wk_…`). */
export const mayCarry = (name: string, value: string): boolean =>
  value.length === tokenChars || carrierHeaders.has(name);

/** The keys in a query pair: anywhere in `key`, in any other one only as its whole value; `value` is decoded. */
export const carriedByPair = (name: string, value: string): readonly string[] => {
  if (name === 'key') return tokensIn(value);
  return isToken(value) ? [value] : [];
};

/** What a carrier held: its tokens, and what is left of it (`null`: nothing). */
export interface Carried {
  readonly tokens: readonly string[];
  readonly rest: string | null;
}

/** Reads one carrier header; `null` when it holds no token. Repeated headers arrive joined by `, `. */
export function readCarrier(name: string, value: string): Carried | null {
  const possible = value.includes('wk_') || (name === 'authorization' && /basic/i.test(value));
  if (!possible) return null;
  const tokens: string[] = [];
  const kept: string[] = [];
  for (const part of value.split(',')) {
    const found = tokensOf(name, part);
    if (found.length === 0) kept.push(part);
    else tokens.push(...found);
  }
  if (tokens.length === 0) return null;
  const rest = kept.join(',').trim();
  return { tokens, rest: rest === '' ? null : rest };
}

/**
 * The tokens of one list element, however they stand in it: behind a scheme, in quotes, as a parameter (`Token token=wk_…`), behind a dot
 * (`openai-insecure-api-key.wk_…`, what browsers offer as a subprotocol). None: the element is the caller's own.
 */
function tokensOf(name: string, part: string): readonly string[] {
  const tokens = tokensIn(part);
  if (tokens.length > 0 || name !== 'authorization') return tokens;
  const pair = /^\s*basic\s+(.*)$/i.exec(part)?.[1];
  return pair === undefined ? [] : tokensIn(decoded(pair));
}

/** The user name and the password of Basic credentials; empty when they are none. */
function decoded(credentials: string): string {
  try {
    return atob(credentials);
  } catch {
    return '';
  }
}
