/**
 * The texts that the world of the bench is made of: nginx, two workerds, the catalog's provider. Called by world.ts.
 * Promises: every service that is compared is in the one workerd `gateway`, with the objects that it calls; D1 is in a workerd of its own.
 */
import { readWranglerConfig } from '../lib/wrangler-config.ts';

/** Ports of everything, all on loopback. */
export interface Ports {
  readonly origin: number;
  readonly sse: number;
  readonly d1: number;
  readonly ours: number;
  readonly bare: number;
  readonly hello: number;
  readonly peer: number;
  readonly handmade: number;
  readonly counted: number;
  readonly pair: number;
  readonly memory: number;
}

/** Of one gateway with a catalog of its own: its own port and that of its D1. */
export interface SizedPorts {
  readonly name: string;
  readonly port: number;
  readonly d1: number;
}

export const credential = 'sk-origin-secret';
export const operatorKey = `bench-${'operator'.repeat(4)}`;
/** The access key of the hand-made path. */
export const handmadeKey = `wk_${'handmade'.repeat(5)}`;
const accountSetting = 'BENCH_KEY';

/** What a call of each catalog endpoint is charged, micro-USD. */
export const callMicros = 60;

/** The provider `bench`: `bench.fixed` costs the same every time, the price of `bench.usage` is in its answer. */
export const providerFile = (authority: string): string => `provider: bench
name: Bench
base_urls: ['http://${authority}/v1']
auth: [{ in: header, name: authorization, as: bearer }]
accounts: [{ label: main, setting: ${accountSetting} }]
price_note: made up for the bench
endpoints:
  - name: fixed
    capability: bench.fixed
    summary: A call with one price
    method: GET
    path: /json
    platform_auth: account
    cost: { kind: per_call, prices: [{ price_micros: ${callMicros} }] }
  - name: usage
    capability: bench.usage
    summary: A call whose answer tells its price
    method: GET
    path: /usage
    platform_auth: account
    settlement: { fallback_micros: 80 }
    cost:
      kind: usage
      meters:
        - { name: units, paths: [usage.units], required: true, reserve: [{ kind: fixed, units: 100 }] }
      prices: [{ per_million_micros: { units: 1000000 } }]
`;

/** The provider `dry`: its account has no money left, so that every call of it says 402. */
export const dryFile = (authority: string): string =>
  plainProvider('dry', authority, { path: '/dry', capability: 'bench.fixed', names: ['fixed'] });

/** A provider whose endpoints cost the same every time and all answer with the same 1 KB. */
export function plainProvider(
  slug: string,
  authority: string,
  rows: { readonly path?: string; readonly capability: string; readonly names: readonly string[] },
): string {
  const { path = '/json', capability, names } = rows;
  const lines = names.map(
    (name) =>
      `  - { name: ${name}, capability: ${capability}, summary: A call with one price, method: GET, path: ${path}, platform_auth: account, cost: { kind: per_call, prices: [{ price_micros: ${callMicros} }] } }`,
  );
  return `provider: ${slug}
name: ${slug}
base_urls: ['http://${authority}/v1']
auth: [{ in: header, name: authorization, as: bearer }]
accounts: [{ label: main, setting: ${accountSetting} }]
price_note: made up for the bench
endpoints:
${lines.join('\n')}
`;
}

const itemText = (i: number): string => `{"i":${i},"name":"item-${i + 1}","ok":true}`;
const itemsText = (count: number): string =>
  Array.from({ length: count }, (_, i) => itemText(i)).join(',');
/** Both 1 KB. */
const json = `{"id":"x-11111111","object":"list","data":[${itemsText(26)}],"pad":"${'p'.repeat(52)}"}`;
const usage = `{"id":"x-11111111","object":"list","data":[${itemsText(26)}],"usage":{"units":${callMicros}},"pad":"${'p'.repeat(30)}"}`;

