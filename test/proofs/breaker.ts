/**
 * `npm run prove -- breaker`: one vendor account runs dry under load; what the next callers meet, and how it comes back.
 * Promises: real sockets, four gateway isolates on one namespace of objects, times one sixtieth. Called by scripts/prove.ts and
 * test/fault/breaker.test.ts.
 */
import { onStand, type Proof, type Staged } from '../support/proof.ts';
import { breakerRows } from './breaker/rows.ts';
import { Stand } from './breaker/stand.ts';

async function stage(): Promise<Staged> {
  const stand = await Stand.start();
  const { rows, passed } = onStand(stand, breakerRows);
  return {
    rows,
    figure: () =>
      `${passed()} of ${rows.length} rows hold, ${stand.arrivals.length} requests at the vendors`,
    dispose: () => stand.world.dispose(),
  };
}

export const proof: Proof = {
  name: 'breaker',
  title:
    'a dry account costs one upstream hit an interval, holds nothing, and comes back with the first 2xx of a probe',
  stage,
};
