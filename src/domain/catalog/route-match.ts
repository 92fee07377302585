/**
 * Route matching: method, then longest path at a segment boundary, then higher priority (decisions section 5).
 * Promises: routes arrive sorted (longest path, then priority), so the first match is the answer. Pure. Called by stage 03.
 */
import { covers, mergedPath } from '../relay/path';
import type { Route } from './upstream';

/** The route that guards `method` and `path` (the path after the base path, `''` or `/…`), or `null`. */
export function matchRoute(routes: readonly Route[], method: string, path: string): Route | null {
  const asked = path === '' ? '/' : path;
  for (const route of routes) if (guards(route, route.path, method, asked)) return route;
  return null;
}

/** The route that an origin would take for one of the `readings` of a path, or `null`. */
export function matchRead(routes: readonly Route[], method: string, reading: string): Route | null {
  let found: Route | null = null;
  let longest = 0;
  for (const route of routes) {
    // A route's own path may hold escapes; decoded, the longest need not come first.
    const prefix = mergedPath(route.path);
    if (prefix.length <= longest || !guards(route, prefix, method, reading)) continue;
    found = route;
    longest = prefix.length;
  }
  return found;
}

function guards(route: Route, prefix: string, method: string, asked: string): boolean {
  if (!route.methods.includes(method) || !covers(prefix, asked)) return false;
  return route.suffixMode === 'append' || asked === prefix || asked === `${prefix}/`;
}

/** The order that {@link matchRoute} needs. */
export const routeOrder = (a: Route, b: Route): number =>
  b.path.length - a.path.length || b.priority - a.priority || (a.id < b.id ? -1 : 1);
