/**
 * `npm start`: a whole Weir on this machine. Builds the bundle, starts the demo vendor, migrates
 * the local D1, makes a demo tenant once, serves the gateway and prints a curl line that works as
 * printed.
 * Promises: a second start keeps data, keys and the curl line; a taken port is one sentence and
 * exit 1; Ctrl-C stops everything.
 */
import { bundleWorker } from './build.ts';
import { startVendor, type Vendor } from './demo/vendor.ts';
import { ownArguments } from './lib/arguments.ts';
import { ensureDemo } from './lib/demo.ts';
import { type DevEnv, loadDevEnv, saveDevEnv } from './lib/dev-env.ts';
import { isOurs } from './lib/management.ts';
import { migrate } from './lib/migrations.ts';
import { startWorkerd, type Workerd } from './lib/miniflare.ts';
import { isFree } from './lib/ports.ts';
import { resolveSrcModules } from './lib/src-modules.ts';

/**
 * A reason to stop that a person can act on; anything else that is thrown is a bug and shows its
 * stack.
 */
class StartError extends Error {}

/** What a person chose. */
interface Choice {
  readonly port: number;
  readonly state: string;
}

const defaultPort = '8787';
const usage = `npm start [-- --port 9000]

  --port N              port on 127.0.0.1 (default PORT, then ${defaultPort})

  WEIR_STATE            folder of secrets and data (default .weir)
  WEIR_EGRESS_ALLOW     host:port pairs of your own local services
  EGRESS_RESOLVER       DNS over HTTPS
  PLATFORM_SETTINGS     credentials of your vendor accounts, a JSON object
  ANONYMOUS_PROVIDERS   providers that may be called without a credential`;
const publicResolver = 'https://cloudflare-dns.com/dns-query';

function readChoice(): Choice {
  const given = ownArguments({ usage, texts: ['port'] });
  const text = given.text('port') ?? (process.env.PORT || defaultPort);
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new StartError(`"${text}" is not a port from 1 to 65535: npm start [-- --port 9000]`);
  return { port, state: process.env.WEIR_STATE || '.weir' };
}

/** Says why it cannot run here, before anything is started. */
async function checkFree({ port, state }: Choice, env: DevEnv): Promise<void> {
  if (!(await isFree(port)))
    throw new StartError(
      `Port ${port} is taken. Free it, or choose another: npm start -- --port ${port + 1}`,
    );
  // Two workerd processes on one database would damage it; one may have outlived a kill -9 of its
  // parent.
  const { LAST_PORT: last, OPERATOR_KEY: key = '' } = env;
  if (last === undefined || !(await isOurs(Number(last), key))) return;
  throw new StartError(
    `A Weir already runs on the data in ${state}/, on port ${last}. Stop it, or set WEIR_STATE.`,
  );
}

function readEnv({ state }: Choice, file: string): DevEnv {
  try {
    return loadDevEnv(file);
  } catch (fault) {
    const code = fault instanceof Error && 'code' in fault ? String(fault.code) : 'no file';
    throw new StartError(`${state}/ cannot be used as a folder (${code}): set WEIR_STATE.`);
  }
}

/**
 * Keeps the vendor's port over restarts, so that the registered upstream stays right; takes another
 * when it is gone.
 */
async function startDemoVendor(env: DevEnv): Promise<Vendor> {
  const { DEMO_PORT: remembered, DEMO_CREDENTIAL: credential = '' } = env;
  const port = Number(remembered ?? 0);
  return startVendor({ credential, port: port > 0 && (await isFree(port)) ? port : 0 });
}

