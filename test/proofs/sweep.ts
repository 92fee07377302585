/**
 * `npm run prove -- sweep`: the hourly Cron against vendors whose balance APIs are good, wrong, broken, slow, talkative, moved or oversized.
 * Promises: real workerd, real sockets, two isolates on one database; `--short` has a shorter deadline, the same rows.
 * Called by scripts/prove.ts and test/e2e/sweep.test.ts.
 */
import { onStand, type Proof, type Staged } from '../support/proof.ts';
import { sweepRows } from './sweep/rows.ts';
import { Stand } from './sweep/stand.ts';

async function stage({ short }: { readonly short: boolean }): Promise<Staged> {
  const stand = await Stand.start(short);
  const { rows, passed } = onStand(stand, sweepRows);
  return {
    rows,
    figure: () => `${passed()} of ${rows.length} rows hold`,
    dispose: () => stand.dispose(),
  };
}

export const proof: Proof = {
  name: 'sweep',
  title:
    'every account is read once an hour, a vendor that does not say is a row, and one that is empty is refused before money is held',
  stage,
};
