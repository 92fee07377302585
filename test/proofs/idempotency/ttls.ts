/**
 * What takes a day, two minutes or 256 MiB, in a gateway whose limits are small; that the real
 * values are those of decisions section 5 is a row of its own. Called by test/proofs/idempotency.ts.
 */
import { firstByteTimeoutDefaultMs } from '../../../src/base/limits.ts';
import {
  recordAnswerBytesMax,
  recordInlineBodyBytesMax,
  recordTenantBytesMax,
  recordTtlMs,
} from '../../../src/base/limits-money.ts';
import { type CallOptions, type MoneyTenant, refusalOf } from '../../support/money-world.ts';
import type { Limits } from '../../support/money-world-bundle.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { answers, silent } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import type { RawAnswer } from '../../support/raw-client.ts';
import { fresh, keyed, type Named, refused, sameAnswer, spent } from './stand.ts';

const lifeMs = 4_000;
/** A claim counts as much as the ledger keeps itself; behind it there is room for two small answers. */
const quotaBytes = recordInlineBodyBytesMax + 2_000;
const firstByteMs = 1_200;

/** The limits of that gateway. */
export const smallRecords: Limits = {
  recordTtlMs: lifeMs,
  recordTenantBytesMax: quotaBytes,
  firstByteTimeoutDefaultMs: firstByteMs,
};

/** Waits for a time that is part of a case. */
async function pastTheLife(sinceMs: number): Promise<void> {
  const left = sinceMs + lifeMs + 100 - performance.now();
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
}

/** What has expired counts until an alarm has swept it; that is an alarm away. */
async function whenSwept(tenant: MoneyTenant, call: CallOptions): Promise<RawAnswer> {
  const deadline = performance.now() + sweptWithinMs;
  for (;;) {
    const answer = await tenant.call('lab.fixed', call);
    if (refusalOf(answer) !== 'idempotency.quota') return answer;
    holds(performance.now() < deadline, `still no room ${sweptWithinMs} ms after the expiry`);
  }
}

/** Alarm, jitter and a busy machine, milliseconds. */
const sweptWithinMs = 5_000;

export const ttls: readonly Named[] = [
  [
    'the real limits: 24 h a record, 8 MiB an answer, 256 MiB a tenant, 120 s for the first byte',
    async () => {
      same(
        [recordTtlMs, recordAnswerBytesMax, recordTenantBytesMax, firstByteTimeoutDefaultMs],
        [86_400_000, 8 * 1_048_576, 256 * 1_048_576, 120_000],
        'limits',
      );
    },
  ],
  [
    'IETF 2.3, payment API agrees: a key is remembered for its whole life, and is a new one after it',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const first = fresh(await tenant.call('lab.fixed', call));
      const sinceMs = performance.now();
      sameAnswer(first, await tenant.call('lab.fixed', call));
      await pastTheLife(sinceMs);
      const second = fresh(await tenant.call('lab.fixed', { ...call, isolate: 1 }));
      sameAnswer(second, await tenant.call('lab.fixed', call));
      await spent(world, tenant, { caseId: call.caseId, hits: 2, micros: 2 * callMicros });
    },
  ],
  [
    'a tenant that keeps too much: a new key is refused before the send (429), its old ones are replayed, calls without a key go on',
    async (world) => {
      const tenant = await world.tenant();
      const kept = [];
      let full = keyed();
      for (;;) {
        const call = keyed();
        const answer = await tenant.call('lab.fixed', call);
        if (refusalOf(answer) !== null) {
          refused(answer, 429, 'idempotency.quota', { bytes_max: quotaBytes });
          full = call;
          break;
        }
        kept.push([call, fresh(answer)] as const);
        holds(kept.length < 10, 'ten records and no end');
      }
      holds(kept.length > 0, 'not one record fits');
      same(world.origin.arrivals(full.caseId), 0, 'requests beyond the quota at the vendor');
      const last = kept.at(-1);
      if (last !== undefined) sameAnswer(last[1], await tenant.call('lab.fixed', last[0]));
      fresh(await tenant.call('lab.fixed'));
      await pastTheLife(performance.now());
      fresh(await whenSwept(tenant, full));
      same((await tenant.ended()).settled, (kept.length + 2) * callMicros, 'settled');
      return `${kept.length} records, then 429`;
    },
  ],
  [
    'C069: a vendor that does not answer in time: 504, nothing charged, the outcome is unknown until it is resolved',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      world.origin.planFor(call.caseId, silent);
      refused(await tenant.call('lab.fixed', call), 504, 'timeout.request');
      await tenant.ended();
      const again = await tenant.call('lab.fixed', call);
      const problem = refused(again, 409, 'idempotency.outcome_unknown', { resolved: false });
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: 0 });
      await tenant.api('POST', `/idempotency/${problem.record_id}/resolve`, {
        resolution: 'free',
      });
      world.origin.planFor(call.caseId, answers());
      fresh(await tenant.call('lab.fixed', call));
      await spent(world, tenant, { caseId: call.caseId, hits: 2, micros: callMicros });
    },
  ],
];
