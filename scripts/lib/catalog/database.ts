/**
 * The database that a catalog is compared with and applied to: the local one of `npm start`, or the deployed one through wrangler.
 * Promises: reads and writes the three catalog tables and the capacity policies only; a database that cannot be reached or is not migrated is one sentence.
 * Called by main.ts.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDevEnv } from '../dev-env.ts';
import { isOurs } from '../management.ts';
import { type D1Like, migrate } from '../migrations.ts';
import { isRealDatabaseId, readWranglerConfig } from '../wrangler-config.ts';
import { type CatalogRows, literalSql, type Row, type Statement } from './plan.ts';

/** A reason to stop that a person can act on. */
export class CatalogError extends Error {}

/** A catalog database; `close` it. */
export interface CatalogDatabase {
  /** How it is called in the report. */
  readonly name: string;
  readonly rows: () => Promise<CatalogRows>;
  /** What kind of account there is at a provider; null: nobody has said. */
  readonly policy: (provider: string) => Promise<Row | null>;
  /** One transaction where the database has them. */
  readonly apply: (statements: readonly Statement[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

const selects = {
  providers: 'SELECT slug, name, document FROM catalog_providers',
  endpoints:
    'SELECT id, provider, capability, summary, access, guide_micros, retired, document FROM catalog_endpoints',
  policies: 'SELECT * FROM capacity_policies',
} as const;

/** The database behind an open D1. */
export function databaseOver(db: D1Like, name: string, close = async () => {}): CatalogDatabase {
  const read = async (sql: string) => (await db.prepare(sql).all()).results;
  return {
    name,
    rows: async () => rowsFrom(await read(selects.providers), await read(selects.endpoints)),
    policy: async (provider) => policyIn(await read(selects.policies), provider),
    apply: async (statements) => {
      await db.batch(statements.map(({ sql, params }) => db.prepare(sql).bind(...params)));
    },
    close,
  };
}

/** The local D1 below a state folder; migrated. Refused while a gateway runs on it: two workerd on one database would damage it. */
export async function localDatabase(state: string): Promise<CatalogDatabase> {
  await refuseRunning(state);
  // Half a second: only who needs it waits for it.
  const { convertV4MiniflareOptions, Miniflare } = await import('miniflare');
  const config = readWranglerConfig();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        {
          name: 'catalog',
          modules: true,
          script: 'export default { fetch: () => new Response() }',
          compatibilityDate: config.compatibilityDate,
          d1Databases: { DB: config.localDatabaseId },
        },
      ],
      cf: false,
      resourcePersistencePath: `${state}/state/v3`,
    }),
  );
  await miniflare.ready;
  const db = (await miniflare.getD1Database('DB', 'catalog')) as unknown as D1Like;
  await migrate(db);
  return databaseOver(db, `${state}/ (local)`, () => miniflare.dispose());
}

async function refuseRunning(state: string): Promise<void> {
  const file = `${state}/dev.env`;
  if (!existsSync(file)) return;
  const { LAST_PORT: port, OPERATOR_KEY: key = '' } = loadDevEnv(file);
  if (port !== undefined && (await isOurs(Number(port), key)))
    throw new CatalogError(`A Weir runs on ${state}/, on port ${port}: stop it first.`);
}

/** The deployed D1 of wrangler.toml. */
export function remoteDatabase(): CatalogDatabase {
  const { databaseId, databaseName } = readWranglerConfig();
  if (!isRealDatabaseId(databaseId))
    throw new CatalogError('wrangler.toml has no real database_id (docs/operations.md).');
  const rows = async (): Promise<CatalogRows> =>
    rowsFrom(
      remoteRows(databaseName, selects.providers),
      remoteRows(databaseName, selects.endpoints),
    );
  return {
    name: `${databaseName} (remote)`,
    rows,
    policy: async (provider) => policyIn(remoteRows(databaseName, selects.policies), provider),
    apply: async (statements) => remoteApply(databaseName, statements),
    close: async () => {},
  };
}

const wrangler = (...args: string[]) =>
  spawnSync('wrangler', ['d1', 'execute', ...args], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['inherit', 'pipe', 'inherit'],
  });

function remoteRows(database: string, sql: string): Record<string, unknown>[] {
  const run = wrangler(database, '--remote', '--json', '--command', sql);
  try {
    const answer = JSON.parse(run.stdout) as readonly { results: Record<string, unknown>[] }[];
    if (run.status === 0) return answer[0]?.results ?? [];
  } catch {
    // wrangler said on stderr what is wrong
  }
  throw new CatalogError('wrangler cannot read the database: log in, and run npm run deploy once.');
}

function remoteApply(database: string, statements: readonly Statement[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'weir-catalog-'));
  const file = join(folder, 'apply.sql');
  try {
    writeFileSync(file, statements.map((statement) => `${literalSql(statement)}\n`).join(''));
    const run = wrangler(database, '--remote', '--yes', '--file', file);
    if (run.status !== 0) throw new CatalogError('wrangler did not apply it.');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const policyIn = (rows: readonly Record<string, unknown>[], provider: string): Row | null =>
  (rows.find((row) => row.provider === provider) as Row | undefined) ?? null;

function rowsFrom(
  providers: readonly Record<string, unknown>[],
  endpoints: readonly Record<string, unknown>[],
): CatalogRows {
  const by = (key: string, rows: readonly Record<string, unknown>[]): ReadonlyMap<string, Row> =>
    new Map(rows.map((row) => [String(row[key]), row as Row]));
  return { providers: by('slug', providers), endpoints: by('id', endpoints) };
}
