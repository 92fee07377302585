/**
 * CatalogReader: the D1 statements behind the road's catalog, each in one batch with the catalog's version, so that what was read and
 * the version it belongs to are one snapshot.
 * Promises: a store that does not answer in time is `null`, never a throw. Must never: cache. Called by catalog.ts only.
 */
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { catalogEndpointsMax } from '../../base/limits-money';
import type { EndpointHeading } from '../../domain/catalog/endpoint';
import type { CatalogEntry } from '../../ports/catalog';
import type { Report } from '../../ports/report';
import { answered } from './answered';
import { toCatalogEndpoint, toProvider } from './rows';
import { catalogEndpoints, catalogProviders, catalogState } from './schema';

/** The headings of all rows, as of one version. */
export interface CatalogSnapshot {
  readonly version: number;
  readonly headings: readonly EndpointHeading[];
}

/** One row, as of one version; `null` when that version has none of the id. */
export interface VersionedEntry {
  readonly version: number;
  readonly entry: CatalogEntry | null;
}

export class CatalogReader {
  readonly #db: ReturnType<typeof drizzle>;
  readonly #report: Report;

  constructor(d1: D1Database, report: Report) {
    this.#db = drizzle(d1);
    this.#report = report;
  }

  /** The catalog's version, 0 before the first import; `null` when the store does not answer. */
  async version(): Promise<number | null> {
    const rows = await this.#read(this.#state().all());
    return rows === null ? null : versionOf(rows);
  }

  /** Everything but the documents; the import holds the number below its bound. */
  async snapshot(): Promise<CatalogSnapshot | null> {
    const read = await this.#read(
      this.#db.batch([
        this.#state(),
        this.#db
          .select(headingColumns)
          .from(catalogEndpoints)
          .orderBy(catalogEndpoints.id)
          .limit(catalogEndpointsMax),
      ]),
    );
    if (read === null) return null;
    const [state, headings] = read;
    return { version: versionOf(state), headings };
  }

  /** One row with its provider; two statements, since a D1 batch merges columns of one name. */
  async entry(id: string): Promise<VersionedEntry | null> {
    const owner = sql`(select provider from catalog_endpoints where id = ${id})`;
    const read = await this.#read(
      this.#db.batch([
        this.#state(),
        this.#db
          .select({ document: catalogEndpoints.document })
          .from(catalogEndpoints)
          .where(eq(catalogEndpoints.id, id)),
        this.#db
          .select({ document: catalogProviders.document })
          .from(catalogProviders)
          .where(sql`${catalogProviders.slug} = ${owner}`),
      ]),
    );
    if (read === null) return null;
    const [state, rows, providers] = read;
    const [endpoint, provider] = [rows[0]?.document, providers[0]?.document];
    if (endpoint === undefined || provider === undefined)
      return { version: versionOf(state), entry: null };
    const entry = { endpoint: toCatalogEndpoint(endpoint), provider: toProvider(provider) };
    return { version: versionOf(state), entry };
  }

  #state() {
    return this.#db
      .select({ version: catalogState.version })
      .from(catalogState)
      .where(eq(catalogState.id, 1));
  }

  #read<T>(work: Promise<T>): Promise<T | null> {
    return answered(work, this.#report, 'catalog.read_failed');
  }
}

const headingColumns = {
  id: catalogEndpoints.id,
  capability: catalogEndpoints.capability,
  access: catalogEndpoints.access,
  guideMicros: catalogEndpoints.guideMicros,
  retired: catalogEndpoints.retired,
};

const versionOf = (rows: readonly { readonly version: number }[]): number => rows[0]?.version ?? 0;
