/**
 * Rows: how request bodies are framed. A declared length stays a length, a chunked body stays
 * chunked, no body gets no frame, and nothing that two parsers could frame differently reaches an
 * origin twice. Called by ../wire.ts.
 */
import type net from 'node:net';
import { gzipSync } from 'node:zlib';
import { holds, same } from '../../support/proof.ts';
import {
  arrives,
  bytesOf,
  chunk,
  lineOf,
  open,
  problemOf,
  refused,
  relay,
  type Stand,
  sameBytes,
  send,
  sized,
  type WireRow,
  within,
} from './stand.ts';

const chunked = 'Transfer-Encoding: chunked';
const everyByte = Buffer.from(Array.from({ length: 256 * 40 }, (_, i) => i % 256));

export const framingRows: readonly WireRow[] = [
  {
    n: 68,
    kind: 'kept',
    cases: ['C012'],
    title: 'A declared Content-Length stays a Content-Length, and every body byte stays',
    why: 'digest A3 rule 1: a chunked frame makes a big vendor see an empty body',
    run: async (stand) => {
      const target = `${stand.plain.path}/f`;
      for (const body of ['hello world', everyByte]) {
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
          const { request } = await relay(stand, { method, target, headers: [sized(body)], body });
          arrives(request, `${method} /f`, [sized(body)], body);
        }
      }
    },
  },
  {
    n: 69,
    kind: 'kept',
    title: 'A chunked body stays chunked, and every body byte stays',
    why: 'digest A3 rule 1; C012 (b)',
    run: async (stand) => {
      const body = 'abcdefghij'.repeat(20_000);
      const pieces = body.match(/.{1,7000}/gs) ?? [];
      const framed = `${pieces.map(chunk).join('')}0\r\n\r\n`;
      const target = `${stand.plain.path}/f`;
      const { request } = await relay(stand, {
        method: 'POST',
        target,
        headers: [chunked],
        body: framed,
      });
      arrives(request, 'POST /f', [chunked], body);
      const empty = await relay(stand, {
        method: 'POST',
        target,
        headers: [chunked],
        body: '0\r\n\r\n',
      });
      arrives(empty.request, 'POST /f', [chunked], '');
    },
  },
  {
    n: 70,
    kind: 'kept',
    title: 'A GET or HEAD without a body gets no body frame',
    why: 'digest A3 rule 1: no body, no framing; C012 (c)',
    run: async (stand) => {
      for (const method of ['GET', 'HEAD']) {
        const { request } = await relay(stand, { method, target: `${stand.plain.path}/f` });
        arrives(request, `${method} /f`);
        sameBytes(request.raw.subarray(-4), '\r\n\r\n', 'end of the request');
      }
    },
  },
  {
    n: 71,
    kind: 'kept',
    title: 'A GET with a Content-Length body keeps it',
    why: 'fetch takes a body on GET only in a copy of a request that has one',
    run: async (stand) => {
      const body = '{"query":{"match_all":{}}}';
      const target = `${stand.plain.path}/_search`;
      const { request } = await relay(stand, { target, headers: [sized(body)], body });
      arrives(request, 'GET /_search', [sized(body)], body);
    },
  },
  {
    n: 121,
    kind: 'refusal',
    title: 'A GET or HEAD with a chunked body is refused: fetch would drop the body without a word',
    why: 'measured: no form of fetch sends it; with a Content-Length it passes',
    run: async (stand) => {
      for (const method of ['GET', 'HEAD']) {
        const call = { method, target: `${stand.plain.path}/_search`, headers: [chunked] };
        const body = `${chunk('abc')}${chunk('de')}0\r\n\r\n`;
        if (method === 'GET')
          await refused(stand, { ...call, body }, 400, 'request.framing_invalid');
        else same((await send(stand, { ...call, body })).answer.status, 400, 'HEAD');
      }
    },
  },
  {
    n: 72,
    kind: 'kept',
    title: 'An empty body of a POST keeps its Content-Length: 0',
    why: 'digest A3 rule 1',
    run: async (stand) => {
      const headers = ['Content-Length: 0'];
      const { request } = await relay(stand, {
        method: 'POST',
        target: `${stand.plain.path}/f`,
        headers,
      });
      arrives(request, 'POST /f', headers);
    },
  },
  {
    n: 41,
    kind: 'change',
    cases: ['C014'],
    title:
      'Content-Length beside Transfer-Encoding: the origin gets one chunked request and no ' +
      'hidden second one',
    why: 'decisions section 5: settled by the runtime, chunked wins; RFC 9112 6.3',
    run: async (stand) => {
      const hidden = bytesOf(stand, { target: `${stand.plain.path}/admin` }).toString('latin1');
      const { answer, request } = await relay(stand, {
        method: 'POST',
        target: `${stand.plain.path}/f`,
        headers: ['Content-Length: 50', chunked],
        body: `${chunk('abc')}0\r\n\r\n${hidden}`,
      });
      arrives(request, 'POST /f', [chunked], 'abc');
      holds(answer.lines.includes('Connection: close'), 'the connection stays usable');
      await new Promise((resolve) => setImmediate(resolve));
      same(stand.origin.requests.length, 1, 'requests at the origin');
    },
  },
  {
    n: 122,
    kind: 'refusal',
    title:
      'Two Content-Length values, one that is no integer, or a Transfer-Encoding other than ' +
      'chunked is a 400',
    why:
      'digest B5 body checks; C014. All but "gzip, chunked" end at the runtime, before the ' +
      'Worker',
    run: async (stand) => {
      const target = `${stand.plain.path}/f`;
      const bad = [
        ['Content-Length: 10', 'Content-Length: 20'],
        ['Content-Length: 1x'],
        ['Content-Length: -1'],
        ['Content-Length: 0x5'],
        ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
        ['Transfer-Encoding: gzip'],
        ['Transfer-Encoding: xchunked'],
      ];
      for (const headers of bad) {
        const { answer, requests } = await send(stand, {
          method: 'POST',
          target,
          headers,
          body: chunk('abc'),
        });
        same([answer.status, requests.length], [400, 0], headers.join(', '));
      }
      const headers = ['Transfer-Encoding: gzip, chunked'];
      const coded = { method: 'POST', target, headers, body: `${chunk('abc')}0\r\n\r\n` };
      await refused(stand, coded, 400, 'request.framing_invalid');
    },
  },
  {
    n: 174,
    kind: 'change',
    title:
      'A body in the coding that X-Weir-Body-Encoding names (base64, gzip, base64+gzip) arrives decoded and ' +
      'chunked; the header and the length of the coded body go',
    why: 'digest A3: decoded before the relay, for callers behind something that reads bodies',
    run: async (stand) => {
      const body = Buffer.concat([everyByte, everyByte, Buffer.from('end')]);
      const forms: [string, string | Buffer][] = [
        ['base64', body.toString('base64')],
        ['BASE64', body.toString('base64').replace(/.{1,76}/g, '$&\r\n')],
        ['base64', body.toString('base64url')],
        ['gzip', gzipSync(body)],
        [' base64+gzip', gzipSync(body).toString('base64')],
      ];
      for (const [coding, coded] of forms) {
        const headers = [`X-Weir-Body-Encoding: ${coding}`, sized(coded)];
        const call = { method: 'POST', target: `${stand.plain.path}/f`, headers, body: coded };
        arrives((await relay(stand, call)).request, 'POST /f', [chunked], body);
      }
      const headers = ['X-Weir-Body-Encoding: base64', chunked];
      const pieces = ['', 'aGVsbG8', 'gd', '29ybG', 'Q', '='].map((piece) =>
        piece === '' ? '' : chunk(piece),
      );
      const framed = `${pieces.join('')}0\r\n\r\n`;
      const call = { method: 'PUT', target: `${stand.plain.path}/f`, headers, body: framed };
      arrives((await relay(stand, call)).request, 'PUT /f', [chunked], 'hello world');
      const none = { target: `${stand.plain.path}/f`, headers: ['X-Weir-Body-Encoding: gzip'] };
      arrives((await relay(stand, none)).request, 'GET /f');
    },
  },
  {
    n: 175,
    kind: 'refusal',
    title:
      'A body that its X-Weir-Body-Encoding does not decode is a 400, and no whole one for the origin: ' +
      'an unknown coding, a broken or cut one, one a hundred times larger',
    why: 'decisions section 5: expansion cap 100 x; a part is never a whole',
    run: async (stand) => {
      const zipped = gzipSync(everyByte);
      const bomb = gzipSync(Buffer.alloc(8_000_000));
      const bad: [string, string | Buffer, string][] = [
        ['br', 'YWJj', 'unknown'],
        ['gzip, base64', 'YWJj', 'unknown'],
        ['base64', 'YW*j', 'base64'],
        ['base64', 'YW==YWJj', 'base64'],
        ['base64', 'YWJjY', 'base64'],
        ['gzip', 'abc', 'gzip'],
        ['gzip', zipped.subarray(0, -9), 'gzip'],
        ['base64+gzip', 'YWJj', 'gzip'],
        ['base64+gzip', zipped.toString('latin1'), 'base64'],
        ['gzip', bomb, 'expansion'],
        ['base64+gzip', bomb.toString('base64'), 'expansion'],
      ];
      for (const [coding, body, reason] of bad) {
        const headers = [`X-Weir-Body-Encoding: ${coding}`, sized(body)];
        const call = { method: 'POST', target: `${stand.plain.path}/f`, headers, body };
        const { answer, requests } = await send(stand, call);
        const { type, reason: why } = problemOf(answer);
        same(
          [answer.status, type, why, requests.length],
          [400, 'urn:weir:problem:request.body_encoding_invalid', reason, 0],
          `${coding}, ${reason}`,
        );
      }
      // Whoever sends a bomb and then nothing more is not waited for.
      const stalled = [`Content-Length: ${bomb.length + 1}`, 'X-Weir-Body-Encoding: gzip'];
      const upload = { method: 'POST', target: `${stand.plain.path}/f`, headers: stalled };
      const connection = await open(stand, upload);
      try {
        connection.send(bomb);
        same((await connection.answer('POST', 5_000)).status, 400, 'a bomb that stalls');
      } finally {
        connection.close();
      }
      const read = ['X-Weir-Body-Encoding: gzip', sized('abc')];
      const get = { target: `${stand.plain.path}/f`, headers: read, body: 'abc' };
      await refused(stand, get, 400, 'request.framing_invalid');
    },
  },
  {
    n: 73,
    kind: 'kept',
    title: 'An upload that waits for 100 Continue completes once; Expect itself arrives',
    why: 'RFC 9110 10.1.1; C017. The 100 is the runtime’s (see the residues)',
    run: async (stand) => {
      const body = Buffer.alloc(1024 * 1024, 'x');
      stand.origin.clear();
      const headers = ['Expect: 100-continue', sized(body)];
      const call = { method: 'POST', target: `${stand.plain.path}/f`, headers };
      const connection = await open(stand, call);
      try {
        await connection.until(() => connection.bytes.includes('HTTP/1.1 100 '));
        connection.send(body);
        const answer = await connection.answer('POST');
        same([answer.status, stand.origin.requests.length], [200, 1], 'answer and requests');
        arrives(await stand.origin.arrived(), 'POST /f', headers, body);
      } finally {
        connection.close();
      }
    },
  },
  {
    n: 74,
    kind: 'kept',
    title: 'An upload that breaks before its end never arrives as a whole one, chunked or not',
    why: 'RFC 9112 8: the runtime alone would end a chunked body cleanly',
    run: async (stand) => {
      for (const [headers, body] of [
        [[chunked], chunk('part of a body')],
        [['Content-Length: 5000'], 'part of a body'],
      ] as const) {
        const seen = { tail: Buffer.alloc(0), bytes: 0, closed: false };
        stand.scripted.on = (socket) => sink(socket, seen);
        const call = { method: 'POST', target: `${stand.live.path}/f`, headers, body };
        const connection = await open(stand, call);
        await within(1_000, 'the part arrives', () => seen.tail.includes('a body'));
        connection.socket.end();
        await within(1_000, 'the upstream is closed', () => seen.closed);
        holds(!seen.tail.toString('latin1').endsWith('0\r\n\r\n'), 'the part ended like a whole');
        connection.close();
      }
    },
  },
  {
    n: 123,
    kind: 'refusal',
    title: 'A declared body above 100 MB is a 413 before a byte of it is read',
    why: 'base/limits.ts requestBodyBytesMax; digest B5',
    run: async (stand) => {
      const target = `${stand.plain.path}/f`;
      for (const length of ['100000001', '999999999999']) {
        const headers = [`Content-Length: ${length}`];
        await refused(stand, { method: 'POST', target, headers }, 413, 'payload.too_large');
      }
    },
  },
  {
    n: 124,
    kind: 'refusal',
    fullOnly: true,
    title:
      'A chunked body is cut at 100 MB: a 413 for the caller, a body without an end for the origin',
    why: 'decisions section 5 request framing: counted by a pipe, cut at the limit',
    run: async (stand) => {
      const seen = { tail: Buffer.alloc(0), bytes: 0, closed: false };
      stand.scripted.on = (socket) => sink(socket, seen);
      const call = { method: 'POST', target: `${stand.live.path}/f`, headers: [chunked] };
      const connection = await open(stand, call);
      try {
        await upload(connection.socket, 100_000_001);
        const answer = await connection.answer('POST', 60_000);
        same(
          [answer.status, problemOf(answer).type],
          [413, 'urn:weir:problem:payload.too_large'],
          'answer',
        );
        await within(5_000, 'the origin sees the end', () => seen.closed);
        holds(seen.bytes > 90_000_000, `only ${seen.bytes} bytes arrived`);
        holds(!seen.tail.toString('latin1').endsWith('0\r\n\r\n'), 'the cut body ended cleanly');
        return `${(seen.bytes / 1e6).toFixed(0)} MB`;
      } finally {
        connection.close();
      }
    },
  },
  {
    n: 75,
    kind: 'kept',
    cases: ['C009'],
    title: 'The method arrives as it was judged; a method outside a route’s list is refused',
    why:
      'RFC 9110 9.1: methods have case; patch is not PATCH (a lower-case one ends at the ' +
      'runtime, see the residues)',
    run: async (stand) => {
      const guarded = await stand.register();
      const route = {
        upstream_id: guarded.id,
        methods: ['PATCH', 'GET'],
        path: '/',
        query_allowlist: null,
      };
      await stand.tenant.post('/routes', route);
      for (const method of ['PATCH', 'GET']) {
        const { request } = await relay(stand, {
          method,
          target: `${guarded.path}/x`,
          headers: length(method),
        });
        arrives(request, `${method} /x`, length(method));
      }
      const target = `${guarded.path}/x`;
      for (const method of ['PROPFIND', 'DELETE', 'PUT']) {
        await refused(
          stand,
          { method, target, headers: ['Content-Length: 0'] },
          404,
          'route.not_found',
        );
      }
      // An upgrade would leave as a GET, which no route was asked about.
      const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
      const patch = { method: 'PATCH', target, headers: [...upgrade, ...length('PATCH')] };
      arrives((await relay(stand, patch)).request, 'PATCH /x', length('PATCH'));
      for (const method of ['patch', 'get']) {
        const { requests } = await send(stand, { method, target });
        same(requests.length, 0, `requests at the origin of ${method}`);
      }
      await webdav(stand);
    },
  },
];

