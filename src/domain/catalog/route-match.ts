/**
 * Route matching: method, then longest path at a segment boundary, then higher priority (decisions section 5).
 * Promises: routes arrive sorted (longest path, then priority), so the first match is the answer. Pure. Called by stage 03.
 */
import { covers } from '../relay/path';
import type { Route } from './upstream';

/** The route that guards `method` and `path` (the path after the base path, `''` or `/…`), or `null`. */
export function matchRoute(routes: readonly Route[], method: string, path: string): Route | null {
  const asked = path === '' ? '/' : path;
  for (const route of routes) {
    if (!route.methods.includes(method)) continue;
    if (!covers(route.path, asked)) continue;
    if (route.suffixMode === 'disabled' && asked !== route.path && asked !== `${route.path}/`)
      continue;
    return route;
  }
  return null;
}

/** The order that {@link matchRoute} needs. */
export const routeOrder = (a: Route, b: Route): number =>
  b.path.length - a.path.length || b.priority - a.priority || (a.id < b.id ? -1 : 1);
