/**
 * D1 for the bench: the protocol that workerd's own D1 binding speaks over its inner service, on one SQLite object, and it counts.
 * Promises: a request is one transaction; every statement is counted by what it is for. Must never: answer anything but this host.
 * The binding: `cloudflare-internal:d1-api` of workerd, which posts `{sql, params}` or a list of them to `/query` and `/execute`.
 */
import { DurableObject } from 'cloudflare:workers';

interface Query {
  readonly sql: string;
  readonly params?: readonly unknown[];
}

/** Statements since the start. `versions` is the background look at a tenant chain's versions, `reads` every other select. */
export interface QueryCounts {
  requests: number;
  reads: number;
  versions: number;
  writes: number;
  callBatches: number;
  /** The newest of `reads`, for whoever wonders what it was. */
  lastRead: string;
}

const isWrite = /^\s*(insert|update|delete|replace|create|drop|alter|pragma)\b/i;

export class Database extends DurableObject {
  readonly #counts: QueryCounts = {
    requests: 0,
    reads: 0,
    versions: 0,
    writes: 0,
    callBatches: 0,
    lastRead: '',
  };

  override async fetch(request: Request): Promise<Response> {
    if (request.method === 'GET') return Response.json(this.#counts);
    const asked = (await request.json()) as Query | readonly Query[];
    const queries = Array.isArray(asked) ? (asked as readonly Query[]) : [asked as Query];
    this.#count(queries);
    const asObjects = new URL(request.url).searchParams.get('resultsFormat') !== 'ROWS_AND_COLUMNS';
    try {
      return Response.json(
        this.ctx.storage.transactionSync(() => queries.map((query) => this.#run(query, asObjects))),
      );
    } catch (fault) {
      return Response.json(
        { success: false, error: fault instanceof Error ? fault.message : String(fault) },
        { status: 500 },
      );
    }
  }

  #count(queries: readonly Query[]): void {
    this.#counts.requests += 1;
    const [only] = queries;
    if (only !== undefined && queries.length === 1 && isVersionRead(only.sql)) {
      this.#counts.versions += 1;
      return;
    }
    for (const { sql } of queries) {
      if (!isWrite.test(sql)) {
        this.#counts.reads += 1;
        this.#counts.lastRead = sql;
      } else if (/into calls\b/.test(sql)) this.#counts.callBatches += 1;
      else this.#counts.writes += 1;
    }
  }

  #run({ sql, params = [] }: Query, asObjects: boolean): object {
    const values = params.map((p) =>
      Array.isArray(p) ? Uint8Array.from(p as number[]) : p,
    ) as SqlStorageValue[];
    const cursor = this.ctx.storage.sql.exec(sql, ...values);
    const columns = cursor.columnNames;
    const rows = [...cursor.raw()].map((row) =>
      row.map((v) => (v instanceof ArrayBuffer ? [...new Uint8Array(v)] : v)),
    );
    const results = asObjects
      ? rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])))
      : { columns, rows };
    const meta = {
      served_by: 'bench',
      duration: 0,
      changes: cursor.rowsWritten,
      last_row_id: 0,
      changed_db: cursor.rowsWritten > 0,
      size_after: this.ctx.storage.sql.databaseSize,
      rows_read: cursor.rowsRead,
      rows_written: cursor.rowsWritten,
    };
    return { success: true, results, meta };
  }
}

/** ConfigReader.chain, nothing but one tenant chain's ids, versions and ledgers; and the catalog's version. */
const isVersionRead = (sql: string): boolean =>
  /^\s*select (?:id, version\b[^()]* from\s*\(\s*with recursive chain|version from catalog_state)/i.test(
    sql.replaceAll('"', ''),
  );

export default {
  fetch: (request: Request, bindings: { DATABASE: DurableObjectNamespace }): Promise<Response> =>
    bindings.DATABASE.get(bindings.DATABASE.idFromName('weir')).fetch(request),
};
