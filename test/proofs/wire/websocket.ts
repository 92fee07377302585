/**
 * Rows: WebSocket. The upgrade and every frame pass both ways; the answer of an upgrade obeys the
 * same header rules as any other. Called by ../wire.ts.
 */
import { createHash } from 'node:crypto';
import type net from 'node:net';
import { holds, same } from '../../support/proof.ts';
import { headerOf, headersOf, type RawConnection } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import {
  comesBack,
  lineOf,
  open,
  relay,
  type Stand,
  sized,
  soon,
  type WireRow,
  within,
} from './stand.ts';

const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];
const protocols = 'Sec-WebSocket-Protocol: p1, p2';

/** One frame; a client's is masked with zeros, so that its payload stays readable. */
function frame(
  opcode: number,
  payload: string | Buffer,
  options: { masked: boolean; more?: boolean },
): Buffer {
  const data = Buffer.from(payload);
  const head = [
    (options.more === true ? 0 : 0x80) | opcode,
    data.length | (options.masked ? 0x80 : 0),
  ];
  return Buffer.concat([Buffer.from(head), Buffer.alloc(options.masked ? 4 : 0), data]);
}

const close = (code: number, reason: string): Buffer =>
  Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]);

/** The accept value of RFC 6455 4.2.2. */
const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

interface Session {
  readonly client: RawConnection;
  readonly socket: net.Socket;
  /** Request head lines at the origin. */
  readonly lines: readonly string[];
  /** Bytes after the head on either side. */
  readonly atOrigin: () => Buffer;
  readonly atClient: () => Buffer;
}

/** An open WebSocket between a raw client and the scripted origin, whose 101 has these lines. */
async function session(
  stand: Stand,
  lines: readonly string[],
  act: (s: Session) => Promise<void>,
): Promise<void> {
  const arrived = new Promise<{ socket: net.Socket; bytes: () => Buffer }>((resolve) => {
    stand.scripted.on = (socket) => {
      let bytes = Buffer.alloc(0);
      socket.on('data', (data) => {
        const isFirst = !bytes.includes('\r\n\r\n');
        bytes = Buffer.concat([bytes, data]);
        if (!isFirst || !bytes.includes('\r\n\r\n')) return;
        const key = headerOf(bytes.toString('latin1').split('\r\n'), 'sec-websocket-key') ?? '';
        const head = [
          'HTTP/1.1 101 Switching Protocols',
          'Upgrade: websocket',
          'Connection: Upgrade',
          `Sec-WebSocket-Accept: ${acceptOf(key)}`,
        ];
        socket.write(Buffer.from(`${[...head, ...lines].join('\r\n')}\r\n\r\n`, 'latin1'));
        resolve({ socket, bytes: () => bytes });
      });
    };
  });
  const client = await open(stand, {
    target: `${stand.live.path}/ws?x=1`,
    headers: [...upgrade, protocols],
  });
  try {
    const { socket, bytes } = await soon(arrived, 'the upgrade at the origin');
    await client.until(() => client.bytes.includes('\r\n\r\n'));
    const after = (all: Buffer): Buffer => all.subarray(all.indexOf('\r\n\r\n') + 4);
    const head = bytes().toString('latin1').split('\r\n\r\n')[0] ?? '';
    await act({
      ...{ client, socket, lines: head.split('\r\n') },
      atOrigin: () => after(bytes()),
      atClient: () => after(client.bytes),
    });
  } finally {
    client.close();
    stand.scripted.drop();
  }
}

/** Writes on one side; the other must read exactly these further bytes. */
async function passes(
  write: (bytes: Buffer) => unknown,
  read: () => Buffer,
  bytes: Buffer,
): Promise<void> {
  const before = read().length;
  write(bytes);
  await within(
    1_000,
    `${bytes.toString('hex')} on the other side`,
    () => read().length >= before + bytes.length,
  );
  same(read().subarray(before).toString('hex'), bytes.toString('hex'), 'frame');
}

