/**
 * Rows: request headers. Which lines do not pass, which are set, and that every other line arrives
 * with its bytes, its name's case and its repeats. Called by ../wire.ts.
 */
import { same } from '../../support/proof.ts';
import { arrives, lineOf, refused, relay, type Stand, type WireRow } from './stand.ts';

/** A call with these lines beside `X-Keep: yes` arrives with `X-Keep` and `kept` only. */
async function dropped(
  stand: Stand,
  headers: readonly string[],
  kept: readonly string[] = [],
): Promise<void> {
  const { request } = await relay(stand, {
    target: `${stand.plain.path}/h`,
    headers: [...headers, 'X-Keep: yes'],
  });
  arrives(request, 'GET /h', [...kept, 'X-Keep: yes']);
}

/** A row of the form "these lines never arrive". */
const drops = (n: number, title: string, why: string, headers: readonly string[]): WireRow => ({
  n,
  kind: 'change',
  title,
  why,
  run: async (stand) => {
    for (const header of headers) await dropped(stand, [header]);
    await dropped(stand, headers);
  },
});

export const headerRows: readonly WireRow[] = [
  {
    n: 63,
    kind: 'kept',
    title:
      'Header lines keep value bytes, name case and repeats; nothing is added, no User-Agent ' +
      'either',
    why: 'digest A3: duplicate headers survive in order',
    run: async (stand) => {
      const lines = [
        'X-DUP: 1',
        'X-DUP: 2, 3',
        'x-Odd-CASE: a  b',
        'Origin: https://app.test',
        'Content-Type: application/JSON; Charset="UTF-8"',
        'Idempotency-Key: k/1',
        'anthropic-version: 2023-06-01',
        'X-Empty:',
      ];
      const { request } = await relay(stand, { target: `${stand.plain.path}/h`, headers: lines });
      arrives(request, 'GET /h', lines);
    },
  },
  {
    n: 64,
    kind: 'kept',
    title: 'Latin-1 and UTF-8 bytes and tabs in a value arrive as the same bytes',
    why: 'RFC 9110 5.5: obs-text is opaque',
    run: async (stand) => {
      const headers = [
        'X-Latin: \xe9\xff',
        'X-Utf8: \xe4\xb8\xad',
        'X-Tab: a\tb',
        'Cookie: a=\xe9',
      ];
      const { request } = await relay(stand, { target: `${stand.plain.path}/h`, headers });
      arrives(request, 'GET /h', headers);
    },
  },
  {
    n: 65,
    kind: 'kept',
    title: "The caller's Accept-Encoding arrives byte for byte",
    why: 'decisions section 5; at the deployed edge it is restored from cf.clientAcceptEncoding',
    run: async (stand) => {
      for (const value of ['gzip;q=0.5,  br', 'br', '*;q=0', 'identity']) {
        const headers = [`Accept-Encoding: ${value}`];
        const { request } = await relay(stand, { target: `${stand.plain.path}/h`, headers });
        arrives(request, 'GET /h', headers);
      }
    },
  },
  {
    n: 4,
    kind: 'change',
    title: 'Accept-Encoding: identity is set when the caller sent none or an empty one',
    why: 'digest A3 rule 3',
    run: async (stand) => {
      for (const headers of [[], ['Accept-Encoding:']]) {
        const { request } = await relay(stand, { target: `${stand.plain.path}/h`, headers });
        arrives(request, 'GET /h', ['Accept-Encoding: identity']);
      }
    },
  },
  {
    n: 5,
    kind: 'change',
    title: 'Host is the upstream, whatever the caller sent',
    why: 'digest B5: Host replaced',
    run: async (stand) => {
      const { request } = await relay(stand, {
        target: `${stand.plain.path}/h`,
        headers: ['X-Host: a'],
      });
      same(lineOf(request.lines, 'host'), `Host: ${stand.origin.authority}`, 'host');
    },
  },
  drops(6, 'Connection, Keep-Alive and Proxy-Connection are dropped', 'RFC 9110 7.6.1', [
    'Connection: keep-alive',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
  ]),
  drops(7, 'TE and Trailer are dropped', 'RFC 9110 7.6.1', [
    'TE: trailers, deflate',
    'Trailer: X-T',
  ]),
  drops(8, 'Proxy-Authorization and Proxy-Authenticate are dropped', 'digest B5: addressed to us', [
    'Proxy-Authorization: Basic dXNlcjpwdw==',
    'Proxy-Authenticate: Basic realm="x"',
  ]),
  drops(
    9,
    'Upgrade to anything but websocket is dropped; with another method than GET, to that too',
    'RFC 9110 7.8; RFC 6455 4.1',
    ['Upgrade: h2c', 'Upgrade: TLS/1.0'],
  ),
  {
    n: 10,
    kind: 'change',
    title: "Every header that the caller's Connection names is dropped",
    why: 'digest A3 rule 1, RFC 9110 7.6.1',
    run: async (stand) => {
      await dropped(stand, ['Connection: x-one', 'X-One: 1']);
      await dropped(stand, ['Connection: X-One, close, x-two', 'x-one: 1', 'X-Two: 2', 'X-Two: 3']);
      await dropped(stand, ['Connection: x-one', 'Connection: x-two', 'X-One: 1', 'X-Two: 2']);
      const coded = ['Connection: accept-encoding', 'Accept-Encoding: gzip'];
      await dropped(stand, coded, ['Accept-Encoding: identity']);
    },
  },
  {
    n: 66,
    kind: 'kept',
    cases: ['C003'],
    title:
      'A Connection that names the bound header, Host or Content-Length costs neither ' +
      'credential nor framing',
    why: 'removal is for received fields; injection comes after it',
    run: async (stand) => {
      const { request } = await relay(stand, {
        method: 'POST',
        target: `${stand.bound.path}/h`,
        headers: [
          'Connection: x-vendor-key, authorization, content-length, host',
          'X-Vendor-Key: from-caller',
          'Content-Length: 3',
        ],
        body: 'abc',
      });
      const lines = ['Content-Length: 3', `x-vendor-key: ${stand.credential}`];
      arrives(
        request,
        'POST /h',
        lines.map((l) => own(request.lines, l)),
        'abc',
      );
    },
  },
  drops(11, 'Every X-Forwarded-* header is dropped', 'digest A3 rule 2', [
    'X-Forwarded-For: 192.0.2.1',
    'X-Forwarded-Host: a',
    'X-Forwarded-Proto: https',
    'x-forwarded-anything: 1',
  ]),
  drops(
    12,
    'Headers that carry a client address are dropped',
    'digest A3 rule 2: vendors answer 403 to them',
    [
      'X-Real-IP: 192.0.2.1',
      'X-Client-IP: 192.0.2.1',
      'X-Cluster-Client-IP: 192.0.2.1',
      'True-Client-IP: 192.0.2.1',
      'Fastly-Client-IP: 192.0.2.1',
      'Fly-Client-IP: 192.0.2.1',
    ],
  ),
  drops(13, 'Forwarded and Via are dropped', 'digest A3 rule 2', [
    'Forwarded: for=192.0.2.1',
    'Via: 1.1 proxy',
  ]),
  drops(
    14,
    'Every CF-* header and CDN-Loop are dropped',
    'digest A3 rule 2: error 1000 at the vendor',
    [
      'CF-Connecting-IP: 192.0.2.1',
      'CF-Ray: 1',
      'CF-IPCountry: DE',
      'cf-anything: 1',
      'CDN-Loop: cloudflare',
    ],
  ),
  drops(15, 'Every ngrok-* header is dropped', 'digest A3 rule 2', [
    'ngrok-skip-browser-warning: 1',
    'Ngrok-Trace-Id: 1',
  ]),
  drops(
    16,
    "The deployment's own client-IP headers (CLIENT_IP_HEADERS) are dropped",
    'digest A3 rule 2',
    ['X-Edge-Client: 192.0.2.1'],
  ),
  drops(17, 'Every X-Weir-* header is dropped, also unknown ones', 'digest A3 rule 2: by prefix', [
    'X-Weir-Meta: team=a',
    'X-Weir-Error: 1',
    'x-weir-anything: 1',
  ]),
  {
    n: 18,
    kind: 'change',
    cases: ['C007'],
    title:
      "Weir's own cookies leave the Cookie line; the rest keeps its bytes, and an empty line goes",
    why: 'digest A3 rule 2; RFC 6265 4.2.1',
    run: async (stand) => {
      const ours = '__Host-weir_session=S';
      const rows: readonly (readonly [string, string | null])[] = [
        [
          `a=1; ${ours}; b=__Host-weir_session; __Host-weir_session2=k`,
          'a=1; b=__Host-weir_session; __Host-weir_session2=k',
        ],
        [ours, null],
        [`${ours}; __Host-weir_oauth=t`, null],
        [`${ours}; a=1`, 'a=1'],
        [`a=1;${ours};b="x, y"`, 'a=1;b="x, y"'],
        ['a=1;  b=2;', 'a=1;  b=2;'],
      ];
      for (const [cookie, kept] of rows) {
        const lines = kept === null ? [] : [`Cookie: ${kept}`];
        await dropped(stand, [`Cookie: ${cookie}`], lines);
      }
      // The runtime joins two lines by a comma, which must hide nothing of ours.
      await dropped(stand, ['Cookie: a=1', `Cookie: ${ours}; b=2`], ['Cookie: a=1; b=2']);
      await dropped(stand, [`Cookie: ${ours}`, 'Cookie: b=2'], ['Cookie: b=2']);
      await dropped(stand, ['Cookie: a=1, 2', `Cookie: ${ours}`], ['Cookie: a=1, 2']);
    },
  },
  {
    n: 114,
    kind: 'refusal',
    title:
      'A Cookie or key header that must be cut and has bytes that are not UTF-8 is refused, ' +
      'never changed; UTF-8 stays',
    why: 'JavaScript cannot read such bytes, so what is left could not be written back',
    run: async (stand) => {
      const cookie = (text: string): string => `Cookie: __Host-weir_session=S; a=${text}`;
      await dropped(stand, [cookie('\xc3\xa9')], ['Cookie: a=\xc3\xa9']);
      const target = `${stand.plain.path}/h`;
      const odd = [cookie('\xe9'), `x-api-key: ${stand.token}, \xe9`];
      for (const header of odd) {
        await refused(stand, { target, headers: [header] }, 400, 'request.header_invalid');
      }
    },
  },
  {
    n: 115,
    kind: 'refusal',
    title: 'A control byte in a header value is refused: 0x01-0x08, 0x0b, 0x0c, 0x0e-0x1f, 0x7f',
    why:
      'measured: the one odd thing that the runtime would forward; 0x00, CR and LF it refuses' +
      ' itself',
    run: async (stand) => {
      const codes = [...Array(0x20).keys(), 0x7f].filter(
        (c) => ![0x00, 0x09, 0x0a, 0x0d].includes(c),
      );
      for (const code of codes) {
        const headers = [`X-Odd: a${String.fromCharCode(code)}b`];
        const problem = await refused(
          stand,
          { target: `${stand.plain.path}/h`, headers },
          400,
          'request.header_invalid',
        );
        same(problem.header, 'x-odd', 'named header');
      }
      return `${codes.length} bytes`;
    },
  },
  {
    n: 116,
    kind: 'refusal',
    cases: ['C011'],
    title: 'More than 64 KiB of request headers, or more than 256 names, is a 431 of ours',
    why: 'base/limits.ts headerBytesMax, headerCountMax; RFC 6585 5',
    run: async (stand) => {
      const target = `${stand.plain.path}/h`;
      const code = 'request.headers_too_large';
      await refused(stand, { target, headers: [`X-Big: ${'a'.repeat(70 * 1024)}`] }, 431, code);
      const many = Array.from({ length: 300 }, (_, i) => `X-${i}: 1`);
      await refused(stand, { target, headers: many }, 431, code);
      const fits = [`X-Big: ${'a'.repeat(60 * 1024)}`];
      const { request } = await relay(stand, { target, headers: fits });
      arrives(request, 'GET /h', fits);
    },
  },
  {
    n: 19,
    kind: 'change',
    title: "The upstream's header rules edit the request: remove, then set, then add",
    why: 'digest B5 rule order; registered by the tenant',
    run: async (stand) => {
      const request = { remove: ['X-Gone'], set: { 'X-Set': 'ours' }, add: { 'X-Add': 'more' } };
      const upstream = await stand.register({ header_rules: { request, response: {} } });
      const headers = ['X-Gone: 1', 'X-Set: theirs', 'X-Set: again', 'X-Add: first', 'X-Keep: yes'];
      const sent = await relay(stand, { target: `${upstream.path}/h`, headers });
      const lines = ['X-Set: ours', 'X-Add: first', 'X-Add: more', 'X-Keep: yes'];
      arrives(
        sent.request,
        'GET /h',
        lines.map((line) => own(sent.request.lines, line)),
      );
    },
  },
];

/** The received line that equals `line` but for the case of its name. */
function own(received: readonly string[], line: string): string {
  return received.find((l) => nameLower(l) === nameLower(line)) ?? line;
}

const nameLower = (line: string): string =>
  line.slice(0, line.indexOf(':')).toLowerCase() + line.slice(line.indexOf(':'));
