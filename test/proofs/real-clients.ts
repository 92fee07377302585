/**
 * real-clients: the official OpenAI and Anthropic SDKs, `ws` and curl, unchanged but for base URL
 * and key, against scripted vendors on loopback that know only their own credential. The last rows
 * read what the vendors received: no byte of a Weir key in any of it.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import WebSocket from 'ws';
import { startVendor, type Vendor } from '../../scripts/demo/vendor.ts';
import { runCommand } from '../support/commands.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';
import { makeScenario, type Scenario } from '../support/scenario.ts';

const openaiCredential = 'sk-vendor-openai-7f3a9c1e5b';
const anthropicCredential = 'sk-ant-vendor-2d8e6f4a0c';
const said = 'hello from a real client';
const answerText = `You said: ${said}`;

/** Everything that the rows talk to. */
interface Stage {
  readonly gateway: Gateway;
  readonly openaiVendor: Vendor;
  readonly anthropicVendor: Vendor;
  readonly tenant: Scenario;
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
}

async function setUp(): Promise<Stage> {
  const openaiVendor = await startVendor({ credential: openaiCredential });
  const anthropicVendor = await startVendor({ credential: anthropicCredential });
  const gateway = await startGateway({
    allow: [openaiVendor.authority, anthropicVendor.authority],
  });
  const tenant = await makeScenario(gateway);
  await tenant.upstream({
    ...(await vendorAt(tenant, 'openai', openaiVendor, openaiCredential)),
    base_path: '/v1',
    bindings: [
      { location: 'header', name: 'authorization', injector: 'bearer', secret: 'cred://openai' },
    ],
  });
  await tenant.upstream({
    ...(await vendorAt(tenant, 'anthropic', anthropicVendor, anthropicCredential)),
    bindings: [
      { location: 'header', name: 'x-api-key', injector: 'api_key', secret: 'cred://anthropic' },
    ],
  });
  const base = `http://127.0.0.1:${gateway.port}/call`;
  const openai = new OpenAI({ baseURL: `${base}/openai`, apiKey: tenant.token, maxRetries: 0 });
  const anthropic = new Anthropic({
    baseURL: `${base}/anthropic`,
    apiKey: tenant.token,
    maxRetries: 0,
  });
  return { gateway, openaiVendor, anthropicVendor, tenant, openai, anthropic };
}

/** The fields that both upstreams share; stores the secret of the same name. */
async function vendorAt(tenant: Scenario, name: string, vendor: Vendor, credential: string) {
  await tenant.secret(name, credential);
  return {
    name,
    alias: name,
    scheme: 'http',
    endpoints: [{ host: '127.0.0.1', port: vendor.port }],
  };
}

const openaiRows = ({ openai }: Stage): Row[] => [
  {
    name: 'openai: a chat completion',
    async run() {
      const answer = await openai.chat.completions.create({
        model: 'demo-small',
        messages: [{ role: 'user', content: said }],
      });
      same(answer.choices[0]?.message.content, answerText, 'content');
      same(answer.model, 'demo-small', 'model');
    },
  },
  {
    name: 'openai: a streamed chat completion arrives event by event',
    async run() {
      const stream = await openai.chat.completions.create({
        model: 'demo-small',
        messages: [{ role: 'user', content: said }],
        stream: true,
      });
      const arrivals: number[] = [];
      let text = '';
      for await (const chunk of stream) {
        arrivals.push(performance.now());
        text += chunk.choices[0]?.delta.content ?? '';
      }
      same(text, answerText, 'content');
      return spread(arrivals);
    },
  },
  {
    name: 'openai: the list of models',
    async run() {
      const models = await openai.models.list();
      same(
        models.data.map(({ id }) => id),
        ['demo-small', 'demo-large'],
        'ids',
      );
    },
  },
  {
    name: "openai: the vendor's 400 stays the vendor's 400",
    async run() {
      const error = await failure(openai.get('/error'));
      holds(error instanceof OpenAI.BadRequestError, `an OpenAI.BadRequestError, got ${error}`);
      holds(error.message.includes('the error that you asked for'), error.message);
      same(error.headers.get('x-weir-error-source'), 'upstream', 'X-Weir-Error-Source');
    },
  },
  {
    name: 'openai: a made-up Weir key is a 401 that says so',
    async run() {
      const stranger = openai.withOptions({ apiKey: `wk_1${'x'.repeat(42)}` });
      const error = await failure(stranger.models.list());
      holds(error instanceof OpenAI.AuthenticationError, `an AuthenticationError, got ${error}`);
      same(error.message, '401 The Weir key is not valid.', 'message');
      same(error.code, 'auth.failed', 'code');
      same(error.headers.get('x-weir-error-source'), 'gateway', 'X-Weir-Error-Source');
    },
  },
  {
    name: 'openai: a file download, byte for byte',
    async run() {
      const file = await openai.get('/file', { __binaryResponse: true });
      const text = await (file as Response).text();
      const rows = Array.from({ length: 1000 }, (_, i) => `${i},${i * i}`);
      same(text, `n,square\n${rows.join('\n')}\n`, 'the file');
    },
  },
];

