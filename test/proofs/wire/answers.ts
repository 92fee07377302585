/**
 * Rows: answers. Status line, header lines, codings, framing and bodies come back as the upstream sent them, plus four lines of ours
 * and minus what the contract names. Called by ../wire.ts.
 */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { holds, same } from '../../support/proof.ts';
import { headersOf } from '../../support/raw-client.ts';
import { type RecordedRequest, reply } from '../../support/recording-origin.ts';
import {
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

/** What a GET brings back is exactly this. */
async function verbatim(
  stand: Stand,
  status: string,
  lines: readonly string[],
  body: string | Buffer,
): Promise<void> {
  const { answer } = await relay(stand, {
    target: target(stand),
    reply: reply(status, lines, body),
  });
  comesBack(answer, status, [...lines, sized(body)], body);
}

/** An answer that ends by closing the connection, by FIN or by RST. */
const cut =
  (head: string, how: 'end' | 'reset') =>
  ({ connection }: RecordedRequest): void => {
    const { socket } = connection;
    if (how === 'end') return void socket.end(Buffer.from(head, 'latin1'));
    // The bytes must leave before the reset throws them away.
    socket.write(Buffer.from(head, 'latin1'), () => setTimeout(() => socket.resetAndDestroy(), 30));
  };

export const answerRows: readonly WireRow[] = [
  {
    n: 75,
    kind: 'kept',
    title: 'Status and reason phrase come back, a made-up or empty reason included',
    why: 'digest A11: an answer of theirs is relayed whatever its status',
    run: async (stand) => {
      for (const status of [
        '200 Fine By Me',
        '200 ',
        '201 Created',
        '226 IM Used',
        '299 Odd',
        '418 Teapot',
      ]) {
        await verbatim(stand, status, ['X-A: 1'], 'body');
      }
    },
  },
  {
    n: 76,
    kind: 'kept',
    title: '4xx and 5xx answers come back as theirs, marked X-Weir-Error-Source: upstream',
    why: 'decisions section 6: an upstream error is an answer',
    run: async (stand) => {
      for (const status of [
        '400 Bad',
        '401 No',
        '403 Forbidden',
        '404 Gone?',
        '429 Slow',
        '500 Oops',
        '503 Later',
        '599 X',
      ]) {
        await verbatim(
          stand,
          status,
          ['Retry-After: 7', 'Content-Type: text/plain'],
          'vendor text',
        );
      }
    },
  },
  {
    n: 42,
    kind: 'change',
    title:
      'Four headers are added: X-Weir-Call-Id, X-Weir-Error-Source, X-Content-Type-Options: nosniff, Content-Security-Policy: sandbox',
    why: 'digest A3 answers; decisions section 6',
    run: async (stand) => {
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', [], 'x'),
      });
      same(answer.lines.length, 5, `lines of ${JSON.stringify(answer.head)}`);
      comesBack(answer, '200 OK', [sized('x')], 'x');
    },
  },
  {
    n: 43,
    kind: 'change',
    title:
      "A vendor's own Content-Security-Policy stays beside ours; its X-Content-Type-Options is replaced",
    why: 'policies add up (CSP 3 section 8.1): neither side loosens the other',
    run: async (stand) => {
      const lines = ["Content-Security-Policy: default-src 'self'", 'X-Content-Type-Options: none'];
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', lines, 'x'),
      });
      same(
        headersOf(answer.lines, 'content-security-policy'),
        ["default-src 'self'", 'sandbox'],
        'policies',
      );
      same(headersOf(answer.lines, 'x-content-type-options'), ['nosniff'], 'nosniff');
    },
  },
  {
    n: 44,
    kind: 'change',
    title: 'X-Weir-* headers of an upstream are dropped: it cannot speak for the gateway',
    why: 'digest B5: x-oagw-* removed from answers',
    run: async (stand) => {
      const forged = [
        'X-Weir-Error: 1',
        'X-Weir-Error-Source: gateway',
        'x-weir-Call-Id: call_X',
        'X-Weir-Cost-Micro: 0',
      ];
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', forged, 'x'),
      });
      comesBack(answer, '200 OK', [sized('x')], 'x');
    },
  },
  {
    n: 45,
    kind: 'change',
    title: 'Hop-by-hop headers of an answer are dropped',
    why: 'digest A3 answers; RFC 9110 7.6.1',
    run: async (stand) => {
      const hops = [
        'Connection: keep-alive',
        'Keep-Alive: timeout=5',
        'Proxy-Authenticate: Basic',
        'Upgrade: h2c',
        'Proxy-Connection: x',
      ];
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', [...hops, 'X-A: 1'], 'x'),
      });
      comesBack(answer, '200 OK', ['X-A: 1', sized('x')], 'x');
    },
  },
  {
    n: 77,
    kind: 'kept',
    cases: ['C001'],
    title:
      'Set-Cookie lines come back one by one, in their order, with their bytes; 3 and 60 of them',
    why: 'RFC 9110 5.3, RFC 6265 3',
    run: async (stand) => {
      const three = ['a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT', 'b=2', 'b=3; Path=/, x'];
      const sixty = Array.from({ length: 60 }, (_, i) => `c${i}=${i}; Secure`);
      for (const cookies of [three, sixty]) {
        const lines = cookies.map((c) => `Set-Cookie: ${c}`);
        const { answer } = await relay(stand, {
          target: target(stand),
          reply: reply('200 OK', lines, ''),
        });
        same(headersOf(answer.lines, 'set-cookie'), cookies, 'cookies');
      }
    },
  },
  {
    n: 46,
    kind: 'change',
    title: "A Set-Cookie of Weir's own cookie names is dropped; the others keep their order",
    why: 'digest A3 answers: no fixation; C007',
    run: async (stand) => {
      const lines = [
        '__Host-weir_session=evil; Secure',
        'z=1',
        '__Host-weir_session2=k',
        '__Host-weir_oauth=e',
        'a=2; x="__Host-weir_session=1"',
      ];
      const set = lines.map((c) => `Set-Cookie: ${c}`);
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', set, ''),
      });
      same(
        headersOf(answer.lines, 'set-cookie'),
        [1, 2, 4].map((i) => lines[i]),
        'cookies',
      );
    },
  },
  {
    n: 78,
    kind: 'kept',
    cases: ['C008'],
    title: 'Non-ASCII bytes in header values come back as the same bytes',
    why: 'RFC 9110 5.5: obs-text is opaque',
    run: async (stand) => {
      const lines = [
        'Content-Disposition: attachment; filename="\xe4\xb8\xad.pdf"',
        'X-L: \xe9',
        'Set-Cookie: a=\xe9',
      ];
      await verbatim(stand, '200 OK', lines, 'pdf');
    },
  },
  {
    n: 79,
    kind: 'kept',
    title: 'Names keep their case, repeated lines of other names stay apart and in order',
    why: 'digest A3: all else relayed',
    run: (stand) =>
      verbatim(
        stand,
        '200 OK',
        ['X-DUP: 1', 'X-DUP: 2', 'x-RateLimit-Remaining: 7', 'ETag: "a"', 'X-Empty: '],
        'x',
      ),
  },
  {
    n: 80,
    kind: 'kept',
    title: '40 KiB of response headers come back whole',
    why: 'C011: a limit of ours must not blame the vendor; there is none here',
    run: (stand) =>
      verbatim(
        stand,
        '200 OK',
        Array.from({ length: 40 }, (_, i) => `X-L${i}: ${'v'.repeat(1_024)}`),
        'x',
      ),
  },
  {
    n: 81,
    kind: 'kept',
    title: 'A Content-Length answer keeps its length and every byte',
    why: 'digest A3 answers',
    run: (stand) =>
      verbatim(
        stand,
        '200 OK',
        ['Content-Type: application/octet-stream'],
        Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256)),
      ),
  },
  {
    n: 82,
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
    n: 47,
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
    n: 83,
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
      const headers = ['If-None-Match: "x"'];
      const fresh = 'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nX-A: 1\r\n\r\n';
      const same = await relay(stand, { ...bare, headers, reply: fresh });
      comesBack(same.answer, '304 Not Modified', ['ETag: "x"', 'X-A: 1'], '');
    },
  },
  {
    n: 84,
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
    n: 85,
    kind: 'kept',
    cases: ['C021'],
    title: 'A gzip body comes back as the same bytes, with its Content-Encoding and Content-Length',
    why: 'both manual options, in the init of fetch and of Response; anywhere else the runtime decodes',
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
    n: 86,
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
        await verbatim(stand, '200 OK', [`Content-Encoding: ${coding}`], body);
        const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\n${chunked}\r\n\r\n`;
        const framed = Buffer.from(head + chunk(body.toString('latin1')) + '0\r\n\r\n', 'latin1');
        const { answer } = await relay(stand, { target: target(stand), reply: framed });
        comesBack(answer, '200 OK', [`Content-Encoding: ${coding}`, chunked], body);
      }
    },
  },
  {
    n: 87,
    kind: 'kept',
    title: 'A body that is not what its Content-Encoding says comes back as it is',
    why: 'the gateway does not look inside',
    run: async (stand) => {
      for (const coding of ['gzip', 'br'])
        await verbatim(stand, '200 OK', [`Content-Encoding: ${coding}`], 'not compressed');
    },
  },
  {
    n: 88,
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
    n: 89,
    kind: 'kept',
    title:
      'Redirects 301, 302, 303, 307 and 308 are never followed; Location comes back byte for byte',
    why: 'digest A3 mechanics: a redirect would carry the credential to another host',
    run: async (stand) => {
      const places = [
        '/../next?a=%2f#f',
        'https://elsewhere.test/x',
        '//elsewhere.test',
        'a b',
        '/\xc3\xa9',
        `http://${stand.second.authority}/`,
      ];
      for (const code of [301, 302, 303, 307, 308]) {
        for (const place of places)
          await verbatim(stand, `${code} Moved`, [`Location: ${place}`], '');
      }
      same(stand.second.requests.length, 0, 'requests at the redirect target');
    },
  },
  {
    n: 90,
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
      await verbatim(stand, '416 Range Not Satisfiable', ['Content-Range: bytes */10'], '');
    },
  },
  {
    n: 48,
    kind: 'change',
    title: "The upstream's header rules edit the answer: remove, then set, then add",
    why: 'digest B5 rule order; registered by the tenant',
    run: async (stand) => {
      const response = { remove: ['Server'], set: { 'x-set': 'ours' }, add: { 'x-add': 'more' } };
      const upstream = await stand.register({ header_rules: { request: {}, response } });
      const lines = ['Server: nginx', 'x-set: theirs', 'x-add: first', 'X-Keep: yes'];
      const { answer } = await relay(stand, {
        target: `${upstream.path}/a`,
        reply: reply('200 OK', lines, 'x'),
      });
      comesBack(
        answer,
        '200 OK',
        ['x-set: ours', 'x-add: first', 'x-add: more', 'X-Keep: yes', sized('x')],
        'x',
      );
    },
  },
  {
    n: 91,
    kind: 'kept',
    cases: ['C018'],
    title:
      'An answer that breaks in its middle breaks for the caller too: short length, no last chunk, never a clean end',
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
    n: 92,
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
