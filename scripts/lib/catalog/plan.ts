/**
 * What a database lacks to be the catalog of the files: the rows, the difference, the statements that make it so.
 * Promises: equal content is no change whatever the order of its keys; without a change there is no statement; the version is raised by
 * the last statement of the same batch. Pure. Called by main.ts and tests.
 */
import { accessOf } from '../../../src/domain/catalog/endpoint.ts';
import { guideMicros } from '../../../src/domain/catalog/guide-price.ts';
import type { CatalogFile } from './schema.ts';

/** One row of `catalog_providers` or `catalog_endpoints`: column → value; `document` is canonical JSON. */
export type Row = Readonly<Record<string, string | number | null>>;

/** Both tables, by primary key. */
export interface CatalogRows {
  readonly providers: ReadonlyMap<string, Row>;
  readonly endpoints: ReadonlyMap<string, Row>;
}

/** One difference. `fields` are dotted paths in the document that differ; empty for a row that comes or goes. */
export interface CatalogChange {
  readonly what: 'provider' | 'endpoint';
  readonly id: string;
  readonly change: 'added' | 'changed' | 'removed';
  readonly fields: readonly string[];
  /** Whether the row goes through which pending tasks are asked how they stand: without it they end at their deadline, unpaid. */
  readonly endsPolls: boolean;
}

/** A statement with its parameters, all of them texts, numbers or null. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly (string | number | null)[];
}

const tables = {
  provider: { table: 'catalog_providers', key: 'slug' },
  endpoint: { table: 'catalog_endpoints', key: 'id' },
} as const;

/** The rows that the files want. */
export function rowsOf(files: readonly CatalogFile[]): CatalogRows {
  const providers = files.map(({ provider }) => {
    const { slug, name } = provider;
    return [slug, { slug, name, document: canonical(provider) }] as const;
  });
  const endpoints = files.flatMap((file) =>
    file.endpoints.map((endpoint) => {
      const { id, provider, capability, summary } = endpoint;
      const row = {
        id,
        provider,
        capability,
        summary,
        access: accessOf(endpoint),
        guide_micros: guideMicros(endpoint.cost),
        retired: endpoint.tombstone === null ? 0 : 1,
        document: canonical(endpoint),
      };
      return [id, row] as const;
    }),
  );
  return { providers: new Map(providers), endpoints: new Map(endpoints) };
}

/** What differs, providers first, by id. */
export function changesBetween(stored: CatalogRows, wanted: CatalogRows): readonly CatalogChange[] {
  return [
    ...tableChanges('provider', stored.providers, wanted.providers),
    ...tableChanges('endpoint', stored.endpoints, wanted.endpoints),
  ];
}

/**
 * Makes the stored rows the wanted ones and raises the version, at least to `nowMs` (epoch milliseconds): a database that was set back must
 * not come to a version again that isolates know with other rows. Empty when nothing differs.
 */
export function statementsFor(
  changes: readonly CatalogChange[],
  wanted: CatalogRows,
  nowMs: number,
): readonly Statement[] {
  if (changes.length === 0) return [];
  const kept = changes.filter(({ change }) => change !== 'removed');
  const removed = changes.filter(({ change }) => change === 'removed');
  const rowOf = ({ what, id }: CatalogChange): Row =>
    (what === 'provider' ? wanted.providers : wanted.endpoints).get(id) ?? {};
  return [
    // An endpoint refers to its provider: providers come first and go last.
    ...kept.map((change) => upsert(change.what, rowOf(change))),
    ...removed.toReversed().map(({ what, id }) => ({
      sql: `DELETE FROM ${tables[what].table} WHERE ${tables[what].key} = ?`,
      params: [id],
    })),
    {
      sql: 'INSERT INTO catalog_state (id, version, applied_at) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET version = max(version + 1, excluded.version), applied_at = excluded.applied_at',
      params: [nowMs, nowMs],
    },
  ];
}

/** A statement as one line of SQL, for a tool that binds nothing. */
export const literalSql = ({ sql, params }: Statement): string => {
  let next = 0;
  return `${sql.replaceAll('?', () => literal(params[next++] ?? null))};`;
};

/** Document of one row or provider in such a line, bytes: a statement of the deployed D1 ends at 100 KB. */
export const literalBytesMax = 90_000;

/** What a document takes there, bytes. */
export const literalBytes = (document: object): number =>
  new TextEncoder().encode(literal(canonical(document))).byteLength;

/** Text in quotes, with quotes doubled; a line feed stays, since a literal may hold it. */
const literal = (value: string | number | null): string => {
  if (value === null) return 'NULL';
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
};

function upsert(what: CatalogChange['what'], row: Row): Statement {
  const { table, key } = tables[what];
  const names = Object.keys(row);
  const sets = names.filter((name) => name !== key).map((name) => `${name} = excluded.${name}`);
  return {
    sql: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ON CONFLICT (${key}) DO UPDATE SET ${sets.join(', ')}`,
    params: Object.values(row),
  };
}

function tableChanges(
  what: CatalogChange['what'],
  stored: ReadonlyMap<string, Row>,
  wanted: ReadonlyMap<string, Row>,
): CatalogChange[] {
  const ids = [...new Set([...stored.keys(), ...wanted.keys()])].sort();
  return ids.flatMap((id): CatalogChange[] => {
    const [before, after] = [stored.get(id), wanted.get(id)];
    const endsPolls = isPoll(before) && !isPoll(after);
    if (before === undefined) return [{ what, id, change: 'added', fields: [], endsPolls }];
    if (after === undefined) return [{ what, id, change: 'removed', fields: [], endsPolls }];
    const fields = fieldsThatDiffer(before, after);
    return fields.length === 0 ? [] : [{ what, id, change: 'changed', fields, endsPolls }];
  });
}

/** Whether the row asks about a task: a tombstone does not keep the gateway from it. */
function isPoll(row: Row | undefined): boolean {
  const document = parsed(row?.document);
  return isBranch(document) && 'taskId' in document && document.taskId !== null;
}

/** Fields of the documents; of columns only those that no document field explains. */
function fieldsThatDiffer(before: Row, after: Row): readonly string[] {
  const documents = differing(parsed(before.document), parsed(after.document), '');
  if (documents.length > 0) return documents;
  return Object.keys(after).filter((name) => name !== 'document' && before[name] !== after[name]);
}

/** Dotted paths at which two JSON values differ, leaf by leaf. */
function differing(a: unknown, b: unknown, at: string): string[] {
  if (!isBranch(a) || !isBranch(b) || Array.isArray(a) !== Array.isArray(b))
    return canonical(a) === canonical(b) ? [] : [at];
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  return names.flatMap((name) =>
    differing(left.get(name), right.get(name), at === '' ? name : `${at}.${name}`),
  );
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;

function parsed(document: string | number | null | undefined): unknown {
  try {
    return JSON.parse(String(document ?? 'null'));
  } catch {
    return null;
  }
}

/** JSON with the members of every object in the order of their names. */
export function canonical(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) =>
    isBranch(inner) && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
  return text ?? 'null';
}
