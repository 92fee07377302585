/**
 * `npm run prove -- cases [--kinds a,b] [C0xx …]`: every case of the shared list (`../shared/cases`,
 * or `WEIR_CASES`), each a scripted check with raw sockets, the real bundle and an origin or vendor
 * that counts; many are rows of other proofs, run here on a stand of their own.
 * Promises: a case has a check or a reason why it has none, never both and never neither; a check
 * without a case fails; a list that is not there is a failure that says so.
 * Called by scripts/prove.ts and test/e2e/cases.test.ts.
 */
import { type Proof, type Row, type Staged, same } from '../support/proof.ts';
import { capacityChecks } from './cases/capacity.ts';
import { holdLedgerChecks } from './cases/hold-ledger.ts';
import { idempotencyChecks } from './cases/idempotency.ts';
import { jsonChecks } from './cases/json.ts';
import { casesOf, mayMissList, type SharedCase } from './cases/list.ts';
import { queryChecks } from './cases/query.ts';
import { elsewhereChecks, inPart, outOfScope } from './cases/scope.ts';
import { ssrfChecks } from './cases/ssrf.ts';
import { type CaseChecks, on, Stands } from './cases/stands.ts';
import { tenantChecks } from './cases/tenant.ts';
import { wireChecks } from './cases/wire.ts';

/** The tables; no id may be in two of them. */
const tables: readonly CaseChecks[] = [
  on('quick', { ...holdLedgerChecks, ...idempotencyChecks, ...queryChecks }),
  on('calm', jsonChecks),
  wireChecks,
  ssrfChecks,
  tenantChecks,
  capacityChecks,
  elsewhereChecks,
];
const checks: CaseChecks = Object.assign({}, ...tables);

/** Cases that can be named at once. */
const casesMax = 1_000;

/** What was asked for; `null`: all. */
interface Asked {
  readonly kinds: readonly string[] | null;
  readonly ids: readonly string[];
}

/** `--kinds a,b` or `--kinds=a,b`, and ids. */
function askedBy(args: readonly string[]): Asked {
  const ids = args.filter((arg) => /^C\d+$/.test(arg));
  const at = args.findIndex((arg) => arg === '--kinds' || arg.startsWith('--kinds='));
  if (at < 0) return { kinds: null, ids };
  const given = args[at]?.split('=')[1] ?? args[at + 1] ?? '';
  return { kinds: given.split(',').filter(Boolean), ids };
}

function rowOf(stands: Stands, { id, kind, right }: SharedCase): Row {
  const check = checks[id];
  return {
    name: `${id} (${kind}): ${right}`,
    run: async () => {
      if (check === undefined) throw new Error('this case has neither a check nor a reason');
      return check(stands);
    },
  };
}

/** A check whose case is gone from the list would hold nothing together. */
const complete = (listed: readonly SharedCase[], { kinds, ids }: Asked): Row => ({
  name: 'every case has a check or a reason why it has none, not both; no other has one',
  run: async () => {
    const known = new Set(listed.map(({ id }) => id));
    const all = [...tables.flatMap((table) => Object.keys(table)), ...Object.keys(outOfScope)];
    const twice = all.filter((id, at) => all.indexOf(id) !== at);
    same(twice, [], 'cases that are in two tables');
    same(
      [...known].filter((id) => !all.includes(id)),
      [],
      'cases that are in none',
    );
    same(
      [...all, ...Object.keys(inPart), ...ids].filter((id) => !known.has(id)),
      [],
      'ids that are no case',
    );
    const kindsKnown = new Set(listed.map(({ kind }) => kind));
    same(
      (kinds ?? []).filter((kind) => !kindsKnown.has(kind)),
      [],
      'kinds without a case',
    );
    return `${known.size} cases, ${Object.keys(outOfScope).length} out of scope`;
  },
});

/**
 * The list is not there: `prove` fails, since it cannot show that these are all cases. `npm test` in a
 * clone of its own still runs every check.
 */
const unreadable = (why: string): Staged => ({
  rows: [
    {
      name: `the shared list of cases can be read (${Object.keys(checks).join(' ')})`,
      run: async () => {
        throw new Error(why);
      },
    },
  ],
  figure: () => `0 of ${Object.keys(checks).length} cases shown`,
  dispose: async () => undefined,
});

const withoutList: readonly SharedCase[] = [...Object.keys(checks), ...Object.keys(outOfScope)]
  .sort()
  .map((id) => ({ id, kind: 'without the list', right: 'its check holds' }));

const reasons = (of: Readonly<Record<string, string>>): string =>
  Object.entries(of)
    .map(([id, why]) => `${id} (${why})`)
    .join('; ');

async function stage({
  short,
  args,
}: {
  readonly short: boolean;
  readonly args: readonly string[];
}): Promise<Staged> {
  const asked = askedBy(args);
  const read = casesOf(null);
  if (typeof read === 'string' && !mayMissList(short, args)) return unreadable(read);
  const listed = typeof read === 'string' ? withoutList : read;
  const chosen = listed
    .filter(({ kind }) => asked.kinds === null || asked.kinds.includes(kind))
    .filter(({ id }) => asked.ids.length === 0 || asked.ids.includes(id))
    .filter(({ id }) => outOfScope[id] === undefined);
  const stands = new Stands(short);
  let shown = 0;
  const rows = chosen
    .map((one) => rowOf(stands, one))
    .map(({ name, run }) => ({
      name,
      run: async () => {
        const text = await run();
        shown += 1;
        return text;
      },
    }));
  return {
    rows: [...rows, complete(listed, asked)],
    figure: () =>
      `${shown} of ${chosen.length} cases hold\n` +
      `out of scope: ${reasons(outOfScope)}\nin part, without: ${reasons(inPart)}`,
    dispose: () => stands.dispose(),
  };
}

export const proof: Proof = {
  name: 'cases',
  title: 'faults that users of other gateways reported, each made right here',
  takes: {
    usage: '[--kinds a,b] [--without-list] [C0xx …]',
    switches: ['without-list'],
    texts: ['kinds'],
    wordsMax: casesMax,
  },
  stage,
};
