/**
 * Near ids: what a mistyped catalog id may have meant, and what else does the same.
 * Promises: at most {@link nearIdsMax} of each; suggests, never substitutes; bounded work for any text: rows of another length are not
 * compared. Pure. Called by the catalog adapter on the error path only.
 */
import { catalogIdCharsMax, nearIdEditsMax, nearIdsMax } from '../../base/limits-money';
import type { EndpointAccess, EndpointHeading } from './endpoint';

/** Another row of the same capability. `guideMicros` is micro-USD of a smallest usual call, null when it cannot be told. */
export interface Alternative {
  readonly id: string;
  readonly access: EndpointAccess;
  readonly guideMicros: number | null;
}

/** A diagnosis for one id; both lists may be empty. */
export interface NearRows {
  readonly didYouMean: readonly string[];
  readonly alternatives: readonly Alternative[];
}

/** Diagnoses an id, known (a tombstone, a row that nobody can call) or not. */
export function nearRows(asked: string, headings: ReadonlyMap<string, EndpointHeading>): NearRows {
  const known = headings.get(asked);
  const live = [...headings.values()].filter((heading) => !heading.retired);
  if (known === undefined) return { didYouMean: nearIds(asked, live), alternatives: [] };
  return { didYouMean: [], alternatives: alternatives(known, live) };
}

/**
 * Ids that `asked` may have meant, best first: the same provider's few edits away or sharing a word, then others' few edits away or of
 * the same name.
 */
export function nearIds(asked: string, headings: readonly EndpointHeading[]): readonly string[] {
  if (asked === '' || asked.length > catalogIdCharsMax) return [];
  const scoreOf = scorer(asked.toLowerCase());
  return headings
    .map(({ id }) => ({ id, score: scoreOf(id) }))
    .filter(({ score }) => score < unlike)
    .sort((a, b) => a.score - b.score || (a.id < b.id ? -1 : 1))
    .slice(0, nearIdsMax)
    .map(({ id }) => id);
}

/** Rows of the same capability that can be called, cheapest first; those without a price last, as the caller pays the vendor. */
export function alternatives(
  known: EndpointHeading,
  live: readonly EndpointHeading[],
): readonly Alternative[] {
  const price = (row: Alternative): number => row.guideMicros ?? Number.POSITIVE_INFINITY;
  return live
    .filter((row) => row.capability === known.capability && row.id !== known.id)
    .map(({ id, access, guideMicros }) => ({ id, access, guideMicros }))
    .sort((a, b) => compare(price(a), price(b)) || (a.id < b.id ? -1 : 1))
    .slice(0, nearIdsMax);
}

const compare = (a: number, b: number): number => (a === b ? 0 : a - b);

/** A score that is no suggestion. */
const unlike = 1_000;
const ofOtherProvider = 100;
const sharesWord = 10;

/**
 * 0 is equal; edits count first, a shared word of the same provider after them. Providers are compared once each, and the rows of a
 * provider that is another word are not compared at all.
 */
function scorer(asked: string): (id: string) => number {
  const [askedProvider, askedName] = parts(asked);
  const near = new Map<string, boolean>();
  return (id) => {
    const [provider, name] = parts(id);
    const isNear = near.get(provider) ?? editsBetween(askedProvider, provider) <= nearIdEditsMax;
    near.set(provider, isNear);
    const edits = isNear ? editsBetween(asked, id) : nearIdEditsMax + 1;
    if (provider !== askedProvider) {
      if (edits <= nearIdEditsMax) return ofOtherProvider + edits;
      return name === askedName ? ofOtherProvider + sharesWord : unlike;
    }
    return edits <= nearIdEditsMax ? edits : wordScore(askedName, name);
  };
}

function wordScore(asked: string, name: string): number {
  const words = new Set(name.split(/[._-]/));
  const shared = asked.split(/[._-]/).filter((word) => word !== '' && words.has(word)).length;
  return shared > 0 ? sharesWord + 9 - Math.min(shared, 9) : unlike;
}

function parts(id: string): readonly [provider: string, name: string] {
  const dot = id.indexOf('.');
  return dot < 0 ? [id, ''] : [id.slice(0, dot), id.slice(dot + 1)];
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment); beyond the bound, just more than it. */
export function editsBetween(a: string, b: string): number {
  const tooMany = nearIdEditsMax + 1;
  if (Math.abs(a.length - b.length) > nearIdEditsMax) return tooMany;
  let older: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) row.push(cell({ a, b, i, j, row, last, older }));
    if (Math.min(...row) > nearIdEditsMax) return tooMany;
    older = last;
    last = row;
  }
  return Math.min(last[b.length] ?? tooMany, tooMany);
}

interface CellNeeds {
  readonly a: string;
  readonly b: string;
  readonly i: number;
  readonly j: number;
  readonly row: readonly number[];
  readonly last: readonly number[];
  readonly older: readonly number[];
}

function cell({ a, b, i, j, row, last, older }: CellNeeds): number {
  const far = nearIdEditsMax + 1;
  const same = a[i - 1] === b[j - 1];
  const least = Math.min(
    (last[j] ?? far) + 1,
    (row[j - 1] ?? far) + 1,
    (last[j - 1] ?? far) + (same ? 0 : 1),
  );
  const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
  return isSwap ? Math.min(least, (older[j - 2] ?? far) + 1) : least;
}
