/**
 * `npm run prove -- cases [--kinds a,b] [C0xx]`: every case of the shared list (`../shared/cases`, or
 * `WEIR_CASES`) of these kinds, each a scripted check with raw sockets, the real bundle and a vendor
 * that counts.
 * Promises: a case without a check fails, and so does a check without a case; a list that is not
 * there is a failure that says so. Cases of other kinds are rows of the proofs that name them.
 * Called by scripts/prove.ts and test/e2e/cases.test.ts.
 */
import { type Proof, type Row, type Staged, same } from '../support/proof.ts';
import { holdLedgerChecks } from './cases/hold-ledger.ts';
import { idempotencyChecks } from './cases/idempotency.ts';
import { jsonChecks } from './cases/json.ts';
import { casesOf, type SharedCase } from './cases/list.ts';
import { queryChecks } from './cases/query.ts';
import { type Check, Stand } from './cases/stand.ts';

/** The kinds that the metered road decides. */
const moneyKinds = ['hold-ledger', 'idempotency', 'json', 'query', 'retry'];

const checks: Readonly<Record<string, Check>> = {
  ...holdLedgerChecks,
  ...idempotencyChecks,
  ...jsonChecks,
  ...queryChecks,
};

/** The kinds that were asked for: `--kinds a,b` or `--kinds=a,b`. */
function kindsOf(args: readonly string[]): readonly string[] {
  const at = args.findIndex((arg) => arg === '--kinds' || arg.startsWith('--kinds='));
  if (at < 0) return moneyKinds;
  const given = args[at]?.split('=')[1] ?? args[at + 1] ?? '';
  return given.split(',').filter(Boolean);
}

interface Stands {
  readonly quick: Stand;
  readonly calm: Stand;
}

function rowOf({ quick, calm }: Stands, { id, kind, right }: SharedCase): Row {
  const check = checks[id];
  const stand = id in jsonChecks ? calm : quick;
  return {
    name: `${id} (${kind}): ${right}`,
    run: async () => {
      if (check === undefined) throw new Error('this case has no check');
      return check(stand);
    },
  };
}

/** A check whose case is gone from the list would hold nothing together. */
const complete = (found: readonly SharedCase[], kinds: readonly string[]): Row => ({
  name: 'the list and the checks name the same cases',
  run: async () => {
    if (moneyKinds.some((kind) => !kinds.includes(kind))) return 'not all kinds asked for';
    const listed = new Set(found.map(({ id }) => id));
    same(
      Object.keys(checks).filter((id) => !listed.has(id)),
      [],
      'checks without a case',
    );
    return `${found.length} cases`;
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

const withoutList: readonly SharedCase[] = Object.keys(checks).map((id) => ({
  id,
  kind: 'without the list',
  right: 'its check holds',
}));

async function stage({
  short,
  args,
}: {
  readonly short: boolean;
  readonly args: readonly string[];
}): Promise<Staged> {
  const kinds = kindsOf(args);
  const listed = casesOf(kinds);
  if (typeof listed === 'string' && !short) return unreadable(listed);
  const found = typeof listed === 'string' ? withoutList : listed;
  const only = args.filter((arg) => /^C\d+$/.test(arg));
  const chosen = found.filter(({ id }) => only.length === 0 || only.includes(id));
  const stands = { quick: await Stand.start('quick'), calm: await Stand.start('calm') };
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
    rows: [...rows, complete(found, kinds)],
    figure: () => `${shown} of ${chosen.length} cases of ${kinds.join(', ')} hold`,
    dispose: async () => {
      await stands.quick.dispose();
      await stands.calm.dispose();
    },
  };
}

export const proof: Proof = {
  name: 'cases',
  title: 'faults that users of other gateways reported, each made right here',
  stage,
};
