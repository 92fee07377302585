/**
 * What every secrets row works on: a gateway, one upstream per binding kind and one catalog provider per platform account, each with a
 * canary of its own, an echoing vendor, an origin that no credential may reach, and the witness that searches whatever leaves.
 * Promises: a canary has characters that every encoder escapes, and a random core that is a leak by itself.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeCatalog } from '../../../scripts/lib/catalog/write.ts';
import { freePorts } from '../../../scripts/lib/ports.ts';
import { type DohStub, publicName, startDohStub } from '../../support/doh-stub.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { type Canary, type Leak, leaksIn } from '../../support/leak-detector.ts';
import { RawConnection } from '../../support/raw-client.ts';
import {
  type OriginConnection,
  type RecordingOrigin,
  startOrigin,
} from '../../support/recording-origin.ts';
import { makeScenario, type Scenario } from '../../support/scenario.ts';
import { operatorKey, testBindings } from '../../support/test-env.ts';
import {
  accountCall,
  accountFiles,
  accountKinds,
  isAccount,
  settingOf,
  unapprovedHost,
} from './account.ts';
import { answerOf } from './vendor.ts';

/** Every way in which a secret is bound to an upstream. */
const boundKinds = [
  'api_key',
  'bearer',
  'basic',
  'custom',
  'query',
  'json',
  'secret_field',
  'platform_setting',
] as const;
type BoundKind = (typeof boundKinds)[number];

/** Every way in which a secret reaches the vendor; the last ones are keys of platform accounts, on the metered road. */
export const kinds = [...boundKinds, ...accountKinds] as const;
export type Kind = (typeof kinds)[number];

/** Kinds whose calls need no body and can be any method, a WebSocket too. */
export const freeKinds = boundKinds.filter((kind) => kind !== 'json');

export interface Scene {
  readonly gateway: Gateway;
  readonly scenario: Scenario;
  readonly dns: DohStub;
  readonly vendor: RecordingOrigin;
  /** Registered too, without a credential; nothing secret may arrive here. */
  readonly elsewhere: RecordingOrigin;
  readonly canaries: Readonly<Record<Kind, Canary>>;
  /** The Weir keys, the operator's key, the master key, a secret that is stored and never bound. */
  readonly others: Canary[];
  readonly closedPort: number;
  /** Answers a TLS handshake in plain text. */
  readonly plainPort: number;
  readonly found: Leak[];
  /** How far each connection of an origin was read. */
  readonly read: Map<OriginConnection, number>;
  readonly searchedBytes: { count: number };
  /** Where workerd keeps D1, the ledgers and the replay bodies. */
  readonly state: string;
  readonly dispose: () => Promise<void>;
}

const core = (): string => randomBytes(15).toString('base64').replace(/[+/=]/g, 'x');

/** Header values must be printable ASCII; the others get characters beyond it. */
function canaryOf(name: string, tail = ''): Canary {
  const random = core();
  return { name, core: random, value: `q9"/<&'+=%z@${random} e${tail}` };
}

const beyondAscii: ReadonlySet<Kind> = new Set(['query', 'json', 'account_post']);

/** Starts everything, registers one upstream per kind, `/call/{kind}/…`, and writes the catalog of the accounts. */
export async function setScene(): Promise<Scene> {
  const canaries = Object.fromEntries(
    kinds.map((kind) => [kind, canaryOf(kind, beyondAscii.has(kind) ? ' ü☃' : '')]),
  ) as Record<Kind, Canary>;
  const [dns, vendor, elsewhere] = await Promise.all([
    startDohStub(),
    startOrigin(),
    startOrigin(),
  ]);
  const [closedPort = 0] = await freePorts(1);
  const plain = await startPlain();
  vendor.answer((request) => answerOf(request, { canaries, elsewhere: elsewhere.authority }));
  const state = mkdtempSync(join(tmpdir(), 'weir-secrets-'));
  const gateway = await startGateway({
    isolates: 2,
    persist: state,
    allow: [vendor.port, elsewhere.port, closedPort, plain.port].map((port) => `127.0.0.1:${port}`),
    bindings: {
      EGRESS_RESOLVER: dns.url,
      GATEWAY_HOSTS: `gateway.test,${unapprovedHost}`,
      PLATFORM_SETTINGS: JSON.stringify({
        vendor: canaries.platform_setting.value,
        ...Object.fromEntries(accountKinds.map((kind) => [settingOf(kind), canaries[kind].value])),
      }),
    },
  });
  await writeCatalog(await gateway.db(), vendor.authority, accountFiles(vendor.authority));
  const scenario = await makeScenario(gateway);
  const unbound = canaryOf('a stored secret that nothing is bound to');
  const scene: Scene = {
    gateway,
    scenario,
    dns,
    vendor,
    elsewhere,
    canaries,
    others: [unbound, ...ours(scenario.token)],
    closedPort,
    plainPort: plain.port,
    found: [],
    read: new Map(),
    searchedBytes: { count: 0 },
    state,
    async dispose() {
      await gateway.dispose();
      rmSync(state, { recursive: true, force: true });
      await Promise.all([dns.close(), vendor.close(), elsewhere.close(), plain.close()]);
    },
  };
  dns.script('*', publicName);
  await scenario.secret('unbound', unbound.value);
  for (const kind of boundKinds) await registered(scene, kind);
  await toppedUp(scene, scenario.tenantId, 1_000_000_000);
  const open = { name: 'elsewhere', alias: 'elsewhere', scheme: 'http' };
  await scenario.upstream({ ...open, endpoints: [{ host: '127.0.0.1', port: elsewhere.port }] });
  return scene;
}

