/**
 * Setup of the workerd project: every test file starts with a migrated, empty D1.
 * Must never: import `cloudflare:test`: that loads the whole Worker, 1.7 s for each file.
 */
import { env } from 'cloudflare:workers';

const { DB, TEST_MIGRATIONS } = env as unknown as {
  readonly DB: D1Database;
  readonly TEST_MIGRATIONS: readonly {
    readonly name: string;
    readonly queries: readonly string[];
  }[];
};
const queries = TEST_MIGRATIONS.flatMap((migration) => migration.queries);
await DB.batch(queries.map((query) => DB.prepare(query)));
