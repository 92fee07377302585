/** The catalog of one database as the management API reads it; `npm run catalog` writes it. Called by `store/store.ts`; the jobs read its providers too. */
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { catalogProvidersMax } from '../../base/limits-money';
import { ok } from '../../base/result';
import type { Provider } from '../../domain/catalog/provider';
import type { CatalogFilter, CatalogStore } from '../../ports/store';
import { toCatalogEndpoint, toProvider } from './rows';
import { catalogEndpoints, catalogProviders } from './schema';
import { behind, type Db, one, stored } from './store/statements';

/** The catalog of one database. */
export function catalogStore(db: Db): CatalogStore {
  const ofProvider = eq(catalogProviders.slug, catalogEndpoints.provider);
  return {
    list(filter, page) {
      return stored(
        db
          .select({
            id: catalogEndpoints.id,
            providerName: catalogProviders.name,
            endpoint: catalogEndpoints.document,
          })
          .from(catalogEndpoints)
          .innerJoin(catalogProviders, ofProvider)
          .where(and(behind(catalogEndpoints.id, page), ...conditions(filter)))
          .orderBy(catalogEndpoints.id)
          .limit(page.limit),
      );
    },
    async get(id) {
      const found = await one(
        db
          .select({ endpoint: catalogEndpoints.document, provider: catalogProviders.document })
          .from(catalogEndpoints)
          .innerJoin(catalogProviders, ofProvider)
          .where(eq(catalogEndpoints.id, id))
          .get(),
      );
      if (!found.ok) return found;
      const { endpoint, provider } = found.value;
      return ok({ endpoint: toCatalogEndpoint(endpoint), provider: toProvider(provider) });
    },
    providers: () => stored(providersIn(db)),
  };
}

/** Every provider by its slug, those of retired rows included; rejects when the store does not answer. */
export async function providersIn(db: Db): Promise<readonly Provider[]> {
  const rows = await db
    .select({ document: catalogProviders.document })
    .from(catalogProviders)
    .orderBy(catalogProviders.slug)
    .limit(catalogProvidersMax);
  return rows.map(({ document }) => toProvider(document));
}

function conditions({ text, provider, capability }: CatalogFilter): SQL[] {
  const found: SQL[] = [];
  if (provider !== null) found.push(eq(catalogEndpoints.provider, provider));
  if (capability !== null) found.push(eq(catalogEndpoints.capability, capability));
  // instr has no wildcards, so a text of `%` is looked for as it is.
  const searched = sql`lower(${catalogEndpoints.id} || ' ' || ${catalogEndpoints.capability} || ' ' || ${catalogEndpoints.summary})`;
  if (text !== null) found.push(sql`instr(${searched}, ${text.toLowerCase()}) > 0`);
  return found;
}
