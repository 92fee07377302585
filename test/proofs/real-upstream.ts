/**
 * real-upstream: a real npm installs through the gateway from the registry that this machine's npm
 * is configured for.
 * Promises: that registry is read at run time and never printed or written into the repo; an
 * unreachable one is a failure, not a skip.
 *
 * Egress: the registry's own host:port is the only pair of EGRESS_ALLOW. A public registry would
 * pass the guard through the resolver as well, but this proof must also hold where the registry is
 * a mirror on a private address and where no DNS over HTTPS can be reached; the resolver has a
 * proof of its own (ssrf).
 *
 * Tarballs: metadata names them with the registry's own host, and bodies are never rewritten. npm's
 * `replace-registry-host` sends them to the configured registry (the gateway) instead.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../support/commands.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';
import { makeScenario, type Scenario } from '../support/scenario.ts';
import { startValidatingFront, type ValidatingFront } from '../support/validating-front.ts';

/** Without dependencies and small; exact versions, so that the count of requests is known. */
const allPackages = ['@types/ms@2.1.0', 'is-number@7.0.0', 'semver@7.7.2'];
const installTimeoutMs = 120_000;

interface CallOnRecord {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly outcome: string;
  readonly upstream_id: string;
}

/** Everything that the rows share. */
interface Stage {
  readonly registry: URL;
  readonly packages: readonly string[];
  readonly folder: string;
  readonly gateway: Gateway;
  readonly tenant: Scenario;
  readonly front: ValidatingFront;
  /** Requests on record, filled by the rows, for the figure. */
  readonly counts: { metadata: number; tarballs: number; notModified: number; by: string };
}

/** One upstream of the gateway as npm sees it, with a project and a cache of its own. */
interface Registry {
  readonly name: string;
  readonly upstreamId: string;
}

async function setUp(short: boolean): Promise<Stage> {
  const registry = await configuredRegistry();
  const front = await startValidatingFront(registry);
  const gateway = await startGateway({
    allow: [`${registry.hostname}:${portOf(registry)}`, front.authority],
  });
  return {
    registry,
    packages: short ? allPackages.slice(0, 1) : allPackages,
    folder: mkdtempSync(join(tmpdir(), 'weir-npm-')),
    gateway,
    tenant: await makeScenario(gateway),
    front,
    counts: { metadata: 0, tarballs: 0, notModified: 0, by: '' },
  };
}

/** `npm config get registry`, with a path that ends in a slash. */
async function configuredRegistry(): Promise<URL> {
  const { stdout } = await runCommand('npm', ['config', 'get', 'registry']);
  const registry = new URL(stdout.trim());
  if (!registry.pathname.endsWith('/')) registry.pathname += '/';
  return registry;
}

const portOf = (url: URL): number => Number(url.port || (url.protocol === 'https:' ? 443 : 80));

/**
 * Registers the registry itself, or the front of it. The constant header shows that a binding does
 * no harm to npm.
 */
async function register(
  stage: Stage,
  name: string,
  at: { scheme: string; host: string; port: number },
): Promise<Registry> {
  const { registry, tenant } = stage;
  const upstreamId = await tenant.upstream({
    name,
    ...(isIP(at.host) === 0 ? {} : { alias: name }),
    scheme: at.scheme,
    endpoints: [{ host: at.host, port: at.port }],
    base_path: registry.pathname.slice(0, -1),
    bindings: [{ location: 'header', name: 'x-proof', value: 'real-upstream' }],
  });
  return { name, upstreamId };
}

/**
 * `npm install` of all packages in a fresh project that has no lock file; the cache is the
 * registry's own.
 */
