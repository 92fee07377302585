/**
 * Cases of the kind `idempotency`: whose key it is, what it stands for, and when it is free again.
 * Called by ../cases.ts.
 */
import { isReplay, type MoneyTenant, newCase } from '../../support/money-world.ts';
import { answers, refuses, silent } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { until } from '../../support/until.ts';
import { type Check, limits, placed, refusedEach, type Stand, says } from './stand.ts';

/** The same key for another request is no replay. */
const anotherRequest: Check = async (stand) => {
  const tenant = await stand.tenant();
  const key = 'K';
  says(await tenant.call('lab.fixed', { key, body: '{"n":1}' }), 200, null, 'the first');
  const mismatch = [422, 'idempotency.mismatch'] as const;
  const others = [
    ['another body', { key, body: '{"n":2}' }, ...mismatch],
    ['another query', { key, body: '{"n":1}', query: '?x=1' }, ...mismatch],
    ['a bare ?', { key, body: '{"n":1}', query: '?' }, ...mismatch],
    ['the same JSON, spaced', { key, body: '{ "n": 1 }' }, ...mismatch],
    ['another surface', { key, body: '{"n":1}', surface: '/catalog/call/' }, ...mismatch],
  ] as const;
  await refusedEach(stand, tenant, 'lab.fixed', others);
  await refusedEach(stand, tenant, 'lab.usage', [
    ['another path', { key, body: '{"n":1}' }, ...mismatch],
  ]);
  await refusedEach(stand, tenant, 'lab.look', [
    ['another method', { key, method: 'GET' }, ...mismatch],
  ]);
  const again = await tenant.call('lab.fixed', { key, body: '{"n":1}' });
  same([again.status, isReplay(again)], [200, true], 'the same request');
  same((await tenant.ended()).settled, 60, 'settled');
};

/** What the vendor got as `Idempotency-Key` for a case. */
async function vendorKeyOf(stand: Stand, caseId: string): Promise<string | null> {
  return (await stand.arrived(caseId)).vendorKey;
}

/** One key of many owners: the vendor sees as many keys, and none is the caller's. */
const keysOfOthers: Check = async (stand) => {
  const key = 'shared-key';
  const [a, b] = [await stand.tenant({ name: 'A' }), await stand.tenant({ name: 'B' })];
  const agent = await a.anotherKey('new principal');
  const calls: readonly (readonly [MoneyTenant, string | undefined])[] = [
    [a, undefined],
    [b, undefined],
    [a, agent],
  ];
  const seen = new Set<string | null>();
  for (const [tenant, token] of calls) {
    const caseId = newCase();
    const options = { caseId, key, ...(token === undefined ? {} : { token }) };
    const answer = await tenant.call('lab.fixed', options);
    same([answer.status, isReplay(answer)], [200, false], 'a call');
    seen.add(await vendorKeyOf(stand, caseId));
  }
  same([seen.size, seen.has(key), seen.has(null)], [3, false, false], 'keys at the vendor');
  const colleague = await a.anotherKey('same');
  const again = await a.call('lab.fixed', { key, token: colleague });
  same([again.status, isReplay(again)], [200, true], 'another access key of the same principal');
  await ownKeys(stand);
};

/** With a credential of the caller's own, its key goes to the vendor as it is. */
async function ownKeys(stand: Stand): Promise<void> {
  const { port } = stand.world.origin;
  const bySecret = await stand.tenant();
  await bySecret.scenario.secret('lab', 'own-lab-key');
  const byUpstream = await stand.tenant();
  const secret = await byUpstream.scenario.secret('mine', 'own-lab-key');
  const endpoints = [{ host: '127.0.0.1', port }];
  const bindings = [{ location: 'header', name: 'x-lab-key', secret }];
  const base = { scheme: 'http', endpoints, base_path: '/v1' };
  await byUpstream.scenario.upstream({ name: 'own', alias: 'own.test', bindings, ...base });
  for (const [tenant, target] of [
    [bySecret, 'lab.fixed'],
    [byUpstream, 'lab.fixed'],
    [byUpstream, 'own/fixed'],
  ] as const) {
    const caseId = newCase();
    says(await tenant.call(target, { caseId, key: 'my own "key"' }), 200, null, target);
    same(await vendorKeyOf(stand, caseId), 'my own "key"', `key at the vendor by ${target}`);
    same(await placed(tenant), 0, `holds of ${target}`);
  }
}

