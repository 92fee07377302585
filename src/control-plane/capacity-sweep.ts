/**
 * Sweeps and snapshots: what is left on the operator's accounts, read now or read before.
 * Promises: operator only; a reading is a vendor's number in the vendor's unit, dollars stand beside it only where the policy says what a
 * unit is worth. Must never: show a text of a vendor beside the note that was let through. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { isId } from '../base/ids';
import { sweepOnlyMax } from '../base/limits-capacity';
import { err, ok, type Result } from '../base/result';
import type { CapacityPolicy } from '../domain/capacity/policy';
import type { Refusal } from '../domain/refusal';
import type { SnapshotRecord, SweepRun } from '../ports/capacity-records';
import type { Page } from '../ports/store';
import { invalid } from './body';
import { snapshotAnswer, snapshotWire } from './capacity-snapshot';
import { answering, type Call, type Operation, writing } from './operation';
import { decodedCursor, limitAsked, pageOf, pageQuery } from './pagination';

/** A provider's slug, or an aggregator as `overflow:<name>`. */
const providerName = /^(?:overflow:)?[a-z0-9][a-z0-9_-]{0,127}$/;
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
  const page = pageAsked(query);
  if (!page.ok) return page;
  const { after, limit } = page.value;
  const [rows, policies] = await Promise.all([
    services.capacityRecords.snapshots(provider, { after, limit: limit + 1 }),
    services.capacityRecords.policies(),
  ]);
  if (!rows.ok) return rows;
  if (!policies.ok) return policies;
  const worth = new Map(policies.value.map((policy) => [policy.provider, policy]));
  const shown = rows.value.slice(0, limit);
  const last = rows.value.length > limit ? shown.at(-1) : undefined;
  return ok({
    data: shown.map(({ snapshot, spentMicros }) => ({
      ...snapshotWire(snapshot),
      remaining_micros: microsOf(snapshot, worth.get(snapshot.provider)),
      spent_micros: spentMicros,
    })),
    next_cursor: last === undefined ? null : btoa(last.snapshot.id),
  });
}

function pageAsked(query: ReadonlyMap<string, string>): Result<Page, Refusal> {
  const limit = limitAsked(query);
  if (!limit.ok) return limit;
  const cursor = query.get('cursor');
  if (cursor === undefined) return ok({ after: null, limit: limit.value });
  const after = decodedCursor(cursor);
  if (after !== null && isId('snp', after)) return ok({ after, limit: limit.value });
  return err(invalid({ path: 'cursor', message: 'is not a cursor of this list' }));
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
