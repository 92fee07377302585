/**
 * The stand of the wire proof: one gateway, three origins on loopback, one tenant; and the few
 * helpers with which a row says what must arrive and what must come back, byte for byte. Header
 * lines are compared as a set of exact lines: their order is the runtime's (a row of its own).
 * Called by the row files beside it and by ../wire.ts.
 */
import net from 'node:net';
import { freePorts } from '../../../scripts/lib/ports.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { holds, type Row, same } from '../../support/proof.ts';
import { exchange, type RawAnswer, RawConnection } from '../../support/raw-client.ts';
import {
  type Answer,
  type RecordedRequest,
  type RecordingOrigin,
  reply,
  startOrigin,
} from '../../support/recording-origin.ts';
import { makeScenario, type Scenario } from '../../support/scenario.ts';
import { meterAccount, writeMeterCatalog } from './meter-catalog.ts';

/** One numbered row of docs/relay-contract.md and what shows it. */
export interface WireRow {
  readonly n: number;
  readonly kind: 'change' | 'kept' | 'refusal' | 'residue' | 'platform';
  /** Cases of the shared list that it shows. */
  readonly cases?: readonly string[];
  readonly title: string;
  /** Source: decisions, digest, RFC, measurement. */
  readonly why: string;
  /** Too slow for `npm test`. */
  readonly fullOnly?: true;
  readonly run: (stand: Stand) => ReturnType<Row['run']>;
}

/** A call as raw parts; framing headers and body are the row's own. */
export interface Call {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  /** The key in X-Weir-Key: the tenant's by default, none with `null`. */
  readonly key?: string | null;
  /** What the first origin answers. */
  readonly reply?: Answer;
}

/** A registered upstream; `path` is `/call/NAME`. */
export interface Registered {
  readonly id: string;
  readonly name: string;
  readonly path: string;
}

/** An origin of which a row drives every byte: it gets the socket of each connection. */
export interface Scripted {
  readonly port: number;
  on: (socket: net.Socket) => void;
  /** Closes what is still open, so that the next row starts on a new connection. */
  readonly drop: () => void;
  readonly close: () => Promise<void>;
}

export interface Stand {
  readonly short: boolean;
  readonly gateway: Gateway;
  readonly tenant: Scenario;
  readonly token: string;
  /** The value that `bound` injects into X-Vendor-Key. */
  readonly credential: string;
  /** `cred://` of it. */
  readonly credentialRef: string;
  readonly origin: RecordingOrigin;
  readonly second: RecordingOrigin;
  readonly scripted: Scripted;
  /** On 127.0.0.2 and the port of `origin`. */
  readonly sibling: Scripted;
  readonly closedPort: number;
  /** On the first origin, no bindings. */
  readonly plain: Registered;
  /** On the first origin, the credential in X-Vendor-Key. */
  readonly bound: Registered;
  /** On the scripted origin, the credential in X-Vendor-Key. */
  readonly live: Registered;
  /** Registers an upstream of the first origin unless `fields` say otherwise. */
  readonly register: (fields?: Record<string, unknown>) => Promise<Registered>;
  /** Stores a secret; gives its `cred://`. */
  readonly secret: (value: string) => Promise<string>;
  readonly dispose: () => Promise<void>;
}

/** Names that only ever have to be registered, never reached. */
export const pool = ['us.weir-pool.com', 'eu.weir-pool.com'] as const;
export const unresolvable = 'no-such-host.invalid';

