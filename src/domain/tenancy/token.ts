/**
 * The shape of an access key token: `wk_` + check-secret version (1) + random (32) + check (10), all base 62.
 * Promises: whatever has this shape belongs to Weir and never leaves it; whatever has not is the caller's own. Pure.
 * The check is a truncated HMAC (adapters/vault/token-check.ts), so made-up keys cost no look-up. Called by stages 01 and 02.
 */

/** Letters of a token. */
const tokenAlphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomChars = 32;
const checkChars = 10;
/** Length of a whole token, characters. */
export const tokenChars = 3 + 1 + randomChars + checkChars;

const shape = new RegExp(`^wk_[0-9A-Za-z]{${tokenChars - 3}}$`);
const anywhere = new RegExp(`wk_[0-9A-Za-z]{${tokenChars - 3}}(?![0-9A-Za-z])`, 'g');

/** Whether the whole text is a token. */
export const isToken = (text: string): boolean => text.length === tokenChars && shape.test(text);

/** The tokens inside a text, in their order. */
export const tokensIn = (text: string): readonly string[] =>
  text.includes('wk_') ? (text.match(anywhere) ?? []) : [];

/** A text for logs and rows: tokens in it are masked. */
export const withoutTokens = (text: string): string =>
  text.includes('wk_') ? text.replace(anywhere, 'wk_***') : text;

/** The parts of a token: `body` is what the check signs. */
export function splitToken(token: string): { version: string; body: string; check: string } {
  const cut = tokenChars - checkChars;
  return { version: token.charAt(3), body: token.slice(0, cut), check: token.slice(cut) };
}

/** Joins random bytes into a token body of `version`; 62 does not divide 256, so bytes from 248 on are skipped. */
export function tokenBody(version: string, random: Uint8Array): string | null {
  let out = `wk_${version}`;
  for (const byte of random) {
    if (byte >= 248) continue;
    out += tokenAlphabet.charAt(byte % 62);
    if (out.length === tokenChars - checkChars) return out;
  }
  return null;
}

/** The check characters of an HMAC, base 62 of its leading bytes (about 59 bits). */
export function checkText(mac: Uint8Array): string {
  let out = '';
  for (let i = 0; i < checkChars; i++)
    out += tokenAlphabet.charAt((((mac[2 * i] ?? 0) << 8) | (mac[2 * i + 1] ?? 0)) % 62);
  return out;
}