async function install(stage: Stage, { name }: Registry): Promise<string> {
  const { folder, gateway, tenant, registry } = stage;
  const project = mkdtempSync(join(folder, 'project-'));
  const address = `//127.0.0.1:${gateway.port}/call/${name}/`;
  writeFileSync(
    join(project, 'package.json'),
    '{"name":"newcomer","version":"1.0.0","private":true}\n',
  );
  writeFileSync(join(project, '.npmrc'), `${address}:_authToken=${tenant.token}\n`, {
    mode: 0o600,
  });
  const options = [
    `--registry=http:${address}`,
    `--cache=${join(folder, `cache-${name}`)}`,
    '--prefer-online',
  ];
  const { code, stderr } = await runCommand(
    'npm',
    ['install', '--no-audit', '--no-fund', ...options, ...stage.packages],
    {
      cwd: project,
      timeoutMs: installTimeoutMs,
      // Only a registry with a path of its own needs the long form, which older npm versions do not
      // know.
      env: {
        npm_config_replace_registry_host: registry.pathname === '/' ? 'always' : registry.href,
      },
    },
  );
  holds(code === 0, `npm install exited with ${code}: ${withoutHost(stage, stderr)}`);
  return project;
}

const withoutHost = ({ registry }: Stage, text: string): string =>
  text.replaceAll(registry.host, '<registry>').slice(-1500);

/**
 * npm's own calls to one upstream after the call `after`. A last call of ours goes behind them;
 * rows are written in order.
 */
