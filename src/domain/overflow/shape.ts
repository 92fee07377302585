/**
 * Shape: what a JSON body looks like, its values ignored: which members it has and where lists are.
 * Promises: two answers of one operation have one shape, whatever the number (none excepted) and order of their list entries and the order
 * of their members; bounded in members and depth. Must never: carry a value. Pure. Called by `jobs/overflow-verify.ts` and shadow runs.
 */
import { overflowShapeDepthMax, overflowShapePathsMax } from '../../base/limits-capacity';

/** The shape of a JSON text: its paths, sorted; `text` for what is no JSON, `empty` for nothing. */
export function shapeOf(body: Uint8Array): string {
  if (body.length === 0) return 'empty';
  const paths = new Set<string>();
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    collect(value, '', 0, paths);
  } catch {
    return 'text';
  }
  return [...paths].sort().join('\n');
}

/**
 * Whether `poor` differs from `rich` only in lists that are empty there and filled in `rich`: as far as it goes, it is the same shape, and what
 * the entries look like it does not say.
 */
export function isEmptier(poor: string, rich: string): boolean {
  const known = poor.split('\n');
  const more = new Set(rich.split('\n'));
  if (!known.every((path) => more.delete(path))) return false;
  const empty = known.filter(
    (list) => list.endsWith('[]') && !known.some((path) => path !== list && path.startsWith(list)),
  );
  return [...more].every((path) => empty.some((list) => path.startsWith(list)));
}

function collect(value: unknown, path: string, depth: number, paths: Set<string>): void {
  if (paths.size >= overflowShapePathsMax) return;
  if (typeof value !== 'object' || value === null || depth === overflowShapeDepthMax) {
    paths.add(`${path}=`);
    return;
  }
  if (Array.isArray(value)) {
    paths.add(`${path}[]`);
    for (const entry of value) collect(entry, `${path}[]`, depth + 1, paths);
    return;
  }
  paths.add(`${path}{}`);
  for (const name of Object.keys(value).sort()) {
    const inner = Object.getOwnPropertyDescriptor(value, name)?.value;
    collect(inner, `${path}.${JSON.stringify(name)}`, depth + 1, paths);
  }
}