/** A failure frees its key; what may have been executed waits for an operator. */
const afterFailures: Check = async (stand) => {
  const tenant = await stand.tenant();
  for (const status of ['400 Bad Request', '429 Too Many Requests', '503 Busy']) {
    const [caseId, key] = [newCase(), `after-${status.slice(0, 3)}`];
    stand.plan(caseId, refuses(status));
    const first = await tenant.call('lab.fixed', { caseId, key });
    says(first, Number(status.slice(0, 3)), null, status);
    stand.plan(caseId, answers());
    const retry = await tenant.call('lab.fixed', { caseId, key });
    same([retry.status, isReplay(retry)], [200, false], `the retry after ${status}`);
    const replay = await tenant.call('lab.fixed', { caseId, key });
    same([replay.status, isReplay(replay)], [200, true], `the replay after ${status}`);
    same(stand.arrivals(caseId), 2, 'requests at the vendor');
  }
  await freedBeforeTheSend(tenant);
  await afterTimeout(stand, tenant);
  await afterKill(stand, tenant);
};

/** The owner says that nothing was sent: the address of this vendor cannot be looked up. */
async function freedBeforeTheSend(tenant: MoneyTenant): Promise<void> {
  const key = 'never-sent';
  for (let i = 0; i < 2; i += 1) {
    const answer = await tenant.call('lost.call', { key });
    holds(answer.status >= 500, `status ${answer.status}`);
    await tenant.ended();
    const kept = (await tenant.records()).filter((record) => record.key === key);
    same(kept, [], 'records of a call that was never sent');
  }
}

/** Unknown until somebody decides; the vendor is never asked again by itself. */
async function decided(
  stand: Stand,
  { tenant, caseId, key }: { tenant: MoneyTenant; caseId: string; key: string },
): Promise<void> {
  const again = () => tenant.call('lab.fixed', { caseId, key });
  const unknown = await again();
  says(unknown, 409, 'idempotency.outcome_unknown', 'a retry');
  const { record_id } = JSON.parse(unknown.body.toString());
  const [record] = (await tenant.records()).filter(({ state }) => state === 'unknown');
  same(record?.id, record_id, 'the record that is listed');
  says(await again(), 409, 'idempotency.outcome_unknown', 'one more');
  same(stand.arrivals(caseId), 1, 'requests at the vendor');
  await tenant.api('POST', `/idempotency/${record_id}/resolve`, { resolution: 'free' });
  stand.plan(caseId, answers());
  const free = await again();
  same([free.status, isReplay(free), stand.arrivals(caseId)], [200, false, 2], 'once it is free');
}

async function afterTimeout(stand: Stand, tenant: MoneyTenant): Promise<void> {
  const [caseId, key] = [newCase(), 'after-timeout'];
  stand.plan(caseId, silent);
  const first = await tenant.call('lab.fixed', { caseId, key });
  says(first, 504, 'timeout.request', 'no answer in time');
  await tenant.ended();
  await decided(stand, { tenant, caseId, key });
}

/** kill -9 while the vendor works: the claim ends with its lease. */
async function afterKill(stand: Stand, tenant: MoneyTenant): Promise<void> {
  const [caseId, key] = [newCase(), 'after-kill'];
  stand.plan(caseId, silent);
  const client = await tenant.open('lab.fixed', { caseId, key });
  await stand.arrived(caseId);
  const { isolates } = stand.world;
  await isolates.kill();
  client.close();
  await stand.world.restart();
  const early = await tenant.call('lab.fixed', { caseId, key });
  holds(early.status === 409, `a retry right after the restart: ${early.status}`);
  await until(
    'the end of the lease',
    async () => (await tenant.api('GET', '/ledger')).open_holds === 0 || undefined,
    10 * limits.ledgerLeaseMs,
  );
  const listed = (await tenant.reviews()).filter(({ micros }) => micros === 60);
  same(listed.length, 1, 'holds listed for review');
  await decided(stand, { tenant, caseId, key });
  await tenant.audit();
}

/** Checks by case. */
export const idempotencyChecks: Readonly<Record<string, Check>> = {
  C066: anotherRequest,
  C068: keysOfOthers,
  C069: afterFailures,
};
