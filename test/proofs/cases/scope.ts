/**
 * What the cases proof does not play itself: cases of what is not built, with the reason, and cases
 * that are rows of a proof of their own. Promises: an id here has no check beside it (../cases.ts
 * fails otherwise); a proof that is named has rows that name the case. Called by ../cases.ts.
 */
import { existsSync } from 'node:fs';
import type { Proof, Row } from '../../support/proof.ts';
import type { CaseChecks } from './stands.ts';

/** Case and why nothing shows it. */
export const outOfScope: Readonly<Record<string, string>> = {
  C090: 'CORS is not built: it is of the full control plane',
};

/** Case and which half of it is not shown. */
export const inPart: Readonly<Record<string, string>> = {
  C087: 'the enforced limit: merge modes are of the full control plane',
};

/** Case and the proof whose rows show it. */
const elsewhere: Readonly<Record<string, string>> = {
  C079: 'overflow',
  C081: 'overflow',
  C082: 'tasks',
};

/** Runs the rows of another proof that name the case, in that proof's own short form. */
async function shownBy(name: string, id: string, isShort: boolean): ReturnType<Row['run']> {
  const file = new URL(`../${name}.ts`, import.meta.url);
  if (!existsSync(file)) throw new Error(`there is no proof ${name}`);
  if (isShort) return `rows of the ${name} proof, which npm test runs too`;
  const { proof }: { proof: Proof } = await import(file.href);
  const staged = await proof.stage({ short: true, args: [] });
  try {
    const rows = staged.rows.filter((row) => row.name.includes(id));
    if (rows.length === 0) throw new Error(`the proof ${name} has no row that names ${id}`);
    for (const { run } of rows) await run();
    return `${rows.length} rows of the ${name} proof`;
  } finally {
    await staged.dispose();
  }
}

/** Checks by case. */
export const elsewhereChecks: CaseChecks = Object.fromEntries(
  Object.entries(elsewhere).map(([id, name]) => [
    id,
    (stands) => shownBy(name, id, stands.isShort),
  ]),
);
