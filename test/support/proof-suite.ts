/** Runs the short form of a proof as vitest tests, one per row. */
import { afterAll, describe, it } from 'vitest';
import type { Proof } from './proof.ts';

/** Registers every row of `proof` as a test. */
export async function proofSuite(proof: Proof): Promise<void> {
  const staged = await proof.stage({ short: true, args: [] });
  describe(proof.name, () => {
    afterAll(() => staged.dispose());
    for (const row of staged.rows) it(row.name, async () => void (await row.run()));
  });
}
