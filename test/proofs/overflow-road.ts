/** Interim. */
import type { Proof, Row, Staged } from '../support/proof.ts';
import { budgetRow, type Named, offRow, roadRows, shadowRow } from './overflow/road-rows.ts';
import { fastOverflow, RoadStand, type StandOptions } from './overflow/road-stand.ts';
import { seededFaults } from './overflow/seeded.ts';

async function stage({ short }: { readonly short: boolean }): Promise<Staged> {
  const stand = await RoadStand.start({ mode: 'on' });
  const alone = (options: StandOptions, [name, run]: Named): Row => ({
    name,
    run: async () => {
      const own = await RoadStand.start(options);
      try {
        return await run(own);
      } finally {
        await own.world.dispose();
      }
    },
  });
  const rows: Row[] = [
    ...roadRows.map(([name, run]): Row => ({ name, run: () => run(stand) })),
    alone({ mode: 'shadow' }, shadowRow),
    alone({ mode: 'off' }, offRow),
    alone({ mode: 'on', budgetUsd: 20, priceMicros: 8_000_000 }, budgetRow),
    alone(
      { mode: 'on', limits: { ...fastOverflow, strikeSpacingMs: 600_000, overflowMarkMs: 20 } },
      ['seeded faults', (own) => seededFaults(own, short ? 100 : 1_000, 4711)],
    ),
  ];
  return { rows, figure: () => `${rows.length} rows`, dispose: () => stand.world.dispose() };
}
export const proof: Proof = { name: 'overflow-road', title: 'the child cycle', stage };
