/**
 * Rows beside the corpus: the gateway itself, the exact allowance, look-alikes of an allowed host (case C049), redirects, and one
 * forbidden target through every surface (case C036).
 */
import { type Row, same } from '../../support/proof.ts';
import { reply } from '../../support/recording-origin.ts';
import { call, letThrough, register, type Scene } from './scene.ts';

/** The rows; they share the scene of the proof. */
export const surfaceRows = (scene: Scene): readonly Row[] => [
  selfRow(scene),
  capitalsRow(scene),
  allowanceRow(scene),
  lookAlikeRow(scene),
  collapsedSlashRow(scene),
  sameRefusalRow(scene),
  redirectRow(scene),
];

function selfRow(scene: Scene): Row {
  return {
    name: 'the gateway is never an upstream, not even where EGRESS_ALLOW opens its port',
    async run() {
      const own = { host: '127.0.0.1', port: scene.gateway.port };
      const fields = { name: 'self', alias: 'self', scheme: 'http', endpoints: [own] };
      same((await register(scene, fields)).status, 400, 'registration of the own address');
      const named = { name: 'self-name', endpoints: [{ host: 'gateway.test' }] };
      same((await register(scene, named)).status, 400, 'registration of the own name');
      const head = `Host: api.example.com\r\n`;
      const asked = { name: 'self-host', endpoints: [{ host: 'api.example.com' }] };
      same((await register(scene, asked)).status, 201, 'a name that is not the gateway yet');
      const loop = await call(scene, '/call/self-host/x', { head });
      same(loop, { status: 502, code: 'egress.blocked' }, 'a call that came in on the same host');
      const withPort = await call(scene, '/call/self-host/x', {
        head: 'Host: api.example.com:443\r\n',
      });
      same(withPort, { status: 502, code: 'egress.blocked' }, 'the same with its port');
    },
  };
}

function capitalsRow(scene: Scene): Row {
  return {
    name: 'a call that came in on the same host in capitals is a loop too',
    async run() {
      const endpoints = [{ host: 'loop.example.com' }];
      same((await register(scene, { name: 'loop', endpoints })).status, 201, 'made');
      const upper = await call(scene, '/call/loop/x', { head: 'Host: Loop.Example.COM\r\n' });
      same(upper, { status: 502, code: 'egress.blocked' }, 'the call');
    },
  };
}

function allowanceRow(scene: Scene): Row {
  return {
    name: 'EGRESS_ALLOW opens exactly its pairs: another port, name or spelling of loopback stays shut',
    async run() {
      const { port } = scene.origin;
      const beside = [
        '127.0.0.2',
        'localhost',
        '127.1',
        '0.0.0.0',
        '[::1]',
        '[::ffff:127.0.0.1]',
        '127.0.0.1.',
      ];
      const pairs = [
        ...beside.map((host) => ({ host, port })),
        { host: '127.0.0.1', port: scene.trap.port },
      ];
      for (const [i, endpoint] of pairs.entries()) {
        const fields = {
          name: `beside-${i}`,
          alias: `beside-${i}`,
          scheme: 'http',
          endpoints: [endpoint],
        };
        same(
          (await register(scene, fields)).status,
          400,
          `registration of ${JSON.stringify(endpoint)}`,
        );
        const target = `http://${endpoint.host}:${endpoint.port}/x`;
        same((await call(scene, `/call/${target}`)).status, 400, target);
      }
      const open = {
        name: 'open',
        alias: 'open',
        scheme: 'http',
        endpoints: [{ host: '127.0.0.1', port }],
      };
      same((await register(scene, open)).status, 201, 'the pair itself');
      same(
        (await call(scene, `/call/http://127.0.0.1:${port}/x`)).code,
        letThrough,
        'a call of the pair',
      );
    },
  };
}

/** `allowed.example.com` is registered; no spelling may send its credential somewhere else. */
function lookAlikeRow(scene: Scene): Row {
  return {
    name: 'look-alikes of a registered host (C049): userinfo and backslash 400, other hosts 404',
    async run() {
      const host = 'allowed.example.com';
      same((await register(scene, { name: 'allowed', endpoints: [{ host }] })).status, 201, 'made');
      const trap = `127.0.0.1:${scene.trap.port}`;
      const refused = [
        `http://${host}:80@${trap}/`,
        `https://${host}@${trap}/`,
        `https://user:pw@${host}/`,
        `http://${trap}\\@${host}/`,
        `https://${host}\\.evil.example.com/`,
        `https://${host}%2f@${trap}/`,
        `https://${host}%00.evil.example.com/`,
        `https:///${host}/`,
        `https:/\\${host}/`,
      ];
      for (const url of refused) same((await call(scene, `/call/${url}`)).status, 400, url);
      const strangers = [
        `https://${host}.evil.example.com/`,
        `https://not${host}/`,
        `https://evil.example.com/${host}/`,
        `https://evil.example.com/?${host}`,
        `https://${host}:8443/`,
      ];
      for (const url of strangers)
        same(await call(scene, `/call/${url}`), { status: 404, code: 'routing.not_found' }, url);
    },
  };
}

function collapsedSlashRow(scene: Scene): Row {
  return {
    name: 'only the collapsed slash is restored; no other scheme text becomes a URL (C049)',
    async run() {
      const host = 'allowed.example.com';
      same((await call(scene, `/call/https:/${host}/x`)).code, letThrough, 'https:/');
      for (const text of [
        `ht%0atp:/${host}/`,
        `https:${host}/`,
        `https%3a//${host}/`,
        `ftp:/${host}/`,
      ])
        same([400, 404].includes((await call(scene, `/call/${text}`)).status), true, text);
    },
  };
}

function sameRefusalRow(scene: Scene): Row {
  return {
    name: 'one forbidden upstream through every surface (C036): one status, one type, nothing sent',
    async run() {
      const upgrade =
        'Host: gateway.test\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
      for (const shape of ['/call/b0-0/x', '/proxy/b0-0/x']) {
        same(await call(scene, shape), { status: 502, code: 'egress.blocked' }, shape);
        same(
          (await call(scene, shape, { head: upgrade })).code,
          'egress.blocked',
          `${shape} upgraded`,
        );
      }
    },
  };
}

function redirectRow(scene: Scene): Row {
  return {
    name: 'a redirect to a private address is handed to the caller and never followed',
    async run() {
      const { port } = scene.origin;
      const location = `Location: http://127.0.0.1:${scene.trap.port}/secret`;
      const endpoints = [{ host: '127.0.0.1', port }];
      const fields = {
        name: 'redirects',
        alias: 'redirects',
        scheme: 'http',
        endpoints,
        bindings: [],
      };
      same((await register(scene, fields)).status, 201, 'made');
      for (const status of [301, 302, 303, 307, 308]) {
        scene.origin.answer(reply(`${status} Moved`, [location]));
        same((await call(scene, '/call/redirects/x')).status, status, 'status');
      }
      same(scene.trap.connections(), 0, 'connections to the trap');
    },
  };
}
