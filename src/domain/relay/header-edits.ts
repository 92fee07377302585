/**
 * Applies the header rules of an upstream. Called by stages 08 and 11.
 */
import type { HeaderEdits } from '../catalog/upstream';

/** remove → set → add (digest B5); edits `headers` in place. */
export function applyEdits(headers: Headers, edits: HeaderEdits): void {
  for (const name of edits.remove) headers.delete(name);
  for (const [name, value] of edits.set) headers.set(name, value);
  for (const [name, value] of edits.add) {
    // The pairs of a Cookie are one line, parted by semicolons (RFC 6265 section 5.4); a list would be parted by commas.
    const pairs = name === 'cookie' ? headers.get(name) : null;
    if (pairs === null) headers.append(name, value);
    else headers.set(name, `${pairs}; ${value}`);
  }
}
