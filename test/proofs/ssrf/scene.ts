/**
 * What every SSRF row works on: a gateway with a scripted resolver, an origin that may be called, a trap that may not, and a tenant.
 * Promises: no call can leave loopback. Every upstream carries a credential that cannot be rendered, so a call that passes the address
 * guard ends as `credential.unavailable`, one step before the send; and nothing is called that the pure rules let through by mistake.
 */
import net from 'node:net';
import { freePorts } from '../../../scripts/lib/ports.ts';
import { type DohStub, startDohStub } from '../../support/doh-stub.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { exchange } from '../../support/raw-client.ts';
import { type RecordingOrigin, startOrigin } from '../../support/recording-origin.ts';
import { makeScenario, type Scenario } from '../../support/scenario.ts';

/** A listener that nobody may reach: connections are counted before a byte is read. */
export interface Trap {
  readonly port: number;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

export interface Scene {
  readonly gateway: Gateway;
  readonly dns: DohStub;
  /** In EGRESS_ALLOW. */
  readonly origin: RecordingOrigin;
  readonly trap: Trap;
  readonly scenario: Scenario;
  readonly secret: string;
  readonly secretId: string;
  readonly dispose: () => Promise<void>;
}

/** How a call ended. */
export interface Verdict {
  readonly status: number;
  /** The problem code, or the status line's text when the runtime itself answered. */
  readonly code: string;
}

/** An upstream that is written straight into the store, past every registration rule. */
export interface Smuggled {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
}

/** Starts everything. Two isolates on one store: each has a resolver cache of its own. */
export async function setScene(): Promise<Scene> {
  const [first = 0, second = 0] = await freePorts(2);
  const [dns, origin, trap] = await Promise.all([startDohStub(), startOrigin(), startTrap()]);
  const gateway = await startGateway({
    isolates: 2,
    ports: [first, second],
    // The gateway's own port is allowed on purpose: its being the gateway must win.
    allow: [origin.authority, `127.0.0.1:${first}`],
    bindings: {
      EGRESS_RESOLVER: dns.url,
      GATEWAY_HOSTS: `gateway.test,127.0.0.1:${first}`,
    },
  });
  const scenario = await makeScenario(gateway);
  const secret = await scenario.secret('plain', 'not a JSON object, so it has no field');
  const listed = await gateway.api('GET', `/api/v1/secrets?tenant=${scenario.tenantId}`);
  return {
    gateway,
    dns,
    origin,
    trap,
    scenario,
    secret,
    secretId: listed.body.data[0].id,
    async dispose() {
      await gateway.dispose();
      await Promise.all([dns.close(), origin.close(), trap.close()]);
    },
  };
}

async function startTrap(): Promise<Trap> {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as net.AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { port, connections: () => connections, close };
}

/** A POST of one upstream through the management API. */
export async function register(
  scene: Scene,
  fields: Record<string, unknown>,
  isolate = 0,
): Promise<{ status: number; body: unknown }> {
  const path = `/api/v1/upstreams?tenant=${scene.scenario.tenantId}`;
  return scene.gateway.api('POST', path, { bindings: [binding(scene)], ...fields }, { isolate });
}

/** A credential that opens but does not fit its binding: the step right behind the address guard says no. */
const binding = (scene: Scene): object => ({
  location: 'header',
  name: 'x-credential',
  secret: scene.secret,
  secret_field: 'absent',
});

/** Writes upstreams, each with a route for everything, into the store itself. */
export async function smuggle(scene: Scene, upstreams: readonly Smuggled[]): Promise<void> {
  const db = await scene.gateway.db();
  const rows = JSON.stringify(
    upstreams.map((upstream, i) => ({ ...upstream, id: `ups_sql_${upstream.name}_${i}` })),
  );
  const source = { kind: 'secret', secretId: scene.secretId, field: 'absent' };
  const bindings = [
    { location: 'header', name: 'x-credential', injector: 'api_key', format: null, source },
  ];
  const id = `value ->> 'id'`;
  const endpoint = `json_array(json_object('host', value ->> 'host', 'port', value ->> 'port'))`;
  const { tenantId } = scene.scenario;
  await db
    .prepare(
      `insert into upstreams (id, tenant_id, name, alias, scheme, endpoints, base_path, bindings, first_byte_timeout_ms, idle_timeout_ms, tags, created_at, updated_at)
       select ${id}, ?2, value ->> 'name', value ->> 'name', value ->> 'scheme', ${endpoint}, '', ?3, 1000, 1000, '[]', 1, 1 from json_each(?1)`,
    )
    .bind(rows, tenantId, JSON.stringify(bindings))
    .run();
  await db
    .prepare(
      `insert into upstream_hosts (tenant_id, host, port, upstream_id)
       select ?2, value ->> 'host', value ->> 'port', ${id} from json_each(?1)`,
    )
    .bind(rows, tenantId)
    .run();
  await db
    .prepare(
      `insert into routes (id, tenant_id, upstream_id, methods, path, suffix_mode, created_at, updated_at)
       select 'rte' || substr(${id}, 4), ?2, ${id}, '["GET"]', '/', 'append', 1, 1 from json_each(?1)`,
    )
    .bind(rows, tenantId)
    .run();
  await db
    .prepare('update tenants set config_version = config_version + 1 where id = ?1')
    .bind(tenantId)
    .run();
}

/** One GET with raw bytes in the request target. */
export async function call(
  scene: Scene,
  target: string,
  options: { readonly isolate?: number; readonly head?: string } = {},
): Promise<Verdict> {
  const head = options.head ?? 'Host: gateway.test\r\n';
  const key = `X-Weir-Key: ${scene.scenario.token}\r\n`;
  const request = Buffer.from(`GET ${target} HTTP/1.1\r\n${head}${key}Connection: close\r\n\r\n`);
  const port = scene.gateway.ports[options.isolate ?? 0] ?? 0;
  const { status, statusLine, body } = await exchange(port, request);
  const type = /"type":"urn:weir:problem:([a-z_.]+)"/.exec(body.toString('utf8'))?.[1];
  return { status, code: type ?? statusLine };
}

/** The code of a call that the address guard let through; nothing was sent. */
export const letThrough = 'credential.unavailable';
