/**
 * What scripts need to know of wrangler.toml, read from the file itself so that nothing is written
 * down twice.
 * Promises: a key that is missing throws with its name. Must never: be taken for a TOML parser; it
 * reads the plain texts and lists of texts of our own file. Called by start, deploy and the test
 * gateway.
 */
import { readFileSync } from 'node:fs';

/** The part of wrangler.toml that start and deploy use. */
export interface WranglerConfig {
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly databaseName: string;
  /** The D1 id of the deployed database; all zeros until an operator puts the real one in. */
  readonly databaseId: string;
  /** The id that wrangler itself uses with `--local`: the preview id when there is one. */
  readonly localDatabaseId: string;
  readonly migrationsDir: string;
}

/** Reads `wrangler.toml` of the working directory. */
export function readWranglerConfig(file = 'wrangler.toml'): WranglerConfig {
  const toml = readFileSync(file, 'utf8');
  const databaseId = text(toml, 'database_id');
  return {
    compatibilityDate: text(toml, 'compatibility_date'),
    compatibilityFlags: textList(toml, 'compatibility_flags'),
    databaseName: text(toml, 'database_name'),
    databaseId,
    localDatabaseId: optionalText(toml, 'preview_database_id') ?? databaseId,
    migrationsDir: text(toml, 'migrations_dir'),
  };
}

/** Whether the database id is a real one and not the placeholder of a fresh clone. */
export const isRealDatabaseId = (id: string): boolean =>
  /^[0-9a-f-]{36}$/.test(id) && /[1-9a-f]/.test(id);

function text(toml: string, key: string): string {
  const value = optionalText(toml, key);
  if (value === null) throw new Error(`wrangler.toml has no ${key}`);
  return value;
}

const optionalText = (toml: string, key: string): string | null =>
  new RegExp(`^${key} *= *"([^"]*)"`, 'm').exec(toml)?.[1] ?? null;

function textList(toml: string, key: string): readonly string[] {
  const list = new RegExp(`^${key} *= *\\[([^\\]]*)\\]`, 'm').exec(toml)?.[1];
  if (list === undefined) throw new Error(`wrangler.toml has no ${key}`);
  return [...list.matchAll(/"([^"]*)"/g)].map(([, item]) => item ?? '');
}
