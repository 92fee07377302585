/**
 * Echo rows: a vendor writes the credential that it was sent into its answer, in every spelling and place, under every status class.
 * Out of the search by contract (digest A5): bodies of 2xx and frames of a WebSocket are relayed untouched; one row shows just that.
 */
import zlib from 'node:zlib';
import { holds, type Row, same } from '../../support/proof.ts';
import { readAnswer } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { callOf, freeKinds, type Kind, kinds, type Scene, search, send } from './scene.ts';
import { nameSpellings, spellings } from './spellings.ts';
import { answerOf, echoPath, type Place } from './vendor.ts';

const errorStatuses = [400, 401, 403, 404, 429, 500, 503];
const headerStatuses = [200, 204, 301, 304, 400, 500];
/** 600 and above are no statuses, but vendors send them (LinkedIn's 999). */
const oddStatuses = [600, 999];
const redirectStatuses = [300, 301, 302, 303, 307, 308];

/** All echo rows. The short form asks for fewer statuses. */
export function echoRows(scene: Scene, short: boolean): readonly Row[] {
  const errors = short ? [400] : errorStatuses;
  const headers = short ? [200] : headerStatuses;
  const redirects = short ? [302] : redirectStatuses;
  return [
    ...kinds.map((kind) => received(scene, kind)),
    ...kinds.map((kind, i) =>
      bodies(scene, { kind, statuses: errors, share: short ? [i, 3] : [0, 1] }),
    ),
    ...kinds.map((kind) => headerEchoes(scene, kind, headers)),
    nameRow(scene, short ? [200, 400] : headerStatuses),
    statusRow(scene, { name: 'reason phrases', statuses: [200, 302, 400, 500], place: 'reason' }),
    statusRow(scene, { name: 'trailers', statuses: [200, 400], place: 'trailer' }),
    textRow(scene, { name: 'bodies of redirects (3xx)', statuses: redirects, place: 'body' }),
    textRow(scene, { name: 'bodies of statuses beyond 599', statuses: oddStatuses, place: 'body' }),
    textRow(scene, {
      name: 'headers of statuses beyond 599',
      statuses: oddStatuses,
      place: 'header',
    }),
    upgradeRow(scene),
    refusedUpgradeRow(scene),
    headRow(scene),
    ...largeRows(scene),
    undecodableRow(scene),
    untouchedRow(scene),
  ];
}

/** The credential did arrive, once, in its place; so silence elsewhere means something. */
function received(scene: Scene, kind: Kind): Row {
  return {
    name: `${kind}: the upstream gets the credential where it is bound, and no other one`,
    async run() {
      const before = scene.vendor.requests.length;
      await send(scene, callOf(kind, '/plain?a=1', 'X-Mine: 1\r\n'));
      const request = await scene.vendor.arrived(before + 1);
      same(
        boundValue(scene, kind, request.raw.toString('utf8'), request.target),
        true,
        'bound value',
      );
      const others = kinds
        .filter((other) => other !== kind)
        .map((other) => scene.canaries[other].core);
      const raw = request.raw.toString('latin1');
      holds(!others.some((core) => raw.includes(core)), 'another credential came along');
    },
  };
}

function boundValue(scene: Scene, kind: Kind, raw: string, target: string): boolean {
  const { value } = scene.canaries[kind];
  const line = (name: string): string => new RegExp(`^${name}: (.*)\r$`, 'im').exec(raw)?.[1] ?? '';
  switch (kind) {
    case 'api_key':
      return line('x-vendor-key') === value;
    case 'bearer':
      return line('authorization') === `Bearer ${value}`;
    case 'basic':
      return line('authorization') === `Basic ${Buffer.from(`user:${value}`).toString('base64')}`;
    case 'custom':
      return line('x-custom') === `K ${value};v=1`;
    case 'query':
      return new URL(target, 'http://o').searchParams.get('apikey') === value;
    case 'json':
      return JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4)).api_key === value;
    case 'secret_field':
      return line('x-field') === value;
    case 'platform_setting':
      return line('x-setting') === value;
    case 'account':
      return line('x-account-key') === value;
    case 'account_post':
      return (
        new URL(target, 'http://o').searchParams.get('apikey') === value &&
        JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4)).api_key === value
      );
  }
}

/** Asks for one echo and searches the whole answer. */
async function echoed(scene: Scene, kind: Kind, echo: EchoOf): Promise<string[]> {
  const path = echoPath(echo.status, echo.spelling, echo.place);
  const bytes = await send(scene, callOf(kind, path, echo.head ?? ''));
  holds(bytes.length > 0, `no answer to ${path}`);
  return search(scene, bytes, `${kind} ${path} [${spellings[echo.spelling]?.name}]`);
}

interface EchoOf {
  readonly status: number;
  readonly spelling: number;
  readonly place: Place;
  readonly head?: string;
}

const none = (leaks: readonly string[]): void =>
  holds(leaks.length === 0, `${leaks.length} leaks: ${leaks.slice(0, 6).join(' | ')}`);