const length = (method: string): string[] => (method === 'GET' ? [] : ['Content-Length: 0']);

/** Methods beyond the common ones pass on an upstream without routes. */
async function webdav(stand: Stand): Promise<void> {
  const methods = ['PROPFIND', 'MKCOL', 'LOCK', 'REPORT', 'SEARCH', 'PURGE'];
  for (const method of methods) {
    const call = {
      method,
      target: `${stand.plain.path}/x`,
      headers: ['Content-Length: 2'],
      body: 'ab',
    };
    const { request } = await relay(stand, call);
    arrives(request, `${method} /x`, ['Content-Length: 2'], 'ab');
    same(lineOf(request.lines, 'transfer-encoding'), undefined, 'chunked frame');
  }
}

/** Counts what an origin receives and never answers. */
function sink(socket: net.Socket, seen: { tail: Buffer; bytes: number; closed: boolean }): void {
  socket.on('data', (data) => {
    seen.bytes += data.length;
    seen.tail = Buffer.from(Buffer.concat([seen.tail, data]).subarray(-16));
  });
  socket.on('close', () => {
    seen.closed = true;
  });
}

/** Writes that many bytes in chunks, as fast as the other side reads. */
async function upload(socket: net.Socket, total: number): Promise<void> {
  const size = 1_000_000;
  for (let sent = 0; sent < total; sent += size) {
    const bytes = Math.min(size, total - sent);
    const framed = Buffer.concat([
      Buffer.from(`${bytes.toString(16)}\r\n`),
      Buffer.alloc(bytes, 'x'),
      Buffer.from('\r\n'),
    ]);
    if (socket.destroyed) return;
    if (!socket.write(framed))
      await new Promise((resolve) => void socket.once('drain', resolve).once('close', resolve));
  }
}
