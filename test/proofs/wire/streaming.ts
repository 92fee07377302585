/**
 * Rows: time. What one side writes reaches the other at once, in both directions, and an end of
 * one side is an end of the other. Called by ../wire.ts.
 */
import type net from 'node:net';
import { refusedBodyStallMs } from '../../../src/base/limits.ts';
import { holds, type Row, same } from '../../support/proof.ts';
import type { RawConnection } from '../../support/raw-client.ts';
import {
  chunk,
  comesBack,
  open,
  problemOf,
  refused,
  type Stand,
  soon,
  type WireRow,
  within,
  write,
} from './stand.ts';

const chunked = 'Transfer-Encoding: chunked';
const sse = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${chunked}\r\n\r\n`;
const event = (i: number): string => `data: {"i":${i}}\n\n`;

/** The socket of the scripted origin once the whole head (or `marker`) of a request has come. */
function headOf(
  stand: Stand,
  marker = '\r\n\r\n',
): Promise<{ socket: net.Socket; seen: () => string; closed: () => boolean }> {
  return new Promise((resolve) => {
    stand.scripted.on = (socket) => {
      let text = '';
      let closed = false;
      socket.on('close', () => {
        closed = true;
      });
      socket.on('end', () => {
        closed = true;
      });
      socket.on('data', (data) => {
        const before = text.includes(marker);
        text += data.toString('latin1');
        if (!before && text.includes(marker))
          resolve({ socket, seen: () => text, closed: () => closed });
      });
    };
  });
}

/** Writes bytes as fast as the other side takes them: whether it took all. */
const written = (socket: net.Socket, bytes: string | Buffer): Promise<'all' | 'broken'> =>
  new Promise((resolve) => {
    socket.once('close', () => resolve('broken'));
    socket.write(bytes, 'latin1', (fault) => resolve(fault == null ? 'all' : 'broken'));
  });

type Shown = ReturnType<Row['run']>;

/** Runs `act` with a client that has sent a call to the scripted origin, and that origin's side. */
async function both(
  stand: Stand,
  call: { method?: string; headers?: readonly string[]; body?: string },
  act: (client: RawConnection, origin: Awaited<ReturnType<typeof headOf>>) => Shown,
): Shown {
  const arrived = headOf(stand);
  const client = await open(stand, { target: `${stand.live.path}/s`, ...call });
  try {
    return await act(client, await soon(arrived, 'the call at the origin'));
  } finally {
    client.close();
    stand.scripted.drop();
  }
}

const text = (client: RawConnection): string => client.bytes.toString('latin1');

export const streamingRows: readonly WireRow[] = [
  {
    n: 97,
    kind: 'kept',
    cases: ['C055'],
    title:
      'An event reaches the caller before the next is written, with Accept-Encoding: gzip ' +
      'too; bytes identical, no coding added',
    why: 'digest A3 mechanics: the body streams',
    run: (stand) =>
      both(stand, { headers: ['Accept-Encoding: gzip'] }, async (client, { socket }) => {
        write(socket, sse + chunk(event(1)));
        const first = await within(500, 'event 1', () => text(client).includes(event(1)));
        holds(!text(client).includes(event(2)), 'event 2 was not written yet');
        write(socket, `${chunk(event(2))}0\r\n\r\n`);
        const answer = await client.answer();
        comesBack(
          answer,
          '200 OK',
          ['Content-Type: text/event-stream', chunked],
          event(1) + event(2),
        );
        return `event 1 after ${first.toFixed(1)} ms`;
      }),
  },
  {
    n: 98,
    kind: 'kept',
    title: 'Events are not merged: fifty of them, each received before the next is sent',
    why: 'issue 2: SSE unbuffered',
    run: (stand) =>
      both(stand, {}, async (client, { socket }) => {
        write(socket, sse);
        for (let i = 0; i < 50; i += 1) {
          write(socket, chunk(event(i)));
          await within(1_000, `event ${i}`, () => text(client).includes(event(i)));
        }
        write(socket, '0\r\n\r\n');
        const answer = await client.answer();
        same(
          answer.body.toString(),
          Array.from({ length: 50 }, (_, i) => event(i)).join(''),
          'events',
        );
      }),
  },
  {
    n: 99,
    kind: 'kept',
    title: 'The head of an answer reaches the caller before the first byte of its body',
    why: 'a client that shows progress must see the status at once',
    run: (stand) =>
      both(stand, {}, async (client, { socket }) => {
        write(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
        await within(1_000, 'the head', () => text(client).includes('\r\n\r\n'));
        write(socket, 'body');
        comesBack(await client.answer(), '200 OK', ['Content-Length: 4'], 'body');
      }),
  },
  {
    n: 100,
    kind: 'kept',
    title: 'A tracked answer (track_body) streams the same: head, bytes, framing, broken end',
    why: 'decisions section 4: a pipe counts, nothing else changes. The head of one of at most 64 KiB waits for the first bytes of its body, 0.2 s at most',
    run: async (stand) => {
      const endpoints = [{ host: '127.0.0.1', port: stand.scripted.port }];
      const tracked = await stand.register({ endpoints, track_body: true });
      await both({ ...stand, live: tracked }, {}, async (client, { socket }) => {
        write(socket, sse + chunk(event(1)));
        await within(500, 'event 1', () => text(client).includes(event(1)));
        write(socket, `${chunk(event(2))}0\r\n\r\n`);
        comesBack(
          await client.answer(),
          '200 OK',
          ['Content-Type: text/event-stream', chunked],
          event(1) + event(2),
        );
      });
      await both({ ...stand, live: tracked }, {}, async (client, { socket }) => {
        write(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc');
        comesBack(await client.answer(), '200 OK', ['Content-Length: 3'], 'abc');
      });
      // The head waits a moment for the body, and no longer.
      await both({ ...stand, live: tracked }, {}, async (client, { socket }) => {
        write(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n');
        await within(1_000, 'the head', () => text(client).includes('\r\n\r\n'));
        write(socket, 'abc');
        await within(500, 'the first half', () => text(client).endsWith('abc'));
        write(socket, 'def');
        comesBack(await client.answer(), '200 OK', ['Content-Length: 6'], 'abcdef');
      });
      // Two framings that the runtime settles: chunked wins, a repeated length is one.
      for (const [head, body, frame] of [
        [`Content-Length: 10\r\n${chunked}`, `${chunk('abc')}0\r\n\r\n`, chunked],
        ['Content-Length: 3\r\nContent-Length: 3', 'abc', 'Content-Length: 3'],
        ['Content-Length: 3, 3', 'abc', 'Content-Length: 3'],
      ] as const) {
        for (const live of [stand.live, tracked])
          await both({ ...stand, live }, {}, async (client, { socket }) => {
            write(socket, `HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`);
            comesBack(await client.answer(), '200 OK', [frame], 'abc');
          });
      }
      await both({ ...stand, live: tracked }, {}, async (client, { socket }) => {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc');
        const answer = await client.answer();
        holds(!answer.complete && answer.ended !== 'open', 'a broken tracked answer ended cleanly');
      });
    },
  },
  {
    n: 101,
    kind: 'kept',
    title: 'An answer that comes while the upload still runs reaches the caller at once',
    why: 'RFC 9112 9.3: a 413 or 401 need not wait for the body',
    run: (stand) =>
      both(
        stand,
        { method: 'POST', headers: ['Content-Length: 20000000'], body: 'x'.repeat(1000) },
        async (client, { socket }) => {
          write(socket, 'HTTP/1.1 413 Too Big\r\nContent-Length: 2\r\n\r\nno');
          const took = await within(1_000, 'the early answer', () =>
            text(client).includes('\r\n\r\nno'),
          );
          same((await client.answer('POST')).statusLine, 'HTTP/1.1 413 Too Big', 'status line');
          return `${took.toFixed(1)} ms`;
        },
      ),
  },
  {
    n: 102,
    kind: 'kept',
    title:
      'Both directions flow at once: each chunk of an upload is answered before the next is sent',
    why: 'full duplex, as bidirectional vendor APIs need it',
    run: (stand) =>
      both(stand, { method: 'POST', headers: [chunked] }, async (client, { socket, seen }) => {
        write(socket, `HTTP/1.1 200 OK\r\n${chunked}\r\n\r\n`);
        for (const piece of ['alpha', 'beta', 'gamma']) {
          client.send(chunk(piece));
          await within(1_000, `${piece} at the origin`, () => seen().includes(piece));
          write(socket, chunk(piece.toUpperCase()));
          await within(1_000, `${piece} back`, () => text(client).includes(piece.toUpperCase()));
        }
        client.send('0\r\n\r\n');
        await within(1_000, 'the end of the upload', () => seen().includes('0\r\n\r\n'));
        write(socket, '0\r\n\r\n');
        same((await client.answer('POST')).body.toString(), 'ALPHABETAGAMMA', 'answer');
      }),
  },
  {
    n: 103,
    kind: 'kept',
    cases: ['C057'],
    title:
      'A caller that resets its connection closes the upstream within a second: before the ' +
      'head, in the upload, in the body',
    why: 'decisions section 4, tiers 1-3',
    run: async (stand) => {
      const took: number[] = [];
      const closes = async (client: RawConnection, closed: () => boolean): Promise<void> => {
        client.reset();
        took.push(await within(1_000, 'the upstream closes', closed));
      };
      await both(stand, {}, (client, { closed }) => closes(client, closed));
      await both(
        stand,
        { method: 'POST', headers: ['Content-Length: 5000'], body: 'x' },
        (client, { closed }) => closes(client, closed),
      );
      await both(stand, {}, async (client, { socket, closed }) => {
        write(socket, sse + chunk(event(1)));
        await within(1_000, 'event 1', () => text(client).includes(event(1)));
        await closes(client, closed);
      });
      return took.map((ms) => `${ms.toFixed(0)} ms`).join(', ');
    },
  },
  {
    n: 176,
    kind: 'refusal',
    title:
      'A refused upload is taken to its end before the refusal goes out; one that waits for 100 ' +
      'Continue or is above 100 MB is refused at once, a silent one after a second',
    why: 'measured: the runtime resets what nobody reads, and an SDK that was still sending shows a broken pipe and sends it all again',
    run: async (stand) => {
      const size = 20_000_000;
      const length = `Content-Length: ${size}`;
      const unknown = { method: 'POST', target: '/call/nobody/x' };
      for (const [target, framing] of [
        ['/call/nobody/x', length],
        ['/call/nobody/x', chunked],
        ['/v1/files', length],
      ] as const) {
        const client = await open(stand, { method: 'POST', target, headers: [framing] });
        try {
          const body = Buffer.alloc(size, 'x');
          const sent = await written(
            client.socket,
            framing === chunked ? chunk(body.toString('latin1')) : body,
          );
          same(sent, 'all', `the upload to ${target}, ${framing}`);
          if (framing === chunked) client.send('0\r\n\r\n');
          same(problemOf(await client.answer('POST')).status, 404, 'status');
        } finally {
          client.close();
        }
      }
      const began = performance.now();
      for (const headers of [[length, 'Expect: 100-continue'], ['Content-Length: 50000']])
        await refused(stand, { ...unknown, headers }, 404, 'routing.not_found');
      const tooLarge = { ...unknown, headers: ['Content-Length: 100000001'] };
      await refused(stand, tooLarge, 413, 'payload.too_large');
      const atOnceMs = performance.now() - began;
      holds(atOnceMs < refusedBodyStallMs, `not at once: ${atOnceMs.toFixed(0)} ms`);
      await refused(stand, { ...unknown, headers: [length], body: 'x' }, 404, 'routing.not_found');
      return `${size / 1e6} MB, three times`;
    },
  },
];