interface Bodies {
  readonly kind: Kind;
  readonly statuses: readonly number[];
  /** Every n-th spelling, from this one on; all kinds together see every spelling. */
  readonly share: readonly [from: number, step: number];
}

function bodies(scene: Scene, { kind, statuses, share: [from, step] }: Bodies): Row {
  return {
    name: `${kind}: error bodies in ${spellings.length} spellings, in one piece and cut by chunks`,
    async run() {
      const leaks: string[] = [];
      let calls = 0;
      for (const [spelling] of spellings.entries()) {
        if ((spelling + from) % step !== 0) continue;
        for (const status of statuses) {
          calls += 2;
          leaks.push(...(await echoed(scene, kind, { status, spelling, place: 'body' })));
          leaks.push(...(await echoed(scene, kind, { status, spelling, place: 'chunked' })));
        }
      }
      none(leaks);
      return `${calls} answers`;
    },
  };
}

const headerPlaces: readonly Place[] = ['header', 'location', 'cookie', 'challenge'];

/** Names of headers have no case: what is searched for is the vendor's line. */
function nameRow(scene: Scene, statuses: readonly number[]): Row {
  return {
    name: `names of answer headers in ${nameSpellings.length} spellings: no credential, ${statuses.join(' ')}`,
    async run() {
      const leaks: string[] = [];
      for (const status of statuses)
        for (const kind of kinds)
          for (const [index, { name }] of nameSpellings.entries()) {
            const bytes = await send(scene, callOf(kind, echoPath(status, index, 'name'), ''));
            const lines = readAnswer(bytes, 'GET', 'fin').lines.map((line) => line.toLowerCase());
            holds(lines.includes('x-other: untouched'), `${kind} ${status}: its neighbour stays`);
            if (lines.some((line) => line.endsWith(': named')))
              leaks.push(`${kind} ${status} ${name}`);
          }
      none(leaks);
    },
  };
}

/** Spellings that can stand in a header value. */
const textual = [...spellings.entries()].filter(([, { text }]) => text).map(([index]) => index);

function headerEchoes(scene: Scene, kind: Kind, statuses: readonly number[]): Row {
  return {
    name: `${kind}: answer headers in ${textual.length} spellings: own, Location, Set-Cookie, challenge`,
    async run() {
      const leaks: string[] = [];
      for (const status of statuses) {
        for (const spelling of textual) {
          const place = headerPlaces[(spelling + status) % headerPlaces.length] ?? 'header';
          leaks.push(...(await echoed(scene, kind, { status, spelling, place })));
        }
        for (const place of headerPlaces)
          leaks.push(...(await echoed(scene, kind, { status, spelling: 0, place })));
      }
      none(leaks);
    },
  };
}

interface Sweep {
  readonly name: string;
  readonly statuses: readonly number[];
  readonly place: Place;
}

/** One place that has one spelling only, every kind. */
const statusRow = (scene: Scene, sweep: Sweep): Row => sweepRow(scene, sweep, [0]);

/** One place in every textual spelling, one kind per spelling. */
const textRow = (scene: Scene, sweep: Sweep): Row => sweepRow(scene, sweep, textual);

function sweepRow(scene: Scene, sweep: Sweep, indexes: readonly number[]): Row {
  const { name, statuses, place } = sweep;
  return {
    name: `${name}: no credential, ${statuses.join(' ')}`,
    async run() {
      const leaks: string[] = [];
      for (const status of statuses) {
        for (const spelling of indexes) {
          const some = indexes.length === 1 ? kinds : [kinds[spelling % kinds.length] ?? 'bearer'];
          for (const kind of some)
            leaks.push(...(await echoed(scene, kind, { status, spelling, place })));
        }
      }
      none(leaks);
    },
  };
}

const upgrade =
  'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

function upgradeRow(scene: Scene): Row {
  return {
    name: 'headers of an accepted WebSocket handshake (101): no credential',
    async run() {
      const leaks: string[] = [];
      for (const kind of freeKinds) {
        const path = echoPath(101, 0, 'upgrade');
        const bytes = await send(scene, callOf(kind, path, upgrade));
        same(readAnswer(bytes, 'GET', 'fin').status, 101, 'the handshake');
        leaks.push(...search(scene, bytes, `${kind} ${path}`));
      }
      none(leaks);
    },
  };
}

function refusedUpgradeRow(scene: Scene): Row {
  return {
    name: 'a refused WebSocket handshake (403) with the credential in body and headers: none leaves',
    async run() {
      const leaks: string[] = [];
      for (const kind of freeKinds) {
        for (const place of ['body', 'challenge'] as const)
          leaks.push(
            ...(await echoed(scene, kind, { status: 403, spelling: 0, place, head: upgrade })),
          );
      }
      none(leaks);
    },
  };
}

