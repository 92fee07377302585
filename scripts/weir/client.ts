/**
 * Client of the management API for the command line. Promises: a refusal, a refused connection and
 * an answer of something else than Weir are one sentence each; the key goes to the named gateway
 * only (no redirect is followed). Called by the commands.
 */
import type { Connection } from './connection.ts';
import { Fault } from './fault.ts';

/** A JSON object; what is in it is checked where it is shown. */
export type Row = Readonly<Record<string, unknown>>;

/** Query parameters; `undefined` ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** How a list goes on, and which of its rows are wanted: all unless it says so. */
export interface Paging {
  readonly cursor: string;
  readonly next: string;
  readonly isWanted?: (row: Row) => boolean;
}

/** As most lists go on. */
export const byCursor: Paging = { cursor: 'cursor', next: 'next_cursor' };

/** Longest wait for one answer, milliseconds: an audit step takes seconds. */
const answerWaitMs = 60_000;
/** Longest wait for a job by hand, which asks vendors: a little less than Node's own client waits. */
export const jobWaitMs = 290_000;
/** Rows of one request: as many as the API gives. */
const pageRows = 100;

export class Client {
  readonly #connection: Connection;
  readonly #tenant: string | undefined;
  readonly #send: typeof fetch;

  constructor(connection: Connection, tenant: string | undefined, send: typeof fetch) {
    this.#connection = connection;
    this.#tenant = tenant;
    this.#send = send;
  }

  /** One document. */
  async get(path: string, query: Query = {}): Promise<Row> {
    const answer = await this.#fetch({ address: this.#address(path, query) });
    return rowOf(documentOf(answer.text));
  }

  /** A change; gives its answer. */
  async post(path: string, body?: Row): Promise<Row> {
    return this.#posted(path, body, answerWaitMs);
  }

  /** A job that the gateway does before it answers. */
  async job(path: string, body: Row): Promise<Row> {
    return this.#posted(path, body, jobWaitMs);
  }

  async #posted(path: string, body: Row | undefined, waitMs: number): Promise<Row> {
    const request = { method: 'POST', address: this.#address(path, {}), body, waitMs };
    return rowOf(documentOf((await this.#fetch(request)).text));
  }

  /** Wanted rows of a list, page by page, `limit` at most; whether there may be more. */
  async list(
    path: string,
    query: Query,
    limit: number,
    { cursor, next: nextField, isWanted }: Paging = byCursor,
  ): Promise<{ rows: readonly Row[]; more: boolean }> {
    const rows: Row[] = [];
    let at: string | number | undefined = query[cursor];
    for (;;) {
      // Of a page that is sifted nobody knows how much is left.
      const wanted = isWanted === undefined ? limit - rows.length : pageRows;
      const size = cursor === 'cursor' ? Math.min(pageRows, wanted) : undefined;
      const page = await this.get(path, { ...query, limit: size, [cursor]: at });
      rows.push(...rowsOf(page).filter((row) => isWanted?.(row) ?? true));
      const next = page[nextField];
      const isLast = typeof next !== 'string' && typeof next !== 'number';
      if (isLast || rows.length >= limit)
        return { rows: rows.slice(0, limit), more: !isLast || rows.length > limit };
      at = next;
    }
  }

  /** A list as CSV, each page as it came; the header line comes with every page. */
  async *csv(path: string, query: Query): AsyncGenerator<string> {
    let next: string | undefined = this.#address(path, query);
    while (next !== undefined) {
      const answer: Answer = await this.#fetch({ address: next, accept: 'text/csv' });
      yield answer.text;
      const link: string = answer.headers.get('link') ?? '';
      next = /<(\/[^>]*)>; rel="next"/.exec(link)?.[1];
    }
  }

  /** Path and query below the gateway's address. */
  #address(path: string, query: Query): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries({ tenant: this.#tenant, ...query })) {
      if (value !== undefined) search.set(name, String(value));
    }
    return `/api/v1${path}${search.size === 0 ? '' : `?${search}`}`;
  }

  async #fetch({
    method = 'GET',
    address,
    body,
    accept = 'application/json',
    waitMs = answerWaitMs,
  }: Asked): Promise<Answer> {
    const { url, key } = this.#connection;
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    let answer: Response | null = null;
    try {
      answer = await this.#send(`${url}${address}`, {
        method,
        headers: { authorization: `Bearer ${key}`, accept, ...type },
        body: body === undefined ? null : JSON.stringify(body),
        redirect: 'manual',
        signal: AbortSignal.timeout(waitMs),
      });
      const text = await answer.text();
      if (answer.ok) return { text, headers: answer.headers };
      const isFinal = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
      throw new Fault(refused(url, answer.status, text), isFinal ? 'refused' : 'failed');
    } catch (fault) {
      if (fault instanceof Fault) throw fault;
      throw new Fault(lost(url, fault, { waitMs, hasBegun: answer !== null }), 'failed');
    }
  }
}

/** One request; a GET of a document unless it says otherwise. */
interface Asked {
  readonly method?: string;
  readonly address: string;
  readonly body?: Row | undefined;
  readonly accept?: string;
  readonly waitMs?: number;
}

/** A 2xx that came whole. */
interface Answer {
  readonly text: string;
  readonly headers: Headers;
}

function lost(
  url: string,
  fault: unknown,
  { waitMs, hasBegun }: { waitMs: number; hasBegun: boolean },
): string {
  const isLate = fault instanceof DOMException && fault.name === 'TimeoutError';
  if (isLate) return `${url} did not answer within ${waitMs / 1000} seconds.`;
  if (hasBegun) return `The answer of ${url} broke off.`;
  return `Nothing answers at ${url}. Start Weir with npm start, or name another one with --url.`;
}

/** One sentence for an answer that is no 2xx: ours says title and detail (RFC 9457). */
function refused(url: string, status: number, text: string): string {
  const problem = documentOf(text);
  const isOurs =
    isRow(problem) && typeof problem.title === 'string' && typeof problem.detail === 'string';
  if (!isOurs) return `${url} answered ${status}, but not as a Weir does. Is --url right?`;
  if (status === 401)
    return 'The key was refused (401). Set WEIR_KEY or OPERATOR_KEY to a key of this gateway.';
  return `${problem.title}: ${problem.detail} (${status})`;
}

function documentOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function rowOf(document: unknown): Row {
  if (isRow(document)) return document;
  throw new Fault('The answer is not what this version of Weir gives.', 'failed');
}

function rowsOf({ data }: Row): readonly Row[] {
  if (Array.isArray(data) && data.every(isRow)) return data;
  throw new Fault('The answer is not what this version of Weir gives.', 'failed');
}
