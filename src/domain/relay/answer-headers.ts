/**
 * What may not leave in the headers of an answer: hop-by-hop fields and those that its Connection names, forged headers of ours, our own
 * cookies, and every spelling of an injected credential, on every status (digest A5). A value is masked; a line whose name shows one goes.
 * Promises: one pass; headers in which nothing is found are not touched. Called by stage 11 on the copy that goes to the caller.
 */
import { headerHit, type MaskedSecret, maskValue, nameHit } from '../credentials/masking';
import { mentionsOwnCookie, setsOwnCookie } from './cookies';
import { dropsFromAnswer, nominated } from './header-policy';

/** Cleans the headers in place. */
export function cleanAnswerHeaders(headers: Headers, masks: readonly MaskedSecret[]): void {
  let dropped: string[] | null = null;
  let names = '';
  let joined = '';
  let cookies = false;
  for (const [name, value] of headers) {
    if (dropsFromAnswer(name)) {
      dropped ??= [];
      dropped.push(name);
      if (name === 'connection') dropped.push(...nominated(value));
      continue;
    }
    names += `\n${name}`;
    joined += `\n${value}`;
    if (name === 'set-cookie' && mentionsOwnCookie(value)) cookies = true;
  }
  if (dropped !== null) for (const name of dropped) headers.delete(name);
  if (nameHit(names, masks))
    for (const [name] of [...headers]) if (nameHit(name, masks)) headers.delete(name);
  if (cookies || (masks.length > 0 && headerHit(joined, masks))) rewrite(headers, masks);
}

function rewrite(headers: Headers, masks: readonly MaskedSecret[]): void {
  for (const [name, value] of [...headers]) {
    if (name === 'set-cookie') continue;
    const masked = maskValue(value, masks);
    if (masked !== value) headers.set(name, masked);
  }
  const lines = headers.getSetCookie();
  headers.delete('set-cookie');
  for (const line of lines)
    if (!setsOwnCookie(line)) headers.append('set-cookie', maskValue(line, masks));
}