function headRow(scene: Scene): Row {
  return {
    name: 'HEAD with an error status and an echo in a header: no credential',
    async run() {
      const leaks: string[] = [];
      for (const kind of freeKinds) {
        const path = `/call/${kind}${echoPath(400, 0, 'header')}`;
        leaks.push(...search(scene, await send(scene, { method: 'HEAD', path }), path));
        // The vendor writes a body that HEAD must not have; its connection is of no more use.
        for (const { socket } of scene.vendor.connections) socket.destroy();
      }
      none(leaks);
    },
  };
}

const mebibyte = 1024 * 1024;

/** Beyond what is read whole (8 MiB) an error body is replaced, however it is framed or packed. */
function largeRows(scene: Scene): Row[] {
  const { value } = scene.canaries.bearer;
  const filler = Buffer.alloc(8 * mebibyte + 1, 'x');
  const large = Buffer.concat([Buffer.from(value), filler, Buffer.from(value)]);
  const head = 'HTTP/1.1 500 Large\r\nConnection: close\r\n';
  const answers: Readonly<Record<string, Buffer>> = {
    'with a length': reply('500 Large', [], large),
    'until the connection closes': Buffer.concat([Buffer.from(`${head}\r\n`), large]),
    'packed, expanding beyond the bound': reply(
      '500 Large',
      ['Content-Encoding: gzip'],
      zlib.gzipSync(Buffer.concat([Buffer.alloc(17 * mebibyte, 'x'), Buffer.from(value)])),
    ),
    'just inside the bound, credential last': reply(
      '500 Large',
      [],
      Buffer.concat([Buffer.alloc(7 * mebibyte, 'x'), Buffer.from(value)]),
    ),
  };
  return Object.entries(answers).map(([name, answer]) =>
    scriptedRow(scene, `error body of 8 MiB and more, ${name}`, answer),
  );
}

/** An answer that the vendor is scripted to give to one call of the bearer upstream. */
function scriptedRow(scene: Scene, name: string, answer: Buffer): Row {
  return {
    name: `${name}: no credential`,
    async run() {
      scene.vendor.answer(({ connection }) => {
        connection.socket.write(answer);
        if (answer.includes('Connection: close')) connection.socket.end();
      });
      try {
        const bytes = await send(scene, callOf('bearer', '/scripted'));
        holds(bytes.length > 0, 'no answer');
        none(search(scene, bytes, name));
        const { status } = readAnswer(bytes, 'GET', 'fin');
        return `${status}, ${bytes.length} bytes`;
      } finally {
        restore(scene);
      }
    },
  };
}

/** Back to the vendor that echoes. */
export function restore(scene: Scene): void {
  const { canaries, elsewhere } = scene;
  scene.vendor.answer((request) => answerOf(request, { canaries, elsewhere: elsewhere.authority }));
}

function undecodableRow(scene: Scene): Row {
  const { value } = scene.canaries.bearer;
  const gzip = zlib.gzipSync(Buffer.from(value));
  const answers = [
    reply('400 Bad', ['Content-Encoding: gzip'], value),
    reply('400 Bad', ['Content-Encoding: gzip'], gzip.subarray(0, gzip.length - 4)),
    reply('400 Bad', ['Content-Encoding: made-up'], value),
    reply('400 Bad', ['Content-Encoding: br, gzip'], gzip),
    reply('400 Bad', ['Content-Encoding: gzip, gzip, gzip, gzip'], gzip),
  ];
  return {
    name: 'error bodies that cannot be decoded are replaced whole',
    async run() {
      const leaks: string[] = [];
      for (const answer of answers) {
        scene.vendor.answer(answer);
        const bytes = await send(scene, callOf('bearer', '/scripted'));
        leaks.push(...search(scene, bytes, 'undecodable'));
        holds(bytes.includes('urn:weir:problem:response.redacted'), 'the body was withheld');
      }
      restore(scene);
      none(leaks);
    },
  };
}

/** The contract's other side: what has no credential keeps its bytes, and a 2xx body is the vendor's word. */
function untouchedRow(scene: Scene): Row {
  return {
    name: 'innocent error bodies and every 2xx body keep their bytes (C024, C053 control)',
    async run() {
      const innocent = '{"key":"uniqueId","error":"no such model"}';
      for (const [body, coding] of [
        [Buffer.from(innocent), null],
        [zlib.gzipSync(innocent), 'gzip'],
        [zlib.brotliCompressSync(innocent), 'br'],
      ] as const) {
        const headers = coding === null ? [] : [`Content-Encoding: ${coding}`];
        scene.vendor.answer(reply('400 Bad', headers, body));
        const answer = readAnswer(await send(scene, callOf('bearer', '/scripted')), 'GET', 'fin');
        same(answer.body.toString('hex'), body.toString('hex'), `an innocent body, ${coding}`);
        holds(coding === null || answer.head.toLowerCase().includes(`: ${coding}`), 'its coding');
      }
      const { value } = scene.canaries.bearer;
      scene.vendor.answer(reply('200 OK', [], value));
      const echoed = readAnswer(await send(scene, callOf('bearer', '/scripted')), 'GET', 'fin');
      same(echoed.body.toString('utf8'), value, 'a 2xx body');
      restore(scene);
    },
  };
}
