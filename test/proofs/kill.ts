/**
 * `npm run prove -- kill`: workerd is killed (-9) again and again while calls are between their
 * claim and their settlement, and starts again on the same storage.
 * Promises: the points are seeded and printed (`--seed N`, `--kills N`); afterwards each hold has
 * ended once, the books are those of the vendor, no idempotency key was executed twice, and every
 * call whose outcome nobody saw is listed. Called by scripts/prove.ts and test/fault/kill.test.ts.
 */
import { startMoneyWorld } from '../support/money-world.ts';
import type { Proof, Row, Staged } from '../support/proof.ts';
import { killingBundleLimits } from './kill/lease.ts';
import { Siege } from './kill/siege.ts';
import { verdicts } from './kill/verdicts.ts';

const killsFull = 100;
const killsShort = 5;
/** Isolates on the one ledger. */
const isolateCount = 2;

const numberOf = (args: readonly string[], name: string, otherwise: number): number => {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : Number(args[at + 1]);
};

async function stage(options: {
  readonly short: boolean;
  readonly args: readonly string[];
}): Promise<Staged> {
  const { short, args } = options;
  const seed = numberOf(args, '--seed', short ? 1 : 1 + Math.floor(Math.random() * 1_000_000));
  const kills = numberOf(args, '--kills', short ? killsShort : killsFull);
  const world = await startMoneyWorld({ isolates: isolateCount, limits: killingBundleLimits });
  const siege = new Siege(world, await world.tenant({ topUpMicros: 1_000_000_000 }), seed);
  let passed = 0;
  const rows: Row[] = [
    {
      name: `seed ${seed}: workerd is killed ${kills} times under load and comes back each time`,
      run: () => siege.run(kills),
    },
    ...verdicts.map(([name, run]) => ({ name, run: () => run(siege) })),
  ];
  return {
    rows: rows.map(({ name, run }) => ({
      name,
      run: async () => {
        const shown = await run();
        passed += 1;
        return shown;
      },
    })),
    figure: () => `${passed} of ${rows.length} rows hold; seed ${seed}: ${siege.summary()}`,
    dispose: () => world.dispose(),
  };
}

export const proof: Proof = {
  name: 'kill',
  title: 'workerd dies between claim and settlement: no money is lost, no key is executed twice',
  takes: { usage: '[--seed N] [--kills N]', numbers: ['seed', 'kills'] },
  stage,
};
