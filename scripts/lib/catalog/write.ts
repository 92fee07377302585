/**
 * Writes catalog files straight into a D1 with the product's own import. Called by the bench, the proofs and the tests; `npm run catalog` is
 * for people.
 */
import type { D1Like } from '../migrations.ts';
import { resolveSrcModules } from '../src-modules.ts';

/**
 * Makes the catalog that of these files, name and text; `authority` is where their providers are. Throws with every fault of theirs. A
 * gateway must not have read it yet.
 */
export async function writeCatalog(
  db: D1Like,
  authority: string,
  files: readonly { readonly name: string; readonly text: string }[],
): Promise<void> {
  resolveSrcModules();
  const [{ bring, faultLine }, { databaseOver }, { readSources }] = await Promise.all([
    import('./main.ts'),
    import('./database.ts'),
    import('./read.ts'),
  ]);
  const allow = { pairs: new Set([authority]) };
  const read = readSources(files, { allow, gatewayHosts: [], httpsOnly: true });
  if (!read.ok) throw new Error(read.faults.map(faultLine).join('\n'));
  await bring(databaseOver(db, 'beside the gateway'), read.files, true);
}
