/**
 * Rows: the body of an answer. Framing, codings and bytes come back as the upstream sent them, and
 * a broken body stays broken. Called by ../wire.ts.
 */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { holds, same } from '../../support/proof.ts';
import { type RecordedRequest, reply } from '../../support/recording-origin.ts';
import {
  bringsBack,
  bytesOf,
  chunk,
  comesBack,
  open,
  relay,
  type Stand,
  sameBytes,
  sized,
  vendorLines,
  type WireRow,
  write,
} from './stand.ts';

const target = (stand: Stand): string => `${stand.bound.path}/a`;
const chunked = 'Transfer-Encoding: chunked';

/** An answer that ends by closing the connection, by FIN or by RST. */
const cut =
  (head: string, how: 'end' | 'reset') =>
  ({ connection }: RecordedRequest): void => {
    const { socket } = connection;
    if (how === 'end') return void socket.end(Buffer.from(head, 'latin1'));
    // The bytes must leave before the reset throws them away.
    socket.write(Buffer.from(head, 'latin1'), () => setTimeout(() => socket.resetAndDestroy(), 30));
  };

export const answerBodyRows: readonly WireRow[] = [
  {
    n: 83,
    kind: 'kept',
    title: 'A Content-Length answer keeps its length and every byte',
    why: 'digest A3 answers',
    run: (stand) =>
      bringsBack(
        stand,
        '200 OK',
        ['Content-Type: application/octet-stream'],
        Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256)),
      ),
  },
  {
    n: 84,
    kind: 'kept',
    title: 'A chunked answer stays chunked and keeps every byte',
    why: 'digest A3 answers',
    run: async (stand) => {
      const body = `${chunk('hello ')}${chunk('world')}0\r\n\r\n`;
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: `HTTP/1.1 200 OK\r\n${chunked}\r\n\r\n${body}`,
      });
      comesBack(answer, '200 OK', [chunked], 'hello world');
    },
  },
  {
    n: 48,
    kind: 'change',
    title: 'An answer that ends with its connection comes back chunked',
    why: 'the caller’s connection stays open; RFC 9112 6.3',
    run: async (stand) => {
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: cut('HTTP/1.1 200 OK\r\n\r\nuntil close', 'end'),
      });
      comesBack(answer, '200 OK', [chunked], 'until close');
    },
  },
  {
    n: 85,
    kind: 'kept',
    cases: ['C015'],
    title: '204, 205 and 304 come back without a body, their headers kept',
    why: 'RFC 9110 15.3.5, 15.4.5; never a 500 out of a null-body status',
    run: async (stand) => {
      const bare = { target: target(stand) };
      const gone = await relay(stand, {
        ...bare,
        method: 'DELETE',
        reply: 'HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n',
      });
      comesBack(gone.answer, '204 No Content', ['X-A: 1'], '');
      const reset = await relay(stand, {
        ...bare,
        method: 'POST',
        reply: reply('205 Reset Content', ['X-A: 1']),
      });
      comesBack(reset.answer, '205 Reset Content', ['X-A: 1', 'Content-Length: 0'], '');
      const full = reply('205 Reset Content', ['X-A: 1'], 'a body that must not be');
      const odd = await relay(stand, { ...bare, method: 'POST', reply: full });
      same([odd.answer.status, odd.answer.body.length], [205, 0], '205 with a body');
      const headers = ['If-None-Match: "x"'];
      const fresh = 'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nX-A: 1\r\n\r\n';
      const known = await relay(stand, { ...bare, headers, reply: fresh });
      comesBack(known.answer, '304 Not Modified', ['ETag: "x"', 'X-A: 1'], '');
    },
  },
  {
    n: 86,
    kind: 'kept',
    title: 'HEAD keeps the Content-Length of the answer, of a 304 too',
    why: 'digest A3 answers; RFC 9110 9.3.2',
    run: async (stand) => {
      for (const status of ['200 OK', '304 Not Modified', '404 Not Found']) {
        const text = `HTTP/1.1 ${status}\r\nETag: "x"\r\nContent-Length: 1234\r\n\r\n`;
        const { answer } = await relay(stand, {
          method: 'HEAD',
          target: target(stand),
          reply: text,
        });
        comesBack(answer, status, ['ETag: "x"', 'Content-Length: 1234'], '');
      }
    },
  },
  {
    n: 87,
    kind: 'kept',
    cases: ['C021'],
    title: 'A gzip body comes back as the same bytes, with its Content-Encoding and Content-Length',
    why:
      'both manual options, in the init of fetch and of Response; anywhere else the runtime ' +
      'decodes',
    run: async (stand) => {
      const body = gzipSync('x'.repeat(400));
      const { answer } = await relay(stand, {
        target: target(stand),
        headers: ['Accept-Encoding: gzip'],
        reply: reply('200 OK', ['Content-Encoding: gzip'], body),
      });
      comesBack(answer, '200 OK', ['Content-Encoding: gzip', sized(body)], body);
    },
  },
  {
    n: 88,
    kind: 'kept',
    cases: ['C023'],
    title:
      'br, zstd, deflate, unknown and stacked codings come back as the same bytes, chunked or not',
    why: 'RFC 9110 8.4; the runtime would decode some and not others',
    run: async (stand) => {
      const text = 'y'.repeat(500);
      const coded = [
        ['br', brotliCompressSync(text)],
        ['zstd', zstdCompressSync(text)],
        ['deflate', deflateSync(text)],
        ['weird', Buffer.from([1, 2, 3, 255])],
        ['gzip, br', brotliCompressSync(gzipSync(text))],
      ] as const;
      for (const [coding, body] of coded) {
        await bringsBack(stand, '200 OK', [`Content-Encoding: ${coding}`], body);
        const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\n${chunked}\r\n\r\n`;
        const framed = Buffer.from(`${head + chunk(body.toString('latin1'))}0\r\n\r\n`, 'latin1');
        const { answer } = await relay(stand, { target: target(stand), reply: framed });
        comesBack(answer, '200 OK', [`Content-Encoding: ${coding}`, chunked], body);
      }
    },
  },
  {
    n: 89,
    kind: 'kept',
    title: 'A body that is not what its Content-Encoding says comes back as it is',
    why: 'the gateway does not look inside',
    run: async (stand) => {
      for (const coding of ['gzip', 'br'])
        await bringsBack(stand, '200 OK', [`Content-Encoding: ${coding}`], 'not compressed');
    },
  },
  {
    n: 90,
    kind: 'kept',
    title: 'No coding is added to a plain body, whatever the caller accepts',
    why: 'digest A3: the body is relayed raw',
    run: async (stand) => {
      const body = '<p>text</p>'.repeat(500);
      const lines = ['Content-Type: text/html'];
      const headers = ['Accept-Encoding: gzip, br, zstd'];
      const { answer } = await relay(stand, {
        target: target(stand),
        headers,
        reply: reply('200 OK', lines, body),
      });
      comesBack(answer, '200 OK', [...lines, sized(body)], body);
    },
  },
  {
    n: 91,
    kind: 'kept',
    title:
      'Ranges and conditionals pass in both directions: 206, 416, Range, If-Range, Content-Range',
    why: 'no cache stands between: cf.cacheTtl -1',
    run: async (stand) => {
      const headers = ['Range: bytes=0-3', 'If-Range: "v1"'];
      const lines = ['Content-Range: bytes 0-3/10', 'ETag: "v1"'];
      const part = await relay(stand, {
        target: target(stand),
        headers,
        reply: reply('206 Partial Content', lines, 'abcd'),
      });
      comesBack(part.answer, '206 Partial Content', [...lines, 'Content-Length: 4'], 'abcd');
      for (const line of headers) holds(part.request.lines.includes(line), `no ${line}`);
      await bringsBack(stand, '416 Range Not Satisfiable', ['Content-Range: bytes */10'], '');
    },
  },
  {
    n: 92,
    kind: 'kept',
    cases: ['C018'],
    title:
      'An answer that breaks in its middle breaks for the caller too: short length, no last ' +
      'chunk, never a clean end',
    why: 'decisions section 6; RFC 9112 8. A broken error body that had to be read is a 502',
    run: async (stand) => {
      const long = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nforty bytes or so';
      const pieces = `HTTP/1.1 200 OK\r\n${chunked}\r\n\r\n${chunk('forty')}`;
      const open = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"half":';
      const rows = [
        [long, 'end'],
        [long, 'reset'],
        [pieces, 'end'],
        [pieces, 'reset'],
        [open, 'reset'],
      ] as const;
      for (const [text, how] of rows) {
        const { answer } = await relay(stand, { target: target(stand), reply: cut(text, how) });
        holds(
          answer.status === 200 && !answer.complete,
          `clean end after ${how} of ${JSON.stringify(text)}`,
        );
        holds(answer.ended !== 'open', 'the connection is still open');
        vendorLines(answer);
      }
      const error = cut(long.replace('200 OK', '500 Oops'), 'end');
      const { answer } = await relay(stand, { target: target(stand), reply: error });
      same(answer.status, 502, 'broken error body');
    },
  },
  {
    n: 93,
    kind: 'kept',
    title: 'Several requests on one connection of the caller get their answers in order',
    why: 'RFC 9112 9.3.2: pipelining is the runtime’s, no answer may be lost or mixed',
    run: async (stand) => {
      stand.origin.answer(
        ({ connection, target: asked }) =>
          void write(connection.socket, reply('200 OK', [], asked).toString('latin1')),
      );
      const targets = ['/p1', '/p2', '/p3'];
      const connection = await open(stand, { target: stand.bound.path + targets[0] });
      try {
        const rest = targets.slice(1).map((t) => bytesOf(stand, { target: stand.bound.path + t }));
        connection.send(Buffer.concat(rest));
        await connection.until(() => connection.bytes.includes('/p3'));
        const bodies = connection.bytes.toString('latin1').match(/\/p\d/g);
        sameBytes(Buffer.from((bodies ?? []).join()), targets.join(), 'bodies');
      } finally {
        connection.close();
      }
    },
  },
];
