/**
 * `npm run build`: bundles src/worker.ts to dist/worker.js, the file that start, e2e, proofs and bench all run. esbuild bundles; vite's
 * minifier (oxc) makes it small: its names compress 2 % better.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { minify } from 'vite';
import { ownArguments } from './lib/arguments.ts';
import { leftOut } from './lib/left-out.ts';
import { publicSuffixesForEsbuild } from './lib/public-suffixes.ts';

const target = 'es2024';

/** Bundles the Worker; gives the bundle's path and sizes in bytes. */
export async function bundleWorker(
  options: {
    entry?: string;
    outfile?: string;
    define?: Record<string, string>;
    plugins?: readonly Plugin[];
  } = {},
): Promise<{ path: string; bytes: number; gzipBytes: number }> {
  const path = options.outfile ?? 'dist/worker.js';
  const built = await build({
    entryPoints: [options.entry ?? 'src/worker.ts'],
    bundle: true,
    format: 'esm',
    target,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['node:*', 'cloudflare:*'],
    minifySyntax: true,
    keepNames: false,
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
    plugins: [leftOut, publicSuffixesForEsbuild, ...(options.plugins ?? [])],
    define: options.define ?? {},
  });
  const bytes = await minified(path, built.outputFiles[0]?.text ?? '');
  await mkdir(dirname(path), { recursive: true });
  // Whole or not at all: what starts from it meanwhile (another test, a second `npm start`) must not read half of it.
  await writeFile(`${path}.${process.pid}`, bytes);
  await rename(`${path}.${process.pid}`, path);
  return { path, bytes: bytes.length, gzipBytes: gzipSync(bytes, { level: 9 }).byteLength };
}

async function minified(path: string, source: string): Promise<Buffer> {
  const { code, errors } = await minify(path, source, {
    module: true,
    compress: { target },
    mangle: { toplevel: true },
    codegen: { removeWhitespace: true, legalComments: 'none' },
  });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return Buffer.from(code);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  ownArguments({ usage: 'npm run build: makes dist/worker.js' });
  // wrangler names itself to the build of wrangler.toml.
  if (process.env.WRANGLER_COMMAND === 'dev') {
    console.error(
      'wrangler dev is not for Weir: it changes bytes on the way, and with --remote it works on the deployed database. Use npm start.',
    );
    process.exit(1);
  }
  const { path, bytes, gzipBytes } = await bundleWorker();
  console.log(`${path}: ${(bytes / 1000).toFixed(1)} kB, ${(gzipBytes / 1000).toFixed(1)} kB gzip`);
}
