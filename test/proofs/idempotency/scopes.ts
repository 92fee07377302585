/** Whose key it is. Called by test/proofs/idempotency.ts. */

import { newCase } from '../../support/money-world.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { holds, same } from '../../support/proof.ts';
import { fresh, keyed, type Named, sameAnswer, spent } from './stand.ts';

export const scopes: readonly Named[] = [
  [
    'C068: the same key of another tenant is executed; the vendor sees two keys, neither the caller’s',
    async (world) => {
      const [one, two] = [await world.tenant(), await world.tenant()];
      const call = keyed();
      fresh(await one.call('lab.fixed', call));
      fresh(await two.call('lab.fixed', call));
      const seen = world.origin.calls.filter(({ caseId }) => caseId === call.caseId);
      const keys = seen.map(({ vendorKey }) => vendorKey);
      same([keys.length, new Set(keys).size], [2, 2], 'requests, and different vendor keys');
      holds(!keys.includes(call.key) && !keys.includes(null), `the vendor saw ${keys}`);
      for (const tenant of [one, two])
        same((await tenant.ended()).settled, callMicros, 'each tenant pays once');
    },
  ],
  [
    'another access key of the same principal gets the first answer',
    async (world) => {
      const tenant = await world.tenant();
      const token = await tenant.anotherKey('same');
      const call = keyed();
      const first = fresh(await tenant.call('lab.fixed', call));
      sameAnswer(first, await tenant.call('lab.fixed', { ...call, token, isolate: 1 }));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'the same key of another principal of the tenant is executed; the vendor sees another key',
    async (world) => {
      const tenant = await world.tenant();
      const token = await tenant.anotherKey('new principal');
      const call = keyed();
      fresh(await tenant.call('lab.fixed', call));
      fresh(await tenant.call('lab.fixed', { ...call, token }));
      const seen = world.origin.calls.filter(({ caseId }) => caseId === call.caseId);
      same(new Set(seen.map(({ vendorKey }) => vendorKey)).size, 2, 'vendor keys');
      await spent(world, tenant, { caseId: call.caseId, hits: 2, micros: 2 * callMicros });
    },
  ],
  [
    'another value of the primary tag has keys of its own; another value of a second tag has not',
    async (world) => {
      const budget = { window: 'day', spend_max_micros: null, calls_max: null };
      const tenant = await world.tenant({
        limits: {
          budgets: [
            { dimension: 'team', ...budget },
            { dimension: 'env', ...budget },
          ],
        },
      });
      const call = keyed();
      const first = fresh(await tenant.call('lab.fixed', { ...call, meta: 'team=a,env=x' }));
      sameAnswer(first, await tenant.call('lab.fixed', { ...call, meta: 'team=a,env=y' }));
      fresh(await tenant.call('lab.fixed', { ...call, meta: 'team=b,env=x' }));
      fresh(await tenant.call('lab.fixed', { ...call, meta: 'env=x' }));
      await spent(world, tenant, { caseId: call.caseId, hits: 3, micros: 3 * callMicros });
    },
  ],
  [
    'a key of the caller’s own vendor account is relayed verbatim and never recorded: executed each time, free here',
    async (world) => {
      const tenant = await world.tenant();
      await tenant.scenario.secret('lab', 'own-vendor-key-0123456789');
      const caseId = newCase();
      const key = `"own ${caseId}"`;
      for (let i = 0; i < 2; i += 1) fresh(await tenant.call('lab.fixed', { caseId, key }), null);
      const seen = world.origin.calls.filter((call) => call.caseId === caseId);
      same(
        seen.map(({ vendorKey }) => vendorKey),
        [key, key],
        'the keys that the vendor saw',
      );
      same((await tenant.records()).length, 0, 'records');
      await spent(world, tenant, { caseId, hits: 2, micros: 0 });
    },
  ],
  [
    'a retry that is executed again has the same vendor key as the first try',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const { origin } = world;
      origin.planFor(call.caseId, ({ write }) =>
        write('HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n'),
      );
      for (let i = 0; i < 2; i += 1)
        same((await tenant.call('lab.fixed', call)).status, 503, 'the vendor’s no');
      const seen = origin.calls.filter(({ caseId }) => caseId === call.caseId);
      same(new Set(seen.map(({ vendorKey }) => vendorKey)).size, 1, 'vendor keys');
    },
  ],
];
