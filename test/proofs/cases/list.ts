/**
 * The shared list of cases, read at run time: one fault of a real gateway a line.
 * Promises: a list that is not there is one sentence, never a silent pass. Called by ../cases.ts.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** What this proof reads of a case. */
export interface SharedCase {
  readonly id: string;
  readonly kind: string;
  readonly right: string;
}

/** Where the list is: `WEIR_CASES` (a file or its folder), or beside the repository. */
function casesFile(): string {
  const place = path.resolve(process.env.WEIR_CASES ?? '../shared/cases');
  const isFolder = existsSync(place) && statSync(place).isDirectory();
  return isFolder ? path.join(place, 'cases.jsonl') : place;
}

/** Whether a proof may run without the list, on the checks that it has: `npm test`, and CI in a clone that has none beside it. */
export const mayMissList = (short: boolean, args: readonly string[]): boolean =>
  short || args.includes('--without-list');

/** Whether the list is there. */
export const hasList = (): boolean => existsSync(casesFile());

/** The cases of these kinds (`null`: all), in the order of the list; a text says why there are none. */
export function casesOf(kinds: readonly string[] | null): readonly SharedCase[] | string {
  const file = casesFile();
  if (!existsSync(file))
    return `there is no ${path.relative('.', file)}: set WEIR_CASES to the folder of cases.jsonl`;
  const all = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as SharedCase);
  return kinds === null ? all : all.filter(({ kind }) => kinds.includes(kind));
}
