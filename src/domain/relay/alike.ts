/**
 * Names that a vendor may take for one another: many parsers read `COUNT` as `count` (Go's JSON, .NET), and the last one wins there.
 * Promises: what a bound or a price is read from is told from what only looks like it. Pure. Must never: be used to find a value.
 * Called by `catalog/platform-request.ts`, `pricing/request-facts.ts` and `query.ts`.
 */

/** Whether some parser takes one name for the other. */
export const isAlike = (a: string, b: string): boolean =>
  a === b || (a.length === b.length && folded(a) === folded(b));

/** Whether a JSON value is an object with another name that is like this one. */
export function hasAlike(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // A parsed document inherits no name that can be listed.
  for (const other in value) if (other !== name && isAlike(other, name)) return true;
  return false;
}

/** Both ways: `ſ` is an `S` in upper case, the Kelvin sign a `k` in lower case. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();
