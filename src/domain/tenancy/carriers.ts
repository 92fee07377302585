/**
 * Where a Weir key may stand, and how it is taken out again without touching anything else (decisions section 2).
 * Promises: every whole token in a carrier is found; what is not a token there is the caller's own and stays, byte for byte. Pure.
 * Called by stage 01 and by the management API.
 */
import { findToken, isToken, tokenChars } from './token';

/** Headers in which SDKs put an API key. */
export const carrierHeaders: ReadonlySet<string> = new Set([
  'x-weir-key',
  'authorization',
  'sec-websocket-protocol',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
]);

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
    const token = tokenOf(name, part.trim());
    if (token === null) kept.push(part);
    else tokens.push(token);
  }
  if (tokens.length === 0) return null;
  const rest = kept.join(',').trim();
  return { tokens, rest: rest === '' ? null : rest };
}

/** The token of one list element, or `null` when the element is the caller's own. */
function tokenOf(name: string, part: string): string | null {
  if (isToken(part)) return part;
  // `Token wk_…`, `Bearer<TAB>wk_…`, `x-api-key: Bearer wk_…`: any one scheme word, in any carrier.
  const words = part.split(/[ \t]+/);
  const last = words.at(-1) ?? '';
  if (words.length === 2 && isToken(last)) return last;
  if (name === 'authorization') {
    const space = part.indexOf(' ');
    const scheme = part.slice(0, space).toLowerCase();
    const credentials = part.slice(space + 1).trim();
    return scheme === 'basic' ? basicUser(credentials) : null;
  }
  // Browser SDKs cannot set headers and offer `openai-insecure-api-key.<key>` as a subprotocol.
  if (name === 'sec-websocket-protocol') {
    const tail = part.slice(-tokenChars);
    return part.charAt(part.length - tokenChars - 1) === '.' && isToken(tail) ? tail : null;
  }
  return null;
}

/** The user name of Basic credentials when it is a token; also accepts the token as password of an empty or other user name. */
function basicUser(credentials: string): string | null {
  let pair: string;
  try {
    pair = atob(credentials);
  } catch {
    return null;
  }
  const colon = pair.indexOf(':');
  const user = colon < 0 ? pair : pair.slice(0, colon);
  return isToken(user) ? user : findToken(pair.slice(colon + 1));
}
