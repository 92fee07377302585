/**
 * Streams by their framing and content, and vendors that break: what the client gets, and what it
 * costs. Called by ../metered-sse.ts.
 */
import { chunk, streamHead } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { readAnswer } from '../../support/raw-client.ts';
import { fallbackMicros, type Named, settledAlike } from './stand.ts';
import { StreamCall } from './stream-call.ts';
import { plain, streamChargeMicros, wholeOf } from './streams.ts';

// ── framing ──

const bytesOf = wholeOf(plain);
const framings: readonly Named[] = (
  [
    ['Content-Length', `Content-Length: ${bytesOf.length}\r\n`, false],
    ['the end of the connection', 'Connection: close\r\n', true],
  ] as const
).map(([name, header, isClosed]) => [
  `a stream framed by ${name}: the same charge, identical bytes`,
  async ({ world }) => {
    const tenant = await world.tenant();
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n${header}\r\n`;
    const { client, vendor } = await StreamCall.start(world, tenant, 'lab.chat', { head });
    vendor.complete(bytesOf);
    if (isClosed) vendor.socket.end();
    const answer = await client.answer('POST');
    client.close();
    holds(answer.complete && answer.body.equals(bytesOf), answer.body.toString());
    await settledAlike(tenant, 1, streamChargeMicros);
  },
]);

// ── what a stream says ──

const sayings: readonly (readonly [name: string, text: string, micros: number])[] = [
  ['no usage in a whole stream', 'data: {"n":1}\n\ndata: [DONE]\n\n', fallbackMicros],
  ['an empty stream', '', fallbackMicros],
  [
    'a usage that is no number',
    'data: {"usage":{"prompt_tokens":"many","completion_tokens":29}}\n\ndata: [DONE]\n\n',
    fallbackMicros,
  ],
  [
    'a usage in an event that is no JSON',
    'data: {"usage":{"prompt_tokens":17,"completion_tokens":29}\n\ndata: [DONE]\n\n',
    fallbackMicros,
  ],
  [
    'two usages, the last one counts',
    'data: {"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n' +
      'data: {"usage":{"prompt_tokens":17,"completion_tokens":29}}\n\ndata: [DONE]\n\n',
    streamChargeMicros,
  ],
  [
    'a usage behind an event of 1.5 MB that passes unread',
    `data: {"usage_note":"${'x'.repeat(1_500_000)}"}\n\n` +
      'data: {"usage":{"prompt_tokens":17,"completion_tokens":29}}\n\ndata: [DONE]\n\n',
    streamChargeMicros,
  ],
  [
    'a usage of nothing costs nothing',
    'data: {"usage":{"prompt_tokens":0,"completion_tokens":0}}\n\ndata: [DONE]\n\n',
    0,
  ],
  [
    'more than was held is booked whole',
    'data: {"usage":{"prompt_tokens":1000,"completion_tokens":1000}}\n\ndata: [DONE]\n\n',
    3_000,
  ],
];

const said: readonly Named[] = sayings.map(([name, text, micros]) => [
  `${name}: charged ${micros}, identical bytes`,
  async ({ world }) => {
    const tenant = await world.tenant();
    const call = await StreamCall.start(world, tenant, 'lab.chat');
    await call.write(Buffer.from(text));
    await call.end();
    await settledAlike(tenant, 1, micros);
  },
]);

/** The status is out when a vendor fails; that it says so is no success, and its key is free for another try. */
const failing: Named = [
  'a stream in which the vendor says that it failed: released, no charge, its key runs again',
  async ({ world }) => {
    const tenant = await world.tenant();
    const text = 'data: {"error":null}\n\ndata: {"error":{"message":"Overloaded"}}\n\n';
    for (const key of [undefined, 'failed-1', 'failed-1']) {
      const options = key === undefined ? {} : { key };
      const call = await StreamCall.start(world, tenant, 'lab.chat', options);
      await call.write(Buffer.from(text));
      await call.end();
      same(await tenant.ended(), { available: 1_000_000, held: 0, settled: 0 }, 'books');
    }
    const again = await StreamCall.start(world, tenant, 'lab.chat', { key: 'failed-1' });
    await again.write(bytesOf);
    await again.end();
    same((await tenant.ended()).settled, streamChargeMicros, 'settled');
  },
];

// ── a vendor that breaks ──

/** Past the headers there is no new error: the stream breaks towards the client too. */
const broken: readonly Named[] = (
  [
    ['before its usage', plain.before, fallbackMicros],
    ['behind its usage', Buffer.concat([plain.before, plain.usage]), streamChargeMicros],
  ] as const
).map(([where, bytes, micros]) => [
  `the vendor resets ${where}: broken at the client, never a clean end, settled once at ${micros}`,
  async ({ world }) => {
    const tenant = await world.tenant();
    const { client, vendor } = await StreamCall.start(world, tenant, 'lab.chat');
    vendor.write(chunk(bytes));
    await client.until(() => readAnswer(client.bytes, 'POST', client.ended).body.equals(bytes));
    vendor.socket.resetAndDestroy();
    await client.until(() => client.ended !== 'open');
    holds(!readAnswer(client.bytes, 'POST', client.ended).complete, 'a clean end');
    await settledAlike(tenant, 1, micros);
  },
]);

const refused: Named = [
  'an event stream with status 500 is relayed and costs nothing',
  async ({ world }) => {
    const tenant = await world.tenant();
    const head = streamHead.replace('200 OK', '500 Oops');
    const { client, vendor } = await StreamCall.start(world, tenant, 'lab.chat', { head });
    vendor.write(Buffer.concat([chunk(bytesOf), Buffer.from('0\r\n\r\n')]));
    const answer = await client.answer('POST');
    client.close();
    same([answer.status, answer.body.equals(bytesOf)], [500, true], 'the answer');
    same(await tenant.ended(), { available: 1_000_000, held: 0, settled: 0 }, 'books');
  },
];

/** Every row of this file. */
export const contentRows: readonly Named[] = [...framings, ...said, failing, ...broken, refused];
