/**
 * Applies the header rules of an upstream. Called by stages 08 and 11.
 */
import type { HeaderEdits } from '../catalog/upstream';

/** remove → set → add (digest B5); edits `headers` in place. */
export function applyEdits(headers: Headers, edits: HeaderEdits): void {
  for (const name of edits.remove) headers.delete(name);
  for (const [name, value] of edits.set) headers.set(name, value);
  for (const [name, value] of edits.add) headers.append(name, value);
}