const anthropicRows = ({ anthropic }: Stage): Row[] => [
  {
    name: 'anthropic: a message',
    async run() {
      const answer = await anthropic.messages.create(question);
      const [block] = answer.content;
      same(block?.type === 'text' ? block.text : null, answerText, 'text');
    },
  },
  {
    name: 'anthropic: a streamed message arrives event by event',
    async run() {
      const arrivals: number[] = [];
      const stream = anthropic.messages
        .stream(question)
        .on('text', () => arrivals.push(performance.now()));
      same(await stream.finalText(), answerText, 'text');
      return spread(arrivals);
    },
  },
  {
    name: 'anthropic: a made-up Weir key is a 401 that says so',
    async run() {
      const stranger = anthropic.withOptions({ apiKey: `wk_1${'x'.repeat(42)}` });
      const error = await failure(stranger.messages.create(question));
      holds(
        error instanceof Anthropic.AuthenticationError,
        `an Anthropic.AuthenticationError, got ${error}`,
      );
      same(error.headers.get('x-weir-error-source'), 'gateway', 'X-Weir-Error-Source');
    },
  },
];

const question = {
  model: 'demo-small',
  max_tokens: 64,
  messages: [{ role: 'user' as const, content: said }],
};

const socketRows = ({ gateway, tenant }: Stage): Row[] => {
  const url = `ws://127.0.0.1:${gateway.port}/call/openai/echo`;
  return [
    {
      name: 'ws: echo with the key in Authorization',
      run: () =>
        echoes(new WebSocket(url, { headers: { authorization: `Bearer ${tenant.token}` } }), ''),
    },
    {
      name: 'ws: echo with the key in Sec-WebSocket-Protocol, as browser SDKs send it',
      run: () =>
        echoes(
          new WebSocket(url, ['realtime', `openai-insecure-api-key.${tenant.token}`]),
          'realtime',
        ),
    },
    {
      name: 'ws: echo with the key in ?key=',
      run: () => echoes(new WebSocket(`${url}?key=${tenant.token}&room=7`), ''),
    },
  ];
};

const curlRow = ({ gateway, tenant }: Stage): Row => ({
  name: 'curl -u KEY: (Basic, the key as user name)',
  async run() {
    const url = `http://127.0.0.1:${gateway.port}/call/openai/models`;
    const { code, stdout } = await runCommand('curl', [
      '-sS',
      '--fail',
      '-u',
      `${tenant.token}:`,
      url,
    ]);
    same(code, 0, 'exit code');
    same((JSON.parse(stdout) as { object: string }).object, 'list', 'object');
  },
});

