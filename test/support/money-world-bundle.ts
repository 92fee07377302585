/**
 * The gateway with other limits: src/worker.ts as it is deployed, but for named constants of
 * `src/base/limits*.ts` (a lease of seconds instead of minutes). The product has no switch for it;
 * a name that is not there exactly once throws. Called by `money-world.ts`.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Plugin } from 'esbuild';
import { bundleWorker } from '../../scripts/build.ts';

/** Limits by name, in the unit of the limit. */
export type Limits = Readonly<Record<string, number>>;

/**
 * A lease of `ms` instead of two minutes, renewed every third of it, and alarms that are not late.
 * Below about a second a busy machine lets living calls expire.
 */
export const shortLease = (ms: number): Limits => ({
  ledgerLeaseMs: ms,
  holdRenewMs: Math.floor(ms / 3),
  ledgerAlarmJitterMs: 50,
});

/**
 * The times of the breaker, one sixtieth: an interval of a second. The real ones are held to the specification by a unit test.
 */
export const fastBreaker: Limits = {
  strikeSpacingMs: 250,
  strikeWindowMs: 10_000,
  guessedHoldMs: 60_000,
  capacityVendorHoldMsMax: 360_000,
  probeIntervalMs: 1_000,
  capacityViewMsMax: 1_000,
  capacityViewRefreshMs: 500,
};

/** Where limits live. */
const limitsFiles = ['limits.ts', 'limits-money.ts', 'limits-capacity.ts'].map((name) =>
  resolve('src/base', name),
);

const declared = (name: string): RegExp => new RegExp(`^export const ${name} = [^;]+;$`, 'gm');

/** The text of a file of limits with the values of those that it declares. */
function withLimits(text: string, limits: Limits): string {
  return Object.entries(limits).reduce(
    (before, [name, value]) => before.replace(declared(name), `export const ${name} = ${value};`),
    text,
  );
}

function oneDeclarationEach(limits: Limits): void {
  const all = limitsFiles.map((file) => readFileSync(file, 'utf8')).join('\n');
  for (const name of Object.keys(limits)) {
    const found = all.match(declared(name))?.length ?? 0;
    if (found !== 1) throw new Error(`${found} limits are named ${name} in src/base, not one`);
  }
}

const otherLimits = (limits: Limits): Plugin => ({
  name: 'other-limits',
  setup: (bundler) => {
    bundler.onLoad({ filter: /[\\/]limits(?:-[a-z]+)?\.ts$/ }, ({ path }) =>
      limitsFiles.includes(path)
        ? { contents: withLimits(readFileSync(path, 'utf8'), limits), loader: 'ts' }
        : null,
    );
  },
});

/** Bundles the Worker with other limits; gives the path. `entry` is another one than src/worker.ts. */
export async function bundleWithLimits(
  limits: Limits,
  outfile: string,
  entry = 'src/worker.ts',
): Promise<string> {
  oneDeclarationEach(limits);
  await bundleWorker({ entry, outfile, plugins: [otherLimits(limits)] });
  return outfile;
}
