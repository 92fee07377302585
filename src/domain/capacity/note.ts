/**
 * A vendor's note beside a balance (a plan's name, a date), before it is stored.
 * Promises: short, one line, and never a text that looks like a credential: vendors put keys, sign-in links and tokens into account
 * answers. A note that is withheld by mistake costs nothing; one that is kept by mistake costs an account. Pure. Called by `collect.ts`.
 */
import { snapshotNoteCharsMax } from '../../base/limits-capacity';

/** Stored instead of a note that looks like a credential. */
export const withheldNote = '(withheld: looks like a credential)';

/** The note as it may be stored; null: there is none. `secrets` are the credentials that the call was made with. */
export function storedNote(text: string, secrets: readonly string[]): string | null {
  const line = text
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (line === '') return null;
  if (secrets.some((secret) => secret !== '' && line.includes(secret))) return withheldNote;
  // Looked at whole: what is cut off must not save what is left of a key.
  return looksLikeCredential(line) ? withheldNote : line.slice(0, snapshotNoteCharsMax);
}

/** Beginnings of keys that vendors and forges publish, JSON web tokens and PEM among them. */
const keyPrefix =
  /(?:^|[^A-Za-z0-9])(?:[spr]k[-_]|wk_|xox[a-z]-|gh[opsur]_|github_pat_|glpat-|npm_|hf_|AKIA|ASIA|AIza|ya29\.|eyJ|SG\.|key-|-----BEGIN)/;
/** A word for a secret, and something behind it that may be one. */
const named =
  /(?:bearer|basic|token|secret|password|passwd|pwd|api[-_ ]?key|authorization|signature|credential)["']?\s*[:= ]\s*["']?[^\s"']{6}/i;
const userInUrl = /:\/\/[^\s/@]+@/;
const run = /[A-Za-z0-9+_=~-]{16,}/g;

/** Whether a text may hold a credential. */
function looksLikeCredential(text: string): boolean {
  if (keyPrefix.test(text) || named.test(text) || userInUrl.test(text)) return true;
  return (text.match(run) ?? []).some(isRandom);
}

/** A long run that no word, number or date is: a part of it mixes digits and letters, or is longer than words are. */
const isRandom = (token: string): boolean =>
  token
    .split(/[-_]/)
    .some(
      (part) => part.length >= 24 || (part.length >= 8 && /\d/.test(part) && /[A-Za-z]/.test(part)),
    );