async function callsOnRecord(
  stage: Stage,
  upstream: Registry,
  after = '',
): Promise<CallOnRecord[]> {
  const { gateway, tenant } = stage;
  const marker = await fetch(`http://127.0.0.1:${gateway.port}/call/${upstream.name}/-/ping`, {
    headers: { authorization: `Bearer ${tenant.token}` },
  });
  await marker.arrayBuffer();
  const markerId = marker.headers.get('x-weir-call-id');
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const { body } = await gateway.api('GET', `/api/v1/calls?tenant=${tenant.tenantId}&limit=100`);
    const calls = body.data as CallOnRecord[];
    if (calls.some(({ id }) => id === markerId)) {
      return calls.filter(
        (call) =>
          call.upstream_id === upstream.upstreamId &&
          call.id > after &&
          !call.path.endsWith('/-/ping'),
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the calls are not on record within 10 s');
}

const isTarball = (call: CallOnRecord): boolean => call.path.endsWith('.tgz');
const nameOf = (spec: string): string => spec.slice(0, spec.lastIndexOf('@'));

/** The paths that an install has to ask for: `@scope%2fname` and `@scope/name/-/name-1.0.0.tgz`. */
function expectedPaths({ registry, packages }: Stage): string[] {
  const base = registry.pathname.slice(0, -1);
  return packages.flatMap((spec) => {
    const name = nameOf(spec);
    const bare = name.slice(name.indexOf('/') + 1);
    return [
      `${base}/${name.replace('/', '%2f')}`,
      `${base}/${name}/-/${bare}-${spec.slice(name.length + 1)}.tgz`,
    ];
  });
}

/**
 * Compares what npm wrote down with what the registry itself declares, asked without the gateway.
 */
async function sameIntegrity(stage: Stage, project: string): Promise<void> {
  const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'));
  for (const spec of stage.packages) {
    const name = nameOf(spec);
    const answer = await askDirectly(stage, name);
    const declared = ((await answer.json()) as Packument).versions[spec.slice(name.length + 1)]
      ?.dist.integrity;
    holds(declared?.startsWith('sha512-'), `the registry declares no sha512 for ${spec}`);
    same(lock.packages[`node_modules/${name}`]?.integrity, declared, `integrity of ${spec}`);
    holds(
      readdirSync(join(project, 'node_modules', name)).includes('package.json'),
      `${spec} is not installed`,
    );
  }
}

interface Packument {
  readonly versions: Record<string, { dist: { integrity?: string } }>;
}

/** Asks the registry without the gateway. Errors do not name it. */
async function askDirectly({ registry }: Stage, name: string): Promise<Response> {
  try {
    const answer = await fetch(new URL(name.replace('/', '%2f'), registry), {
      signal: AbortSignal.timeout(20_000),
    });
    if (answer.status === 200) return answer;
    throw new Error(`status ${answer.status}`);
  } catch (fault) {
    const cause =
      fault instanceof Error
        ? ((fault.cause as { code?: string } | undefined)?.code ?? fault.message)
        : '';
    throw new Error(
      `the registry that npm is configured for does not answer for ${name}: ${cause}`,
    );
  }
}

function rowsOf(stage: Stage): Row[] {
  const { packages } = stage;
  let upstream: Registry = { name: '', upstreamId: '' };
  let project = '';
  return [
    {
      name: 'the registry that npm is configured for answers',
      run: async () =>
        void (await (await askDirectly(stage, nameOf(packages[0] ?? ''))).arrayBuffer()),
    },
    {
      name: `npm installs ${packages.length} package(s) through the gateway`,
      async run() {
        upstream = await registerItself(stage);
        project = await install(stage, upstream);
        return `npm ${(await runCommand('npm', ['--version'])).stdout.trim()}`;
      },
    },
    {
      name: 'the sha512 integrity of each package is the one that the registry declares',
      run: () => sameIntegrity(stage, project),
    },
    {
      name: "the gateway's rows show metadata and tarballs of every package",
      run: () => allOnRecord(stage, upstream),
    },
    {
      name: 'a second install with the same cache gets 304s and no body again',
      run: () => installedAgain(stage, upstream),
    },
  ];
}

async function allOnRecord(stage: Stage, upstream: Registry): Promise<string> {
  const { counts } = stage;
  const calls = await callsOnRecord(stage, upstream);
  same(calls.map(({ path }) => path).sort(), expectedPaths(stage).sort(), 'paths');
  for (const { status, outcome, method } of calls)
    same([method, status, outcome], ['GET', 200, 'answered'], 'row');
  counts.tarballs = calls.filter(isTarball).length;
  counts.metadata = calls.length - counts.tarballs;
  return `${counts.metadata} metadata, ${counts.tarballs} tarballs`;
}

/** A registry without validators cannot answer 304 to anybody; then a front of it does. */
async function installedAgain(stage: Stage, first: Registry): Promise<string> {
  const { counts, packages } = stage;
  const validates = await sendsValidators(stage);
  const upstream = validates ? first : await behindFront(stage);
  const before = (await callsOnRecord(stage, upstream)).at(-1)?.id;
  await install(stage, upstream);
  const calls = await callsOnRecord(stage, upstream, before);
  same([...new Set(calls.map(({ status }) => status))], [304], 'statuses');
  same(calls.filter((call) => !isTarball(call)).length, packages.length, 'metadata asked again');
  counts.notModified = calls.length;
  counts.by = validates ? '' : ' (by a front that adds ETags: this registry sends no validators)';
  return `${calls.length} times 304${counts.by}`;
}

/**
 * Whether the registry makes conditional requests possible at all: without a validator npm has
 * nothing to ask with.
 */
async function sendsValidators(stage: Stage): Promise<boolean> {
  const answer = await askDirectly(stage, nameOf(stage.packages[0] ?? ''));
  await answer.body?.cancel();
  return answer.headers.has('etag') || answer.headers.has('last-modified');
}

function registerItself(stage: Stage): Promise<Registry> {
  const { protocol, hostname: host } = stage.registry;
  const at = { scheme: protocol.slice(0, -1), host, port: portOf(stage.registry) };
  return register(stage, 'npm', at);
}

/** A first install through the front, so that the cache of this upstream holds validators. */
async function behindFront(stage: Stage): Promise<Registry> {
  const at = { scheme: 'http', host: '127.0.0.1', port: stage.front.port };
  const upstream = await register(stage, 'npm-front', at);
  await install(stage, upstream);
  return upstream;
}

export const proof: Proof = {
  name: 'real-upstream',
  title: 'a real npm installs from its own registry through the gateway',
  async stage({ short }) {
    const stage = await setUp(short);
    return {
      rows: rowsOf(stage),
      figure: () => {
        const { metadata, tarballs, notModified, by } = stage.counts;
        const again = `${notModified} times 304${by}`;
        return `${metadata} metadata and ${tarballs} tarballs relayed; again: ${again}`;
      },
      async dispose() {
        await stage.gateway.dispose();
        await stage.front.close();
        rmSync(stage.folder, { recursive: true, force: true });
      },
    };
  },
};
