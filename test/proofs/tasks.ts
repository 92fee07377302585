/**
 * `npm run prove -- tasks`: the money of a vendor's asynchronous job: held from its submission until evidence of its end, charged once.
 * Promises: real workerd, real sockets, two isolates on one ledger namespace; leases and polls of milliseconds; the same rows in both forms.
 * Called by scripts/prove.ts, test/e2e/tasks.test.ts and the cases proof (C082).
 */
import { onStand, type Proof, type Staged } from '../support/proof.ts';
import { taskRows } from './tasks/rows.ts';
import { Stand } from './tasks/stand.ts';

async function stage(): Promise<Staged> {
  const stand = await Stand.start();
  const { rows, passed } = onStand(stand, taskRows);
  return {
    rows,
    figure: () => `${passed()} of ${rows.length} rows hold`,
    dispose: () => stand.world.dispose(),
  };
}

export const proof: Proof = {
  name: 'tasks',
  title: 'a task is paid for once, when it has ended, whoever looks; nobody else may look',
  stage,
};
