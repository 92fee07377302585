/**
 * Rows: what an upstream says about the credential that it was given. It does not reach the caller
 * from a header of any status, nor from an error body in any spelling or coding; what has no
 * credential in it keeps its bytes. Called by ../wire.ts.
 */
import net from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { holds, same } from '../../support/proof.ts';
import { headerOf, type RawAnswer, readAnswer } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import {
  bytesOf,
  chunk,
  comesBack,
  problemOf,
  refused,
  relay,
  type Stand,
  send,
  sized,
  unresolvable,
  type WireRow,
  within,
} from './stand.ts';

const json = 'Content-Type: application/json';
const codings = [
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
  ['zstd', zstdCompressSync],
] as const;

/** The answer of `bound` to an upstream answer. */
async function answerTo(
  stand: Stand,
  status: string,
  lines: readonly string[],
  body: string | Buffer,
): Promise<RawAnswer> {
  const { answer } = await relay(stand, {
    target: `${stand.bound.path}/m`,
    reply: reply(status, lines, body),
  });
  return answer;
}

/** The whole body is ours in place of theirs. */
function withheld(answer: RawAnswer, status: number): void {
  const problem = problemOf(answer);
  same(
    [answer.status, problem.type],
    [status, 'urn:weir:problem:response.redacted'],
    'withheld body',
  );
}

const password = 'p@ss/w+rd';
const pair = `user:${password}`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const percent = encodeURIComponent(password);
const escaped = [...password]
  .map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  .join('');

/** How an origin may write the password of a Basic pair. */
const spellings: readonly (readonly [string, string])[] = [
  ['raw', `{"key":"${password}"}`],
  ['percent, upper hex', `bad key ${percent}`],
  ['percent, lower hex', `bad key ${percent.replace(/%../g, (hex) => hex.toLowerCase())}`],
  ['base64 of the pair', `Basic ${base64(pair)}`],
  ['base64 of a longer text', base64(`{"authorization":"${pair}","x":1}`)],
  ['JSON slash', '{"key":"p@ss\\/w+rd"}'],
  ['JSON one escape', '{"key":"\\u0070@ss\\/w+rd"}'],
  ['JSON all escapes', `{"key":"${escaped}"}`],
  ['HTML', '<p>p&#64;ss&#x2F;w&#43;rd</p>'],
  ['twice', `${password} and ${password}`],
];

