/**
 * `npm run prove -- disconnect-money`: the client leaves a call that our vendor account pays for, in
 * every phase, by RST and FIN, plain and streamed. Afterwards: one end of its hold, charged by the
 * rule (decisions section 4), one row, right books, and the next call passes.
 * Promises: hanging up is never a way to a free answer, nor to a double charge.
 * The table is in disconnect-money/. Called by scripts/prove.ts and
 * test/fault/disconnect-money.test.ts.
 */

import { usageReply } from '../support/priced-origin.ts';
import { type Proof, type Staged, same } from '../support/proof.ts';
import { sideBySide } from '../support/side-by-side.ts';
import { until } from '../support/until.ts';
import { earlyRows } from './disconnect-money/early.ts';
import { plainRows } from './disconnect-money/plain.ts';
import {
  cancelled,
  leave,
  type Named,
  paidInMicros,
  Stand,
  units,
} from './disconnect-money/stand.ts';
import { streamedRows } from './disconnect-money/streamed.ts';

const burstOf = 50;

const burst: Named = [
  `a burst of ${burstOf} RSTs before headers, the vendor completes all: ${burstOf} charges, ${burstOf} rows`,
  async (stand) => {
    const tenant = await stand.tenant();
    const visits = await Promise.all(
      Array.from({ length: burstOf }, () => stand.visit('lab.usage', {}, tenant)),
    );
    const calls = await Promise.all(visits.map((visit) => stand.arrived(visit)));
    await Promise.all(visits.map((visit) => leave(visit, 'RST')));
    for (const call of calls) call.complete(usageReply(units));
    const rows = await until(`${burstOf} rows`, async () => {
      const found = await stand.rows(tenant);
      return found.length >= burstOf ? found : undefined;
    });
    same(rows.length, burstOf, 'rows');
    for (const row of rows)
      same([row.outcome, row.status, row.cost_micros], [...cancelled, units], 'a row');
    const books = await tenant.ended();
    const settled = burstOf * units;
    same(books, { available: paidInMicros - settled, held: 0, settled }, 'books');
    await stand.nextPasses(tenant, settled);
  },
];

const oneRowEach: Named = [
  'every call of this run has exactly one row',
  async (stand) => {
    same(await stand.wrongCounts(), [], 'tenants with other counts');
    return `${stand.calls} calls`;
  },
];

/** A row waits for the log's flush, some for the drain; nothing here needs the machine for itself. */
const sideBySideMax = 12;

async function stage({ args }: { readonly args: readonly string[] }): Promise<Staged> {
  const stand = await Stand.start();
  const only = args.find((arg) => !arg.startsWith('--'));
  const all = [...earlyRows, ...plainRows, ...streamedRows];
  const { rows, passed } = sideBySide(stand, {
    together: all.filter(([name]) => only === undefined || name.includes(only)),
    after: [burst, oneRowEach],
    max: sideBySideMax,
  });
  return {
    rows,
    figure: () => `${passed()} of ${rows.length} rows hold, ${stand.calls} calls`,
    dispose: () => stand.dispose(),
  };
}

export const proof: Proof = {
  name: 'disconnect-money',
  title: 'whoever leaves a metered call, and when: one end of its hold, charged by the rule',
  takes: { usage: '[part of a row’s name]', wordsMax: 1 },
  stage,
};
