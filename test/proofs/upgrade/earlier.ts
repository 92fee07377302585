/**
 * Bundles of commits that have landed, built from their own sources, so that the upgrade proof
 * starts on what is deployed and not on what is being written.
 * Promises: nothing in the work tree or in `.git` changes (`git archive`, no checkout); a bundle
 * that equals the present one is no earlier bundle. Where there is no history (a shallow clone) it
 * says so. Called by ../upgrade.ts.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A built commit. `folder` has its sources; `dispose` removes them. */
export interface EarlierBundle {
  readonly commit: string;
  readonly title: string;
  readonly bundle: string;
  readonly migrations: string;
  /** Whether a call of that commit can be metered; else only its objects can be asked. */
  readonly hasRoad: boolean;
  readonly dispose: () => void;
}

/** Commits that are looked at, newest first: an upgrade that skips more than these is another one. */
const commitsMax = 40;
/** Bundles that are built before the search gives up: each takes about a second. */
const buildsMax = 6;

/** The newest landed bundles that differ from `present`: with the ledger on the road, and any with the ledger. */
export function earlierBundles(present: string): {
  readonly road: EarlierBundle | null;
  readonly object: EarlierBundle | null;
  readonly looked: number;
} {
  const commits = landed();
  const ours = readFileSync(present);
  let object: EarlierBundle | null = null;
  let builds = 0;
  for (const commit of commits) {
    if (!has(commit, 'durable-objects/org-ledger.ts') || builds >= buildsMax) break;
    const hasRoad = meters(commit);
    if (!hasRoad && object !== null) continue;
    builds += 1;
    const built = builtOf(commit, hasRoad);
    if (built === null) continue;
    if (readFileSync(built.bundle).equals(ours)) built.dispose();
    else if (hasRoad) return { road: built, object, looked: commits.length };
    else object = built;
  }
  return { road: null, object, looked: commits.length };
}

/** Commits of this branch, newest first; none without git or history. */
const landed = (): readonly string[] =>
  git(['log', `--max-count=${commitsMax}`, '--format=%H'])
    ?.split('\n')
    .filter(Boolean) ?? [];

function git(args: readonly string[]): string | null {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout : null;
}

const has = (commit: string, file: string): boolean =>
  spawnSync('git', ['cat-file', '-e', `${commit}:${file}`], { stdio: 'ignore' }).status === 0;

/** Stage 06 asks the ledger's desk only since calls are metered. */
const meters = (commit: string): boolean =>
  git(['grep', '-lE', '\\b(LedgerDesk|desk)\\b', commit, '--', 'src/call/']) !== null;

/** Unpacks and builds a commit; `null` when its own build script cannot. */
function builtOf(commit: string, hasRoad: boolean): EarlierBundle | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-earlier-'));
  const dispose = (): void => rmSync(folder, { recursive: true, force: true });
  const archive = spawnSync('git', ['archive', commit], { maxBuffer: 256 * 1024 * 1024 });
  const unpacked = spawnSync('tar', ['-x', '-C', folder], { input: archive.stdout });
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  mkdirSync(path.join(folder, 'dist'), { recursive: true });
  const built = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'scripts/build.ts'],
    { cwd: folder, stdio: 'ignore' },
  );
  const bundle = path.join(folder, 'dist', 'worker.js');
  if (archive.status !== 0 || unpacked.status !== 0 || built.status !== 0 || !existsSync(bundle)) {
    dispose();
    return null;
  }
  const title = git(['log', '-1', '--format=%h %s', commit])?.trim() ?? commit;
  const migrations = path.join(folder, 'd1-migrations');
  return { commit, title, bundle, migrations, hasRoad, dispose };
}