/** Starts gateway, origins and tenant. */
export async function startStand(short: boolean): Promise<Stand> {
  const [origin, second, scripted] = [
    await startOrigin(),
    await startOrigin(),
    await startScripted(),
  ];
  // A pool shares one port, so its second endpoint is another loopback address.
  const sibling = await startScripted('127.0.0.2', origin.port);
  const [closedPort = 0] = await freePorts(1);
  const loopback = [origin.port, second.port, scripted.port, closedPort].map(
    (p) => `127.0.0.1:${p}`,
  );
  const gateway = await startGateway({
    allow: [
      ...loopback,
      `127.0.0.2:${origin.port}`,
      ...pool.map((host) => `${host}:80`),
      `${unresolvable}:80`,
    ],
    bindings: {
      CLIENT_IP_HEADERS: 'x-edge-client',
      PLATFORM_SETTINGS: JSON.stringify({ vendor_id: 'platform-0123456789', ...meterAccount }),
    },
  });
  await writeMeterCatalog(gateway, origin.authority);
  const tenant = await makeScenario(gateway);
  const money = { id: 'wire', micros: 1_000_000 };
  await gateway.api('POST', `/api/v1/ledger/topups?tenant=${tenant.tenantId}`, money);
  let made = 0;
  const register: Stand['register'] = async (fields = {}) => {
    made += 1;
    const name = `u${made}`;
    const endpoints = [{ host: '127.0.0.1', port: origin.port }];
    const id = await tenant.upstream({ name, alias: name, scheme: 'http', endpoints, ...fields });
    const known = typeof fields.name === 'string' ? fields.name : name;
    return { id, name: known, path: `/call/${known}` };
  };
  const secret: Stand['secret'] = (value) => {
    made += 1;
    return tenant.secret(`s${made}`, value);
  };
  const credential = 'vendor-credential-0123456789';
  const credentialRef = await secret(credential);
  const bindings = [{ location: 'header', name: 'X-Vendor-Key', secret: credentialRef }];
  return {
    ...{ short, gateway, tenant, token: tenant.token, credential, credentialRef },
    ...{ origin, second, scripted, sibling, closedPort, register, secret },
    plain: await register(),
    bound: await register({ bindings }),
    live: await register({ bindings, endpoints: [{ host: '127.0.0.1', port: scripted.port }] }),
    dispose: async () => {
      await gateway.dispose();
      await Promise.all([origin.close(), second.close(), scripted.close(), sibling.close()]);
    },
  };
}

