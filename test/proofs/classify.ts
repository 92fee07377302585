/**
 * `npm run prove -- classify [--from SEED] [--count N]`: what is said of every recorded answer, of
 * every classification fact of the shared cases (`../shared/cases`, or `WEIR_CASES`), and of echoes
 * that were made to fool each row of the table.
 * Promises: a list of cases that is not there is a failure that says so; the adversaries have a
 * control that strikes. Nothing is sent. Called by scripts/prove.ts and test/e2e/classify.test.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { resolveSrcModules } from '../../scripts/lib/src-modules.ts';
import {
  type AccountOwner,
  answerOf,
  contractFaults,
  type Fixture,
  fixturesOf,
  wanted,
} from '../support/capacity-fixtures.ts';
import { drawer } from '../support/drawer.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';
import { casesOf, mayMissList } from './cases/list.ts';
import { type Bait, type Echo, echoOf, ownWords } from './classify/adversaries.ts';

resolveSrcModules();
const { judge } = await import('../../src/domain/capacity/classify.ts');
const { isExhausting } = await import('../../src/domain/capacity/signal.ts');
const { acknowledgedGaps, signatures } = await import('../../src/domain/capacity/signatures.ts');

const fixturesFolder = 'test/fixtures/capacity';
const catalogFolder = 'catalog';

/** Facts of the shared cases and the prefix of the fixtures that show them. */
const caseIds = ['C073', 'C074', 'C077'];

interface Tally {
  wrong: number;
  judged: number;
}