async function startPlain(): Promise<{ port: number; close: () => Promise<void> }> {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('HTTP/1.1 400 This is not TLS\r\n\r\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as net.AddressInfo;
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** The gateway's own secrets. The hint of a key, its first eight characters, is shown in lists: the core is what follows. */
const ours = (token: string): Canary[] => [
  { name: 'the Weir key', value: token, core: token.slice(12) },
  { name: 'the operator key', value: operatorKey, core: operatorKey },
  { name: 'the master key', value: testBindings.MASTER_KEYS ?? '', core: 'IiIiIiIiIiIiIiIiIiIiIi' },
  {
    name: 'the check secret',
    value: testBindings.KEY_CHECK_SECRETS ?? '',
    core: 'ERERERERERERERERERERER',
  },
];

/** All canaries of a scene. */
export const allCanaries = (scene: Scene): readonly Canary[] => [
  ...kinds.map((kind) => scene.canaries[kind]),
  ...scene.others,
];

/** What is stored for a kind: basic wants a pair, secret_field a JSON document. */
function storedValue(kind: BoundKind, canary: Canary): string {
  if (kind === 'basic') return `user:${canary.value}`;
  return kind === 'secret_field' ? JSON.stringify({ token: canary.value, id: 7 }) : canary.value;
}

/** The binding of a kind, as a registration sends it. */
export function bindingOf(kind: BoundKind, secret: string): Record<string, string> {
  switch (kind) {
    case 'api_key':
      return { location: 'header', name: 'x-vendor-key', secret };
    case 'bearer':
      return { location: 'header', name: 'authorization', injector: 'bearer', secret };
    case 'basic':
      return { location: 'header', name: 'authorization', injector: 'basic', secret };
    case 'custom':
      return {
        location: 'header',
        name: 'x-custom',
        injector: 'custom',
        format: 'K {secret};v=1',
        secret,
      };
    case 'query':
      return { location: 'query', name: 'apikey', secret };
    case 'json':
      return { location: 'json', name: 'api_key', secret };
    case 'secret_field':
      return { location: 'header', name: 'x-field', secret, secret_field: 'token' };
    case 'platform_setting':
      return { location: 'header', name: 'x-setting', platform_setting: 'vendor' };
  }
}

let credits = 0;

/** Books money for a tenant, micro-USD. */
export async function toppedUp(
  { gateway }: Pick<Scene, 'gateway'>,
  tenantId: string,
  micros: number,
): Promise<void> {
  credits += 1;
  const path = `/api/v1/ledger/topups?tenant=${tenantId}`;
  const { status, body } = await gateway.api('POST', path, { id: `pay-${credits}`, micros });
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
}

async function registered(scene: Scene, kind: BoundKind): Promise<void> {
  const { scenario, vendor } = scene;
  const name = kind.replace('_', '-');
  const stored = storedValue(kind, scene.canaries[kind]);
  const secret = kind === 'platform_setting' ? '' : await scenario.secret(name, stored);
  await scenario.upstream({
    name: kind,
    alias: kind,
    scheme: 'http',
    endpoints: [{ host: '127.0.0.1', port: vendor.port }],
    base_path: `/k/${kind}`,
    bindings: [bindingOf(kind, secret)],
    first_byte_timeout_ms: 400,
  });
}

/** One request of a caller. */
export interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly head?: string;
  readonly body?: string | Buffer;
  readonly isolate?: number;
  /** `null` sends none. */
  readonly token?: string | null;
}

/** Sends one request with the Weir key and gives every byte that came back. */
export async function send(scene: Scene, sent: Sent): Promise<Buffer> {
  const {
    method = 'GET',
    path,
    head = '',
    body = '',
    isolate = 0,
    token = scene.scenario.token,
  } = sent;
  const key = token === null ? '' : `X-Weir-Key: ${token}\r\n`;
  const length = body.length > 0 ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : '';
  const host = 'Host: gateway.test\r\nConnection: close\r\n';
  const connection = await RawConnection.open(scene.gateway.ports[isolate] ?? 0);
  try {
    connection.send(
      Buffer.from(`${method} ${path} HTTP/1.1\r\n${host}${key}${length}${head}\r\n`, 'latin1'),
    );
    connection.send(Buffer.from(body));
    // 101 does not end by itself.
    await connection.until(
      () => connection.ended !== 'open' || isSwitched(connection.bytes),
      20_000,
    );
    return connection.bytes;
  } finally {
    connection.close();
  }
}

const isSwitched = (bytes: Buffer): boolean =>
  bytes.subarray(0, 13).toString() === 'HTTP/1.1 101 ' && bytes.includes('\r\n\r\n');

/** A call of a kind's upstream or catalog row; the json kinds need a JSON body. */
export function callOf(kind: Kind, path: string, head = ''): Sent {
  if (isAccount(kind)) return accountCall(kind, path, head);
  if (kind !== 'json') return { path: `/call/${kind}${path}`, head };
  const type = 'Content-Type: application/json\r\n';
  return { method: 'POST', path: `/call/json${path}`, head: head + type, body: '{"a":1}' };
}

/** Searches bytes that left the gateway; every find counts, and is told with where it was. */
export function search(scene: Scene, bytes: Buffer, where: string): string[] {
  scene.searchedBytes.count += bytes.length;
  const leaks = leaksIn(bytes, allCanaries(scene));
  scene.found.push(...leaks);
  return leaks.map(({ canary, spelling }) => `${where} shows ${canary} (${spelling})`);
}

/** What an origin got since the last look. Connections are pooled: forgetting one would blind the search to all that follows on it. */
export function arrivedSince(scene: Scene, origin: RecordingOrigin): Buffer {
  return Buffer.concat(
    origin.connections.map((connection) => {
      const from = scene.read.get(connection) ?? 0;
      scene.read.set(connection, connection.bytes.length);
      return connection.bytes.subarray(from);
    }),
  );
}