export const websocketRows: readonly WireRow[] = [
  {
    n: 104,
    kind: 'kept',
    cases: ['C019'],
    title:
      'A WebSocket upgrade passes: 101 with the chosen subprotocol, credential injected, ' +
      'frames and the close code both ways',
    why: 'decisions section 4, tiers 1-3; RFC 6455',
    run: (stand) =>
      session(
        stand,
        ['Sec-WebSocket-Protocol: p2', 'X-Vendor: 1'],
        async ({ client, socket, lines, atOrigin, atClient }) => {
          const answer = await client.answer();
          same(answer.statusLine, 'HTTP/1.1 101 Switching Protocols', 'status line');
          same(headerOf(answer.lines, 'sec-websocket-protocol'), 'p2', 'subprotocol');
          same(
            headerOf(answer.lines, 'sec-websocket-accept'),
            acceptOf('dGhlIHNhbXBsZSBub25jZQ=='),
            'accept',
          );
          same(headerOf(answer.lines, 'x-vendor'), '1', 'vendor header');
          same(lines[0], 'GET /ws?x=1 HTTP/1.1', 'request line');
          same(headerOf(lines, 'x-vendor-key'), stand.credential, 'credential');
          same(headerOf(lines, 'sec-websocket-protocol'), 'p1, p2', 'offered protocols');
          same(lineOf(lines, 'x-weir-key'), undefined, 'the Weir key');
          const up = (bytes: Buffer): void => client.send(bytes);
          const down = (bytes: Buffer): boolean => socket.write(bytes);
          await passes(up, atOrigin, frame(1, 'hello', { masked: true }));
          await passes(down, atClient, frame(1, 'world', { masked: false }));
          await passes(up, atOrigin, frame(8, close(4000, 'bye'), { masked: true }));
          await passes(down, atClient, frame(8, close(4001, 'later'), { masked: false }));
        },
      ),
  },
  {
    n: 105,
    kind: 'kept',
    title: 'WebSocket frames pass byte for byte: fragments, binary, ping and pong, empty, masking',
    why: 'the gateway does not take part in the protocol',
    run: (stand) =>
      session(stand, [], async ({ client, socket, atOrigin, atClient }) => {
        for (const masked of [true, false]) {
          const write = masked ? (b: Buffer) => client.send(b) : (b: Buffer) => socket.write(b);
          const read = masked ? atOrigin : atClient;
          await passes(write, read, frame(1, 'frag', { masked, more: true }));
          await passes(write, read, frame(9, 'ping', { masked }));
          await passes(write, read, frame(0, 'ment', { masked }));
          await passes(write, read, frame(10, 'pong', { masked }));
          await passes(write, read, frame(2, Buffer.from([0, 255, 10, 13]), { masked }));
          await passes(write, read, frame(1, '', { masked }));
        }
      }),
  },
  {
    n: 106,
    kind: 'kept',
    title: 'A refused upgrade comes back as the answer that it is',
    why: 'C019: a 403 is relayed',
    run: async (stand) => {
      const headers = [...upgrade, protocols];
      const sent = reply('403 Not You', ['X-A: 1'], 'no');
      const { answer } = await relay(stand, {
        target: `${stand.bound.path}/ws`,
        headers,
        reply: sent,
      });
      comesBack(answer, '403 Not You', ['X-A: 1', sized('no')], 'no');
    },
  },
  {
    n: 54,
    kind: 'change',
    title:
      'The head of a 101 obeys the same rules: credential masked, X-Weir-* and own cookies ' +
      'dropped, call id added',
    why: 'decisions section 5: masked on every status',
    run: (stand) => {
      const lines = [
        `X-Echo: ${stand.credential}`,
        'X-Weir-Error: 1',
        'Set-Cookie: __Host-weir_session=evil',
        'Set-Cookie: a=1',
        'X-Keep: yes',
      ];
      return session(stand, lines, async ({ client }) => {
        const answer = await client.answer();
        same(headerOf(answer.lines, 'x-echo'), '***', 'masked header');
        same(headerOf(answer.lines, 'x-weir-error'), null, 'forged header');
        same(headersOf(answer.lines, 'set-cookie'), ['a=1'], 'cookies');
        same(headerOf(answer.lines, 'x-keep'), 'yes', 'vendor header');
        holds(headerOf(answer.lines, 'x-weir-call-id')?.startsWith('call_'), 'no call id');
      });
    },
  },
  {
    n: 107,
    kind: 'kept',
    title: 'When one side of a WebSocket drops, the other is closed within a second',
    why: 'measured',
    run: async (stand) => {
      await session(stand, [], async ({ client, socket }) => {
        let closed = false;
        socket.on('close', () => {
          closed = true;
        });
        client.reset();
        await within(1_000, 'the upstream closes', () => closed);
      });
      await session(stand, [], async ({ client, socket }) => {
        socket.resetAndDestroy();
        await within(1_000, 'the caller is closed', () => client.ended !== 'open');
      });
    },
  },
];
