/** `npm run prove -- NAME [args]`: runs every row of a proof from test/proofs/, prints each, and the figure last; exit 1 if one fails. */
import { existsSync, readdirSync } from 'node:fs';
import type { Proof } from '../test/support/proof.ts';
import { bundleWorker } from './build.ts';
import { notUnderstood, ownArguments, type Taken } from './lib/arguments.ts';

const [name = '', ...args] = process.argv.slice(2);
const file = new URL(`../test/proofs/${name}.ts`, import.meta.url);
if (!/^[a-z-]+$/.test(name) || !existsSync(file)) {
  const known = readdirSync(new URL('../test/proofs/', import.meta.url))
    .filter((entry) => entry.endsWith('.ts'))
    .map((entry) => entry.slice(0, -'.ts'.length));
  const usage = `npm run prove -- NAME [--short]\n\n  ${known.join(' | ')}`;
  ownArguments({ usage }, name === '--help' ? [name] : []);
  notUnderstood(name === '' ? 'Which proof?' : `There is no proof "${name}".`, { usage });
}
const { proof } = (await import(file.href)) as { proof: Proof };
const own: Partial<Taken> = proof.takes ?? {};
const given = ownArguments(
  {
    ...own,
    usage: `npm run prove -- ${name} [--short]${own.usage === undefined ? '' : ` ${own.usage}`}`,
    switches: ['short', ...(own.switches ?? [])],
  },
  args,
);
await bundleWorker();
console.log(`${proof.name}: ${proof.title}`);
const startedAt = performance.now();
const staged = await proof.stage({ short: given.isSet('short'), args });
let passed = 0;
let failed = 0;
try {
  for (const row of staged.rows) {
    try {
      const shown = await row.run();
      passed += 1;
      console.log(`  ok    ${row.name}${shown ? ` (${shown})` : ''}`);
    } catch (fault) {
      failed += 1;
      console.log(
        `  FAIL  ${row.name}\n        ${fault instanceof Error ? fault.message : String(fault)}`,
      );
    }
  }
} finally {
  await staged.dispose();
}
console.log(
  `${passed} passed, ${failed} failed in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
);
console.log(staged.figure());
process.exit(failed === 0 && passed > 0 ? 0 : 1);
