/**
 * Idempotency records: which caller's keys are in use, and what to do with one whose outcome nobody
 * saw. Promises: nothing is sent again by itself; a resolved or freed record is decided for good;
 * only the operator may charge another amount than the hold. Must never: show a recorded answer.
 * Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { ledgerAmountMicrosMax } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import type { RecordView, Resolution } from '../domain/ledger/views';
import type { Refusal } from '../domain/refusal';
import { invalid } from './body';
import { time, timeText, whole } from './fields';
import { books } from './ledger-access';
import { ledgerId, listedFromLedger } from './ledger-pages';
import { fromLedger } from './ledger-refusals';
import { answering, type Call, type Operation, writing } from './operation';
import { pageOf, pageQuery } from './pagination';

/** A record without its answer. */
const recordAnswer = z.object({
  id: z.string(),
  hold_id: z.string(),
  scope: z.string().check(z.describe('Principal, and the primary tag where there is one.')),
  key: z.string(),
  state: z.enum(['claimed', 'recorded', 'unknown', 'resolved']),
  claimed_at: time,
  expires_at: time,
  status: z.nullable(z.int()),
  cost_micros: z.nullable(z.int()),
  body_bytes: z.nullable(z.int()),
});

/** Body of a resolution. */
const resolveBody = z.strictObject({
  resolution: z
    .enum(['settle', 'free'])
    .check(z.describe('settle: it was executed, the key stays used. free: it was not.')),
  charge_micros: z
    ._default(z.nullable(whole(0, ledgerAmountMicrosMax)), null)
    .check(z.describe('For settle; null is the whole hold. Another amount: operator only.')),
});

const resolvedAnswer = z.object({
  id: z.string(),
  resolution: z.enum(['settle', 'free']),
  charged_micros: z.int(),
});

/** The operations on idempotency records. */
export const idempotencyOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/idempotency',
    permission: 'call:read',
    summary: 'List idempotency records',
    query: pageQuery,
    answer: pageOf(recordAnswer),
    handle: (call) =>
      listedFromLedger(call, {
        name: 'record',
        read: (ledger, after) => ledger.records(after),
        idOf: (record) => record.id,
        toWire: recordWire,
      }),
  }),
  writing({
    method: 'POST',
    path: '/idempotency/{id}/resolve',
    id: ledgerId,
    permission: 'config:write',
    summary: 'Decide a record whose outcome is unknown: charge it, or free its key',
    body: resolveBody,
    status: 200,
    answer: resolvedAnswer,
    handle: resolve,
  }),
];

async function resolve(call: Call, body: z.output<typeof resolveBody>) {
  const resolution = resolutionOf(call, body);
  if (!resolution.ok) return resolution;
  const found = await books(call);
  if (!found.ok) return found;
  const { id } = call.facts;
  const answer = await fromLedger(found.value.ledger.resolveRecord(id, resolution.value));
  if (!answer.ok) return answer;
  switch (answer.value.outcome) {
    case 'resolved':
      return ok({ id, resolution: body.resolution, charged_micros: answer.value.chargedMicros });
    case 'unknown_record':
      return err({ code: 'resource.not_found' } as const);
    case 'not_unknown':
      return err({ code: 'idempotency.not_unknown', state: answer.value.state } as const);
    case 'invalid':
      return err(invalid({ path: 'charge_micros', message: 'is not usable' }));
  }
}

/**
 * The attack: a tenant settles its own unknown call at nothing, so that the vendor's charge, when
 * it comes late, is not booked any more.
 */
function resolutionOf(
  call: Call,
  { resolution, charge_micros: chargeMicros }: z.output<typeof resolveBody>,
): Result<Resolution, Refusal> {
  if (resolution === 'settle') {
    if (chargeMicros !== null && call.facts.actor.kind !== 'operator') {
      return err({ code: 'authz.forbidden', needs: 'operator' });
    }
    return ok({ kind: 'settle', chargeMicros });
  }
  if (chargeMicros === null) return ok({ kind: 'free' });
  return err(invalid({ path: 'charge_micros', message: 'is for settle only' }));
}

const recordWire = (record: RecordView): z.output<typeof recordAnswer> => ({
  id: record.id,
  hold_id: record.holdId,
  scope: record.scope,
  key: record.key,
  state: record.state,
  claimed_at: timeText(record.claimedAtMs),
  expires_at: timeText(record.expiresAtMs),
  status: record.status,
  cost_micros: record.costMicros,
  body_bytes: record.bodyBytes,
});
