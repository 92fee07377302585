/**
 * Setup of the stores: every test file starts with empty objects and a migrated, empty D1, though all files share one workerd (to
 * start one for each took four minutes of a run).
 */
import { reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';

const { DB, TEST_MIGRATIONS } = env as unknown as {
  readonly DB: D1Database;
  readonly TEST_MIGRATIONS: readonly {
    readonly name: string;
    readonly queries: readonly string[];
  }[];
};

await reset();
// A statement that the file before had left under way brings its database back.
const { results: left } = await DB.prepare(
  "select name from sqlite_master where type = 'table' and name not glob 'sqlite_*' and name not glob '_cf_*'",
).all<{ readonly name: string }>();
const emptied = left.map(({ name }) => `drop table "${name}"`);
const migrated = TEST_MIGRATIONS.flatMap(({ queries }) => queries);
await DB.batch(
  ['pragma defer_foreign_keys = on', ...emptied, ...migrated].map((query) => DB.prepare(query)),
);
