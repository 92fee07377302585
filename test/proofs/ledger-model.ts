/**
 * ledger-model: the ledger against a model that is too simple to be wrong. Arguments: `--from SEED`
 * (1), `--count N` histories on the object's own statements.
 */
import { rmSync } from 'node:fs';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import {
  bundleLedger,
  liveLimits,
  type Patch,
  smallLimits,
  tinyBounds,
} from '../support/ledger-bundle.ts';
import { Checker, type Lists, type Seen } from '../support/ledger-check.ts';
import { historyOf } from '../support/ledger-history.ts';
import { mutants } from '../support/ledger-mutants.ts';
import { type CoreClass, firstFailure, loadCore, runSteps, shrink } from '../support/ledger-run.ts';
import { boundScenarios, scenarios } from '../support/ledger-scenario-list.ts';
import { playScenario, type Scenario } from '../support/ledger-scenarios.ts';
import { NodeStage } from '../support/ledger-stage.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';

const coreFile = 'durable-objects/ledger/core.ts';
const objectFile = 'test/unit/durable-objects/ledger-object.ts';
/** Cores and mutants of this run; a module is loaded once per path, so every run has its own. */
const bundleFolder = `dist/ledger-${process.pid}`;
/** Histories of real objects that run side by side: they wait for the disk, not for each other. */
const objectsAtOnce = 5;
/** Histories within which every mutant has to be seen. */
const mutantHistoriesMax = 200;

/** The kinds of answers without which the histories would prove little. */
const answersWanted = [
  'place: placed',
  'place: insufficient_balance',
  'place: daily_cap',
  'place: key_call_cap',
  'place: tag_blocked',
  'place: tag_spend_cap',
  'place: tag_call_cap',
  'place: id_conflict',
  'place: replay',
  'place: mismatch',
  'place: in_progress',
  'place: outcome_unknown',
  'renew: renewed',
  'renew: already_ended',
  'settle: settled',
  'settle: late_settled',
  'settle: already_ended',
  'settle: unknown_hold',
  'release: released',
  'release: already_ended',
  'record: recorded',
  'record: record_closed',
  'record: unknown_record',
  'free: freed',
  'free: record_closed',
  'unknown: marked_unknown',
  'task: opened',
  'task: known',
  'task: not_open',
];

interface Options {
  readonly from: number;
  readonly count: number;
  readonly objectCount: number;
}

function optionsOf(short: boolean, args: readonly string[]): Options {
  const number = (name: string, otherwise: number): number => {
    const at = args.indexOf(name);
    return at < 0 ? otherwise : Number(args[at + 1]);
  };
  return {
    from: number('--from', 1),
    count: number('--count', short ? 500 : 10_000),
    objectCount: number('--object-count', short ? 20 : 500),
  };
}

/** What a failing history says: its seed, what differed, and a shorter history that shows it. */
function failure(Core: CoreClass, { seed, what }: { seed: number; what: string }): string {
  const steps = shrink(Core, historyOf(seed));
  const shown = steps.map((step) => `\n        ${JSON.stringify(step)}`).join('');
  return `seed ${seed}: ${what}\n        shortened: ${runSteps(Core, steps) ?? '?'}${shown}`;
}

function statementRows(Core: CoreClass, { from, count }: Options): Row[] {
  const seen = new Set<string>();
  const histories = async (): Promise<string> => {
    const failed = firstFailure(Core, { from, count }, seen);
    if (failed !== null) throw new Error(failure(Core, failed));
    return `seeds ${from} to ${from + count - 1}`;
  };
  const answers = async (): Promise<string> => {
    same(
      answersWanted.filter((answer) => !seen.has(answer)),
      [],
      'answers that never came',
    );
    return `${seen.size} kinds`;
  };
  return [
    {
      name: `${count} histories on the object's own statements agree with the model`,
      run: histories,
    },
    { name: 'the histories have seen every kind of answer', run: answers },
  ];
}

function mutantRows(): Row[] {
  return mutants.map((mutant, number) => ({
    name: `mutant: ${mutant.name}`,
    run: async () => {
      const file = `${bundleFolder}/mutant-${number}.mjs`;
      const Core = await loadCore(await bundleLedger(coreFile, file, [...smallLimits, mutant]));
      const failed = firstFailure(Core, { from: 1, count: mutantHistoriesMax });
      holds(failed !== null, `not seen in ${mutantHistoriesMax} histories`);
      return `caught by seed ${failed.seed}`;
    },
  }));
}

/** The scenarios, with a snapshot every few operations; the bounds, made small. */
function scenarioRows(Core: CoreClass, Tiny: CoreClass): Row[] {
  const row = (scenario: Scenario, Class: CoreClass): Row => ({
    name: `scenario: ${scenario.name}`,
    run: () => onStage(Class, scenario),
  });
  return [...scenarios.map((s) => row(s, Core)), ...boundScenarios.map((s) => row(s, Tiny))];
}

async function onStage(Class: CoreClass, scenario: Scenario): Promise<void> {
  const stage = new NodeStage(Class);
  try {
    await playScenario(stage, scenario);
  } finally {
    stage.close();
  }
}

/** workerd with the object in one bundle. */
async function startObject(outfile: string, patches: readonly Patch[]): Promise<Miniflare> {
  const scriptPath = await bundleLedger(objectFile, outfile, patches);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      scriptPath,
      compatibilityDate: '2026-11-02',
      durableObjects: { LEDGER: { className: 'TestLedger', useSQLite: true } },
      cf: false,
    } as Parameters<typeof convertV4MiniflareOptions>[0]),
  );
  await miniflare.ready;
  return miniflare;
}

