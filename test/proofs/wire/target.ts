/**
 * Rows: the request target. What the caller wrote behind the name, the URL or the alias is what
 * the origin reads, byte for byte; what two parsers could read differently is refused. Called by
 * ../wire.ts.
 */
import { same } from '../../support/proof.ts';
import { arrives, type Call, refused, relay, type Stand, type WireRow } from './stand.ts';

/** Every target behind `prefix` arrives as `base` + target. */
async function verbatim(
  stand: Stand,
  prefix: string,
  targets: readonly string[],
  base = '',
): Promise<void> {
  for (const target of targets) {
    const { request } = await relay(stand, { target: prefix + target });
    arrives(request, `GET ${base}${target}`);
  }
}

/** Every target is refused with `request.path_invalid`. */
async function pathRefused(
  stand: Stand,
  prefix: string,
  targets: readonly string[],
): Promise<void> {
  for (const target of targets) {
    await refused(stand, { target: prefix + target }, 400, 'request.path_invalid');
  }
}

export const targetRows: readonly WireRow[] = [
  {
    n: 1,
    kind: 'change',
    cases: ['C029'],
    title:
      'The base path goes in front of the path; without a path it is sent bare, without a slash',
    why: 'digest A6: upstream = base + path, nothing guessed',
    run: async (stand) => {
      const rows = [
        ['/server/2/v1/', '/endpoint', '/server/2/v1/endpoint'],
        ['/v1/charges', '', '/v1/charges'],
        ['/v1', '/v1/x', '/v1/v1/x'],
        ['', '', '/'],
        ['', '/', '/'],
        ['/v1', '/', '/v1/'],
        ['/v1', '?a=1', '/v1?a=1'],
        ['', '?', '/?'],
      ] as const;
      for (const [base_path, path, sent] of rows) {
        const upstream = await stand.register({ base_path });
        const { request } = await relay(stand, { target: upstream.path + path });
        arrives(request, `GET ${sent}`);
      }
    },
  },
  {
    n: 57,
    kind: 'kept',
    cases: ['C026'],
    title: 'Percent-escapes stay as written: neither decoded nor re-cased',
    why: 'digest A3 mechanics: the raw path is used; RFC 3986 2.2',
    run: async (stand) => {
      await verbatim(stand, stand.plain.path, [
        '/@scope%2fname',
        '/@scope%2Fname',
        '/a%20b%3F%23%2Fc',
        '/%7Euser/%41/%c3%a9/%00/%09',
        '/a?q=%2f%2F+%20%7E&%6b=%00',
      ]);
      const put: Call = { method: 'PUT', target: `${stand.plain.path}/@scope%2fname` };
      const { request } = await relay(stand, { ...put, headers: ['Content-Length: 1'], body: 'x' });
      arrives(request, 'PUT /@scope%2fname', ['Content-Length: 1'], 'x');
    },
  },
  {
    n: 58,
    kind: 'kept',
    title: 'Doubled slashes, path parameters, dots inside names and reserved characters stay',
    why: 'RFC 3986 3.3: they are data of the origin',
    run: (stand) =>
      verbatim(stand, stand.plain.path, [
        '//',
        '//a///b',
        '/a;p=1;q=2/b',
        '/a|b/[c]/$&+,:=@!*()',
        "/it's",
        '/.well-known/..a/a../...',
      ]),
  },
  {
    n: 59,
    kind: 'kept',
    title: 'Invalid percent-escapes stay as written',
    why: 'faithful relay: repairing them would change the meaning',
    run: (stand) =>
      verbatim(stand, stand.plain.path, ['/%zz', '/100%', '/%4', '/a?q=%zz&r=%', '/%c3%28']),
  },
  {
    n: 60,
    kind: 'kept',
    title:
      'A query stays as written: a bare ?, ??x, empty pairs, pairs without =, order, repeats,' +
      ' + and %20',
    why: 'digest A3: duplicate pairs survive in order',
    run: (stand) =>
      verbatim(stand, stand.plain.path, [
        '/a?',
        '/a??x',
        '/a?&&&=&',
        '/a?b&a=1&b&a=2&a=',
        '/a?q=a+b%20c;d&f[]=1&f[]=2',
        '/a?{"a":1}'.replaceAll('"', '%22'),
        '/a?q=x|y^z\\w`v',
      ]),
  },
  {
    n: 61,
    kind: 'kept',
    cases: ['C028'],
    title: 'Values that stand for path parameters stay as the caller escaped them',
    why: 'digest A6 placeholders belong to the catalog; an own upstream has none',
    run: (stand) =>
      verbatim(stand, stand.plain.path, [
        '/sites/sc-domain%3Aexample.test/rows/a@b.test',
        '/sites/a%2Fb%3Fc%23d/rows/100%25',
        '/sites/%25ZZ/rows/x?id=a/b?c',
      ]),
  },
  {
    n: 62,
    kind: 'kept',
    cases: ['C039'],
    title: 'A base path has no query of its own, so the caller has the whole query',
    why: 'a query in a base path is refused at registration (400), never merged or dropped later',
    run: async (stand) => {
      const base = { scheme: 'http', endpoints: [{ host: '127.0.0.1', port: stand.origin.port }] };
      const fields = {
        ...base,
        name: 'own-query',
        alias: 'own-query',
        base_path: '/search?type=b',
      };
      const path = `/api/v1/upstreams?tenant=${stand.tenant.tenantId}`;
      const made = await stand.gateway.api('POST', path, fields);
      same(
        [made.status, made.body.type],
        [400, 'urn:weir:problem:validation.error'],
        'registration',
      );
      const search = await stand.register({ base_path: '/search' });
      await verbatim(stand, search.path, ['', '?q=1', '?', '?type=b&q=1'], '/search');
    },
  },
  {
    n: 2,
    kind: 'change',
    title:
      'A call by URL sends the path and the query of that URL; a collapsed http:/ gets its ' +
      'slash back',
    why: 'digest A6 URL pass-through: only the scheme slashes are repaired',
    run: async (stand) => {
      const endpoints = [{ host: '127.0.0.1', port: stand.second.port }];
      await stand.register({ endpoints, base_path: '/by-url' });
      const at = `127.0.0.1:${stand.second.port}`;
      await verbatim(stand, `/call/http://${at}`, [
        '/by-url/@s%2fn//x?b&a=%2f',
        '/by-url',
        '/by-url?',
      ]);
      await verbatim(stand, `/call/http:/${at}`, ['/by-url/x?a=1']);
    },
  },
  {
    n: 3,
    kind: 'change',
    title: 'A call by alias sends base path and path like a call by name',
    why: 'decisions section 2: one road for every surface',
    run: async (stand) => {
      const upstream = await stand.register({ base_path: '/v3' });
      const route = {
        upstream_id: upstream.id,
        methods: ['GET'],
        path: '/',
        query_allowlist: null,
      };
      await stand.tenant.post('/routes', route);
      await verbatim(stand, `/proxy/${upstream.name}`, ['/@s%2fn//x?b&a=%2f', ''], '/v3');
      await verbatim(stand, `/proxy/${upstream.name.toUpperCase()}`, ['/x'], '/v3');
    },
  },
  {
    n: 108,
    kind: 'refusal',
    cases: ['C033'],
    title:
      'A dot segment, raw, escaped or with parameters, is refused before a credential is near it',
    why: 'decisions section 5 path judgement: WHATWG parsers treat %2e%2e as .., servlet containers ..;x',
    run: async (stand) => {
      const v1 = await stand.register({ base_path: '/v1' });
      await pathRefused(stand, v1.path, [
        '/x/../../secret',
        '/%2e%2e/secret',
        '/.%2E/secret',
        '/..%2fsecret',
        '/..\\secret',
        '/./x',
        '/x/%2e',
        '/x/..',
        '/..?a=1',
        '/x/..;/secret',
        '/x/%2e.;a=1/secret',
      ]);
    },
  },
  {
    n: 109,
    kind: 'refusal',
    title: 'A backslash in the path, raw or escaped, is refused; in the query it stays',
    why: 'decisions section 5: path only, never the query',
    run: async (stand) => {
      await pathRefused(stand, stand.plain.path, ['/a\\b', '/a%5cb', '/a%5Cb', '\\\\x/..']);
      await verbatim(stand, stand.plain.path, ['/a?q=\\..\\b', '/a?q=../..']);
    },
  },
  {
    n: 110,
    kind: 'refusal',
    cases: ['C034'],
    title: 'The string that is judged is the string that is sent: an escaped # or ? cuts nothing',
    why: 'no decode and parse again between judgement and send',
    run: async (stand) => {
      const t = await stand.register({ base_path: '/v1' });
      await pathRefused(stand, t.path, ['/safe%23/../v1/admin', '/safe%3F/../v1/admin']);
      await verbatim(stand, t.path, ['/safe%23/v1/admin', '/safe%3F/v1/admin?x=1'], '/v1');
    },
  },
  {
    n: 111,
    kind: 'refusal',
    title: 'A target above 16 KiB is refused with 414; one below arrives whole',
    why: 'base/limits.ts urlBytesMax: the deployed edge stops there',
    run: async (stand) => {
      const prefix = stand.plain.path.length;
      const fits = `/${'a'.repeat(16 * 1024 - prefix - 1)}`;
      await verbatim(stand, stand.plain.path, [fits]);
      const over: Call = { target: `${stand.plain.path}${fits}a` };
      await refused(stand, over, 414, 'request.url_too_long');
    },
  },
  {
    n: 112,
    kind: 'refusal',
    cases: ['C040'],
    title:
      'A route with a list of query names refuses other names, also in another case or spelling',
    why: 'digest B5 query allowlist: refused, never rewritten; names are compared decoded',
    run: async (stand) => {
      const strict = await stand.register();
      const query_allowlist = ['limit', 'q'];
      await stand.tenant.post('/routes', {
        upstream_id: strict.id,
        methods: ['GET'],
        path: '/',
        query_allowlist,
      });
      const wrong = [
        '?Limit=5',
        '?limit[]=5',
        '?limit=1&x=2',
        '?%78=2',
        '?limit%20=1',
        '?=1',
        '?q=1;x=2',
      ];
      for (const query of wrong) {
        await refused(
          stand,
          { target: `${strict.path}/a${query}` },
          400,
          'guard.query_not_allowed',
        );
      }
      await verbatim(stand, strict.path, ['/a?limit=1&q=2', '/a?%6Cimit=9', '/a?', '/a']);
    },
  },
  {
    n: 113,
    kind: 'refusal',
    title:
      'A URL that is not a plain https target is refused: scheme, user name, backslash, ' +
      'address spelling',
    why: 'digest A6 and A8; decisions section 2',
    run: async (stand) => {
      const odd = [
        'http://example.com/',
        'https://user@example.com/',
        'https://example.com\\@x/',
        'https://2130706433/',
        'ftp://example.com/',
      ];
      for (const url of odd)
        await refused(stand, { target: `/call/${url}` }, 400, 'request.url_invalid');
      for (const url of ['https://127.0.0.1/', 'https://localhost/', 'https://[::1]/x']) {
        await refused(stand, { target: `/call/${url}` }, 502, 'egress.blocked');
      }
    },
  },
];