export function originConf(run: string, ports: Ports): string {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${run}/tmp_${kind};`)
    .join(' ');
  return `worker_processes 1; pid ${run}/origin.pid; error_log ${run}/origin.err; daemon off;
events { worker_connections 4096; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 300; keepalive_requests 100000000; ${temp} open_file_cache max=100;
  server { listen 127.0.0.1:${ports.origin} backlog=4096; root ${run};
    if ($http_authorization != "Bearer ${credential}") { return 401; }
    location = /v1/json { default_type application/json; return 200 '${json}'; }
    location = /v1/usage { default_type application/json; return 200 '${usage}'; }
    location = /v1/dry { default_type application/json; return 402 '{"error":"payment required"}'; }
    location = /status { stub_status; }
    location = /v1/blob { default_type application/octet-stream; alias ${run}/blob.bin; } } }
`;
}

const date = (): string => readWranglerConfig().compatibilityDate;

const flags = (): string =>
  readWranglerConfig()
    .compatibilityFlags.map((flag) => JSON.stringify(flag))
    .join(', ');

const texts = (vars: Record<string, string>): string =>
  Object.entries(vars)
    .map(([name, value]) => `(name = "${name}", text = ${JSON.stringify(value)})`)
    .join(', ');

const databaseAt = (service: string): string =>
  `(name = "DB", wrapped = (moduleName = "cloudflare-internal:d1-api", innerBindings = [(name = "fetcher", service = "${service}")]))`;

const databaseService = (name: string, port: number): string =>
  `(name = "${name}", external = (address = "127.0.0.1:${port}", http = ()))`;

/** A namespace of SQLite objects, and the binding that reaches it. */
const objects = (binding: string, className: string, key: string) => ({
  namespace: `(className = "${className}", uniqueKey = "${key}", enableSql = true)`,
  binding: `(name = "${binding}", durableObjectNamespace = "${className}")`,
});

const worker = (modules: string, more: string): string =>
  `:Workerd.Worker = (modules = [${modules}], compatibilityDate = "${date()}", ${more})`;

const module = (name: string, file: string): string =>
  `(name = "${name}", esModule = embed "${file}")`;

const socket = (name: string, port: number): string =>
  `(name = "${name}", address = "127.0.0.1:${port}", http = (), service = "${name}")`;

/** A gateway with objects of its own, kept under `key`, on the D1 service `d1`. */
function gateway(ports: Ports, modules: string, key: string, d1: string): string {
  const keyText = Buffer.alloc(32, 7).toString('base64');
  const env = texts({
    WEIR_ENV: 'development',
    OPERATOR_KEY: operatorKey,
    KEY_CHECK_SECRETS: `1:${keyText}`,
    MASTER_KEYS: `1:${keyText}`,
    GATEWAY_HOSTS: 'bench.invalid',
    EGRESS_RESOLVER: 'http://127.0.0.1:9/dns-query',
    EGRESS_ALLOW: `127.0.0.1:${ports.origin},127.0.0.1:${ports.sse}`,
    PLATFORM_SETTINGS: JSON.stringify({ [accountSetting]: credential }),
  });
  const own = [
    objects('LEDGER', 'OrgLedger', key),
    objects('CAPACITY', 'ProviderCapacity', `${key}-capacity`),
    objects('OVERFLOW_BUDGET', 'OverflowBudget', `${key}-overflow`),
    objects('METRICS', 'MetricsHub', `${key}-metrics`),
  ];
  return worker(
    modules,
    `compatibilityFlags = [${flags()}], durableObjectNamespaces = [${own.map(({ namespace }) => namespace).join(', ')}], durableObjectStorage = (localDisk = "state"),
  bindings = [${env}, ${own.map(({ binding }) => binding).join(', ')}, ${databaseAt(d1)}]`,
  );
}

const surroundings = (state: string): string =>
  `(name = "state", disk = (path = "${state}", writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"]))`;

export function gatewayConf(ports: Ports, state: string): string {
  const bareEnv = texts({
    ORIGIN: `127.0.0.1:${ports.origin}`,
    SSE_ORIGIN: `127.0.0.1:${ports.sse}`,
    CREDENTIAL: `Bearer ${credential}`,
    KEY: handmadeKey,
  });
  const names = [
    'ours',
    'counted',
    'bare',
    'handmade',
    'hello',
    'memory',

    'pair',
  ] as const;
  const pairs = [
    objects('LEDGER', 'OrgLedger', 'pair'),
    objects('MINIMAL', 'MinimalLedger', 'minimal'),
  ];
  const countedModules = `${module('w', 'counted.js')}, ${module('ours', 'ours.js')}`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ ${names.map((name) => `(name = "${name}", worker = .${name})`).join(', ')},
    ${databaseService('d1', ports.d1)},
    ${surroundings(state)} ],
  sockets = [ ${names.map((name) => socket(name, ports[name])).join(', ')} ]
);
const ours ${gateway(ports, module('w', 'ours.js'), 'ours', 'd1')};
const counted ${gateway(ports, countedModules, 'counted', 'd1')};
const bare ${worker(module('w', 'bare.js'), `bindings = [${bareEnv}]`)};
const handmade ${worker(module('w', 'handmade.js'), `bindings = [${bareEnv}, ${databaseAt('d1')}]`)};
const hello ${worker(module('w', 'hello.js'), '')};
const memory ${worker(module('w', 'memory.js'), '')};
const pair ${worker(
    module('w', 'ledger-pair.js'),
    `durableObjectNamespaces = [${pairs.map(({ namespace }) => namespace).join(', ')}], durableObjectStorage = (localDisk = "state"),
  bindings = [${pairs.map(({ binding }) => binding).join(', ')}]`,
  )};
`;
}

/** Gateways that differ by their D1 only, in one workerd. */
export function sizedConf(ports: Ports, sized: readonly SizedPorts[], state: string): string {
  const database = ({ name, d1 }: SizedPorts): string => databaseService(`d1-${name}`, d1);
  const one = ({ name }: SizedPorts): string =>
    `const ${name} ${gateway(ports, module('w', 'ours.js'), name, `d1-${name}`)};`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ ${sized.map(({ name }) => `(name = "${name}", worker = .${name})`).join(', ')},
    ${sized.map(database).join(', ')},
    ${surroundings(state)} ],
  sockets = [ ${sized.map(({ name, port }) => socket(name, port)).join(', ')} ]
);
${sized.map(one).join('\n')}
`;
}

/** Databases in one workerd, each behind a port of its own. */
export function d1Conf(run: string, databases: readonly (readonly [string, number])[]): string {
  const one = (
    name: string,
  ): string => `const ${name} :Workerd.Worker = (modules = [(name = "w", esModule = embed "d1.js")], compatibilityDate = "${date()}",
  durableObjectNamespaces = [(className = "Database", uniqueKey = "${name}", enableSql = true)], durableObjectStorage = (localDisk = "disk"),
  bindings = [(name = "DATABASE", durableObjectNamespace = "Database")]);`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ ${databases.map(([name]) => `(name = "${name}", worker = .${name})`).join(', ')}, (name = "disk", disk = (path = "${run}/d1", writable = true)) ],
  sockets = [ ${databases.map(([name, port]) => socket(name, port)).join(', ')} ]
);
${databases.map(([name]) => one(name)).join('\n')}
`;
}
