/**
 * Setup of the stores: every test file starts with empty objects and a migrated, empty D1, though all files share one workerd (to
 * start one for each took four minutes of a run). D1 refuses values above two megabytes as it does when deployed: the local one takes any.
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

/** A value, bytes (D1, limits). */
const valueBytesMax = 2_000_000;

/** Whether a text or a buffer is larger than D1 stores. */
function isTooLarge(value: unknown): boolean {
  if (typeof value === 'string') return new TextEncoder().encode(value).length > valueBytesMax;
  return value instanceof ArrayBuffer && value.byteLength > valueBytesMax;
}

const statements = Object.getPrototypeOf(DB.prepare('select 1')) as D1PreparedStatement;
const { bind } = statements;
const boundedBind = function (this: D1PreparedStatement, ...values: unknown[]) {
  if (values.some(isTooLarge)) throw new Error('D1_ERROR: string or blob too big: SQLITE_TOOBIG');
  return Reflect.apply(bind, this, values) as D1PreparedStatement;
};
// All files share the prototype, and this runs for each.
if (bind.name !== boundedBind.name) statements.bind = boundedBind;
