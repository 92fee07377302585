/**
 * Sweeps and snapshots: what is left on the operator's accounts, read now or read before.
 * Promises: operator only; a reading is a vendor's number in the vendor's unit, dollars stand beside it only where the policy says what a
 * unit is worth. Must never: show a text of a vendor beside the note that was let through. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { sweepOnlyMax } from '../base/limits-capacity';
import { err, ok } from '../base/result';
import type { CapacityPolicy } from '../domain/capacity/policy';
import type { SnapshotRecord, SweepRun } from '../ports/capacity-records';
import { invalid } from './body';
import { snapshotAnswer, snapshotWire } from './capacity-snapshot';
import { providerName } from './fields';
import { answering, type Call, type Operation, writing } from './operation';
import { paged, pageOf, pageQuery } from './pagination';

const name = z.string().check(z.regex(providerName));
const names = z.array(z.string());

/** Body of a sweep. */
const sweepBody = z.strictObject({
  only: z
    ._default(z.nullable(z.array(name).check(z.minLength(1), z.maxLength(sweepOnlyMax))), null)
    .check(z.describe('The providers to read, an aggregator as overflow:NAME; null reads all.')),
});

const listedAnswer = z.extend(snapshotAnswer, {
  remaining_micros: z
    .nullable(z.int())
    .check(z.describe('Micro-USD of what remained; null: nobody said what a unit is worth.')),
  spent_micros: z
    .int()
    .check(z.describe('Micro-USD that the calls of this account cost on that UTC day.')),
});

const runAnswer = z.object({
  outcome: z
    .enum(['done', 'skipped'])
    .check(z.describe('skipped: another sweep by hand is at work.')),
  data: z.array(snapshotAnswer),
  unknown: names.check(z.describe('Accounts that a person must classify: no policy is known.')),
  not_found: names.check(z.describe('Asked for, and no account of that name has a credential.')),
  unpublished: names.check(z.describe('Read, but the road was not told.')),
  unwritten: names.check(z.describe('Read, but not stored.')),
  unused_accounts: names.check(
    z.describe('Of PLATFORM_ACCOUNTS, and no call can use them: the catalog names no such key.'),
  ),
});

/** The operations on sweeps. */
export const capacitySweepOperations: readonly Operation[] = [
  writing({
    method: 'POST',
    path: '/capacity/sweep',
    permission: 'operator',
    scope: 'gateway',
    summary: 'Read what is left on our accounts now; the same runs every hour',
    body: sweepBody,
    status: 200,
    answer: runAnswer,
    async handle(call, { only }) {
      const run = await call.services.sweepByHand(only, call.facts.background);
      return run.ok ? ok(runWire(run.value)) : run;
    },
  }),
  answering({
    method: 'GET',
    path: '/capacity/snapshots',
    permission: 'operator',
    scope: 'gateway',
    summary: 'List readings of our accounts beside what was spent, newest first',
    query: { provider: { description: 'Only the readings of this provider.' }, ...pageQuery },
    answer: pageOf(listedAnswer),
    handle: list,
  }),
];

const nothing = {
  unknown: [],
  not_found: [],
  unpublished: [],
  unwritten: [],
  unused_accounts: [],
};

const runWire = (run: SweepRun): z.output<typeof runAnswer> =>
  run.outcome === 'skipped'
    ? { outcome: 'skipped', data: [], ...nothing }
    : {
        outcome: 'done',
        data: run.snapshots.map(snapshotWire),
        unknown: [...run.unknown],
        not_found: [...run.notFound],
        unpublished: [...run.unpublished],
        unwritten: [...run.unwritten],
        unused_accounts: [...run.unusedAccounts],
      };

async function list(call: Call) {
  const { query, services } = call.facts;
  const provider = query.get('provider') ?? null;
  if (provider !== null && !providerName.test(provider))
    return err(invalid({ path: 'provider', message: 'is no name of a provider' }));
  const [page, policies] = await Promise.all([
    paged(call, {
      names: 'snp',
      read: (asked) => services.capacityRecords.snapshots(provider, asked),
      nameOf: ({ snapshot }) => snapshot.id,
      toWire: (row) => row,
    }),
    services.capacityRecords.policies(),
  ]);
  if (!page.ok) return page;
  if (!policies.ok) return policies;
  const worth = new Map(policies.value.map((policy) => [policy.provider, policy]));
  const data = page.value.data.map(({ snapshot, spentMicros }) => ({
    ...snapshotWire(snapshot),
    remaining_micros: microsOf(snapshot, worth.get(snapshot.provider)),
    spent_micros: spentMicros,
  }));
  return ok({ ...page.value, data });
}

/** A vendor may report more than an integer holds; then there is no figure. */
function microsOf(
  { remaining }: SnapshotRecord,
  policy: CapacityPolicy | undefined,
): number | null {
  const unitMicros = policy?.usdPerUnitMicros ?? null;
  if (remaining === null || unitMicros === null) return null;
  const micros = Math.round(remaining * unitMicros);
  return Number.isSafeInteger(micros) ? micros : null;
}