function workerBindings(env: DevEnv, port: number, vendor: Vendor): Record<string, string> {
  const { OPERATOR_KEY = '', KEY_CHECK_SECRETS = '', MASTER_KEYS = '' } = env;
  const own = process.env.WEIR_EGRESS_ALLOW ?? '';
  return {
    WEIR_ENV: 'development',
    OPERATOR_KEY,
    KEY_CHECK_SECRETS,
    MASTER_KEYS,
    GATEWAY_HOSTS: `127.0.0.1:${port} localhost:${port}`,
    EGRESS_ALLOW: `${vendor.authority} ${own}`,
    EGRESS_RESOLVER: process.env.EGRESS_RESOLVER ?? publicResolver,
    PLATFORM_SETTINGS: process.env.PLATFORM_SETTINGS ?? '{}',
    ANONYMOUS_PROVIDERS: process.env.ANONYMOUS_PROVIDERS ?? '',
  };
}

async function start(choice: Choice): Promise<void> {
  const { port, state } = choice;
  const envFile = `${state}/dev.env`;
  const env = readEnv(choice, envFile);
  await checkFree(choice, env);
  const [{ path: bundle }, vendor] = await Promise.all([bundleWorker(), startDemoVendor(env)]);
  const facts: DevEnv = { ...env, LAST_PORT: String(port), DEMO_PORT: String(vendor.port) };
  saveDevEnv(envFile, facts);
  const workerd = await startWorkerd({
    bundle,
    isolates: [{ port, bindings: workerBindings(env, port, vendor) }],
    persist: `${state}/state`,
    onLine: (line) => console.log(line),
  });
  stopOnSignal(workerd, vendor, state);
  await migrate(await workerd.db());
  if (!(await isOurs(port, env.OPERATOR_KEY ?? '')))
    throw new StartError('The gateway refuses this environment; its line above says why.');
  await fillCatalog(workerd);
  const demo: DevEnv = { ...facts, ...(await ensureDemo({ port, vendorPort: vendor.port, env })) };
  saveDevEnv(envFile, demo);
  console.log(banner({ port, envFile, key: demo.DEMO_KEY ?? '', vendor }));
}

/** The starter catalog, once: what is there is the operator's to change (`npm run catalog`). */
async function fillCatalog(workerd: Workerd): Promise<void> {
  resolveSrcModules();
  const { fillEmpty } = await import('./lib/catalog/main.ts');
  const { CatalogError, databaseOver } = await import('./lib/catalog/database.ts');
  try {
    await fillEmpty(databaseOver(await workerd.db(), 'local'), 'catalog');
  } catch (fault) {
    if (!(fault instanceof CatalogError)) throw fault;
    throw new StartError(`${fault.message}\nThe starter catalog was not filled in.`);
  }
}

/** Ctrl-C reaches us twice: from the terminal and through run.mjs. */
function stopOnSignal(workerd: Workerd, vendor: Vendor, state: string): void {
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    await Promise.allSettled([workerd.dispose(), vendor.close()]);
    console.log(`\nWeir stopped. Its data is kept in ${state}/.`);
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Miniflare's own listeners would exit before we are done, with a failure code.
    process.removeAllListeners(signal);
    process.on(signal, () => void stop());
  }
}

function banner(shown: { port: number; envFile: string; key: string; vendor: Vendor }): string {
  const { port, envFile, key, vendor } = shown;
  const base = `http://127.0.0.1:${port}`;
  return `
Weir runs on ${base}.
A demo vendor runs on http://${vendor.authority}; only Weir knows its credential.

Try it: the vendor accepts this call, and it never sees your key.

  curl -H 'Authorization: Bearer ${key}' ${base}/call/demo/v1/models

Point an SDK at it: base URL and key, nothing else.

  OpenAI      new OpenAI({ baseURL: '${base}/call/demo/v1', apiKey: '${key}' })
  Anthropic   new Anthropic({ baseURL: '${base}/call/demo', apiKey: '${key}' })
  WebSocket   ${base.replace('http', 'ws')}/call/demo/v1/echo?key=${key}

Manage it: ${base}/api/v1 (described by ${base}/openapi.json).
The operator key is OPERATOR_KEY in ${envFile}; the demo key above owns the demo tenant.
Stop with Ctrl-C. A second npm start keeps keys and data.
`;
}

try {
  await start(readChoice());
} catch (fault) {
  if (fault instanceof StartError) console.error(fault.message);
  else console.error(fault);
  process.exit(1);
}
