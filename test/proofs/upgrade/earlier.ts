/**
 * The newest commit that has landed and differs from what is being written, built from its own
 * sources: what an upgrade starts on.
 * Promises: nothing in the work tree or in `.git` changes (`git archive`, no checkout); a bundle that
 * equals the present one is no earlier bundle; where there is no history (a shallow clone) there is
 * none. Called by ../upgrade.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A built commit. Paths are absolute, but for `bundle`: the runtime wants that below the work tree. */
export interface EarlierBundle {
  /** Its short hash and subject. */
  readonly title: string;
  /** Its sources. */
  readonly folder: string;
  readonly bundle: string;
  readonly migrations: string;
  /** Removes what was made. */
  readonly dispose: () => void;
}

/** Commits that are built before the search gives up: each takes about a second. */
const buildsMax = 8;

/** The newest one with metered calls whose bundle is not `present`; `null`: there is none. */
export function earlierBundle(present: string): EarlierBundle | null {
  const ours = readFileSync(present);
  const log = git(['log', `--max-count=${buildsMax}`, '--format=%H']) ?? '';
  for (const commit of log.split('\n').filter(Boolean)) {
    if (git(['cat-file', '-e', `${commit}:${meteredSince}`]) === null) return null;
    const built = builtOf(commit);
    if (built === null) continue;
    if (!readFileSync(built.bundle).equals(ours)) return built;
    built.dispose();
  }
  return null;
}

/** A file that is there since calls are metered. */
const meteredSince = 'src/call/money.ts';

function git(args: readonly string[]): string | null {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout : null;
}

/** Unpacks and builds a commit; `null` when its own build script cannot. */
function builtOf(commit: string): EarlierBundle | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-earlier-'));
  const bundle = `dist/earlier-${process.pid}.js`;
  const dispose = (): void => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(bundle, { force: true });
  };
  const archive = spawnSync('git', ['archive', commit], { maxBuffer: 256 * 1024 * 1024 });
  spawnSync('tar', ['-x', '-C', folder], { input: archive.stdout });
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  mkdirSync(path.join(folder, 'dist'), { recursive: true });
  const script =
    `import { bundleWorker } from './scripts/build.ts';` +
    `await bundleWorker({ outfile: ${JSON.stringify(path.resolve(bundle))} });`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  const built = spawnSync(process.execPath, args, { cwd: folder, stdio: 'ignore' });
  if (built.status !== 0) {
    dispose();
    return null;
  }
  const title = git(['log', '-1', '--format=%h %s', commit])?.trim() ?? commit;
  return { title, folder, bundle, migrations: path.join(folder, 'd1-migrations'), dispose };
}
