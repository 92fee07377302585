/**
 * Rows: who may send what where. Every refusal here happens before an origin hears of the call,
 * and is the same on every surface. Called by ../wire.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { reply } from '../../support/recording-origin.ts';
import { makeScenario } from '../../support/scenario.ts';
import {
  arrives,
  pool,
  problemOf,
  type Registered,
  refused,
  relay,
  type Stand,
  send,
  type WireRow,
} from './stand.ts';

/** A key of a member that may use these upstreams only. */
async function memberKey(stand: Stand, upstreams: readonly Registered[]): Promise<string> {
  const { tenant } = stand;
  const name = `member-${Math.random().toString(36).slice(2)}`;
  const principal = await tenant.post('/principals', { name, role: 'member' });
  const upstream_access = upstreams.map((u) => u.id);
  const key = await tenant.post('/keys', { name, principal_id: principal.id, upstream_access });
  return key.token;
}

/** An upstream of the second origin, so that calls by URL find only these. */
const onSecond = (stand: Stand, base_path: string, fields: object = {}): Promise<Registered> =>
  stand.register({
    endpoints: [{ host: '127.0.0.1', port: stand.second.port }],
    base_path,
    ...fields,
  });

const byUrl = (stand: Stand, path: string): string =>
  `/call/http://${stand.second.authority}${path}`;

const openRoute = (stand: Stand, upstream: Registered): Promise<unknown> =>
  stand.tenant.post('/routes', {
    upstream_id: upstream.id,
    methods: ['GET', 'POST'],
    path: '/',
    query_allowlist: null,
  });

