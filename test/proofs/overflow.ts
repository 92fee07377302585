/**
 * `npm run prove -- overflow`: routes, verdicts, failure classes, budget and jobs of calls that go through aggregators.
 * Promises: real workerd and real sockets where anything is sent; `--short` draws fewer histories, the same rows.
 * Called by scripts/prove.ts and test/e2e/overflow.test.ts.
 */
import type { Proof, Staged } from '../support/proof.ts';
import { Budgets, budgetRows } from './overflow/budget-rows.ts';
import { jobRows, startJobs } from './overflow/job-rows.ts';
import { startRoad } from './overflow/road.ts';
import { ruleRows } from './overflow/rule-rows.ts';

async function stage(options: {
  readonly short: boolean;
  readonly args: readonly string[];
}): Promise<Staged> {
  const { short } = options;
  const budgets = await Budgets.start();
  const jobs = await startJobs();
  const road = await startRoad(options);
  let passed = 0;
  const all = [...ruleRows, ...budgetRows(budgets, short), ...jobRows(jobs), ...road.rows];
  const rows = all.map((row) => ({
    ...row,
    run: async () => {
      const shown = await row.run();
      passed += 1;
      return shown;
    },
  }));
  return {
    rows,
    figure: () => `${passed} of ${rows.length} rows hold`,
    dispose: async () => {
      await road.dispose();
      await jobs.world.dispose();
      await budgets.dispose();
    },
  };
}

export const proof: Proof = {
  name: 'overflow',
  title:
    'a call goes through an aggregator only for our fault, on a verified route, within the budget of a day; every failure marks whom it is about',
  takes: { usage: '[--seed N]', numbers: ['seed'] },
  stage,
};
