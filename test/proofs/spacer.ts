/**
 * `npm run prove -- spacer`: a vendor that counts a sliding window and answers 429 beyond it, and callers that come all at once through
 * four isolates.
 * Promises: the vendor's own count is the judge; what waits, waits in the gateway. Called by scripts/prove.ts and test/fault/spacer.test.ts.
 */
import { onStand, type Proof, type Staged } from '../support/proof.ts';
import { spacerRows } from './spacer/rows.ts';
import { Stand } from './spacer/stand.ts';

async function stage(): Promise<Staged> {
  const stand = await Stand.start();
  const { rows, passed } = onStand(stand, spacerRows);
  return {
    rows,
    figure: () => `${passed()} of ${rows.length} rows hold, ${stand.total} requests at the vendors`,
    dispose: () => stand.world.dispose(),
  };
}

export const proof: Proof = {
  name: 'spacer',
  title:
    'calls that come at once reach a vendor in its declared rate; nobody is refused for it who need not be',
  stage,
};