export const accessRows: readonly WireRow[] = [
  {
    n: 55,
    kind: 'change',
    cases: ['C031'],
    title: '/v10 never takes the credential of /v1: a base path counts at a segment boundary',
    why: 'digest A6: longest base path at a path-segment boundary',
    run: async (stand) => {
      const keyed = async (base: string): Promise<string> => {
        const value = `key-of-${base.slice(1)}-0123456789`;
        const bindings = [
          { location: 'header', name: 'x-vendor-key', secret: await stand.secret(value) },
        ];
        await onSecond(stand, base, { bindings });
        return value;
      };
      const [short, long] = [await keyed('/c031-v1'), await keyed('/c031-v10')];
      const rows = [
        ['/c031-v10/x', long],
        ['/c031-v1/x', short],
        ['/c031-v1', short],
        ['/c031-v1?z=1', short],
      ] as const;
      for (const [path, key] of rows) {
        const { request } = await relay(stand, { target: byUrl(stand, path) });
        arrives(request, `GET ${path}`, [`x-vendor-key: ${key}`]);
      }
      for (const path of ['/c031-v1x', '/c031-v', '/c031-v1%2fx']) {
        await refused(stand, { target: byUrl(stand, path) }, 404, 'routing.not_found');
      }
      await onSecond(stand, '/c031%20spaced');
      const spaced = await relay(stand, { target: byUrl(stand, '/c031%20spaced/x') });
      arrives(spaced.request, 'GET /c031%20spaced/x');
    },
  },
  {
    n: 127,
    kind: 'refusal',
    title:
      'A deny rule binds owners too, judged on the sent path and on its decoded, merged form, with and without parameters',
    why: 'digest A7; decisions section 5 path judgement',
    run: async (stand) => {
      const upstream = await stand.register({ base_path: '/deny' });
      await stand.tenant.post('/deny-rules', { path: '/deny/admin' });
      await stand.tenant.post('/deny-rules', { path: '/deny/once', method: 'DELETE' });
      for (const path of [
        '/admin',
        '/admin/x',
        '/%61dmin',
        '//admin',
        '/admin?x',
        '/admin%2fx',
        '/admin;a=1/x',
        '/;a/admin',
      ]) {
        await refused(stand, { target: upstream.path + path }, 403, 'authz.denied');
      }
      await stand.tenant.post('/deny-rules', { path: '/deny/caf%C3%A9' });
      // An escape that is not UTF-8 further on must not change how the rule's own characters read.
      for (const path of ['/caf%C3%A9', '/caf%c3%a9', '/caf\xc3\xa9', '/caf%c3%a9/%ff']) {
        for (const tail of ['', '/%zz'])
          await refused(stand, { target: upstream.path + path + tail }, 403, 'authz.denied');
      }
      const once = { target: `${upstream.path}/once` };
      await refused(stand, { ...once, method: 'DELETE' }, 403, 'authz.denied');
      for (const path of ['/administrator', '/once']) {
        const { request } = await relay(stand, { target: upstream.path + path });
        arrives(request, `GET /deny${path}`);
      }
    },
  },
  {
    n: 128,
    kind: 'refusal',
    cases: ['C036'],
    title:
      'The same forbidden target gets the same status and type on every entry: by name, by ' +
      'URL, by alias',
    why: 'decisions section 2: one road; no entry is laxer than another',
    run: async (stand) => {
      const upstream = await onSecond(stand, '/c036');
      await openRoute(stand, upstream);
      await stand.tenant.post('/deny-rules', { path: '/c036/forbidden' });
      const entries = (path: string): string[] => [
        upstream.path + path,
        byUrl(stand, `/c036${path}`),
        `/proxy/${upstream.name}${path}`,
      ];
      for (const target of entries('/forbidden'))
        await refused(stand, { target }, 403, 'authz.denied');
      const key = await memberKey(stand, [stand.plain]);
      for (const target of entries('/x'))
        await refused(stand, { target, key }, 403, 'authz.upstream_forbidden');
      for (const target of entries('/x/%2e%2e/y'))
        await refused(stand, { target }, 400, 'request.path_invalid');
      for (const target of entries('/x'))
        arrives((await relay(stand, { target })).request, 'GET /c036/x');
      const host = {
        scheme: 'https',
        endpoints: [{ host: '10.0.0.1' }],
        name: 'private',
        alias: 'private',
      };
      const path = `/api/v1/upstreams?tenant=${stand.tenant.tenantId}`;
      same(
        (await stand.gateway.api('POST', path, host)).status,
        400,
        'registration of a private host',
      );
      await refused(stand, { target: '/call/https://10.0.0.1/x' }, 502, 'egress.blocked');
    },
  },
  {
    n: 129,
    kind: 'refusal',
    title:
      'A key whose list has none of the matching upstreams gets a 403 that names only what it' +
      ' wrote itself',
    why: 'digest A6: the ACL filter comes before the tie-break',
    run: async (stand) => {
      const [first, second] = [await onSecond(stand, '/tie'), await onSecond(stand, '/tie')];
      const target = byUrl(stand, '/tie/x');
      const key = await memberKey(stand, [stand.plain]);
      const problem = await refused(stand, { target, key }, 403, 'authz.upstream_forbidden');
      const shown = JSON.stringify(problem);
      holds(shown.includes(stand.second.authority), 'the host is not named');
      holds(
        !shown.includes(`"${first.name}"`) && !shown.includes(`/${second.name}`),
        'an upstream is named',
      );
      const one = await memberKey(stand, [second]);
      const { request } = await relay(stand, { target, key: one });
      arrives(request, 'GET /tie/x');
    },
  },
  {
    n: 130,
    kind: 'refusal',
    title: 'A URL that fits several usable upstreams equally well is a 409 that names them',
    why: 'digest A6',
    run: async (stand) => {
      const [first, second] = [await onSecond(stand, '/twins'), await onSecond(stand, '/twins')];
      const problem = await refused(
        stand,
        { target: byUrl(stand, '/twins/x') },
        409,
        'routing.ambiguous',
      );
      same([...(problem.names as string[])].sort(), [first.name, second.name].sort(), 'names');
    },
  },
  {
    n: 131,
    kind: 'refusal',
    title:
      'An alias call needs a route that matches; an upstream with routes is guarded by them ' +
      'on every surface',
    why: 'decisions section 2',
    run: async (stand) => {
      const upstream = await onSecond(stand, '/routed');
      await refused(stand, { target: `/proxy/${upstream.name}/a` }, 404, 'route.not_found');
      const route = {
        upstream_id: upstream.id,
        methods: ['GET'],
        path: '/a',
        query_allowlist: null,
      };
      await stand.tenant.post('/routes', route);
      const entries = (path: string): string[] => [
        upstream.path + path,
        byUrl(stand, `/routed${path}`),
        `/proxy/${upstream.name}${path}`,
      ];
      for (const path of ['/a', '/a/b']) {
        for (const target of entries(path))
          arrives((await relay(stand, { target })).request, `GET /routed${path}`);
      }
      for (const path of ['/ab', '/b', '', '/%61/b', '//a']) {
        for (const target of entries(path))
          await refused(stand, { target }, 404, 'route.not_found');
      }
      const stricter = { ...route, path: '/a/admin', query_allowlist: [] };
      await stand.tenant.post('/routes', stricter);
      // Another spelling of the stricter route's path must not slip under the wider one.
      for (const path of ['/a//admin?x=1', '/a/%61dmin?x=1']) {
        for (const target of entries(path))
          await refused(stand, { target }, 404, 'route.not_found');
      }
      // A path that can only be written with escapes is registered with them.
      await stand.tenant.post('/routes', { ...stricter, path: '/a/%7Bme%7D' });
      for (const target of entries('/a/%7Bme%7D/x'))
        arrives((await relay(stand, { target })).request, 'GET /routed/a/%7Bme%7D/x');
      // fetch writes the braces as escapes: what is judged is what arrives.
      for (const target of entries('/a/{me}?x=1'))
        await refused(stand, { target }, 404, 'route.not_found');
      const post = { method: 'POST', headers: ['Content-Length: 0'] };
      for (const target of entries('/a'))
        await refused(stand, { target, ...post }, 404, 'route.not_found');
    },
  },
  {
    n: 56,
    kind: 'change',
    title:
      'X-Weir-Target-Host chooses an endpoint of the pool and is not relayed; without it the ' +
      'pool takes turns',
    why: 'digest B5 target host',
    run: async (stand) => {
      const hosts = ['127.0.0.1', '127.0.0.2'] as const;
      const upstream = await stand.register({
        endpoints: hosts.map((host) => ({ host, port: stand.origin.port })),
      });
      const reached: string[] = [];
      stand.sibling.on = (socket) => {
        socket.on('data', (data) => {
          reached.push(data.toString('latin1').toLowerCase());
          socket.write(reply('200 OK', [], '127.0.0.2'));
        });
      };
      const ask = async (headers: readonly string[]): Promise<string> => {
        const call = {
          target: `${upstream.path}/t`,
          headers,
          reply: reply('200 OK', [], '127.0.0.1'),
        };
        return (await send(stand, call)).answer.body.toString();
      };
      for (const host of hosts) {
        for (const named of [host, `${host}:${stand.origin.port}`]) {
          same(await ask([`X-Weir-Target-Host: ${named}`]), host, 'endpoint');
        }
      }
      const turns: string[] = [];
      for (let i = 0; i < 4; i += 1) turns.push(await ask([]));
      same(
        [turns[0] === turns[2], turns[1] === turns[3], turns[0] !== turns[1]],
        [true, true, true],
        'turns',
      );
      holds(!reached.join().includes('target-host'), 'X-Weir-Target-Host was relayed');
    },
  },
  {
    n: 132,
    kind: 'refusal',
    title: 'X-Weir-Target-Host that is missing, malformed or not in the pool is a typed 400',
    why: 'digest B6 routing.*_target_host',
    run: async (stand) => {
      const endpoints = pool.map((host) => ({ host, port: 80 }));
      const name = 'shared-suffix';
      const id = await stand.tenant.upstream({ name, scheme: 'http', endpoints });
      holds(id.startsWith('ups_'), 'no upstream');
      const target = `/call/${name}/t`;
      const asked = (value: string) => ({ target, headers: [`X-Weir-Target-Host: ${value}`] });
      await refused(stand, { target }, 400, 'routing.missing_target_host');
      for (const value of [
        'https://us.weir-pool.com',
        'us.weir-pool.com/x',
        'us.weir-pool.com:80:80',
        'a b',
      ]) {
        await refused(stand, asked(value), 400, 'routing.invalid_target_host');
      }
      for (const value of ['xx.weir-pool.com', 'weir-pool.com', 'us.weir-pool.com:81']) {
        await refused(stand, asked(value), 400, 'routing.unknown_target_host');
      }
    },
  },
  {
    n: 133,
    kind: 'refusal',
    title:
      'Unknown names, names of other tenants and private names of ancestors get one and the ' +
      'same answer',
    why: 'decisions section 2: same answer, same work',
    run: async (stand) => {
      const parent = await makeScenario(stand.gateway, { name: 'Parent' });
      const child = await makeScenario(stand.gateway, { name: 'Child', parentId: parent.tenantId });
      const endpoints = [{ host: '127.0.0.1', port: stand.origin.port }];
      const private_ = { name: 'p1', alias: 'p1', scheme: 'http', endpoints };
      await parent.upstream(private_);
      await parent.upstream({ ...private_, name: 'd1', alias: 'd1', visibility: 'descendants' });
      const texts = new Set<string>();
      for (const name of ['p1', stand.plain.name, 'nobody-has-this']) {
        const target = `/call/${name}/x`;
        await refused(stand, { target, key: child.token }, 404, 'routing.not_found');
        const { answer } = await send(stand, { target, key: child.token });
        texts.add(answer.bytes.toString('latin1').replaceAll(/call_[0-9A-Z]{26}/g, 'call'));
      }
      same(texts.size, 1, 'different answers');
      arrives((await relay(stand, { target: '/call/d1/x', key: child.token })).request, 'GET /x');
    },
  },
  {
    n: 134,
    kind: 'refusal',
    title: 'A disabled upstream is a 503 that says so, on every entry',
    why: 'decisions section 5: disabled everywhere visible',
    run: async (stand) => {
      const upstream = await onSecond(stand, '/off', { enabled: false });
      const targets = [`${upstream.path}/x`, byUrl(stand, '/off/x'), `/proxy/${upstream.name}/x`];
      for (const target of targets)
        await refused(stand, { target }, 503, 'routing.upstream_disabled');
    },
  },
  {
    n: 135,
    kind: 'refusal',
    title:
      'Every refusal is application/problem+json with X-Weir-Error: 1, X-Weir-Error-Source: ' +
      'gateway and no-store',
    why: 'decisions section 6; RFC 9457',
    run: async (stand) => {
      const { answer } = await send(stand, { target: '/call/nobody/x' });
      const problem = problemOf(answer);
      same(
        Object.keys(problem).slice(0, 6),
        ['type', 'title', 'status', 'detail', 'instance', 'blame'],
        'members',
      );
      const wanted = [
        'Cache-Control: no-store',
        'Content-Type: application/problem+json',
        'x-content-type-options: nosniff',
      ];
      for (const line of wanted) {
        const found = answer.lines.some((l) => l.toLowerCase() === line.toLowerCase());
        holds(found, `no ${line}`);
      }
    },
  },
];
