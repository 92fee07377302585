/**
 * Carrier rows: the Weir key, wherever an SDK puts it, opens the call and never reaches an origin (case C005, decisions section 2).
 * Each carrier is tried alone and beside `X-Weir-Key`: a second copy must go too.
 */

import { leaksIn } from '../../support/leak-detector.ts';
import { holds, type Row } from '../../support/proof.ts';
import { arrivedSince, type Scene, search, send } from './scene.ts';

interface Carrier {
  readonly name: string;
  readonly head?: (token: string) => string;
  readonly query?: (token: string) => string;
  /** Not one of the documented places: it need not open the call, but must not pass beside a key that does. */
  readonly besideOnly?: boolean;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const everyByte = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
const upgrade =
  'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

const carriers: readonly Carrier[] = [
  { name: 'X-Weir-Key', head: (t) => `X-Weir-Key: ${t}` },
  { name: 'Authorization: Bearer', head: (t) => `Authorization: Bearer ${t}` },
  { name: 'authorization: bearer, two spaces', head: (t) => `authorization: bearer  ${t}` },
  { name: 'Authorization: the bare key', head: (t) => `Authorization: ${t}` },
  {
    name: 'Authorization: Basic, as user',
    head: (t) => `Authorization: Basic ${base64(`${t}:x`)}`,
  },
  { name: 'Authorization: Basic, user alone', head: (t) => `Authorization: Basic ${base64(t)}` },
  {
    name: 'Authorization: Basic, as password',
    head: (t) => `Authorization: Basic ${base64(`u:${t}`)}`,
  },
  { name: 'Authorization: Token', head: (t) => `Authorization: Token ${t}`, besideOnly: true },
  {
    name: 'Authorization: Bearer and a tab',
    head: (t) => `Authorization: Bearer\t${t}`,
    besideOnly: true,
  },
  {
    name: 'Authorization: Basic and a tab',
    head: (t) => `Authorization: Basic\t${base64(`${t}:`)}`,
    besideOnly: true,
  },
  {
    name: 'Authorization: Bearer, in quotes',
    head: (t) => `Authorization: Bearer "${t}"`,
    besideOnly: true,
  },
  {
    name: 'Authorization: Token token=',
    head: (t) => `Authorization: Token token=${t}`,
    besideOnly: true,
  },
  {
    name: 'Authorization: Bearer, twice in one',
    head: (t) => `Authorization: Bearer ${t} ${t}`,
    besideOnly: true,
  },
  { name: 'x-api-key, in quotes', head: (t) => `x-api-key: "${t}"`, besideOnly: true },
  { name: 'x-api-key', head: (t) => `x-api-key: ${t}` },
  { name: 'x-api-key: Bearer', head: (t) => `x-api-key: Bearer ${t}`, besideOnly: true },
  { name: 'x-goog-api-key', head: (t) => `x-goog-api-key: ${t}` },
  { name: 'api-key', head: (t) => `api-key: ${t}` },
  { name: 'a header of another name', head: (t) => `apikey: ${t}` },
  { name: 'Sec-WebSocket-Protocol', head: (t) => `${upgrade}Sec-WebSocket-Protocol: chat, ${t}` },
  {
    name: 'Sec-WebSocket-Protocol, behind a dot',
    head: (t) => `${upgrade}Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.${t}`,
  },
  { name: '?key=', query: (t) => `?a=1&key=${t}&b=2` },
  { name: '?key= twice', query: (t) => `?key=${t}&key=${t}` },
  { name: '?key=Bearer', query: (t) => `?key=Bearer%20${t}`, besideOnly: true },
  { name: '?apikey=', query: (t) => `?a=1&apikey=${t}&b=2` },
  { name: '?%6bey=', query: (t) => `?%6bey=${t}` },
  { name: '?key= with every byte escaped', query: (t) => `?key=${everyByte(t)}`, besideOnly: true },
  {
    name: '?key= with an escaped underscore',
    query: (t) => `?key=${t.replace('_', '%5F')}`,
    besideOnly: true,
  },
  { name: 'two header lines of one name', head: (t) => `x-api-key: mine\r\nx-api-key: ${t}` },
  {
    name: 'all headers at once',
    head: (t) =>
      `Authorization: Bearer ${t}\r\nx-api-key: ${t}\r\napi-key: ${t}\r\nx-goog-api-key: ${t}`,
  },
];

/** One row per carrier, at an upstream without bindings: nothing overwrites what was left. */
export const carrierRows = (scene: Scene): readonly Row[] =>
  carriers.map((carrier) => ({
    name: `the Weir key in ${carrier.name}: no origin sees it`,
    async run() {
      const { token } = scene.scenario;
      const head = carrier.head === undefined ? '' : `${carrier.head(token)}\r\n`;
      const path = `/call/elsewhere/c${carrier.query?.(token) ?? ''}`;
      const reached: string[] = [];
      for (const beside of carrier.besideOnly === true ? [token] : [null, token]) {
        arrivedSince(scene, scene.elsewhere);
        const answer = await send(scene, { path, head, token: beside });
        const leaks = search(scene, answer, `the answer to ${carrier.name}`);
        holds(leaks.length === 0, leaks.join(' | '));
        const got = arrivedSince(scene, scene.elsewhere);
        if (got.length > 0) reached.push(beside === null ? 'alone' : 'beside');
        else
          holds(
            answer.includes('HTTP/1.1 40'),
            `neither relayed nor refused: ${answer.subarray(0, 60)}`,
          );
        noToken(scene, got, carrier.name);
      }
      const opens = carrier.besideOnly === true || reached.includes('alone');
      holds(opens, 'a documented carrier opens the call');
      return reached.join(', ');
    },
  }));

function noToken(scene: Scene, got: Buffer, carrier: string): void {
  const leaks = leaksIn(got, scene.others);
  scene.found.push(...leaks);
  holds(leaks.length === 0, `the origin got ${JSON.stringify(leaks)} from ${carrier}`);
}
