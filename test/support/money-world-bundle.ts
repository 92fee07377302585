/**
 * The gateway with other limits: src/worker.ts as it is deployed, but for named constants of
 * `src/base/limits-money.ts` (a lease of seconds instead of minutes). The product has no switch for it;
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

const limitsFile = resolve('src/base/limits-money.ts');

/** The text of limits-money.ts with other values. */
export function withLimits(text: string, limits: Limits): string {
  return Object.entries(limits).reduce((before, [name, value]) => {
    const found = [...before.matchAll(new RegExp(`^export const ${name} = [^;]+;$`, 'gm'))];
    if (found.length !== 1)
      throw new Error(`limits-money.ts has ${found.length} constants ${name}`);
    return before.replace(found[0]?.[0] ?? '', `export const ${name} = ${value};`);
  }, text);
}

const otherLimits = (limits: Limits): Plugin => ({
  name: 'other-limits',
  setup: (bundler) => {
    bundler.onLoad({ filter: /[\\/]limits-money\.ts$/ }, ({ path }) => {
      if (path !== limitsFile) return null;
      return { contents: withLimits(readFileSync(path, 'utf8'), limits), loader: 'ts' };
    });
  },
});

/** Bundles the Worker with other limits; gives the path. `entry` is another one than src/worker.ts. */
export async function bundleWithLimits(
  limits: Limits,
  outfile: string,
  entry = 'src/worker.ts',
): Promise<string> {
  await bundleWorker({ entry, outfile, plugins: [otherLimits(limits)] });
  return outfile;
}
