/**
 * breaker-model: the breaker, the desk and the road's reading of a view in a small world on a virtual clock. Arguments: `--from SEED` (1),
 * `--count N` histories.
 */
import { rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { mutants } from '../support/breaker-mutants.ts';
import type { Played, Scene, Simulations } from '../support/breaker-played.ts';
import { bundleLedger, type Patch } from '../support/ledger-bundle.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';

const simFile = 'test/unit/durable-objects/breaker-model/sim.ts';
/** A module is loaded once per path, so every run has its own. */
const bundleFolder = `dist/breaker-${process.pid}`;
/** Histories within which every mutant has to be seen. */
const mutantHistoriesMax = 300;

/** What has to happen for the histories to prove something. */
const wanted = [
  'strikes',
  'oks',
  'probes',
  'locks',
  'locks lapsed',
  'locks lengthened',
  'locks reopened',
];

async function load(name: string, patches: readonly Patch[]): Promise<Simulations> {
  const file = `${bundleFolder}/${name}.mjs`;
  const path = await bundleLedger(simFile, file, patches);
  return (await import(pathToFileURL(path).href)) as Simulations;
}

/** The first scene or history that a mutant fails. */
async function caughtBy(sim: Simulations): Promise<string | null> {
  for (const { name, run } of sim.scenes) {
    const fault = await run().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (fault !== null) return `the scene "${name}"`;
  }
  const played = await sim.playAll(1, mutantHistoriesMax);
  return 'fault' in played ? `seed ${played.seed}: ${played.fault}` : null;
}

const mutantRows: readonly Row[] = mutants.map((mutant, number) => ({
  name: `mutant: ${mutant.name}`,
  run: async () => {
    const caught = await caughtBy(await load(`mutant-${number}`, [mutant]));
    holds(caught !== null, `not seen in any scene nor in ${mutantHistoriesMax} histories`);
    return `caught by ${caught}`;
  },
}));

const optionOf = (args: readonly string[], name: string, otherwise: number): number => {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : Number(args[at + 1]);
};

export const proof: Proof = {
  name: 'breaker-model',
  title:
    'one probe at a time, no lock beyond its cap, nothing struck by a caller’s fault, open again with the first 2xx',
  takes: { usage: '[--from SEED] [--count N]', numbers: ['from', 'count'] },
  stage: async ({ short, args }) => {
    const sim = await load('sim', []);
    const from = optionOf(args, '--from', 1);
    const count = optionOf(args, '--count', short ? 30 : 1_000);
    let total: Played | null = null;
    const histories: Row = {
      name: `${count} histories on a wire that loses, delays, doubles and overtakes keep every rule`,
      run: async () => {
        const played = await sim.playAll(from, count);
        if ('fault' in played) throw new Error(`seed ${played.seed}: ${played.fault}`);
        total = played.total;
        const { counts } = played.total;
        same(
          wanted.filter((what) => !counts[what]),
          [],
          'what never happened',
        );
        return wanted.map((what) => `${counts[what]} ${what}`).join(', ');
      },
    };
    return {
      rows: [...sim.scenes.map(sceneRow), histories, ...mutantRows],
      figure: () =>
        total === null
          ? 'no figures: the histories failed'
          : `${count} histories (seeds ${from} to ${from + count - 1}), ${total.calls} calls, ${total.hits} sends, ${total.operations} operations, ${mutants.length} mutants caught, 0 rules broken`,
      dispose: async () => rmSync(bundleFolder, { recursive: true, force: true }),
    };
  },
};

const sceneRow = ({ name, run }: Scene): Row => ({
  name,
  run: async () => (await run()) ?? undefined,
});
