/**
 * Rows of the metered road: the platform account's key in answers that are recorded, replayed, streamed or read for their price, in what
 * management shows of them, and in what workerd keeps on disk. The echo rows, which go through every kind, have the rest.
 * Out of the search by contract, as on every road: the body of a 2xx.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { recordInlineBodyBytesMax } from '../../../src/base/limits-money.ts';
import { holds, type Row, same } from '../../support/proof.ts';
import { headerOf, type RawAnswer, readAnswer } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { type AccountKind, accountKinds } from './account.ts';
import { managed } from './case.ts';
import { restore } from './echoes.ts';
import { callOf, type Scene, type Sent, search, send } from './scene.ts';
import { spellings } from './spellings.ts';
import { echoPath, type Place } from './vendor.ts';

const none = (leaks: readonly string[]): void =>
  holds(leaks.length === 0, `${leaks.length} leaks: ${leaks.slice(0, 6).join(' | ')}`);

const textual = [...spellings.entries()].filter(([, { text }]) => text);
const places: readonly Place[] = ['header', 'location', 'cookie', 'challenge'];

/** Rows that make calls; the ones below look at what they left behind. */
export const accountRows = (scene: Scene): readonly Row[] => [
  ...accountKinds.map((kind) => replayRow(scene, kind)),
  largeReplayRow(scene),
  ...accountKinds.flatMap((kind) => [streamRow(scene, kind), refusedStreamRow(scene, kind)]),
  jsonRow(scene),
  headRow(scene),
];

const key = (text: string): string => `Idempotency-Key: ${text}\r\n`;

/** A keyed call twice: both answers are searched; the second one is a replay with the same bytes, and the vendor saw one. */
async function twice(scene: Scene, sent: Sent, where: string): Promise<string[]> {
  const before = scene.vendor.requests.length;
  const first = await send(scene, sent);
  const second = await send(scene, { ...sent, isolate: 1 });
  same(scene.vendor.requests.length, before + 1, `requests of ${where}`);
  const [one, two] = [first, second].map((bytes) =>
    readAnswer(bytes, sent.method ?? 'GET', 'fin'),
  ) as [RawAnswer, RawAnswer];
  same(headerOf(two.lines, 'x-weir-idempotent-replay'), 'true', `a replay of ${where}`);
  same(two.status, one.status, `status of the replay of ${where}`);
  same(lasting(two), lasting(one), `headers of the replay of ${where}`);
  holds(two.body.equals(one.body), `other bytes in the replay of ${where}`);
  return [...search(scene, first, where), ...search(scene, second, `the replay of ${where}`)];
}

/**
 * Headers that both answers have; the framing is the runtime's, a stream does not know its cost, and a recorded name has lost its case.
 */
const own =
  /^(?:x-weir-(?:call-id|idempotent-replay|cost-micro)|content-length|transfer-encoding|date|connection):/i;
const lasting = ({ lines }: RawAnswer): readonly string[] =>
  lines
    .filter((line) => !own.test(line))
    .map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()))
    .sort();

function replayRow(scene: Scene, kind: AccountKind): Row {
  return {
    name: `${kind}: recorded and replayed answers show no key, in ${textual.length} spellings`,
    async run() {
      const leaks: string[] = [];
      for (const [index] of textual) {
        const place = places[index % places.length] ?? 'header';
        const sent = callOf(kind, echoPath(200, index, place), key(`${kind}-${index}`));
        leaks.push(...(await twice(scene, sent, `${kind} ${place} ${spellings[index]?.name}`)));
      }
      none(leaks);
      return `${textual.length} records`;
    },
  };
}

const inlineMark = 'an answer that the ledger keeps itself';
const largeMark = 'an answer that is kept beside the ledger';

function largeReplayRow(scene: Scene): Row {
  return {
    name: 'recorded answers in the ledger and beside it (R2): headers without the key',
    async run() {
      const { value } = scene.canaries.account;
      const leaks: string[] = [];
      for (const [mark, bytes] of [
        [inlineMark, 0],
        [largeMark, recordInlineBodyBytesMax],
      ] as const) {
        const body = JSON.stringify({ mark, usage: { units: 1 }, pad: 'x'.repeat(bytes) });
        const head = ['Content-Type: application/json', `X-Echo: ${value}`];
        scene.vendor.answer(reply('200 OK', head, body));
        leaks.push(...(await twice(scene, callOf('account', '/plain', key(mark)), mark)));
      }
      restore(scene);
      none(leaks);
    },
  };
}

const events = 'data: {"n":1}\n\ndata: {"usage":{"units":1}}\n\n';

function streamRow(scene: Scene, kind: AccountKind): Row {
  return {
    name: `${kind}: event streams, plain and keyed: no key in the headers`,
    async run() {
      const leaks: string[] = [];
      for (const [index, { write, name }] of textual) {
        const text = write(scene.canaries[kind].value).toString('latin1');
        const head = [
          'Content-Type: text/event-stream',
          `X-Echo: ${text}`,
          `Set-Cookie: a=${text}`,
        ];
        scene.vendor.answer(reply('200 OK', head, events));
        const plain = await send(scene, callOf(kind, '/plain'));
        same(readAnswer(plain, 'GET', 'fin').body.toString(), events, 'the events');
        leaks.push(...search(scene, plain, `${kind} stream, ${name}`));
        const sent = callOf(kind, '/plain', key(`${kind}-stream-${index}`));
        leaks.push(...(await twice(scene, sent, `${kind} keyed stream, ${name}`)));
      }
      restore(scene);
      none(leaks);
    },
  };
}

