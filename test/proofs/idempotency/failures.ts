/** A first try that failed: freed, or unknown. Called by test/proofs/idempotency.ts. */
import { ledgerFlushMs } from '../../../src/base/limits-money.ts';
import { type CallOptions, type MoneyTenant, refusalOf } from '../../support/money-world.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { answers, refuses, resets } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import type { RawAnswer } from '../../support/raw-client.ts';
import { fresh, keyed, type Named, refused, sameAnswer, spent } from './stand.ts';

/** The vendor said no: it executed nothing that it bills. */
const freeing = ['400 Bad Request', '402 Payment Required', '409 Conflict', '422 Unprocessable'];
const freeingToo = ['429 Too Many Requests', '500 Internal Server Error', '503 Unavailable'];

const freed: readonly Named[] = [...freeing, ...freeingToo, '302 Found'].map((status) => [
  `payment API: it stores failures; here they free the key: ${status} costs nothing, the retry is executed (C069)`,
  async (world) => {
    const tenant = await world.tenant();
    const call = keyed();
    world.origin.planFor(call.caseId, refuses(status));
    for (let i = 0; i < 2; i += 1) {
      const failed = await tenant.call('lab.fixed', call);
      same(failed.status, Number(status.slice(0, 3)), 'the vendor’s no');
    }
    world.origin.planFor(call.caseId, answers());
    const second = fresh(await untilFree(tenant, { ...call, isolate: 1 }));
    sameAnswer(second, await tenant.call('lab.fixed', call));
    await spent(world, tenant, { caseId: call.caseId, hits: 3, micros: callMicros });
  },
]);

/**
 * Through another isolate a freed key may still say `in_progress` for as long as an isolate may wait
 * with what ends a call (decisions section 3); nothing else, and not longer.
 */
async function untilFree(tenant: MoneyTenant, call: CallOptions): Promise<RawAnswer> {
  const deadline = performance.now() + ledgerFlushMs + slackMs;
  for (;;) {
    const answer = await tenant.call('lab.fixed', call);
    if (refusalOf(answer) !== 'idempotency.in_progress') return answer;
    holds(performance.now() < deadline, `the key is not free after ${ledgerFlushMs + slackMs} ms`);
  }
}

/** What a busy machine adds to it, milliseconds. */
const slackMs = 2_000;

const notBegun: readonly Named[] = [
  [
    'payment API agrees: a call that was refused before it began has used no key (402, then a top-up, then 200)',
    async (world) => {
      const tenant = await world.tenant({ topUpMicros: 1 });
      const call = keyed();
      refused(await tenant.call('lab.fixed', call), 402, 'insufficient_balance');
      same((await tenant.records()).length, 0, 'records');
      await tenant.topUp(1_000);
      fresh(await tenant.call('lab.fixed', call));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'a malformed X-Weir-Meta is refused before the key is used',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      refused(await tenant.call('lab.fixed', { ...call, meta: 'no-pair' }), 422, 'meta.invalid');
      fresh(await tenant.call('lab.fixed', call));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
];

/** Sent, and nobody saw the outcome; `micros`: what the calls of it cost together at the end. */
async function unknownAfterReset(
  world: Parameters<Named[1]>[0],
): Promise<{ tenant: Awaited<ReturnType<typeof world.tenant>>; call: ReturnType<typeof keyed> }> {
  const tenant = await world.tenant();
  const call = keyed();
  world.origin.planFor(call.caseId, resets());
  refused(await tenant.call('lab.fixed', call), 502, 'downstream.error');
  await tenant.ended();
  const [record] = await tenant.records();
  same([record?.key, record?.state], [call.key, 'unknown'], 'the record');
  refused(
    await tenant.call('lab.fixed', { ...call, isolate: 2 }),
    409,
    'idempotency.outcome_unknown',
    {
      record_id: record?.id,
      resolved: false,
    },
  );
  return { tenant, call };
}

const unknown: readonly Named[] = [
  [
    'C069: a connection that broke after the send leaves the outcome unknown: 409, listed, never sent again by itself',
    async (world) => {
      const { tenant, call } = await unknownAfterReset(world);
      const other = { ...call, body: '{"n":2}' };
      refused(await tenant.call('lab.fixed', other), 422, 'idempotency.mismatch');
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: 0 });
    },
  ],
  [
    'an operator resolves it as not executed: the key is free',
    async (world) => {
      const { tenant, call } = await unknownAfterReset(world);
      const [record] = await tenant.records();
      await tenant.api('POST', `/idempotency/${record?.id}/resolve`, { resolution: 'free' });
      world.origin.planFor(call.caseId, answers());
      fresh(await tenant.call('lab.fixed', call));
      await spent(world, tenant, { caseId: call.caseId, hits: 2, micros: callMicros });
    },
  ],
  [
    'an operator resolves it as executed: it is charged, the key stays used (409, resolved)',
    async (world) => {
      const { tenant, call } = await unknownAfterReset(world);
      const [record] = await tenant.records();
      await tenant.api('POST', `/idempotency/${record?.id}/resolve`, { resolution: 'settle' });
      refused(await tenant.call('lab.fixed', call), 409, 'idempotency.outcome_unknown', {
        resolved: true,
      });
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'a client that hangs up does not make its key free: the call is charged and never executed twice',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const { origin } = world;
      origin.planFor(call.caseId, () => undefined);
      const client = await tenant.open('lab.fixed', call);
      await origin.until(() => origin.arrivals(call.caseId) === 1);
      client.reset();
      refused(await tenant.call('lab.fixed', call), 409, 'idempotency.in_progress');
      origin.calls
        .filter(({ caseId }) => caseId === call.caseId)
        .forEach((one) => void answers()(one));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
      const again = await tenant.call('lab.fixed', call);
      same(origin.arrivals(call.caseId), 1, 'requests at the vendor');
      return again.status === 200 ? 'recorded, replayed' : 'unknown, 409';
    },
  ],
];

export const failures: readonly Named[] = [...freed, ...notBegun, ...unknown];
