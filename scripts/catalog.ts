/** `npm run catalog -- check | diff | apply | policy`: the catalog files of `catalog/` against a database. See docs/catalog.md. */
import { resolveSrcModules } from './lib/src-modules.ts';

resolveSrcModules();
const { runCatalog } = await import('./lib/catalog/main.ts');
process.exit(await runCatalog(process.argv.slice(2)));