export const maskingRows: readonly WireRow[] = [
  {
    n: 49,
    kind: 'change',
    title:
      'An injected credential in an answer header or reason phrase becomes *** on every ' +
      'status; a line whose name shows it goes; the other lines stay',
    why: 'decisions section 5: masked on every status',
    run: async (stand) => {
      const told = `key=${stand.credential}`;
      const refusal = await answerTo(stand, `403 Bad ${told} here`, [], 'x');
      comesBack(refusal, '403 Bad key=*** here', [sized('x')], 'x');
      for (const status of ['200 OK', '302 Found', '404 Not Found', '500 Oops']) {
        const lines = [
          `X-Echo: key=${stand.credential};`,
          `Location: /?k=${stand.credential}`,
          `Set-Cookie: k=${stand.credential}`,
        ];
        const answer = await answerTo(
          stand,
          status,
          [...lines, `X-${stand.credential}: 1`, 'Set-Cookie: a=1', 'X-DUP: 1', 'X-DUP: 2'],
          'x',
        );
        const masked = [
          'X-Echo: key=***;',
          'Location: /?k=***',
          'set-cookie: k=***',
          'set-cookie: a=1',
        ];
        const found = answer.lines.map((line) => line.replace(/^set-cookie/i, 'set-cookie'));
        comesBack(
          { ...answer, lines: found },
          status,
          [...masked, 'X-DUP: 1', 'X-DUP: 2', sized('x')],
          'x',
        );
      }
    },
  },
  {
    n: 94,
    kind: 'kept',
    title: 'The body of a success is never read: what it says of the credential stays',
    why: 'digest A5: 2xx untouched; masking a success would break faithful relay',
    run: async (stand) => {
      const body = `{"echo":"${stand.credential}"}`;
      const answer = await answerTo(stand, '200 OK', [json], body);
      comesBack(answer, '200 OK', [json, sized(body)], body);
    },
  },
  {
    n: 50,
    kind: 'change',
    cases: ['C024'],
    title:
      'A body from status 300 on that shows the credential is masked, sent without coding and ' +
      'with a new Content-Length',
    why: 'digest A5; a redirect repeats the URL; digests and ETag that no longer fit go',
    run: async (stand) => {
      const text = `{"error":"bad key ${stand.credential}"}`;
      const masked = '{"error":"bad key ***"}';
      for (const status of ['302 Found', '404 Not Found', '503 Later']) {
        const plain = await answerTo(stand, status, [json], text);
        comesBack(plain, status, [json, sized(masked)], masked);
      }
      for (const [coding, encode] of codings) {
        const lines = [json, `Content-Encoding: ${coding}`, 'ETag: "x"', 'Retry-After: 3'];
        const answer = await answerTo(stand, '400 Bad', lines, encode(text));
        comesBack(answer, '400 Bad', [json, 'Retry-After: 3', sized(masked)], masked);
      }
    },
  },
  {
    n: 95,
    kind: 'kept',
    title: 'A body from status 300 on without the credential keeps its bytes and its coding',
    why: 'digest A5: unchanged keeps bytes and encoding; C024 control',
    run: async (stand) => {
      for (const [coding, encode] of codings) {
        const body = encode('{"error":"no such model"}');
        const lines = [json, `Content-Encoding: ${coding}`, 'ETag: "x"'];
        comesBack(
          await answerTo(stand, '400 Bad', lines, body),
          '400 Bad',
          [...lines, sized(body)],
          body,
        );
      }
      // Servers keep the header on an empty redirect, and the client needs its Location.
      for (const coding of ['gzip', 'br', 'zstd', 'unknown']) {
        const lines = ['Location: /next', `Content-Encoding: ${coding}`];
        const answer = await answerTo(stand, '302 Found', lines, '');
        comesBack(answer, '302 Found', [...lines, 'Content-Length: 0'], '');
      }
      const odd = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
      comesBack(await answerTo(stand, '400 Bad', [], odd), '400 Bad', [sized(odd)], odd);
    },
  },
  {
    n: 51,
    kind: 'change',
    cases: ['C053'],
    title:
      'Every spelling of a credential in an error body is masked, or the whole body is replaced',
    why: 'digest A5: exact masking, then a normalised re-check, closed on failure',
    run: async (stand) => {
      const secret = await stand.secret(pair);
      const bindings = [{ location: 'header', name: 'Authorization', injector: 'basic', secret }];
      const upstream = await stand.register({ bindings });
      let replaced = 0;
      for (const [name, body] of spellings) {
        for (const [lines, bytes] of [
          [[], Buffer.from(body)],
          [['Content-Encoding: gzip'], gzipSync(body)],
        ] as const) {
          const sent = reply('400 Bad', lines, bytes);
          const { answer } = await relay(stand, { target: `${upstream.path}/m`, reply: sent });
          const text = answer.body.toString('latin1');
          const isOurs = headerOf(answer.lines, 'x-weir-error-source') === 'gateway';
          if (isOurs) withheld(answer, 400);
          else
            holds(
              text.includes('***') && !text.includes('ss/w') && !text.includes('w+rd'),
              `${name}: ${text}`,
            );
          holds(
            headerOf(answer.lines, 'content-encoding') === null,
            `${name}: still labelled as coded`,
          );
          if (isOurs) replaced += 1;
        }
      }
      const control = '{"key":"uniqueId"}';
      const { answer } = await relay(stand, {
        target: `${upstream.path}/m`,
        reply: reply('400 Bad', [json], control),
      });
      comesBack(answer, '400 Bad', [json, sized(control)], control);
      return `${spellings.length * 2 - replaced} masked, ${replaced} replaced`;
    },
  },
  {
    n: 52,
    kind: 'change',
    title:
      'A body from status 300 on that cannot be read safely is replaced by a problem of ours ' +
      'with its status, Retry-After and WWW-Authenticate: unknown coding, broken coding, above 8 MiB',
    why: 'digest A5: the body cannot be decoded → response_redacted',
    run: async (stand) => {
      withheld(await answerTo(stand, '400 Bad', ['Content-Encoding: weird'], 'abc'), 400);
      const slow = ['Content-Encoding: gzip', 'Retry-After: 7', 'Set-Cookie: a=1'];
      const waits = await answerTo(stand, '429 Slow', slow, 'not gzip');
      withheld(waits, 429);
      same(headerOf(waits.lines, 'retry-after'), '7', 'Retry-After');
      same(headerOf(waits.lines, 'set-cookie'), null, 'other headers of theirs');
      const asks = ['Content-Encoding: weird', 'WWW-Authenticate: Basic realm="v"'];
      const asked = await answerTo(stand, '401 Who', asks, 'abc');
      withheld(asked, 401);
      same(headerOf(asked.lines, 'www-authenticate'), 'Basic realm="v"', 'the challenge');
      withheld(await answerTo(stand, '500 Oops', [], Buffer.alloc(8 * 1024 * 1024 + 1, 'x')), 500);
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
      withheld(await answerTo(stand, '400 Bad', ['Content-Encoding: gzip'], bomb), 400);
    },
  },
  {
    n: 96,
    kind: 'kept',
    title:
      'A body of a call that injected nothing streams as it is, whatever its status, size and ' +
      'coding',
    why: 'digest A5: larger and nothing injected → streamed',
    run: async (stand) => {
      const odd = reply('500 Oops', ['Content-Encoding: weird'], 'abc');
      const { answer } = await relay(stand, { target: `${stand.plain.path}/m`, reply: odd });
      comesBack(answer, '500 Oops', ['Content-Encoding: weird', 'Content-Length: 3'], 'abc');
      const big = Buffer.alloc(9 * 1024 * 1024, 'e');
      stand.origin.answer(reply('500 Oops', [], big));
      const bytes = await gathered(stand, `${stand.plain.path}/m`, big.length);
      comesBack(readAnswer(bytes, 'GET', 'open'), '500 Oops', [sized(big)], big);
    },
  },
  {
    n: 53,
    kind: 'change',
    title: 'A body that was read (300 and above) has a Content-Length, also when it came chunked',
    why: 'it is whole by then; the bytes are the same',
    run: async (stand) => {
      const head = 'HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n';
      const text = `${head}${chunk('abc')}${chunk('de')}0\r\n\r\n`;
      const { answer } = await relay(stand, { target: `${stand.bound.path}/m`, reply: text });
      comesBack(answer, '400 Bad', [sized('abcde')], 'abcde');
    },
  },
  {
    n: 125,
    kind: 'refusal',
    cases: ['C052'],
    title:
      'A transport fault is a 502 that names the host at most: closed port, unknown name, TLS' +
      ' error; no URL, no credential, no log line with it',
    why: 'a runtime error text can contain the URL with the query credential',
    run: async (stand) => {
      const secret = await stand.secret('query-credential-0123456789');
      const bindings = [{ location: 'query', name: 'key', secret }];
      // No TLS: it answers a ClientHello in plain text.
      stand.scripted.on = (socket) =>
        void socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n'));
      const places = [
        { scheme: 'http', host: '127.0.0.1', port: stand.closedPort },
        { scheme: 'https', host: '127.0.0.1', port: stand.scripted.port },
        { scheme: 'http', host: unresolvable, port: 80 },
      ];
      for (const { scheme, ...endpoint } of places) {
        const upstream = await stand.register({
          bindings,
          scheme,
          endpoints: [endpoint],
          ...aliasOf(endpoint.host),
        });
        const { answer } = await send(stand, { target: `${upstream.path}/m?a=1` });
        const problem = problemOf(answer);
        same(
          [answer.status, problem.type, problem.host],
          [502, 'urn:weir:problem:downstream.error', endpoint.host],
          endpoint.host,
        );
        holds(
          !answer.bytes.toString('latin1').includes('query-credential'),
          'the credential is in the answer',
        );
        holds(!answer.bytes.toString('latin1').includes('?a=1'), 'the URL is in the answer');
      }
      holds(!stand.gateway.output().includes('query-credential'), 'the credential is in the log');
      const rows = await (await stand.gateway.db()).prepare('select * from calls').all();
      holds(!JSON.stringify(rows).includes('query-credential'), 'the credential is in a call row');
    },
  },
  {
    n: 126,
    kind: 'refusal',
    title:
      'A secret that does not fit its binding is a 502, nothing is sent and nothing of it is shown',
    why: 'digest A4: a field that is not a string is rejected, not injected',
    run: async (stand) => {
      const bad = ['{"key":1}', '{"other":"x"}', 'not json', 'line\nbreak'];
      for (const value of bad) {
        const field = value.startsWith('line') ? {} : { secret_field: 'key' };
        const binding = {
          location: 'header',
          name: 'X-Vendor-Key',
          secret: await stand.secret(value),
          ...field,
        };
        const upstream = await stand.register({ bindings: [binding] });
        const problem = await refused(
          stand,
          { target: `${upstream.path}/m` },
          502,
          'credential.unavailable',
        );
        holds(!JSON.stringify(problem).includes(value), 'the secret is shown');
      }
    },
  },
];

/** A host name gives its own alias; an address needs none beyond the stand's. */
const aliasOf = (host: string): object => (host === '127.0.0.1' ? {} : { alias: host });

/** The bytes of a large answer, joined once: the raw client copies all of them for every chunk. */
async function gathered(stand: Stand, target: string, bodyBytes: number): Promise<Buffer> {
  const socket = net.connect(stand.gateway.port, '127.0.0.1');
  socket.write(bytesOf(stand, { target }));
  const chunks: Buffer[] = [];
  let total = 0;
  socket.on('data', (data) => {
    chunks.push(data);
    total += data.length;
  });
  await within(10_000, 'the large answer', () => total > bodyBytes && endOf(chunks, bodyBytes));
  socket.destroy();
  return Buffer.concat(chunks);
}

/** Whether the bytes are a head and that many more. */
function endOf(chunks: readonly Buffer[], bodyBytes: number): boolean {
  const all = Buffer.concat(chunks);
  return all.length >= all.indexOf('\r\n\r\n') + 4 + bodyBytes;
}