/** What reached the vendors, after all the rows before. */
const vendorRows = ({ openaiVendor, anthropicVendor, tenant }: Stage): Row[] => [
  {
    name: 'each vendor received its own credential on every request, and no other',
    async run() {
      for (const { rawHeaders } of openaiVendor.seen) {
        same(
          valuesOf(rawHeaders, 'authorization'),
          [`Bearer ${openaiCredential}`],
          'authorization at openai',
        );
        same(valuesOf(rawHeaders, 'x-api-key'), [], 'x-api-key at openai');
      }
      for (const { rawHeaders } of anthropicVendor.seen) {
        same(valuesOf(rawHeaders, 'x-api-key'), [anthropicCredential], 'x-api-key at anthropic');
        same(valuesOf(rawHeaders, 'authorization'), [], 'authorization at anthropic');
      }
      return `${openaiVendor.seen.length} and ${anthropicVendor.seen.length} requests`;
    },
  },
  {
    name: 'no vendor received the Weir key, plain or in Basic',
    async run() {
      const spellings = [tenant.token, 'wk_', Buffer.from(`${tenant.token}:`).toString('base64')];
      for (const request of [...openaiVendor.seen, ...anthropicVendor.seen]) {
        const text = JSON.stringify(request);
        for (const spelling of spellings)
          holds(!text.includes(spelling), `a Weir key reached ${request.target}`);
      }
      same(
        openaiVendor.seen
          .filter(({ target }) => target.startsWith('/v1/echo?'))
          .map(({ target }) => target),
        ['/v1/echo?room=7'],
        "the socket's query without the key",
      );
    },
  },
];

/** Text and binary come back, and the close handshake completes with our code. */
async function echoes(socket: WebSocket, protocol: string): Promise<string> {
  await once(socket, 'open');
  same(socket.protocol, protocol, 'the chosen subprotocol');
  const [text, binary] = [Buffer.from('grüß dich'), Buffer.alloc(100_000, 7)];
  for (const [data, isBinary] of [
    [text, false],
    [binary, true],
  ] as const) {
    const received = once(socket, 'message');
    socket.send(data, { binary: isBinary });
    const [echo, echoIsBinary] = (await received) as [Buffer, boolean];
    holds(
      echo.equals(data) && echoIsBinary === isBinary,
      `the echo of ${data.length} bytes differs`,
    );
  }
  const closed = once(socket, 'close');
  socket.close(4001, 'done');
  same((await closed)[0], 4001, 'close code');
  return `${text.length} B text, ${binary.length} B binary, close 4001`;
}

/** The arguments of the next event; an error or 10 s of silence rejects. */
function once(socket: WebSocket, event: string): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${event} within 10 s`)), 10_000);
    const settle = (): void => {
      clearTimeout(timer);
      socket.off('error', fail);
    };
    function fail(error: Error): void {
      settle();
      reject(error);
    }
    socket.once('error', fail);
    socket.once(event, (...args: unknown[]) => {
      settle();
      resolve(args);
    });
  });
}

async function failure(promise: PromiseLike<unknown>): Promise<Error & { headers: Headers }> {
  try {
    await promise;
  } catch (error) {
    return error as Error & { headers: Headers };
  }
  throw new Error('it did not fail');
}

/**
 * A stream that was buffered on the way would arrive at once; the vendor pauses 20 ms between
 * events.
 */
function spread(arrivals: readonly number[]): string {
  const ms = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
  holds(
    ms >= (arrivals.length - 1) * 10,
    `${arrivals.length} events within ${ms.toFixed(0)} ms: they were held back`,
  );
  return `${arrivals.length} events over ${ms.toFixed(0)} ms`;
}

const valuesOf = (rawHeaders: readonly string[], name: string): string[] =>
  rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);

export const proof: Proof = {
  name: 'real-clients',
  title: 'official SDKs, ws and curl, unchanged but for base URL and key',
  async stage() {
    const stage = await setUp();
    const { gateway, openaiVendor, anthropicVendor } = stage;
    const rows = [
      ...openaiRows(stage),
      ...anthropicRows(stage),
      ...socketRows(stage),
      curlRow(stage),
      ...vendorRows(stage),
    ];
    return {
      rows,
      figure: () => {
        const seen = [...openaiVendor.seen, ...anthropicVendor.seen];
        const leaks = seen.filter((request) => JSON.stringify(request).includes('wk_')).length;
        return `${seen.length} requests of 4 clients at 2 vendors, ${leaks} with a Weir key`;
      },
      async dispose() {
        await gateway.dispose();
        await Promise.all([openaiVendor.close(), anthropicVendor.close()]);
      },
    };
  },
};
