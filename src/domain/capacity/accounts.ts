/**
 * Platform accounts: which of the operator's accounts at a provider serves a call (digest A12).
 * Promises: an object stays with the account that made it; a repeat of a keyed call meets the account that its first send met; a label
 * that cannot serve is a refusal, never another account in its place. Pure. Called by the ladder and stages 06 and 07.
 */
import { err, ok, type Result } from '../../base/result';
import { primaryAccount } from './signal';

/** Name of an account's value among the platform settings: the primary's is plain, `env.ts` puts the further ones there. */
export const accountSetting = (place: {
  readonly provider: string;
  readonly label: string;
  readonly setting: string;
}): string =>
  place.label === primaryAccount
    ? place.setting
    : `${place.provider}/${place.label}/${place.setting}`;

/**
 * Why the account of an object cannot be used. `retired`: its label is no longer configured. `unavailable`: this deployment has none of
 * the provider's further accounts, so the label may be known elsewhere. `split`: the objects belong to different accounts.
 */
export type AccountFault = 'retired' | 'unavailable' | 'split';

/**
 * The account that owns the objects which a call names; null: it names none. `owners` are their labels, null for the primary;
 * `configured` are the labels that can be used now.
 */
export function ownerAccount(
  owners: readonly (string | null)[],
  configured: readonly string[],
): Result<string | null, AccountFault> {
  const labels = new Set(owners.map((label) => label ?? primaryAccount));
  if (labels.size > 1) return err('split');
  const [label = null] = labels;
  if (label === null || configured.includes(label)) return ok(label);
  const hasFurther = configured.some((one) => one !== primaryAccount);
  return err(hasFurther ? 'retired' : 'unavailable');
}

/**
 * The account of a keyed call: the one whose label scores highest with the key, so that a label which comes or goes moves only the keys
 * that were or become its own. `scope` is whose key it is.
 */
export function keyedAccount(
  configured: readonly string[],
  { scope, key }: { readonly scope: string; readonly key: string },
): string | null {
  let best: string | null = null;
  let bestScore = -1;
  for (const label of configured) {
    const score = scoreOf(`${scope}\n${key}\n${label}`);
    if (score > bestScore) [best, bestScore] = [label, score];
  }
  return best;
}

/** 32 bits of FNV-1a over UTF-16 units, stirred (the last letters alone would hardly move the high bits). */
function scoreOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