async function startScripted(host = '127.0.0.1', wantedPort = 0): Promise<Scripted> {
  const sockets = new Set<net.Socket>();
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    scripted.on(socket);
  });
  await new Promise<void>((resolve) => server.listen(wantedPort, host, resolve));
  const scripted: Scripted = {
    port: (server.address() as net.AddressInfo).port,
    on: (socket) => void socket.destroy(),
    drop,
    close: () => {
      drop();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
  return scripted;
}

/** The bytes of a call. */
export function bytesOf(stand: Stand, call: Call): Buffer {
  const key = call.key === undefined ? stand.token : call.key;
  const lines = ['Host: gateway.test', ...(key === null ? [] : [`X-Weir-Key: ${key}`])];
  const head = [
    `${call.method ?? 'GET'} ${call.target} HTTP/1.1`,
    ...lines,
    ...(call.headers ?? []),
  ];
  const body = typeof call.body === 'string' ? Buffer.from(call.body, 'latin1') : call.body;
  return Buffer.concat([
    Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'),
    body ?? Buffer.alloc(0),
  ]);
}

/** Sends a call on a connection of its own. */
export async function send(
  stand: Stand,
  call: Call,
): Promise<{ answer: RawAnswer; requests: readonly RecordedRequest[] }> {
  stand.origin.clear();
  stand.second.clear();
  stand.origin.answer(call.reply ?? reply('200 OK', [], 'ok'));
  const method = call.method ?? 'GET';
  const answer = await exchange(stand.gateway.port, bytesOf(stand, call), { method });
  return { answer, requests: [...stand.origin.requests, ...stand.second.requests] };
}

/** Sends a call that must reach an origin exactly once. */
export async function relay(
  stand: Stand,
  call: Call,
): Promise<{ answer: RawAnswer; request: RecordedRequest }> {
  const { answer, requests } = await send(stand, call);
  const [request] = requests;
  const shown = `${call.method ?? 'GET'} ${call.target.slice(0, 80)}`;
  if (request === undefined || requests.length !== 1) {
    const said = `${answer.statusLine} ${answer.body.toString('latin1').slice(0, 200)}`;
    throw new Error(`${shown}: ${requests.length} requests at the origin; answer: ${said}`);
  }
  return { answer, request };
}

/** Opens a connection and sends a call on it; the row reads on. Close it. */
export async function open(stand: Stand, call: Call): Promise<RawConnection> {
  const connection = await RawConnection.open(stand.gateway.port);
  connection.send(bytesOf(stand, call));
  return connection;
}

/** Sends a call that must be refused with that status and code; no origin may hear of it. */
export async function refused(
  stand: Stand,
  call: Call,
  status: number,
  code: string,
): Promise<Record<string, unknown>> {
  const { answer, requests } = await send(stand, call);
  const problem = problemOf(answer);
  same(
    [answer.status, problem.type],
    [status, `urn:weir:problem:${code}`],
    call.target.slice(0, 80),
  );
  same(requests.length, 0, `requests at the origin of ${call.target.slice(0, 80)}`);
  return problem;
}

/** The problem document of a refusal: RFC 9457, marked as ours. */
export function problemOf(answer: RawAnswer): Record<string, unknown> {
  const lines = answer.lines.map((line) => line.toLowerCase());
  for (const line of ['content-type: application/problem+json', 'x-weir-error: 1']) {
    holds(lines.includes(line), `no "${line}" in ${JSON.stringify(answer.head)}`);
  }
  holds(lines.includes('x-weir-error-source: gateway'), `not ours: ${JSON.stringify(answer.head)}`);
  return JSON.parse(answer.body.toString('utf8')) as Record<string, unknown>;
}

/** Request line, every header line (Host and `Accept-Encoding: identity` are added), every byte. */
export function arrives(
  request: RecordedRequest,
  line: string,
  lines: readonly string[] = [],
  body: string | Buffer = '',
): void {
  const host = `Host: 127.0.0.1:${request.connection.socket.localPort}`;
  const coded = lines.some((l) => l.startsWith('Accept-Encoding:'));
  const wanted = [...lines, host, ...(coded ? [] : ['Accept-Encoding: identity'])];
  same(request.requestLine, `${line} HTTP/1.1`, 'request line');
  same([...request.lines].sort(), wanted.sort(), `headers of ${line}`);
  sameBytes(request.body, body, `body of ${line}`);
}

/** The line of one name, as the origin got it; `undefined` when there is none. */
export const lineOf = (lines: readonly string[], name: string): string | undefined =>
  lines.find((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));

/** Bytes, shown as latin1 when they differ. */
export function sameBytes(actual: Buffer, wanted: string | Buffer, what: string): void {
  const bytes = typeof wanted === 'string' ? Buffer.from(wanted, 'latin1') : wanted;
  if (actual.equals(bytes)) return;
  const shown = (b: Buffer): string =>
    `${b.length} bytes ${JSON.stringify(b.toString('latin1').slice(0, 300))}`;
  throw new Error(`${what}: got ${shown(actual)}, wanted ${shown(bytes)}`);
}

/** The upstream's lines of an answer; the four that we add must be there, once each. */
export function vendorLines(answer: RawAnswer): string[] {
  const ours = [
    /^x-weir-call-id: call_[0-9A-Z]{26}$/i,
    /^x-weir-error-source: upstream$/i,
    /^x-content-type-options: nosniff$/i,
    /^content-security-policy: sandbox$/i,
  ];
  for (const line of ours) {
    same(
      answer.lines.filter((l) => line.test(l)).length,
      1,
      `${line} in ${JSON.stringify(answer.head)}`,
    );
  }
  return answer.lines.filter((l) => !ours.some((line) => line.test(l)));
}

/** Status line, every header line and every body byte of a relayed answer. */
export function comesBack(
  answer: RawAnswer,
  statusLine: string,
  lines: readonly string[],
  body: string | Buffer,
): void {
  same(answer.statusLine, `HTTP/1.1 ${statusLine}`, 'status line');
  same(vendorLines(answer).sort(), [...lines].sort(), `headers of ${statusLine}`);
  sameBytes(answer.body, body, `body of ${statusLine}`);
  holds(answer.complete, `the answer ${statusLine} is cut`);
}

/** What a GET of `bound` brings back is exactly what the origin sends. */
export async function bringsBack(
  stand: Stand,
  status: string,
  lines: readonly string[],
  body: string | Buffer,
): Promise<void> {
  const { answer } = await relay(stand, {
    target: `${stand.bound.path}/a`,
    reply: reply(status, lines, body),
  });
  comesBack(answer, status, [...lines, sized(body)], body);
}

/** Waits until a condition holds; gives the milliseconds that it took. */
export async function within(
  milliseconds: number,
  what: string,
  done: () => boolean,
): Promise<number> {
  const start = performance.now();
  while (!done()) {
    if (performance.now() - start > milliseconds)
      throw new Error(`${what}: not within ${milliseconds} ms`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return performance.now() - start;
}

/** The value of a promise that must settle soon, so that a failing row cannot hang the proof. */
export async function soon<T>(value: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within 5 s`)), 5_000);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Writes latin1 text to an origin's socket. */
export const write = (socket: net.Socket, text: string): boolean =>
  socket.write(Buffer.from(text, 'latin1'));

/** Header lines of a Content-Length body. */
export const sized = (body: string | Buffer): string => `Content-Length: ${body.length}`;

/** One chunk of chunked framing. */
export const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
