/**
 * The management API: the operations table as a Hono app, mounted at `/api/v1`. Promises: every row
 * runs the same steps (identify, permission, query, tenant, body, handler); every "no" is
 * problem+json; a known path with another method is 405 with Allow; nothing here is cached. Called
 * by `app.ts`.
 */
import type { Context } from 'hono';
import { HonoBase } from 'hono/hono-base';
import { TrieRouter } from 'hono/router/trie-router';
import { AssertionError, assert } from '../base/assert';
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import { problemResponse } from '../http/problem';
import type { Background } from '../ports/config';
import { actingChain, authenticate, permitted } from './authentication';
import { invalid, readDocument } from './body';
import { apiBase, Call, type CsvPage, type Operation } from './operation';
import { operations } from './operations';
import type { ManagementServices } from './services';

/** The app of one isolate. */
export function managementApi(services: ManagementServices): HonoBase {
  const app = new HonoBase({ router: new TrieRouter() });
  for (const operation of operations) {
    app.on(operation.method, [honoPath(operation.path)], (c) => answer(c, operation, services));
  }
  for (const [path, allowed] of methodsByPath()) {
    app.all(path, () => problemResponse({ code: 'request.method_not_allowed', allowed }));
  }
  app.all('*', () => problemResponse({ code: 'request.path_unknown' }));
  app.onError((error) => {
    const message = error instanceof AssertionError ? error.message : error.name;
    console.error(JSON.stringify({ event: 'management.fault', message }));
    return problemResponse({ code: 'internal.error' });
  });
  return app;
}

const ownHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** `format` decides, then Accept (RFC 9110 section 12.5.1): CSV only for who names it. */
function wantsCsv(request: Request): boolean {
  const format = new URL(request.url).searchParams.get('format');
  const accept = request.headers.get('accept') ?? '';
  return format === null ? /(?:^|,)\s*text\/csv\s*(?:;|,|$)/i.test(accept) : format === 'csv';
}

/** CSV has no place for a cursor: the page behind it is a Link (RFC 8288). */
function csvAnswer(request: Request, { text, next }: CsvPage): Response {
  const headers = new Headers({
    ...ownHeaders,
    'content-type': 'text/csv; charset=utf-8; header=present',
  });
  if (next !== null) {
    const url = new URL(request.url);
    url.searchParams.set(next.name, next.value);
    headers.set('link', `<${url.pathname}${url.search}>; rel="next"`);
  }
  return new Response(text, { headers });
}

/** What a vendor wrote must not run in a browser: no other type, no sniffing, no scripts. */
function textAnswer(value: unknown, headers: Headers): Response {
  assert(typeof value === 'string', 'a row that answers a text gives one');
  headers.set('content-type', 'text/plain; charset=utf-8');
  headers.set('content-security-policy', "default-src 'none'; sandbox");
  return new Response(value, { headers });
}

function methodsByPath(): ReadonlyMap<string, readonly string[]> {
  const byPath = new Map<string, string[]>();
  for (const { path, method } of operations) {
    const methods = byPath.get(honoPath(path)) ?? [];
    methods.push(method);
    byPath.set(honoPath(path), methods);
  }
  return byPath;
}

async function answer(
  c: Context,
  operation: Operation,
  services: ManagementServices,
): Promise<Response> {
  const background: Background = (work) => c.executionCtx.waitUntil(work);
  if (operation.csv !== null && wantsCsv(c.req.raw)) {
    const page = await performed(c, operation, services, background, operation.csv);
    return page.ok ? csvAnswer(c.req.raw, page.value) : problemResponse(page.error);
  }
  const result = await performed(c, operation, services, background, operation.run);
  if (!result.ok) return problemResponse(result.error);
  const headers = new Headers(ownHeaders);
  if (operation.status === 204) return new Response(null, { status: 204, headers });
  const made = operation.status === 201 ? madeId(result.value) : null;
  if (made !== null) headers.set('location', locationOf(c.req.raw, operation, made));
  if (operation.media === 'text/plain') return textAnswer(result.value, headers);
  headers.set('content-type', 'application/json');
  return new Response(JSON.stringify(result.value), { status: operation.status, headers });
}

async function performed<T>(
  c: Context,
  operation: Operation,
  services: ManagementServices,
  background: Background,
  handle: (call: Call, body: unknown) => Promise<Result<T, Refusal>>,
): Promise<Result<T, Refusal>> {
  const request = c.req.raw;
  const identified = await authenticate(request, services, background);
  if (!identified.ok) return identified;
  const { actor } = identified.value;
  const may = permitted(actor, operation.permission);
  if (!may.ok) return may;
  const url = new URL(request.url);
  const query = queryOf(url, operation);
  if (!query.ok) return query;
  const chain = await actingChain(identified.value, operation, query.value.get('tenant'), services);
  if (!chain.ok) return chain;
  const id = c.req.param('id') ?? '';
  if (operation.path.includes('{id}') && !operation.id.test(id))
    return err({ code: 'resource.not_found' });
  const document = operation.body === null ? ok(undefined) : await readDocument(request);
  if (!document.ok) return document;
  const nowMs = services.clock();
  const facts = { services, actor, chain: chain.value, id, query: query.value, nowMs, background };
  return handle(new Call({ ...facts, requestHost: url.host }), document.value);
}

/** The query as a map: only parameters that the operation declares, each once. */
function queryOf(url: URL, operation: Operation): Result<ReadonlyMap<string, string>, Refusal> {
  const query = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    const declared =
      name === 'tenant' ? operation.scope !== 'gateway' : Object.hasOwn(operation.query, name);
    if (!declared) return err(invalid({ path: name, message: 'is not a parameter here' }));
    if (query.has(name)) return err(invalid({ path: name, message: 'may be given once' }));
    query.set(name, value);
  }
  return ok(query);
}

/** Where the maker reads what it made: in the tenant that it named, since its own has no such id. */
function locationOf({ url }: Request, { path, scope }: Operation, id: string): string {
  const tenant = scope === 'tenant' ? new URL(url).searchParams.get('tenant') : null;
  return `${apiBase}${path}/${id}${tenant === null ? '' : `?tenant=${tenant}`}`;
}

function madeId(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null;
  return typeof value.id === 'string' ? value.id : null;
}
