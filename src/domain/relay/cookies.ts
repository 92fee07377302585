/**
 * Removes Weir's own cookies from a Cookie header and recognises them in Set-Cookie.
 * Promises: every other pair keeps its bytes and order; no empty or dangling header is left (RFC 6265 4.2.1). Pure. Called by `header-scan.ts` and
 * `answer-headers.ts`; the management API refuses rules that name them.
 */
import { weirCookies } from '../../http/header-names';

/** Common start of the names in {@link weirCookies}: a cheap test for "nothing to do". */
const ownPrefix = '__Host-weir_';

/** Whether a Cookie or Set-Cookie value could name one of ours. */
export const mentionsOwnCookie = (value: string): boolean => value.includes(ownPrefix);

/**
 * One of ours with the separator in front of it. Two Cookie lines arrive as one, joined by a comma, so a pair may begin and end at one too;
 * no value of ours holds one.
 */
const ownPair = new RegExp(
  `(^|[;,])[ \\t]*(?:${weirCookies.join('|')})[ \\t]*(?:=[^;,]*)?(?=[;,]|$)`,
  'g',
);

/** The Cookie value without our cookies; `null` when nothing is left. */
export function withoutOwnCookies(value: string): string | null {
  const kept = value.replace(ownPair, '');
  const text = kept === value ? value : kept.replace(/^[;, \t]+/, '').trim();
  return text === '' ? null : text;
}

/** Whether a Set-Cookie value sets one of our cookies. */
export const setsOwnCookie = (setCookie: string): boolean =>
  isOwn(setCookie.split(';', 1)[0] ?? '');

function isOwn(pair: string): boolean {
  const name = pair.split('=', 1)[0]?.trim();
  return weirCookies.some((own) => own === name);
}
