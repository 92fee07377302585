/**
 * The catalog, read only: what this deployment can call and what it costs. Belongs to no tenant; `npm run catalog` writes it.
 * Operations read by `operations.ts`.
 */
import { catalogQueryCharsMax } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import { catalogIdPattern } from '../domain/catalog/endpoint';
import type { Refusal } from '../domain/refusal';
import type { CatalogFilter } from '../ports/store';
import { invalid } from './body';
import { catalogDetailAnswer, catalogRowAnswer, detailWire, rowWire } from './catalog-wire';
import { answering, type Call, type Operation, type QueryField } from './operation';
import { listed, pageOf, pageQuery } from './pagination';

const filterQuery: Readonly<Record<string, QueryField>> = {
  q: { description: 'Text to find in id, capability and summary, in any letter case.' },
  provider: { description: 'Only the rows of this provider.' },
  capability: { description: 'Only rows of exactly this capability.' },
};

/** The operations on the catalog. */
export const catalogOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/catalog',
    permission: 'config:read',
    scope: 'tree',
    summary: 'Search the catalog, ordered by id',
    query: { ...filterQuery, ...pageQuery },
    answer: pageOf(catalogRowAnswer),
    handle: search,
  }),
  answering({
    method: 'GET',
    path: '/catalog/{id}',
    permission: 'config:read',
    scope: 'tree',
    id: catalogIdPattern,
    summary: 'Read a row of the catalog: parameters, contracts, prices',
    answer: catalogDetailAnswer,
    async handle(call) {
      const entry = await call.services.store.catalog.get(call.facts.id);
      return entry.ok ? ok(detailWire(entry.value)) : entry;
    },
  }),
];

async function search(call: Call) {
  const filter = filterAsked(call.facts.query);
  if (!filter.ok) return filter;
  const { catalog } = call.services.store;
  return listed(call, catalogIdPattern, (page) => catalog.list(filter.value, page), rowWire);
}

/** An empty filter is none. Refuses with `validation.error` on the one that is too long. */
function filterAsked(query: ReadonlyMap<string, string>): Result<CatalogFilter, Refusal> {
  const given = Object.keys(filterQuery).map(
    (name) => [name, query.get(name)?.trim() ?? ''] as const,
  );
  const long = given.find(([, text]) => text.length > catalogQueryCharsMax);
  if (long !== undefined) {
    const message = `may have at most ${catalogQueryCharsMax} characters`;
    return err(invalid({ path: long[0], message }));
  }
  const of = (wanted: string): string | null =>
    given.find(([name, text]) => name === wanted && text !== '')?.[1] ?? null;
  return ok({ text: of('q'), provider: of('provider'), capability: of('capability') });
}
