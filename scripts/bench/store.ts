/**
 * The store of the bench, seen from Node: D1 over its own HTTP protocol. Migrates it, and copies upstreams.
 * Called by world.ts.
 */
import {
  type D1Like,
  type D1StatementLike,
  migrationFiles,
  statementsOf,
} from '../lib/migrations.ts';
import { readWranglerConfig } from '../lib/wrangler-config.ts';
import { look } from './machine.ts';

interface Query {
  readonly sql: string;
  readonly params: readonly unknown[];
}

type Rows = Record<string, unknown>[];

class Statement implements D1StatementLike {
  readonly query: Query;
  readonly #store: BenchStore;

  constructor(store: BenchStore, query: Query) {
    this.#store = store;
    this.query = query;
  }

  bind(...params: unknown[]): Statement {
    return new Statement(this.#store, { sql: this.query.sql, params });
  }

  async all(): Promise<{ results: Rows }> {
    const [first] = await this.#store.run([this.query]);
    return { results: first ?? [] };
  }

  run(): Promise<unknown> {
    return this.all();
  }
}

export class BenchStore implements D1Like {
  readonly #url: string;

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}`;
  }

  prepare(sql: string): Statement {
    return new Statement(this, { sql, params: [] });
  }

  batch(statements: D1StatementLike[]): Promise<unknown> {
    return this.run(statements.map((statement) => (statement as Statement).query));
  }

  /** One transaction. */
  async run(queries: readonly Query[]): Promise<Rows[]> {
    const answer = await fetch(`${this.#url}/query`, {
      method: 'POST',
      headers: { connection: 'close' },
      body: JSON.stringify(queries),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return ((await answer.json()) as { results: Rows }[]).map(({ results }) => results);
  }

  /** What D1 has counted so far, see `workers/d1.ts`. */
  async counts<T>(): Promise<T> {
    return JSON.parse(await look(this.#url)) as T;
  }

  async migrate(): Promise<void> {
    const { migrationsDir } = readWranglerConfig();
    for (const name of migrationFiles(migrationsDir))
      await this.run(statementsOf(`${migrationsDir}/${name}`).map((sql) => ({ sql, params: [] })));
  }

  /** Copies of a tenant's upstream under other names; by SQL, because ten thousand requests would take longer than the bench. */
  async copyUpstreams(tenantId: string, count: number): Promise<void> {
    const columns =
      'tenant_id, project_id, scheme, endpoints, base_path, bindings, header_rules, first_byte_timeout_ms, idle_timeout_ms, visibility, enabled, track_body, needs_target_host, tags, created_at, updated_at';
    const sql = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into upstreams (id, name, alias, ${columns})
      select printf('ups_%026d', i), 'u' || i, 'u' || i || '.test', ${columns} from n, upstreams
      where tenant_id = '${tenantId}' and name = 'origin'`;
    await this.run([{ sql, params: [] }]);
  }
}
