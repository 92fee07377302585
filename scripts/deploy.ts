/**
 * `npm run deploy`: checks, migrates the remote D1, deploys. `--dry-run` only shows what would be
 * deployed and needs no network.
 * Promises: what is deployed is dist/worker.js, the file that tests and proofs run; nothing remote
 * is touched before every check has passed; each missing thing is one sentence that says what to do
 * (docs/operations.md has the guide). Must never: print or make a secret.
 */
import { spawnSync } from 'node:child_process';
import { bundleWorker } from './build.ts';
import { ownArguments } from './lib/arguments.ts';
import { isRealDatabaseId, readWranglerConfig } from './lib/wrangler-config.ts';
import { tidy } from './tidy.ts';

/** Secrets without which the Worker serves nothing (src/env.ts). */
const secretsNeeded = ['OPERATOR_KEY', 'KEY_CHECK_SECRETS', 'MASTER_KEYS'] as const;

/**
 * Runs wrangler in front of the operator, who may have to answer it; gives whether it succeeded.
 */
const wrangler = (...args: string[]): boolean =>
  spawnSync('wrangler', args, { stdio: 'inherit' }).status === 0;

/** Ends with one sentence. */
function stop(sentence: string): never {
  console.error(sentence);
  process.exit(1);
}

/** The names of the Worker's secrets, or `null` when wrangler cannot list them. */
function storedSecrets(): ReadonlySet<string> | null {
  const run = spawnSync('wrangler', ['secret', 'list', '--format', 'json'], { encoding: 'utf8' });
  if (run.status !== 0) return null;
  try {
    const list = JSON.parse(run.stdout) as readonly { readonly name: string }[];
    return new Set(list.map(({ name }) => name));
  } catch {
    return null;
  }
}

function checkConfiguration(databaseId: string): void {
  if (!isRealDatabaseId(databaseId))
    stop(
      'wrangler.toml has no real database_id: put the one of `npx wrangler d1 create weir` there.',
    );
  const stored = storedSecrets();
  if (stored === null)
    stop(
      'wrangler cannot list the secrets: log in and put them first, as docs/operations.md says.',
    );
  const missing = secretsNeeded.filter((name) => !stored.has(name));
  if (missing.length > 0)
    stop(`Missing secrets: ${missing.join(', ')}. Put each with \`npx wrangler secret put NAME\`.`);
}

/** The bundle as it is, not bundled again by wrangler. */
async function deployBundle(...flags: string[]): Promise<boolean> {
  const { path, gzipBytes } = await bundleWorker();
  console.log(`${path}: ${(gzipBytes / 1000).toFixed(1)} kB gzip`);
  return wrangler('deploy', path, '--no-bundle', ...flags);
}

async function deploy(): Promise<void> {
  const { databaseId, databaseName } = readWranglerConfig();
  checkConfiguration(databaseId);
  if ((await tidy(false)).length > 0) stop('The checks above failed; nothing was deployed.');
  if (!wrangler('d1', 'migrations', 'apply', databaseName, '--remote'))
    stop('The migrations did not apply; nothing was deployed.');
  if (!(await deployBundle()))
    stop('wrangler did not deploy: the database is migrated, the Worker is the old one.');
}

const usage = `npm run deploy [-- --dry-run]

  --dry-run   shows what would be deployed; needs no network`;

if (!ownArguments({ usage, switches: ['dry-run'] }).isSet('dry-run')) await deploy();
else if (!(await deployBundle('--dry-run')))
  stop('wrangler does not accept what would be deployed.');
