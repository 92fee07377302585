/**
 * The limits of the wire: at each a call reaches its origin, beyond it it is refused and does not.
 * Called by test/proofs/bounds.ts; its attack serves metered.ts too.
 */
import net from 'node:net';
import {
  headerBytesMax,
  headerCountMax,
  jsonBindingBodyBytesMax,
  jsonDepthMax,
  requestBodyBytesMax,
  urlBytesMax,
} from '../../../src/base/limits.ts';
import { holds, same } from '../../support/proof.ts';
import { exchange, RawConnection } from '../../support/raw-client.ts';
import { chunked, type Named, nested, object, refused, type Stand, sized } from './stand.ts';

/** A call with exact bytes behind the key's header. */
export function calling(
  { scenario }: Stand,
  target: string,
  tail = '\r\n',
  method = 'GET',
): string {
  return `${method} ${target} HTTP/1.1\r\nHost: gw\r\nX-Weir-Key: ${scenario.token}\r\n${tail}`;
}

/**
 * Runs an attack: at the limit the origin is asked, beyond it the call is refused and the origin is
 * not.
 */
export async function wire(
  stand: Stand,
  request: (size: number) => string,
  limit: { readonly max: number; readonly status: number; readonly code: string },
): Promise<void> {
  const { gateway, origin } = stand;
  const before = origin.requests.length;
  same((await exchange(gateway.port, request(limit.max))).status, 200, 'at the limit');
  same(origin.requests.length, before + 1, 'requests at the origin');
  refused(await exchange(gateway.port, request(limit.max + 1)), limit.status, limit.code);
  same(origin.requests.length, before + 1, 'requests at the origin, beyond the limit');
}

/** What is refused by its declared length is answered before its body: workerd closes on what it does not read, and that reset may overtake the answer. */
export const headOf = (request: string): string =>
  request.slice(0, request.indexOf('\r\n\r\n') + 4);

const filled = (start: string, size: number): string => start + 'a'.repeat(size - start.length);

/** Every row of this file. */
export const onTheWire: readonly Named[] = [
  [
    `urlBytesMax: a target above ${urlBytesMax} bytes is 414`,
    (stand) =>
      wire(stand, (size) => calling(stand, filled('/call/native/', size)), {
        max: urlBytesMax,
        status: 414,
        code: 'request.url_too_long',
      }),
  ],
  [
    `headerCountMax: more than ${headerCountMax} header names is 431`,
    (stand) =>
      wire(stand, (size) => calling(stand, '/call/native/x', `${manyHeaders(size - 2)}\r\n`), {
        max: headerCountMax,
        status: 431,
        code: 'request.headers_too_large',
      }),
  ],
  [
    `headerBytesMax: more than ${headerBytesMax} bytes of names and values is 431`,
    (stand) => {
      const own = 'hostgwx-weir-keyx-big'.length + stand.scenario.token.length;
      const big = (size: number) => `X-Big: ${'v'.repeat(size - own)}\r\n\r\n`;
      return wire(stand, (size) => calling(stand, '/call/native/x', big(size)), {
        max: headerBytesMax,
        status: 431,
        code: 'request.headers_too_large',
      });
    },
  ],
  [
    `requestBodyBytesMax: a declared length above ${requestBodyBytesMax} is 413 before any byte of it`,
    async (stand) => {
      const before = stand.origin.connections.length;
      const tail = `Content-Length: ${requestBodyBytesMax + 1}\r\n\r\n`;
      const request = calling(stand, '/call/native/x', tail, 'POST');
      refused(await exchange(stand.gateway.port, request), 413, 'payload.too_large');
      same(stand.origin.connections.length, before, 'connections of the origin');
    },
  ],
  [
    `requestBodyBytesMax: a chunked body above ${requestBodyBytesMax} is 413, and never a whole one at the upstream`,
    chunkedOverrun,
  ],
  ...[sized, chunked].map(
    (framed): Named => [
      `jsonBindingBodyBytesMax: a ${framed === sized ? 'declared' : 'chunked'} body above ${jsonBindingBodyBytesMax} is 413`,
      (stand) =>
        wire(
          stand,
          (size) => {
            const request = calling(stand, '/call/bound/x', framed(object(size)), 'POST');
            return framed === sized && size > jsonBindingBodyBytesMax ? headOf(request) : request;
          },
          { max: jsonBindingBodyBytesMax, status: 413, code: 'payload.too_large' },
        ),
    ],
  ),
  [
    `jsonDepthMax: a body that a binding reads may nest ${jsonDepthMax} deep; one more is 400`,
    (stand) =>
      wire(stand, (size) => calling(stand, '/call/bound/x', sized(nested(size)), 'POST'), {
        max: jsonDepthMax,
        status: 400,
        code: 'binding.body_invalid',
      }),
  ],
];

const manyHeaders = (count: number): string =>
  Array.from({ length: count }, (_, i) => `X-H${i}: v\r\n`).join('');

/** An upstream that only counts: a recording one would hold the whole body. */
async function chunkedOverrun(stand: Stand): Promise<string> {
  const seen = { bytes: 0, tail: '' };
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      seen.bytes += chunk.length;
      seen.tail = (seen.tail + chunk.subarray(-16).toString('latin1')).slice(-16);
    });
  });
  await new Promise<void>((resolve) => server.listen(stand.countingPort, '127.0.0.1', resolve));
  const client = await RawConnection.open(stand.gateway.port);
  try {
    client.send(calling(stand, '/call/counting/x', 'Transfer-Encoding: chunked\r\n\r\n', 'POST'));
    const pieces = [...Array.from({ length: 25 }, () => requestBodyBytesMax / 25), 1];
    for (const size of pieces) {
      const data = Buffer.alloc(size, 0x61);
      const chunk = [Buffer.from(`${size.toString(16)}\r\n`), data, Buffer.from('\r\n')];
      await new Promise((resolve) => client.socket.write(Buffer.concat(chunk), resolve));
    }
    refused(await client.answer('POST', 30_000), 413, 'payload.too_large');
    holds(!seen.tail.endsWith('0\r\n\r\n'), 'the upstream got a part of the body with a clean end');
    return `${seen.bytes} bytes had gone on`;
  } finally {
    client.close();
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}
