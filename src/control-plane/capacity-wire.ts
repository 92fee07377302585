/**
 * Capacity on the wire: what the operator's views show of a provider, as schemas and their makers.
 * Promises: times are RFC 3339; a balance is the vendor's number in the vendor's unit, dollars are never invented. Called by `capacity.ts`.
 */
import * as z from 'zod/mini';
import type { Cause, Overall } from '../domain/capacity/explain';
import type { CapacityState, ProbeState } from '../domain/capacity/operations';
import type { CapacityPolicy } from '../domain/capacity/policy';
import type { SnapshotRecord } from '../ports/capacity-records';
import { snapshotAnswer, snapshotWire } from './capacity-snapshot';
import { time, timeOrNull, timeText } from './fields';

const probeAnswer = z.nullable(
  z.object({ call_id: z.string(), granted_at: time, lease_until: time }),
);
const kind = z.enum(['balance', 'quota']);

/** All that is known of one provider's accounts. */
export const capacityAnswer = z.object({
  provider: z.string(),
  accounts: z.array(z.string()),
  state: z
    .enum(['open', 'struck', 'locked', 'exhausted', 'stale', 'unknown'])
    .check(z.describe('unknown: its object does not answer, so calls go out unjudged.')),
  locks: z.array(
    z.object({
      key: z.string(),
      id: z.string(),
      kind,
      first_strike_at: time,
      since: time,
      until: time,
      until_stated: z.boolean().check(z.describe('Whether the vendor named the end.')),
      probe: probeAnswer,
      next_probe_at: time,
    }),
  ),
  strikes: z.array(z.object({ key: z.string(), kind, at: time })),
  reading: z.nullable(
    z.object({
      state: z.enum(['ok', 'exhausted', 'stale']),
      observed_at: time,
      resets_at: z.nullable(time),
      lifted: z.boolean(),
      stale: z.boolean(),
      probe: probeAnswer,
    }),
  ),
  marks: z.array(z.object({ key: z.string(), reason: z.string(), until: time })),
  rates: z.array(z.object({ bucket: z.string(), queued_ms: z.number(), in_window: z.int() })),
  snapshot: z.nullable(snapshotAnswer),
  policy: z.nullable(
    z.object({
      capacity_type: z.enum(['prepaid', 'quota', 'postpaid', 'unlimited', 'unknown']),
      funding_mode: z.enum(['manual', 'auto_topup', 'subscription', 'unknown']),
      source: z.enum(['api', 'dashboard', 'unknown']),
      usd_per_unit_micros: z.nullable(z.int()),
      low_remaining: z.nullable(z.number()),
      overflow_allowed: z.boolean(),
    }),
  ),
});

type CapacityWire = z.output<typeof capacityAnswer>;

/** What a provider's row is made of. */
export interface ProviderFacts {
  readonly provider: string;
  readonly accounts: readonly string[];
  readonly overall: Overall | 'unknown';
  /** null: its object does not answer. */
  readonly state: CapacityState | null;
  readonly snapshot: SnapshotRecord | null;
  readonly policy: CapacityPolicy | null;
}

/** A provider's row. */
export const capacityWire = (facts: ProviderFacts): CapacityWire => ({
  provider: facts.provider,
  accounts: [...facts.accounts],
  state: facts.overall,
  ...stateWire(facts.state),
  snapshot: facts.snapshot === null ? null : snapshotWire(facts.snapshot),
  policy: facts.policy === null ? null : policyWire(facts.policy),
});

function stateWire(
  state: CapacityState | null,
): Pick<CapacityWire, 'locks' | 'strikes' | 'reading' | 'marks' | 'rates'> {
  const { locks = [], strikes = [], reading = null, marks = [], buckets = [] } = state ?? {};
  return {
    locks: locks.map((lock) => ({
      key: lock.key,
      id: lock.id,
      kind: lock.kind,
      first_strike_at: timeText(lock.firstStrikeAtMs),
      since: timeText(lock.sinceMs),
      until: timeText(lock.untilMs),
      until_stated: lock.isStated,
      probe: probeWire(lock.probe),
      next_probe_at: timeText(lock.nextProbeAtMs),
    })),
    strikes: strikes.map((one) => ({ key: one.key, kind: one.kind, at: timeText(one.atMs) })),
    reading: reading === null ? null : readingWire(reading),
    marks: marks.map(({ key, reason, untilMs }) => ({ key, reason, until: timeText(untilMs) })),
    rates: buckets.map(({ bucket, queuedMs, inWindow }) => ({
      bucket,
      queued_ms: queuedMs,
      in_window: inWindow,
    })),
  };
}

const readingWire = (reading: NonNullable<CapacityState['reading']>) => ({
  state: reading.state,
  observed_at: timeText(reading.observedAtMs),
  resets_at: timeOrNull(reading.resetsAtMs),
  lifted: reading.isLifted,
  stale: reading.isStale,
  probe: probeWire(reading.probe),
});

const probeWire = (probe: ProbeState | null): z.output<typeof probeAnswer> =>
  probe === null
    ? null
    : {
        call_id: probe.callId,
        granted_at: timeText(probe.grantedAtMs),
        lease_until: timeText(probe.leaseUntilMs),
      };

const policyWire = (policy: CapacityPolicy) => ({
  capacity_type: policy.capacityType,
  funding_mode: policy.fundingMode,
  source: policy.source,
  usd_per_unit_micros: policy.usdPerUnitMicros,
  low_remaining: policy.lowRemaining,
  overflow_allowed: policy.overflowAllowed,
});

/** Why a call is refused now, or that it is not. */
export const explainAnswer = z.object({
  provider: z.string(),
  endpoint: z.nullable(z.string()),
  accounts: z.array(z.string()).check(z.describe('The accounts that were asked about.')),
  refused: z.boolean(),
  open_accounts: z.array(z.string()),
  summary: z.string(),
  cause: z.nullable(
    z.object({
      kind: z.enum(['balance', 'quota', 'reading', 'mark']),
      account: z.nullable(z.string()),
      key: z.string().check(z.describe('What a reset names.')),
      lock_id: z.nullable(z.string()),
      first_strike_at: z.nullable(time),
      since: z.nullable(time),
      until: z.nullable(time),
      until_stated: z.boolean(),
      probe: probeAnswer,
      next_probe_at: z.nullable(time),
    }),
  ),
});

/** A cause as {@link explainAnswer} has it. */
export const causeWire = (cause: Cause): NonNullable<z.output<typeof explainAnswer>['cause']> => ({
  kind: cause.kind,
  account: cause.account,
  key: cause.key,
  lock_id: cause.lockId,
  first_strike_at: timeOrNull(cause.firstStrikeAtMs),
  since: timeOrNull(cause.sinceMs),
  until: timeOrNull(cause.untilMs),
  until_stated: cause.isStated,
  probe: probeWire(cause.probe),
  next_probe_at: timeOrNull(cause.nextProbeAtMs),
});
