/**
 * Applies `d1-migrations/` to a local D1 with wrangler's own bookkeeping (table `d1_migrations`,
 * one row per file), so that `wrangler d1 migrations apply --local` and this agree on what is done.
 * Promises: each file is applied once, in the order of its name, in one transaction together with
 * its row. Called by start and the test gateway.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** A D1 statement, as far as Node uses it. */
export interface D1StatementLike {
  bind(...values: unknown[]): D1StatementLike;
  all(): Promise<{ results: Record<string, unknown>[] }>;
  run(): Promise<unknown>;
}

/** The part of D1 that scripts and tests use from Node. */
export interface D1Like {
  prepare(sql: string): D1StatementLike;
  batch(statements: D1StatementLike[]): Promise<unknown>;
}

/** wrangler's table, word for word. */
const bookkeeping = `CREATE TABLE IF NOT EXISTS "d1_migrations"(
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		name       TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`;

/** Applies what is missing; gives the names of the files that were applied now. */
export async function migrate(db: D1Like, folder = 'd1-migrations'): Promise<readonly string[]> {
  await db.prepare(bookkeeping).run();
  const { results } = await db.prepare('SELECT name FROM "d1_migrations"').all();
  const done = new Set(results.map((row) => row.name));
  const missing = migrationFiles(folder).filter((name) => !done.has(name));
  for (const name of missing) {
    const statements = statementsOf(`${folder}/${name}`).map((sql) => db.prepare(sql));
    await db.batch([
      ...statements,
      db.prepare('INSERT INTO "d1_migrations" (name) VALUES (?)').bind(name),
    ]);
  }
  return missing;
}

export const migrationFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();

/** The statements of one file; drizzle-kit marks their ends. */
export const statementsOf = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('--> statement-breakpoint')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
