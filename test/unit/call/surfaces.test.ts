/**
 * One road: every surface that reaches an upstream runs every stage, in order, and nothing else
 * reaches one. A new surface, a handler that sends by itself or a stage that is left out fails
 * here.
 */
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { app, surfaces } from '../../../src/app';
import { err, ok } from '../../../src/base/result';
import type { Surface } from '../../../src/call/call';
import type { Wired } from '../../../src/wiring';
import { perCall } from '../domain/pricing/prices';
import { entryOf, key, noCredentials, route, tenant, token, upstream } from './calls';
import { capacityPorts, noOverflow } from './capacity-ports';
import { catalogPorts } from './catalog-ports';
import { NotedDesk, NotedTasks } from './desk';

const sources = import.meta.glob<string>('../../../src/**/*.ts', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const sourceOf = (path: string): string => sources[`../../../src/${path}`] ?? '';

/** The app over hand-made services that note what is asked of them. */
function world() {
  const asked: string[] = [];
  const note = <T>(port: string, value: T): T => {
    asked.push(port);
    return value;
  };
  const found = ok([upstream({ routes: [route({ path: '/v1' })] })]);
  const look = () => note('look-up', found);
  const view = { ...tenant(), named: look, aliased: look, at: look };
  const account = { label: 'main', setting: 'VENDOR_KEY' };
  const entry = entryOf({ cost: perCall(70) }, { accounts: [account] });
  const { catalog, ...ladder } = catalogPorts(entry, { hasSetting: () => true }).ports;
  const desk = new NotedDesk();
  const call: Wired['call'] = {
    ...capacityPorts(),
    ...ladder,
    overflow: noOverflow,
    catalog: { ...catalog, endpoint: (...id) => note('catalog', catalog.endpoint(...id)) },
    desk: {
      place: (at, op) => note('place', desk.place(at, op)),
      end: (at, op) => note(op[0], desk.end(at, op)),
      endNow: (at, ops) => note('record', desk.endNow(at, ops)),
    },
    replayBodies: null,
    tasks: new NotedTasks(),
    sign: async () => new Uint8Array(32),
    config: {
      identify: () => note('identify', ok({ key: key(), tenant: view })),
      forget: () => undefined,
    },
    credentials: { prepare: () => note('credentials', ok(noCredentials)) },
    egress: { check: () => note('egress', ok(undefined)) },
    egressPolicy: { allow: { pairs: new Set() }, gatewayHosts: [], httpsOnly: true },
    clientIpHeaders: new Set(),
    callLog: {
      push: () => note('log', undefined),
      watch: () => undefined,
      unwatch: () => undefined,
    },
    send: async () => note('send', new Response('ok')),
    nowMs: () => Date.now(),
    report: () => undefined,
  };
  const nobody = { identify: () => err({ code: 'auth.failed', reason: 'unknown' }) };
  const management = { env: { operatorKeys: [] }, config: nobody, clock: () => 0 } as unknown;
  const built = app({ call, management } as Wired);
  const ask = async (target: string, method = 'GET'): Promise<Response> => {
    const context = createExecutionContext();
    const headers = { 'x-weir-key': token };
    const answer = await built.fetch(
      new Request(`https://gw.test${target}`, { method, headers }),
      context,
    );
    await waitOnExecutionContext(context);
    return answer;
  };
  return { asked, ask, routes: built.routes };
}

const own = ['identify', 'look-up', 'egress', 'credentials', 'send', 'log'];
const paid = ['identify', 'catalog', 'place', 'egress', 'credentials', 'send', 'settle', 'log'];

/** What stands behind the prefix of each surface: a call, the same elsewhere, and the road that it takes. */
const calls: Record<Surface, { target: string; elsewhere: string; road: readonly string[] }> = {
  call: { target: 'api/v1/x', elsewhere: 'api/v2', road: own },
  proxy: { target: 'api/v1/x', elsewhere: 'api/v2', road: own },
  catalog: { target: 'vendor.search', elsewhere: 'vendor.search/x', road: paid },
};

describe('every surface', () => {
  it.each(surfaces)('$prefix runs the whole road', async ({ prefix, surface }) => {
    const { asked, ask } = world();
    expect((await ask(prefix + calls[surface].target)).status).toBe(200);
    expect(asked).toEqual(calls[surface].road);
  });

  it.each(surfaces)('$prefix judges paths and methods', async ({ prefix, surface }) => {
    const { asked, ask } = world();
    const { target, elsewhere } = calls[surface];
    const statuses = [
      (await ask(prefix + elsewhere)).status,
      (await ask(prefix + target, 'POST')).status,
    ];
    expect(statuses).toEqual(surface === 'catalog' ? [400, 405] : [404, 404]);
    expect(asked).not.toContain('send');
    expect(asked).not.toContain('place');
  });

  it('on which upstreams of the caller’s own are looked for is not the catalog’s', async () => {
    const { asked, ask } = world();
    await ask('/catalog/call/vendor.search');
    expect(asked).not.toContain('look-up');
  });
});

describe('nothing else', () => {
  const { routes } = world();
  const paths = [...new Set(routes.map((r) => r.path.replaceAll(/:\w+/g, 'x').replace('*', 'x')))];

  it.each(paths)('%s reaches an upstream', async (path) => {
    const { asked, ask } = world();
    await ask(path);
    expect(asked).not.toContain('send');
    expect(surfaces.some(({ prefix }) => path.startsWith(prefix))).toBe(false);
  });

  it.each([
    '/',
    '/call',
    '/proxy',
    '/catalog',
    '/catalog/call',
    '/catalog/calls/x',
    '/calls/api',
    '/CALL/api/v1',
    '/api/call/api',
    '/v1/chat/completions',
    '/api/v1',
    '/api/v1/',
  ])(
    '%s is no surface, and says that nothing is there instead of speaking of an id',
    async (path) => {
      const { asked, ask } = world();
      const answer = await ask(path);
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ type: 'urn:weir:problem:request.path_unknown' });
      expect(asked).not.toContain('send');
    },
  );

  it.each(
    ['/healthz', '/metrics', '/openapi.json'].flatMap((path) =>
      ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => [method, path] as const),
    ),
  )('%s %s says that the path is there, with another method', async (method, path) => {
    const answer = await world().ask(path, method);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET']);
    expect(await answer.json()).toMatchObject({
      type: 'urn:weir:problem:request.method_not_allowed',
      allowed: ['GET'],
    });
  });

  it('sends but the relay, and nothing fetches but what wiring hands out', () => {
    const code = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    const using = (pattern: RegExp): string[] =>
      Object.entries(sources)
        .filter(([, text]) => pattern.test(code(text)))
        .map(([path]) => path.slice('../../../src/'.length))
        .sort();
    // The other one sends to a queue.
    const senders = ['adapters/durable/settlement-queue.ts', 'call/08-relay.ts'];
    expect(using(/\.send\(/)).toEqual(senders);
    // The app and the worker only pass the request on to a Worker's own handler.
    const callers = using(/(?<![\w.])fetch\(/).filter((path) => !/^(app|worker)\.ts$/.test(path));
    // The resolver calls the one that wiring gave it.
    expect(callers).toEqual(['adapters/egress/doh-resolver.ts', 'wiring.ts']);
    expect(using(/runCall\(/)).toEqual(['app.ts', 'call/run-call.ts']);
  });

  it('is skipped: run-call names every stage once, in order', () => {
    const stages = Object.keys(sources)
      .map((path) => /\/call\/\d\d-(\w+)\.ts$/.exec(path)?.[1] ?? '')
      .filter((name) => name !== '');
    const body = sourceOf('call/run-call.ts');
    const road = body.slice(body.indexOf('export async function runCall'));
    const called = [...road.matchAll(/\b(\w+)(?=\()/g)].map((match) => match[1] ?? '');
    const order = called.filter((name) => stages.includes(name));
    expect(order.slice(0, stages.length)).toEqual(stages.sort(byNumber));
  });
});

function byNumber(a: string, b: string): number {
  const at = (name: string): string =>
    Object.keys(sources).find((path) => path.endsWith(`-${name}.ts`) && path.includes('/call/')) ??
    '';
  return at(a) < at(b) ? -1 : 1;
}
