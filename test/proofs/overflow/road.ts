/**
 * The rows of the child cycle: one stand for what an operator who switched it on gets, one each for the other modes, the budget and the
 * seeded faults. `--seed N` draws other faults. Called by test/proofs/overflow.ts.
 */
import type { Row } from '../../support/proof.ts';
import { budgetRow, type Named, offRow, roadRows, shadowRow } from './road-rows.ts';
import { fastOverflow, RoadStand, type StandOptions } from './road-stand.ts';
import { seededFaults } from './seeded.ts';

/** Calls of the seeded faults. */
const faultsFull = 1_000;
const faultsShort = 100;

/** A stand that is started for one row and ends with it. */
const alone = (options: StandOptions, [name, run]: Named): Row => ({
  name,
  run: async () => {
    const stand = await RoadStand.start(options);
    try {
      return await run(stand);
    } finally {
      await stand.world.dispose();
    }
  },
});

/** Nothing is locked or marked for long: every call is sent. */
const restless = { ...fastOverflow, strikeSpacingMs: 600_000, overflowMarkMs: 20 };

/** Starts the stand; gives its rows and its end. */
export async function startRoad(options: {
  readonly short: boolean;
  readonly args: readonly string[];
}): Promise<{ readonly rows: readonly Row[]; readonly dispose: () => Promise<void> }> {
  const stand = await RoadStand.start({ mode: 'on' });
  const count = options.short ? faultsShort : faultsFull;
  const at = options.args.indexOf('--seed');
  const seed = at < 0 ? 4711 : Number(options.args[at + 1]);
  const faults: Named = [
    `${count} seeded faults: a call is charged for its parent or for its child, never for both`,
    (own) => seededFaults(own, count, seed),
  ];
  return {
    rows: [
      ...roadRows.map(([name, run]): Row => ({ name, run: () => run(stand) })),
      alone({ mode: 'shadow' }, shadowRow),
      alone({ mode: 'off' }, offRow),
      alone({ mode: 'on', budgetUsd: 20, priceMicros: 8_000_000 }, budgetRow),
      alone({ mode: 'on', limits: restless }, faults),
    ],
    dispose: () => stand.world.dispose(),
  };
}
