/**
 * Rows: residues of requests. What the runtime does to every message and no code of ours can undo
 * (decisions section 7). Each row pins the exact behaviour, so that a runtime that changes it is
 * noticed. Called by ../wire.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { reply } from '../../support/recording-origin.ts';
import { arrives, chunk, comesBack, relay, type Stand, send, type WireRow } from './stand.ts';

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
    136,
    'Header order: known names come first in the runtime’s order, then the others sorted',
    'decisions section 7; answers the same',
    ['X-B: 1', 'Zulu: 1', 'User-Agent: u', 'Alpha: 1', 'Accept: */*'],
    ['Accept: */*', 'User-Agent: u', 'Alpha: 1', 'X-B: 1', 'Zulu: 1'],
  ),
  arrivesAs(
    137,
    'Names that the runtime knows get its spelling: accept becomes Accept',
    'decisions section 7; names have no case (RFC 9110 5.1)',
    ['accept: */*', 'USER-AGENT: u', 'x-lower: 1', 'X-UPPER: 1'],
    ['Accept: */*', 'User-Agent: u', 'X-UPPER: 1', 'x-lower: 1'],
  ),
  arrivesAs(
    138,
    'Repeated lines of a name that the runtime knows are joined by a comma; repeats of ' +
      'another name take its first spelling',
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
    139,
    'Two Cookie lines are joined by a comma; HTTP/1.1 clients may send one only',
    'decisions section 7; RFC 6265 5.4, done before JavaScript runs',
    ['Cookie: a=1; b=2', 'Cookie: c=3'],
    ['Cookie: a=1; b=2, c=3'],
  ),
  {
    n: 140,
    kind: 'residue',
    title:
      'A request without a body gains Content-Length: 0, whatever its method but GET and HEAD; ' +
      'never a chunked frame',
    why: 'decisions section 7; C012 (d)',
    run: async (stand) => {
      const common = 'POST PUT PATCH DELETE OPTIONS TRACE';
      const others = 'PROPFIND SEARCH QUERY REPORT MKCOL COPY MOVE LOCK UNLOCK MERGE PURGE';
      for (const method of `${common} ${others}`.split(' ')) {
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
    title:
      'Trailers and chunk extensions are dropped in both directions, chunk boundaries may ' +
      'move; the body stays',
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
    n: 142,
    kind: 'residue',
    title:
      'Unknown and lower-case methods are a 501 of the runtime, CONNECT a 500; neither ' +
      'reaches the Worker or an origin',
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
    n: 143,
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
    n: 144,
    kind: 'residue',
    title:
      'Raw < > and bytes that are not UTF-8 in a target, a raw backtick in a path, a raw " in' +
      ' a query are a 400 of the runtime',
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
    n: 145,
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
    n: 146,
    kind: 'residue',
    title:
      'Not kept: spaces around a header value, leading zeros of chunk sizes, an empty value of a ' +
      'name that the runtime knows, a reason phrase that is not ASCII',
    why: 'the runtime prints every message anew',
    run: async (stand) => {
      const { request } = await relay(stand, {
        method: 'POST',
        target: at(stand),
        headers: ['X-Spaces:   a  b   ', chunked],
        body: `003\r\nabc\r\n${chunk('de')}0\r\n\r\n`,
      });
      arrives(request, 'POST /r', ['X-Spaces: a  b', chunked], 'abcde');
      for (const phrase of ['Gr\xf6\xdfe', 'Gr\xc3\xb6\xc3\x9fe']) {
        const { answer, request } = await relay(stand, {
          target: at(stand),
          headers: ['User-Agent:', 'Accept:', 'X-Empty:'],
          reply: reply(`200 ${phrase}`, ['Content-Type:', 'ETag:', 'X-Empty:']),
        });
        arrives(request, 'GET /r', ['X-Empty:']);
        comesBack(answer, '200 ', ['X-Empty: ', 'Content-Length: 0'], '');
      }
    },
  },
];