const filesOf = (folder: string, ending: string): readonly (readonly [string, string])[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')] as const);

function saidOf(fixture: Fixture): ReturnType<typeof wanted> {
  const signal = judge(answerOf(fixture))?.signal;
  return signal === undefined ? null : { kind: signal.kind, waitMs: signal.waitMs };
}

/** One row for each file: a wrong answer is named. */
function fixtureRow(name: string, fixtures: readonly Fixture[], tally: Tally): Row {
  return {
    name: `${name}: every recorded answer says what it should`,
    run: async () => {
      const wrong = fixtures.filter(
        (fixture) => JSON.stringify(saidOf(fixture)) !== JSON.stringify(wanted(fixture)),
      );
      tally.judged += fixtures.length;
      tally.wrong += wrong.length;
      same(
        wrong.map((fixture) => `${fixture.name}: ${JSON.stringify(saidOf(fixture))}`),
        [],
        'wrong answers',
      );
      return `${fixtures.length} answers`;
    },
  };
}

const tableRow = (fixtures: readonly Fixture[]): Row => ({
  name: 'every row of the table has a recorded answer that it decides',
  run: async () => {
    const seen = new Set(fixtures.map((fixture) => judge(answerOf(fixture))?.row));
    same(
      signatures.filter((row) => !seen.has(row)),
      [],
      'rows without an answer',
    );
    return `${signatures.length} rows`;
  },
});

// ── the shared cases ──

/** The cases of the list, or without it (where that is allowed) the facts that are known here. */
function caseRows(fixtures: readonly Fixture[], mayMiss: boolean): readonly Row[] {
  const listed = casesOf(['classification', 'breaker']);
  if (typeof listed === 'string' && !mayMiss) {
    const run = async (): Promise<never> => {
      throw new Error(listed);
    };
    return [{ name: `the shared list of cases can be read (${caseIds.join(' ')})`, run }];
  }
  const cases =
    typeof listed === 'string'
      ? caseIds.map((id) => ({ id, kind: 'classification', right: 'its answers' }))
      : listed.filter(({ id, kind }) => kind === 'classification' || caseIds.includes(id));
  const complete = async (): Promise<string> => {
    const ids = new Set(cases.map(({ id }) => id));
    same(
      caseIds.filter((id) => !ids.has(id)),
      [],
      'facts without a case',
    );
    return `${ids.size} cases`;
  };
  return [
    ...cases.map(({ id, kind, right }) => ({
      name: `${id} (${kind}): ${right}`,
      run: async () => caseShown(id, fixtures),
    })),
    { name: 'the list and the facts name the same cases', run: complete },
  ];
}

function caseShown(id: string, fixtures: readonly Fixture[]): string {
  const own = fixtures.filter(({ name }) => name.startsWith(`${id}:`));
  holds(own.length > 0, 'this case has no recorded answer');
  for (const fixture of own) same(saidOf(fixture), wanted(fixture), fixture.name);
  const striking = own.filter(({ want }) => want?.kind === 'balance');
  same(striking, [], 'a case of no strike that strikes');
  return `${own.length} answers`;
}

// ── adversaries ──

const baits: readonly Bait[] = signatures.flatMap(({ provider, status, match }) =>
  match.by === 'status'
    ? []
    : match.values.map((value) => ({
        provider,
        status,
        value,
        by: match.by === 'phrase' || match.by === 'sentence' ? match.by : 'code',
      })),
);

const answerOfEcho = ({ form, ...echo }: Echo): Parameters<typeof judge>[0] =>
  answerOf({ ...echo, name: form, want: null });

function strikes(echo: Echo): boolean {
  const signal = judge(answerOfEcho(echo))?.signal;
  return signal !== undefined && isExhausting(signal.kind);
}

interface Seeds {
  readonly from: number;
  readonly count: number;
}

function echoRow(kind: 'seen' | 'unseen', { from, count }: Seeds, tally: Tally): Row {
  const what = kind === 'seen' ? 'the request is at hand' : 'only its form tells';
  return {
    name: `${baits.length} words of the table, echoed ${count} times each: 0 strikes (${what})`,
    run: async () => {
      const struck: string[] = [];
      for (const [at, bait] of baits.entries()) {
        for (let seed = from; seed < from + count; seed += 1) {
          const echo = echoOf(bait, kind, drawer(seed * 1_000 + at));
          tally.judged += 1;
          if (strikes(echo)) struck.push(`seed ${seed}: ${JSON.stringify(echo)}`);
        }
      }
      tally.wrong += struck.length;
      holds(struck.length === 0, `${struck.length} strikes: ${struck.slice(0, 3).join('\n')}`);
      return `${baits.length * count} echoes`;
    },
  };
}

const controlRow: Row = {
  name: "control: each phrase of a row that strikes does so in the vendor's own words",
  run: async () => {
    const striking = signatures.flatMap(({ provider, status, kind, match }) => {
      const isWords = match.by === 'phrase' || match.by === 'sentence';
      if (!isWords || !isExhausting(kind)) return [];
      return match.values.map((value) => ({ provider, status, value, by: match.by }));
    });
    same(
      striking.filter((bait) => !strikes(ownWords(bait))),
      [],
      'phrases that never strike',
    );
    holds(striking.length > 20, 'there are too few phrases');
    return `${striking.length} phrases`;
  },
};

const silentRow = (fixtures: readonly Fixture[]): Row => ({
  name: 'no recorded answer signals anything with a status of 2xx, 3xx or 5xx',
  run: async () => {
    for (const status of [200, 201, 204, 206, 301, 304, 500, 502, 504, 529]) {
      for (const fixture of fixtures) same(saidOf({ ...fixture, status }), null, fixture.name);
    }
  },
});

// ── the contract ──

const contractRow: Row = {
  name: 'every platform account of the catalog has a row or an acknowledged gap; each missing one is seen',
  run: async () => {
    const owners = filesOf(catalogFolder, '.yaml').map(([, text]): AccountOwner => parse(text));
    same(contractFaults(owners, signatures, acknowledgedGaps), [], 'faults');
    const withAccount = owners.filter(({ accounts }) => accounts !== undefined);
    for (const { provider } of withAccount) {
      const rows = signatures.filter((row) => row.provider !== provider);
      same(contractFaults(owners, rows, {}).length, 1, `faults without the rows of ${provider}`);
    }
    return `${withAccount.length} accounts`;
  },
};

/** A whole number behind a name. */
function numberOf(args: readonly string[], name: string, otherwise: number): number {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : Number(args[at + 1]);
}

/** The proof; see the head of this file. */
export const proof: Proof = {
  name: 'classify',
  title: "every vendor's answer says what it should of our account, and an echo says nothing",
  takes: {
    usage: '[--from SEED] [--count N] [--without-list]',
    switches: ['without-list'],
    numbers: ['from', 'count'],
  },
  stage: async ({ short, args }) => {
    const files = filesOf(fixturesFolder, '.jsonl').map(
      ([name, text]) => [name, fixturesOf(text)] as const,
    );
    const fixtures = files.flatMap(([, all]) => all);
    const seeds = {
      from: numberOf(args, '--from', 1),
      count: numberOf(args, '--count', short ? 60 : 2_000),
    };
    const tally: Tally = { wrong: 0, judged: 0 };
    return {
      rows: [
        ...files.map(([name, all]) => fixtureRow(name, all, tally)),
        tableRow(fixtures),
        silentRow(fixtures),
        ...caseRows(fixtures, mayMissList(short, args)),
        echoRow('seen', seeds, tally),
        echoRow('unseen', seeds, tally),
        controlRow,
        contractRow,
      ],
      figure: () => `${tally.wrong} of ${tally.judged} answers wrong`,
      dispose: async () => undefined,
    };
  },
};