function refusedStreamRow(scene: Scene, kind: AccountKind): Row {
  return {
    name: `${kind}: event streams with an error status: no key in any event`,
    async run() {
      const leaks: string[] = [];
      for (const [, { write, name }] of textual) {
        const text = write(scene.canaries[kind].value).toString('latin1');
        const head = ['Content-Type: text/event-stream'];
        for (const status of ['400 Bad', '500 Broken', '302 Found']) {
          scene.vendor.answer(reply(status, head, Buffer.from(`data: ${text}\n\n`, 'latin1')));
          const bytes = await send(scene, callOf(kind, '/plain', key(`refused-${status}`)));
          holds(!bytes.includes('idempotent-replay'), 'an error was recorded');
          leaks.push(...search(scene, bytes, `${kind} stream ${status}, ${name}`));
        }
      }
      restore(scene);
      none(leaks);
    },
  };
}

function jsonRow(scene: Scene): Row {
  return {
    name: 'answers that are read for their price: no key in the headers, the body untouched',
    async run() {
      const leaks: string[] = [];
      const body = '{"usage":{"units":1}}';
      for (const [, { write, name }] of textual) {
        const text = write(scene.canaries.account.value).toString('latin1');
        const head = ['Content-Type: application/json', `X-Echo: ${text}`];
        scene.vendor.answer(reply('200 OK', head, body));
        const bytes = await send(scene, callOf('account', '/plain'));
        same(readAnswer(bytes, 'GET', 'fin').body.toString(), body, 'the body');
        holds(/x-weir-cost-micro: 1\r/i.test(bytes.toString('latin1')), 'the cost was not told');
        leaks.push(...search(scene, bytes, `JSON, ${name}`));
      }
      restore(scene);
      none(leaks);
    },
  };
}

function headRow(scene: Scene): Row {
  return {
    name: 'HEAD on the metered road with an echo in a header: no key',
    async run() {
      const leaks: string[] = [];
      for (const status of [200, 400]) {
        const path = `/call/account.echo_head?status=${status}&spelling=0&place=header`;
        leaks.push(...search(scene, await send(scene, { method: 'HEAD', path }), path));
        // The vendor writes a body that HEAD must not have; its connection is of no more use.
        for (const { socket } of scene.vendor.connections) socket.destroy();
      }
      none(leaks);
    },
  };
}

/** Rows that look at what the calls left behind; the call rows are written by then. */
export const keptRows = (scene: Scene): readonly Row[] => [
  evidenceRow(scene),
  booksRow(scene),
  diskRow(scene),
];

/** Calls whose evidence is read. */
const evidenceMax = 60;

function evidenceRow(scene: Scene): Row {
  return {
    name: 'what an account’s vendor said (GET /calls/{id}, …/result) shows no key',
    async run() {
      const db = await scene.gateway.db();
      const sql = `select id from calls where tier = 4 and evidence is not null limit ${evidenceMax}`;
      const { results } = await db.prepare(sql).all();
      holds(results.length > 30, `metered calls with evidence: ${results.length}`);
      const leaks: string[] = [];
      for (const { id } of results) {
        for (const path of [`/calls/${id}`, `/calls/${id}/result`])
          leaks.push(...(await shown(scene, path)));
      }
      none(leaks);
      return `${results.length} calls`;
    },
  };
}

function booksRow(scene: Scene): Row {
  return {
    name: 'balance, holds, entries (JSON and CSV), reviews, records, audit and catalog show no key',
    async run() {
      const leaks: string[] = [];
      for (const path of ['/ledger', '/ledger/holds', '/ledger/reviews', '/idempotency'])
        leaks.push(...(await shown(scene, path)));
      for (const path of ['/ledger/entries', '/ledger/entries?format=csv', '/ledger/audit'])
        leaks.push(...(await shown(scene, path)));
      for (const path of ['/catalog', '/catalog?q=account', '/catalog/account.echo'])
        leaks.push(...(await shown(scene, path)));
      none(leaks);
    },
  };
}

/** A management read as raw bytes, searched. */
async function shown(scene: Scene, path: string): Promise<string[]> {
  const mark = path.includes('?') ? '&' : '?';
  const whole = `${path}${mark}tenant=${scene.scenario.tenantId}`;
  const bytes = await managed(scene, { method: 'GET', path: whole, as: 'operator' });
  same(readAnswer(bytes, 'GET', 'fin').status, 200, `GET ${path}`);
  return search(scene, bytes, `GET ${path}`);
}

/** Files are searched in pieces; no secret is longer than the overlap. */
const pieceBytes = 64 * 1024;
const overlapBytes = 1_024;

/** An idle object's journal goes while we look; what it held is in the file beside it. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

function diskRow(scene: Scene): Row {
  return {
    name: 'what workerd keeps on disk (D1, ledgers, replay bodies): no secret in any spelling',
    async run() {
      const entries = readdirSync(scene.state, { recursive: true, withFileTypes: true });
      const files = entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => `${parentPath}/${name}`);
      const leaks: string[] = [];
      const seen = new Set<string>();
      let count = 0;
      for (const path of files) {
        const bytes = contentOf(path);
        count += bytes.length;
        for (const mark of [inlineMark, largeMark]) if (bytes.includes(mark)) seen.add(mark);
        for (let from = 0; from < bytes.length; from += pieceBytes - overlapBytes)
          leaks.push(...search(scene, bytes.subarray(from, from + pieceBytes), path));
      }
      none(leaks);
      same([...seen].sort(), [inlineMark, largeMark].sort(), 'recorded answers that are there');
      return `${(count / 1_000_000).toFixed(1)} MB in ${files.length} files`;
    },
  };
}
