/**
 * Rows: residues. What the runtime does to every message and no code of ours can undo (decisions section 7). Each row pins the exact
 * behaviour, so that a runtime that changes it is noticed. Called by ../wire.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { headersOf } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import {
  arrives,
  chunk,
  comesBack,
  open,
  relay,
  type Stand,
  sameBytes,
  send,
  sized,
  type WireRow,
  within,
  write,
} from './stand.ts';

const chunked = 'Transfer-Encoding: chunked';
const at = (stand: Stand): string => `${stand.plain.path}/r`;

/** A row about the lines that arrive, in their order. */
const arrivesAs = (
  n: number,
  title: string,
  why: string,
  headers: readonly string[],
  wanted: readonly string[],
): WireRow => ({
  n,
  kind: 'residue',
  title,
  why,
  run: async (stand) => {
    const { request } = await relay(stand, { target: at(stand), headers });
    const lines = request.lines.filter(
      (line) => !line.startsWith('Host:') && line !== 'Accept-Encoding: identity',
    );
    same(lines, [...wanted], 'lines');
  },
});

export const residueRows: readonly WireRow[] = [
  arrivesAs(
    135,
    'Header order: known names come first in the runtime’s order, then the others sorted',
    'decisions section 7; measured in both directions',
    ['X-B: 1', 'Zulu: 1', 'User-Agent: u', 'Alpha: 1', 'Accept: */*'],
    ['Accept: */*', 'User-Agent: u', 'Alpha: 1', 'X-B: 1', 'Zulu: 1'],
  ),
  arrivesAs(
    136,
    'Names that the runtime knows get its spelling: accept becomes Accept, etag becomes ETag',
    'decisions section 7; names have no case (RFC 9110 5.1)',
    ['accept: */*', 'USER-AGENT: u', 'x-lower: 1', 'X-UPPER: 1'],
    ['Accept: */*', 'User-Agent: u', 'X-UPPER: 1', 'x-lower: 1'],
  ),
  arrivesAs(
    137,
    'Repeated lines of a name that the runtime knows are joined by a comma; repeats of another name take its first spelling',
    'decisions section 7; equal by RFC 9110 5.3',
    [
      'Accept: a',
      'Accept: b',
      'Accept-Language: de',
      'Accept-Language: en',
      'X-Dup: 1',
      'x-DUP: 2',
    ],
    ['Accept-Language: de, en', 'Accept: a, b', 'X-Dup: 1', 'X-Dup: 2'],
  ),
  arrivesAs(
    138,
    'Two Cookie lines are joined by a comma; HTTP/1.1 clients may send one only',
    'decisions section 7; RFC 6265 5.4, done before JavaScript runs',
    ['Cookie: a=1; b=2', 'Cookie: c=3'],
    ['Cookie: a=1; b=2, c=3'],
  ),
  {
    n: 139,
    kind: 'residue',
    title: 'Repeated answer lines of Link, Vary and WWW-Authenticate are joined by a comma',
    why: 'measured; equal by RFC 9110 5.3',
    run: async (stand) => {
      const lines = [
        'Vary: a',
        'Vary: b',
        'Link: <a>',
        'Link: <b>',
        'WWW-Authenticate: Basic',
        'WWW-Authenticate: Bearer',
      ];
      const { answer } = await relay(stand, {
        target: at(stand),
        reply: reply('200 OK', lines, ''),
      });
      const joined = ['vary', 'link', 'www-authenticate'].map((name) =>
        headersOf(answer.lines, name),
      );
      same(joined, [['a, b'], ['<a>, <b>'], ['Basic, Bearer']], 'joined');
    },
  },
  {
    n: 140,
    kind: 'residue',
    title:
      'A POST, PUT, PATCH, DELETE, OPTIONS or PROPFIND without a body gains Content-Length: 0, never a chunked frame',
    why: 'decisions section 7; C012 (d)',
    run: async (stand) => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
        const { request } = await relay(stand, { method, target: at(stand) });
        arrives(request, `${method} /r`, ['Content-Length: 0']);
      }
      const { request } = await relay(stand, { target: at(stand), headers: ['Content-Length: 0'] });
      arrives(request, 'GET /r');
      return 'and the Content-Length: 0 of a GET is dropped';
    },
  },
  {
    n: 141,
    kind: 'residue',
    cases: ['C017'],
    title: '1xx answers of an upstream are swallowed; the final answer has only its own headers',
    why: 'decisions section 7; RFC 8297 2: a 103 is a hint',
    run: async (stand) => {
      const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(2);
      const text = `HTTP/1.1 100 Continue\r\n\r\n${hints}HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`;
      const { answer } = await relay(stand, { target: at(stand), reply: text });
      comesBack(answer, '200 OK', ['Content-Length: 2'], 'ok');
      holds(!answer.bytes.toString('latin1').includes('HTTP/1.1 10'), 'a 1xx came through');
    },
  },
  {
    n: 142,
    kind: 'residue',
    title:
      '100 Continue comes from the runtime when the body is first read, before the upstream has decided',
    why: 'measured; the upstream’s 417 still comes back as the answer',
    run: async (stand) => {
      const body = 'abc';
      const { answer, request } = await relay(stand, {
        method: 'POST',
        target: at(stand),
        headers: ['Expect: 100-continue', sized(body)],
        body,
        reply: reply('417 Expectation Failed', [], 'no'),
      });
      arrives(request, 'POST /r', ['Expect: 100-continue', sized(body)], body);
      comesBack(answer, '417 Expectation Failed', [sized('no')], 'no');
    },
  },
  {
    n: 143,
    kind: 'residue',
    title:
      'Trailers and chunk extensions are dropped in both directions, chunk boundaries may move; the body stays',
    why: 'decisions section 7: the platform has no trailers',
    run: async (stand) => {
      const framed = '3;ext=1\r\nabc\r\n0\r\nX-T: 1\r\n\r\n';
      const { answer, request } = await relay(stand, {
        method: 'POST',
        target: at(stand),
        headers: [chunked, 'Trailer: X-T'],
        body: framed,
        reply: `HTTP/1.1 200 OK\r\n${chunked}\r\nTrailer: X-T\r\n\r\n${framed}`,
      });
      arrives(request, 'POST /r', [chunked], 'abc');
      comesBack(answer, '200 OK', [chunked], 'abc');
      holds(
        !answer.bytes.includes('X-T') && !request.raw.includes('X-T'),
        'a trailer came through',
      );
    },
  },
  {
    n: 144,
    kind: 'residue',
    title:
      'The Content-Length of a 304 to GET and of a 204 is dropped, and the Transfer-Encoding of an answer to HEAD',
    why: 'decisions section 7; C015',
    run: async (stand) => {
      const rows = [
        ['GET', '304 Not Modified', 'Content-Length: 1234'],
        ['DELETE', '204 No Content', 'Content-Length: 0'],
        ['HEAD', '200 OK', chunked],
      ] as const;
      for (const [method, status, line] of rows) {
        const text = `HTTP/1.1 ${status}\r\nETag: "x"\r\n${line}\r\n\r\n`;
        const { answer } = await relay(stand, { method, target: at(stand), reply: text });
        comesBack(answer, status, ['ETag: "x"'], '');
      }
    },
  },
  {
    n: 145,
    kind: 'residue',
    title:
      'Unknown and lower-case methods are a 501 of the runtime, CONNECT a 500; neither reaches the Worker or an origin',
    why: 'decisions section 7; C009',
    run: async (stand) => {
      for (const method of ['FOO', 'LINK', 'M-SEARCH', 'get', 'patch', 'Post']) {
        const { answer, requests } = await send(stand, { method, target: at(stand) });
        same([answer.status, requests.length], [501, 0], method);
      }
      const { answer, requests } = await send(stand, { method: 'CONNECT', target: at(stand) });
      same([answer.status, requests.length], [500, 0], 'CONNECT');
    },
  },
  {
    n: 146,
    kind: 'residue',
    title: 'fetch percent-encodes " { } ^ and non-ASCII in a path, and \' and non-ASCII in a query',
    why: 'decisions section 7: WHATWG URL; the same characters after one decoding',
    run: async (stand) => {
      const rows = [
        ['/a"b{c}d^e', '/a%22b%7Bc%7Dd%5Ee'],
        ['/\xc3\xa9', '/%C3%A9'],
        ["/a?q='x'", '/a?q=%27x%27'],
        ['/a?q=\xc3\xa9', '/a?q=%C3%A9'],
        ['/a?q={x}^|`\\[]', '/a?q={x}^|`\\[]'],
      ] as const;
      for (const [target, sent] of rows) {
        const { request } = await relay(stand, { target: stand.plain.path + target });
        arrives(request, `GET ${sent}`);
      }
    },
  },
  {
    n: 147,
    kind: 'residue',
    title:
      'Raw < > and bytes that are not UTF-8 in a target, a raw backtick in a path, a raw " in a query are a 400 of the runtime',
    why: 'measured: refused at ingress, before the Worker',
    run: async (stand) => {
      for (const target of [
        '/a<b',
        '/a>b',
        '/a`b',
        '/a?q="x"',
        '/a?q=<',
        '/a\xff',
        '/a\x7f',
        '/a?q=\xff',
      ]) {
        const { answer, requests } = await send(stand, { target: stand.plain.path + target });
        same([answer.status, requests.length], [400, 0], target);
      }
    },
  },
  {
    n: 148,
    kind: 'residue',
    title:
      'A #fragment in a target is dropped by the runtime: what follows it was never for a server',
    why: 'RFC 3986 3.5',
    run: async (stand) => {
      for (const target of ['/a?q=1#frag', '/a?q=1#', '/a?q=1#x?y=2']) {
        const { request } = await relay(stand, { target: stand.plain.path + target });
        arrives(request, 'GET /a?q=1');
      }
    },
  },
  {
    n: 149,
    kind: 'residue',
    title:
      'An upstream that drops a pooled connection as the request arrives makes a 502; here nothing is sent twice',
    why: 'decisions section 7: other versions of the runtime re-send a GET, and no switch exists',
    run: async (stand) => {
      stand.second.clear();
      const endpoints = [{ host: '127.0.0.1', port: stand.second.port }];
      const upstream = await stand.register({ endpoints });
      const used = new Set<object>();
      stand.second.answer(({ connection }) => {
        const stale = used.has(connection);
        used.add(connection);
        if (stale) connection.socket.destroy();
        else write(connection.socket, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
      const sent: number[] = [];
      const statuses: number[] = [];
      for (const method of ['GET', 'GET', 'POST', 'POST']) {
        const { answer, requests } = await send(stand, { method, target: `${upstream.path}/r` });
        statuses.push(answer.status);
        sent.push(requests.length);
      }
      stand.second.answer(reply('200 OK', [], 'ok'));
      same(
        [statuses, sent],
        [
          [200, 502, 200, 502],
          [1, 1, 1, 1],
        ],
        'answers and requests',
      );
    },
  },
  {
    n: 150,
    kind: 'residue',
    title: 'A caller that only closes its writing side goes unseen until the next write to it',
    why: 'decisions section 7; measured: a FIN is a half-close',
    run: async (stand) => {
      let closed = false;
      const upstream: { answer?: (text: string) => void } = {};
      stand.scripted.on = (socket) => {
        socket.on('close', () => {
          closed = true;
        });
        socket.once('data', () => {
          upstream.answer = (text) => void write(socket, text);
        });
      };
      const client = await open(stand, { target: `${stand.live.path}/r` });
      try {
        await within(1_000, 'the request arrives', () => upstream.answer !== undefined);
        client.socket.end();
        await new Promise((resolve) => setTimeout(resolve, 300));
        holds(!closed, 'the upstream was closed');
        upstream.answer?.('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        sameBytes((await client.answer()).body, 'ok', 'body after the half-close');
      } finally {
        client.close();
      }
    },
  },
  {
    n: 151,
    kind: 'residue',
    title: 'An answer without length that ends by FIN looks complete, wherever it was cut',
    why: 'RFC 9112 8: inherent in close-delimited bodies',
    run: async (stand) => {
      const { answer } = await relay(stand, {
        target: at(stand),
        reply: ({ connection }) => void connection.socket.end('HTTP/1.1 200 OK\r\n\r\n{"half":'),
      });
      comesBack(answer, '200 OK', [chunked], '{"half":');
    },
  },
  {
    n: 152,
    kind: 'residue',
    title:
      'An answer that the runtime cannot read is a 502 of ours: two lengths, a status outside 200 to 599, garbage',
    why: 'measured; RFC 9110 15',
    run: async (stand) => {
      const texts = [
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
        'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n',
        `HTTP/1.1 600 Odd\r\nX-Echo: ${stand.credential}\r\nX-Weir-Error: 1\r\nContent-Length: 0\r\n\r\n`,
        `HTTP/1.1 600 Odd\r\nContent-Length: 2\r\n\r\nno`,
        'garbage\r\n\r\n',
        'HTTP/1.1 200 OK\r\nBad Header\r\nContent-Length: 0\r\n\r\n',
      ];
      for (const text of texts) {
        for (const path of [stand.plain.path, stand.bound.path]) {
          const { answer } = await relay(stand, { target: `${path}/r`, reply: text });
          same(answer.status, 502, JSON.stringify(text.slice(0, 40)));
          holds(!answer.bytes.includes(stand.credential), 'the credential came through');
        }
      }
    },
  },
  {
    n: 153,
    kind: 'residue',
    title:
      'An answer header that must be rewritten (a masked credential, Set-Cookie beside an own cookie) loses bytes that are not UTF-8',
    why: 'JavaScript reads U+FFFD for them; an untouched header keeps them',
    run: async (stand) => {
      const lines = [`X-Echo: ${stand.credential} \xc3\xa9 \xe9`, 'X-Keep: \xe9'];
      const { answer } = await relay(stand, {
        target: `${stand.bound.path}/r`,
        reply: reply('200 OK', lines),
      });
      comesBack(
        answer,
        '200 OK',
        ['X-Echo: *** \xc3\xa9 \xef\xbf\xbd', 'X-Keep: \xe9', 'Content-Length: 0'],
        '',
      );
    },
  },
  {
    n: 154,
    kind: 'residue',
    title:
      'The runtime makes its own Sec-WebSocket-Key and rewrites an offer of permessage-deflate',
    why: 'measured: it is the peer of both handshakes',
    run: async (stand) => {
      const headers = [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits',
      ];
      const { request } = await relay(stand, {
        target: at(stand),
        headers,
        reply: reply('403 No'),
      });
      const line = (name: string): string | undefined => headersOf(request.lines, name)[0];
      same(
        line('sec-websocket-extensions'),
        'permessage-deflate; client_max_window_bits=15',
        'offer',
      );
      holds(line('sec-websocket-key') !== 'dGhlIHNhbXBsZSBub25jZQ==', 'the key is the caller’s');
    },
  },
  {
    n: 155,
    kind: 'residue',
    title: 'Spaces around a header value and leading zeros of chunk sizes are not kept',
    why: 'the runtime prints every message anew',
    run: async (stand) => {
      const { request } = await relay(stand, {
        method: 'POST',
        target: at(stand),
        headers: ['X-Spaces:   a  b   ', chunked],
        body: `003\r\nabc\r\n${chunk('de')}0\r\n\r\n`,
      });
      arrives(request, 'POST /r', ['X-Spaces: a  b', chunked], 'abcde');
    },
  },
];
