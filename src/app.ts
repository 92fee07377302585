/**
 * The surfaces, in order: the data plane's, then everything that Hono routes (management, health, documents).
 * Promises: every path that can reach an upstream is in `surfaces` and runs the same road (a test walks both tables).
 * The data plane is matched before Hono: Hono answers HEAD by running GET and rebuilding the answer, which a faithful relay must not do.
 * Called by worker.ts.
 */
import { HonoBase } from 'hono/hono-base';
import { TrieRouter } from 'hono/router/trie-router';
import { surfacePrefix } from './call/01-intake';
import type { Surface } from './call/call';
import { refusalOf } from './call/refused-upload';
import { runCall } from './call/run-call';
import { managementApi } from './control-plane/api';
import { metricsPage } from './control-plane/metrics';
import { openapiText } from './control-plane/openapi';
import { problemResponse } from './http/problem';
import type { Wired } from './wiring';

/** Every prefix that leads to an upstream. */
export const surfaces: readonly { readonly prefix: string; readonly surface: Surface }[] = [
  { prefix: surfacePrefix.call, surface: 'call' },
  { prefix: surfacePrefix.proxy, surface: 'proxy' },
  { prefix: surfacePrefix.catalog, surface: 'catalog' },
];

/** What worker.ts serves. */
export interface App {
  readonly fetch: (request: Request, context: ExecutionContext) => Response | Promise<Response>;
  /** Hono's table, for the test that no other path reaches an upstream. */
  readonly routes: HonoBase['routes'];
}

/** Builds the app of one isolate. */
export function app({ call, management, metrics }: Wired): App {
  const hono = new HonoBase({ router: new TrieRouter() });
  hono.get('/healthz', (c) => c.json({ status: 'ok' }));
  hono.get('/metrics', (c) =>
    metricsPage(c.req.raw, management, metrics, (work) => c.executionCtx.waitUntil(work)),
  );
  hono.get('/openapi.json', (c) =>
    c.body(openapiText(), 200, { 'content-type': 'application/json' }),
  );
  for (const path of ['/healthz', '/metrics', '/openapi.json'])
    hono.all(path, () => problemResponse({ code: 'request.method_not_allowed', allowed: ['GET'] }));
  hono.route('/api/v1', managementApi(management));
  hono.notFound(async (c) => refusalOf(c.req.raw, { code: 'request.path_unknown' }, null));
  hono.onError((bug) => {
    call.report('app.bug', { error: bug.name });
    return problemResponse({ code: 'internal.error' });
  });
  return {
    routes: hono.routes,
    fetch(request, context) {
      const url = request.url;
      const at = url.indexOf('/', url.indexOf('://') + 3);
      for (const { prefix, surface } of surfaces) {
        if (url.startsWith(prefix, at))
          return runCall(surface, request, call, (work) => context.waitUntil(work));
      }
      return hono.fetch(request, undefined, context);
    },
  };
}
