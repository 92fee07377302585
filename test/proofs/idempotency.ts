/**
 * `npm run prove -- idempotency`: a key is executed once, and its answer is the first one, whoever
 * asks again and when.
 * Promises: over real sockets, through 4 isolates on one ledger; rows name the section of
 * draft-ietf-httpapi-idempotency-key-header or the documented behaviour of the best-known payment
 * API (docs.stripe.com/api/idempotent_requests) that they agree with or differ from. Bounds that
 * take a day or 256 MiB are reached with smaller limits, in a gateway of their own. Called by
 * scripts/prove.ts and test/e2e/idempotency.test.ts.
 */

import { startMoneyWorld } from '../support/money-world.ts';
import { shortLease } from '../support/money-world-bundle.ts';
import type { Proof, Row, Staged } from '../support/proof.ts';
import { bounds } from './idempotency/bounds.ts';
import { crowds } from './idempotency/crowds.ts';
import { failures } from './idempotency/failures.ts';
import { otherMethods, repeats } from './idempotency/repeats.ts';
import { scopes } from './idempotency/scopes.ts';
import type { Named } from './idempotency/stand.ts';
import { smallRecords, ttls } from './idempotency/ttls.ts';

async function stage({ short }: { readonly short: boolean }): Promise<Staged> {
  const world = await startMoneyWorld({ isolates: 4, catalog: otherMethods });
  const small = await startMoneyWorld({
    isolates: 2,
    limits: { ...shortLease(3_000), ...smallRecords },
  });
  let passed = 0;
  const rowsOf = (on: typeof world, list: readonly Named[]): Row[] =>
    list.map(([name, run]) => ({
      name,
      run: async () => {
        const shown = await run(on, short);
        passed += 1;
        return typeof shown === 'string' ? shown : undefined;
      },
    }));
  const rows = [
    ...rowsOf(world, [...repeats, ...failures, ...scopes, ...crowds, ...bounds]),
    ...rowsOf(small, ttls),
  ];
  return {
    rows,
    figure: () => `${passed} of ${rows.length} rows hold`,
    dispose: async () => {
      await Promise.all([world.dispose(), small.dispose()]);
    },
  };
}

export const proof: Proof = {
  name: 'idempotency',
  title: 'a key is executed at most once, and whoever repeats it gets the first answer',
  stage,
};
