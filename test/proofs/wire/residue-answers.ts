/**
 * Rows: residues of answers and connections, pinned like those of requests. Called by ../wire.ts.
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

/** Whether half an upload got a clean end (or else its connection was closed) after a vendor had answered whole. */
async function endOfUpload(stand: Stand, frame: string, part: string): Promise<boolean> {
  const seen = { text: '', closed: false };
  // A connection that an earlier row left open would not come to this script.
  stand.scripted.drop();
  stand.scripted.on = (socket) => {
    socket.once('data', () => write(socket, 'HTTP/1.1 202 Ok\r\nContent-Length: 2\r\n\r\nok'));
    socket.on('data', (data) => {
      seen.text += data.toString('latin1');
    });
    socket.on('close', () => {
      seen.closed = true;
    });
  };
  const call = { method: 'POST', target: `${stand.live.path}/r`, headers: [frame], body: part };
  const connection = await open(stand, call);
  const isClean = (): boolean => seen.text.endsWith('0\r\n\r\n');
  try {
    same((await connection.answer('POST')).status, 202, 'answer');
    await within(1_000, 'the end of the upload', () => isClean() || seen.closed);
    return isClean();
  } finally {
    connection.close();
    stand.scripted.drop();
  }
}

const at = (stand: Stand): string => `${stand.plain.path}/r`;

export const residueAnswerRows: readonly WireRow[] = [
  {
    n: 147,
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
    n: 148,
    kind: 'residue',
    cases: ['C017'],
    title: '1xx answers of an upstream are swallowed; the final answer has only its own headers',
    why: 'decisions section 7; RFC 8297 2: a 103 is a hint',
    run: async (stand) => {
      const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(2);
      const interim = `HTTP/1.1 100 Continue\r\n\r\n${hints}HTTP/1.1 102 Processing\r\n\r\n`;
      const text = `${interim}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`;
      const { answer } = await relay(stand, { target: at(stand), reply: text });
      comesBack(answer, '200 OK', ['Content-Length: 2'], 'ok');
      holds(!answer.bytes.toString('latin1').includes('HTTP/1.1 10'), 'a 1xx came through');
    },
  },
  {
    n: 149,
    kind: 'residue',
    title:
      '100 Continue comes from the runtime when the body is first read, before the upstream ' +
      'has decided',
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
    n: 150,
    kind: 'residue',
    title:
      'The Content-Length of a 304 to GET and of a 204 is dropped, and the Transfer-Encoding ' +
      'of an answer to HEAD',
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
    n: 151,
    kind: 'residue',
    title:
      'An upstream that drops a pooled connection as the request arrives makes a 502; here ' +
      'nothing is sent twice',
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
    n: 152,
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
    n: 153,
    kind: 'residue',
    title:
      'An answer without length that ends by FIN looks complete, wherever it was cut; so does a ' +
      'chunked upload that still runs when the whole answer is out',
    why:
      'RFC 9112 8: inherent in close-delimited bodies; measured: the runtime reads no more of an ' +
      'upload then, and no code can break a send that has its answer',
    run: async (stand) => {
      const { answer } = await relay(stand, {
        target: at(stand),
        reply: ({ connection }) => void connection.socket.end('HTTP/1.1 200 OK\r\n\r\n{"half":'),
      });
      comesBack(answer, '200 OK', [chunked], '{"half":');
      for (const [frame, part, isClean] of [
        [chunked, chunk('half'), true],
        ['Content-Length: 5000', 'half', false],
      ] as const)
        same(await endOfUpload(stand, frame, part), isClean, `${frame} ends like a whole`);
    },
  },
  {
    n: 154,
    kind: 'residue',
    title:
      'An answer that the runtime cannot read is a 502 of ours: two lengths, a status outside' +
      ' 200 to 599, a 101 to what was no upgrade, garbage',
    why: 'measured; RFC 9110 15',
    run: async (stand) => {
      const texts = [
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
        'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n',
        `HTTP/1.1 600 Odd\r\nX-Echo: ${stand.credential}\r\nContent-Length: 0\r\n\r\n`,
        `HTTP/1.1 600 Odd\r\nContent-Length: 2\r\n\r\nno`,
        'HTTP/1.1 101 Odd\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
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
    n: 155,
    kind: 'residue',
    title:
      'An answer header that must be rewritten (a masked credential, Set-Cookie beside an own' +
      ' cookie) loses bytes that are not UTF-8',
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
    n: 156,
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
];