/** Asks the test Worker. */
async function ask<T>(miniflare: Miniflare, path: string): Promise<T> {
  const answer = await miniflare.dispatchFetch(`http://ledger.test${path}`);
  const text = await answer.text();
  holds(answer.status === 200, `${path}: ${answer.status} ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}

async function objectHistory(miniflare: Miniflare, seed: number): Promise<void> {
  const { seen, lists } = await ask<{ seen: Seen[]; lists: Lists }>(
    miniflare,
    `/history?n=${seed}`,
  );
  const checker = new Checker(new Set());
  for (const [at, step] of historyOf(seed).entries()) {
    if (step.do === 'wait') checker.wait(step.ms);
    try {
      checker.check(step, seen[at] as Seen);
    } catch (fault) {
      throw new Error(`seed ${seed}, step ${at}: ${String(fault)}`);
    }
  }
  checker.finish(lists);
}

function objectRows(small: Miniflare, live: Miniflare, { from, objectCount }: Options): Row[] {
  return [
    {
      name: `${objectCount} histories through the real object agree with the model`,
      run: async () => {
        for (let seed = from; seed < from + objectCount; seed += objectsAtOnce) {
          const seeds = Array.from({ length: objectsAtOnce }, (_, i) => seed + i);
          await Promise.all(
            seeds.filter((s) => s < from + objectCount).map((s) => objectHistory(small, s)),
          );
        }
        return `seeds ${from} to ${from + objectCount - 1}`;
      },
    },
    { name: 'balance 100, 200 calls of 60 at once: one is placed', run: () => overspend(live) },
    {
      name: 'a hold whose owner and object are gone is ended by the alarm',
      run: () => alone(live),
    },
    {
      name: 'too many unconfirmed calls: ledger_busy, and nothing half done',
      run: () => flood(live),
    },
  ];
}

interface BooksSeen {
  readonly availableMicros: number;
  readonly heldMicros: number;
  readonly openHolds: number;
}

async function overspend(live: Miniflare): Promise<void> {
  const { outcomes, view } = await ask<{ outcomes: string[]; view: BooksSeen }>(
    live,
    '/overspend?name=overspend',
  );
  const answered = outcomes.filter((outcome) => outcome !== 'ledger_busy');
  same(outcomes.filter((outcome) => outcome === 'placed').length, 1, 'placed');
  holds(answered.length > 1, 'nothing was refused');
  same(
    answered.filter((o) => o !== 'placed' && o !== 'refused'),
    [],
    'other answers',
  );
  same([view.availableMicros, view.heldMicros], [40, 60], 'available, held');
}

/** Lease, then the one grace after the eviction, then the end; nobody calls meanwhile. */
async function alone(live: Miniflare): Promise<void> {
  await ask(live, '/abandon?name=alone');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { view, reviews, records } = await ask<{
    view: BooksSeen;
    reviews: { holdId: string; micros: number }[];
    records: { state: string }[];
  }>(live, '/look?name=alone');
  same([view.availableMicros, view.openHolds], [100, 0], 'available, open holds');
  same(
    reviews.map((r) => [r.holdId, r.micros]),
    [['hld_1', 60]],
    'reviews',
  );
  same(
    records.map((r) => r.state),
    ['unknown'],
    'records',
  );
}

async function flood(live: Miniflare): Promise<string> {
  const { outcomes, view, rows } = await ask<{
    outcomes: string[];
    view: BooksSeen;
    rows: number;
  }>(live, '/flood?name=flood&n=2000');
  const applied = outcomes.filter((outcome) => outcome === 'applied').length;
  const busy = outcomes.filter((outcome) => outcome === 'ledger_busy').length;
  same(applied + busy, outcomes.length, 'answers');
  holds(busy > 0, 'the object was never busy');
  same(view.openHolds, applied, 'open holds');
  same(rows, applied + 1, 'rows of the log: one per call and the top-up');
  return `${applied} applied, ${busy} busy`;
}

export const proof: Proof = {
  name: 'ledger-model',
  title: 'money is conserved, each hold ends once, repeats are equal, nothing is overspent',
  takes: {
    usage: '[--from SEED] [--count N] [--object-count N]',
    numbers: ['from', 'count', 'object-count'],
  },
  stage: async ({ short, args }) => {
    const options = optionsOf(short, args);
    const small = await startObject('dist/ledger-test.js', smallLimits);
    const live = await startObject('dist/ledger-live.js', liveLimits);
    const load = async (name: string, patches: readonly Patch[]): Promise<CoreClass> =>
      loadCore(await bundleLedger(coreFile, `${bundleFolder}/${name}.mjs`, patches));
    const Core = await load('core', smallLimits);
    const Tiny = await load('tiny', tinyBounds);
    return {
      rows: [
        ...scenarioRows(Core, Tiny),
        ...statementRows(Core, options),
        ...mutantRows(),
        ...objectRows(small, live, options),
      ],
      figure: () => {
        const histories = `${options.count} + ${options.objectCount} histories`;
        return `${histories}, ${mutants.length} mutants, 0 overspent`;
      },
      dispose: async () => {
        await small.dispose();
        await live.dispose();
        rmSync(bundleFolder, { recursive: true, force: true });
      },
    };
  },
};
