/** `npm run build`: bundles src/worker.ts to dist/worker.js, the file that start, e2e, proofs and bench all run. */
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { publicSuffixesForEsbuild } from './lib/public-suffixes.ts';

/** Bundles the Worker; gives the bundle's path and sizes in bytes. */
export async function bundleWorker(
  options: { entry?: string; outfile?: string; define?: Record<string, string> } = {},
): Promise<{ path: string; bytes: number; gzipBytes: number }> {
  const path = options.outfile ?? 'dist/worker.js';
  const built = await build({
    entryPoints: [options.entry ?? 'src/worker.ts'],
    outfile: path,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['node:*', 'cloudflare:*'],
    minify: true,
    keepNames: false,
    legalComments: 'none',
    logLevel: 'warning',
    write: true,
    metafile: true,
    plugins: [publicSuffixesForEsbuild],
    define: options.define ?? {},
  });
  const bytes = Object.values(built.metafile.outputs)[0]?.bytes ?? 0;
  const { readFileSync } = await import('node:fs');
  return { path, bytes, gzipBytes: gzipSync(readFileSync(path), { level: 9 }).byteLength };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { path, bytes, gzipBytes } = await bundleWorker();
  console.log(`${path}: ${(bytes / 1000).toFixed(1)} kB, ${(gzipBytes / 1000).toFixed(1)} kB gzip`);
}
