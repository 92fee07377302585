/**
 * Bundles the ledger for proofs: as it is, with smaller limits (so that a short history sees
 * snapshots, parts and pruning), or with one guard removed. Patches are texts that must match
 * exactly once, so the product has no hooks and a mutant cannot silently do nothing.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

/** Replaces `find` by `replace` in one source file; the path is relative to the repository. */
export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A limit with another value. */
const limit = (
  name: string,
  value: string,
  small: number,
  file = 'src/base/limits-money.ts',
): Patch => ({
  file,
  find: `export const ${name} = ${value};`,
  replace: `export const ${name} = ${small};`,
});

/** Limits at which 60 steps reach what takes days in production. */
export const smallLimits: readonly Patch[] = [
  limit('ledgerSnapshotOpsMin', '4_000', 8),
  limit('ledgerSnapshotPartChars', '512 * 1024', 900),
  limit('ledgerEndedPartMax', '500', 3),
  limit('ledgerPruneRowsMax', '5_000', 4),
  limit('ledgerAuditRowsMax', '20_000', 7),
  limit('pageSizeMax', '100', 1_000, 'src/base/limits.ts'),
  {
    file: 'durable-objects/ledger/journal.ts',
    find: 'const pageRows = 1_000;',
    replace: 'const pageRows = 5;',
  },
  {
    file: 'durable-objects/ledger/journal.ts',
    find: 'Math.max(ledgerSnapshotOpsMin, 2 * size)',
    replace: 'ledgerSnapshotOpsMin',
  },
];

/** Leases and bounds that a proof on the real clock can reach. */
export const liveLimits: readonly Patch[] = [
  limit('ledgerLeaseMs', '120_000', 300),
  limit('ledgerAlarmJitterMs', '2_000', 50),
  limit('ledgerInFlightMax', '1_000', 50),
];

/** Bounds that a scenario of ten lines can reach. */
export const tinyBounds: readonly Patch[] = [
  limit('ledgerOpenHoldsMax', '20_000', 3),
  limit('ledgerBlocksMax', '1_000', 2),
  limit('ledgerBudgetValuesMax', '10_000', 2),
  limit('recordTenantBytesMax', '256 * 1024 * 1024', 600_000),
];

/** The text with a patch applied. */
function patched(text: string, { file, find, replace }: Patch): string {
  const at = text.indexOf(find);
  if (at < 0 || text.indexOf(find, at + 1) >= 0) {
    throw new Error(`a patch of ${file} must match exactly once: ${find}`);
  }
  return text.slice(0, at) + replace + text.slice(at + find.length);
}

function patching(patches: readonly Patch[]): Plugin {
  const files = new Set(patches.map((patch) => path.resolve(patch.file)));
  return {
    name: 'patches',
    setup: (bundler) => {
      bundler.onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
        if (!files.has(file)) return null;
        const own = patches.filter((patch) => path.resolve(patch.file) === file);
        const contents = own.reduce(patched, readFileSync(file, 'utf8'));
        return { contents, loader: 'ts' };
      });
    },
  };
}

/** Bundles `entry` to `outfile`; gives the absolute path. */
export async function bundleLedger(
  entry: string,
  outfile: string,
  patches: readonly Patch[],
): Promise<string> {
  mkdirSync(path.dirname(outfile), { recursive: true });
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    platform: 'neutral',
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'warning',
    plugins: [patching(patches)],
  });
  return path.resolve(outfile);
}
