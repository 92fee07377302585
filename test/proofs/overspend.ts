/**
 * `npm run prove -- overspend`: what a tenant has, it cannot spend twice, however many ask at once.
 * Promises: 200 calls over real sockets, sent together through 4 isolates on one ledger, all of
 * them judged while the ones that were let through are held at a barrier in the vendor; the books
 * are polled all the while. Called by scripts/prove.ts and test/e2e/overspend.test.ts.
 */
import { startMoneyWorld } from '../support/money-world.ts';
import type { Proof, Row, Staged } from '../support/proof.ts';
import { cases } from './overspend/cases.ts';
import { isolateCount, rush } from './overspend/rush.ts';

/** Runs of each case in the full form: the order of arrival differs each time. */
const roundsFull = 5;

async function stage({ short }: { readonly short: boolean }): Promise<Staged> {
  const world = await startMoneyWorld({ isolates: isolateCount });
  const rounds = short ? 1 : roundsFull;
  let passed = 0;
  const seen = { calls: 0, hits: 0, looks: 0, lowest: Number.POSITIVE_INFINITY };
  const rows = cases.map(
    (one): Row => ({
      name: one.name,
      run: async () => {
        let shown = '';
        for (let round = 0; round < rounds; round += 1) {
          const found = await rush(world, one);
          seen.calls += found.calls;
          seen.hits += found.hits;
          seen.looks += found.looks;
          seen.lowest = Math.min(seen.lowest, found.lowest);
          shown = `${found.hits} sent, ${found.calls - found.hits} refused, the balance seen ${found.looks} times, lowest ${found.lowest}`;
        }
        passed += 1;
        return rounds === 1 ? shown : `${rounds} rounds; the last: ${shown}`;
      },
    }),
  );
  return {
    rows,
    figure: () =>
      `${passed} of ${rows.length} rows hold: ${seen.hits} of ${seen.calls} calls sent, the balance seen ${seen.looks} times, never below ${seen.lowest}`,
    dispose: () => world.dispose(),
  };
}

export const proof: Proof = {
  name: 'overspend',
  title:
    'of 200 calls at once only as many are sent as the balance, the caps and the budgets allow',
  stage,
};
