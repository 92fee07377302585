/**
 * The vendor of the secrets proof: answers what the path asks for, `/k/{kind}/e/{status}/{spelling}/{place}`, and writes the credential
 * that it was sent into that place in that spelling.
 */
import { createHash } from 'node:crypto';
import type { Canary } from '../../support/leak-detector.ts';
import { headerOf } from '../../support/raw-client.ts';
import { type RecordedRequest, reply } from '../../support/recording-origin.ts';
import { nameSpellings, type Spelling, spellings } from './spellings.ts';

/** Where an echo stands in an answer. */
export const places = [
  'body',
  'chunked',
  'header',
  'name',
  'location',
  'cookie',
  'challenge',
  'reason',
  'trailer',
  'upgrade',
] as const;
export type Place = (typeof places)[number];

interface Vendor {
  readonly canaries: Readonly<Record<string, Canary>>;
  /** `host:port` of the origin that redirects lead to. */
  readonly elsewhere: string;
}

/** The path below an upstream's base that asks for an echo. */
export const echoPath = (status: number, spelling: number, place: Place): string =>
  `/e/${status}/${spelling}/${place}`;

/** A reason phrase is ASCII; a secret that is not is written escaped. */
const printable = (secret: string): string =>
  /^[\x20-\x7e]*$/.test(secret) ? secret : encodeURIComponent(secret);

const noBody = new Set([204, 304]);

/** Writes the answer of one request. */
export function answerOf(request: RecordedRequest, vendor: Vendor): void {
  const { socket } = request.connection;
  const asked = /\/k\/(\w+)\/e\/(\d+)\/(\d+)\/(\w+)/.exec(request.target);
  const spelling = spellings[Number(asked?.[3])];
  const canary = vendor.canaries[asked?.[1] ?? ''];
  if (asked === null || spelling === undefined || canary === undefined) {
    socket.write(reply('200 OK', [], 'fine'));
    return;
  }
  const secret = canary.value;
  const place = asked[4] as Place;
  const named = nameSpellings[Number(asked[3])]?.write ?? (() => 'none');
  const key = headerOf(request.lines, 'sec-websocket-key') ?? '';
  socket.write(echo({ status: Number(asked[2]), place, spelling, named, secret, vendor, key }));
}

interface Echo {
  readonly status: number;
  readonly place: Place;
  readonly spelling: Spelling;
  /** What is written into a name. */
  readonly named: (secret: string) => string;
  readonly secret: string;
  readonly vendor: Vendor;
  /** Sec-WebSocket-Key of the request. */
  readonly key: string;
}

function echo({ status, place, spelling, named, secret, vendor, key }: Echo): Buffer {
  const written = spelling.write(secret);
  const text = written.toString('latin1');
  const type = 'Content-Type: application/json';
  const coded =
    spelling.coding === undefined ? [type] : [type, `Content-Encoding: ${spelling.coding}`];
  switch (place) {
    case 'body':
      return reply(`${status} Echo`, coded, written);
    case 'chunked':
      return chunked(status, coded, written);
    case 'header':
      return plain(status, [`X-Echo: ${text}`, `X-Other: untouched`]);
    case 'name':
      return plain(status, [`X-${named(secret)}: named`, 'X-Other: untouched']);
    case 'location':
      return plain(status, [
        `Location: http://${vendor.elsewhere}/?key=${encodeURIComponent(secret)}&e=${text}`,
      ]);
    case 'cookie':
      return plain(status, [`Set-Cookie: a=1; Path=/`, `Set-Cookie: seen="${text}"; Secure`]);
    case 'challenge':
      return plain(status, [`WWW-Authenticate: Bearer error_description="${text}"`]);
    case 'reason':
      return plain(status, [], `bad key ${printable(secret)}`);
    case 'trailer':
      return trailer(status, text);
    case 'upgrade':
      return plain(status, [
        `X-Echo: ${text}`,
        'Upgrade: websocket',
        'Connection: Upgrade',
        `Sec-WebSocket-Accept: ${acceptOf(key)}`,
      ]);
  }
}

/** RFC 6455 4.2.2: a handshake that the runtime accepts. */
const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

function plain(status: number, headers: readonly string[], reason = 'Echo'): Buffer {
  if (noBody.has(status) || status === 101)
    return Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${headers.join('\r\n')}\r\n\r\n`, 'latin1');
  return reply(`${status} ${reason}`, headers, 'no');
}

/** Chunks of seven bytes: every secret is cut. */
function chunked(status: number, headers: readonly string[], body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += 7) {
    const part = body.subarray(at, at + 7);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  const head = [`HTTP/1.1 ${status} Echo`, ...headers, 'Transfer-Encoding: chunked', '', ''].join(
    '\r\n',
  );
  return Buffer.concat([Buffer.from(head), ...parts, Buffer.from('0\r\n\r\n')]);
}

function trailer(status: number, text: string): Buffer {
  const head = `HTTP/1.1 ${status} Echo\r\nTrailer: X-Echo\r\nTransfer-Encoding: chunked\r\n\r\n`;
  return Buffer.from(`${head}2\r\nno\r\n0\r\nX-Echo: ${text}\r\n\r\n`, 'latin1');
}
