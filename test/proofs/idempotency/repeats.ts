/** The same key again: the same request, or another one. Called by test/proofs/idempotency.ts. */
import { refusalOf } from '../../support/money-world.ts';
import { callMicros, perCall, row } from '../../support/money-world-catalog.ts';
import { answers, chunk, lastChunk, streamHead, streams } from '../../support/priced-origin.ts';
import { same } from '../../support/proof.ts';
import { reply } from '../../support/recording-origin.ts';
import { fresh, keyed, type Named, refused, sameAnswer, spent } from './stand.ts';

/** Operations of other methods, for the catalog of the world. */
export const otherMethods = ['put', 'patch', 'delete']
  .map((name) => row(name, name.toUpperCase(), `cost: ${perCall}`))
  .join('');

/** Another request under a key that was used; `change` is what differs. */
const mismatches: readonly (readonly [
  what: string,
  endpoint: string,
  change: { body?: string; query?: string; method?: string; surface?: '/catalog/call/' },
])[] = [
  ['another body', 'lab.fixed', { body: '{"n":2}' }],
  ['the same JSON with a space more', 'lab.fixed', { body: '{"n": 1}' }],
  ['an empty body', 'lab.fixed', { body: '' }],
  ['another query', 'lab.fixed', { query: '?page=2' }],
  ['a bare question mark', 'lab.fixed', { query: '?' }],
  ['another operation', 'lab.success', {}],
  ['the same operation on the other surface', 'lab.fixed', { surface: '/catalog/call/' }],
];

const again: readonly Named[] = [
  [
    'IETF 2.6, first and duplicate: processed once, then the same status, headers, bytes and cost through every isolate',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const answer = reply(
        '201 Created',
        [
          'Content-Type: application/json',
          'X-Vendor: a',
          'X-Vendor: b',
          'Set-Cookie: a=1; Path=/',
          'Set-Cookie: b=2; Expires=Wed, 02 Dec 2026 10:00:00 GMT',
          'Location: /v1/things/7',
        ],
        '{"ü":1,  "n":1.0}',
      );
      world.origin.planFor(call.caseId, ({ complete }) => complete(answer));
      const first = await tenant.call('lab.fixed', call);
      same([first.status, refusalOf(first)], [201, null], 'the first answer');
      for (const isolate of world.isolates.ports.keys()) {
        sameAnswer(first, await tenant.call('lab.fixed', { ...call, isolate }));
      }
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'a repeat is answered while the vendor is gone, without money, and beyond the caps of key, day and tag',
    async (world) => {
      const tenant = await world.tenant({
        topUpMicros: callMicros,
        keyFields: { daily_call_cap: 1 },
        limits: {
          daily_cap_micros: callMicros,
          budgets: [
            { dimension: 'team', window: 'day', spend_max_micros: callMicros, calls_max: 1 },
          ],
        },
      });
      const call = keyed({ meta: 'team=a' });
      const first = fresh(await tenant.call('lab.fixed', call));
      world.origin.planFor(call.caseId, ({ socket }) => void socket.resetAndDestroy());
      refused(await tenant.call('lab.fixed', { meta: 'team=b' }), 402, 'insufficient_balance');
      sameAnswer(first, await tenant.call('lab.fixed', call));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'a keyed event stream is replayed byte for byte',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      world.origin.planFor(call.caseId, streams(7, 20));
      const first = await tenant.call('lab.stream', call);
      same([first.status, refusalOf(first)], [200, null], 'the stream');
      await tenant.ended();
      const second = await tenant.call('lab.stream', { ...call, isolate: 1 });
      same(second.body.equals(first.body), true, 'the bytes are the same');
      same(second.status, 200, 'the status');
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: 7 });
    },
  ],
  [
    'a chunked JSON answer is replayed byte for byte',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      world.origin.planFor(call.caseId, ({ write, complete }) => {
        write(streamHead.replace('text/event-stream', 'application/json'));
        write(chunk('{"usage":'));
        complete(Buffer.concat([chunk('{"units":9}}'), Buffer.from(lastChunk)]));
      });
      const first = fresh(await tenant.call('lab.usage', call), 9);
      const second = await tenant.call('lab.usage', call);
      same(second.body.equals(first.body), true, 'the bytes are the same');
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: 9 });
    },
  ],
  ...['look', 'put', 'patch', 'delete'].map(
    (name): Named => [
      `payment API: only POST has keys; here any method has: ${name} is executed once`,
      async (world) => {
        const tenant = await world.tenant();
        const method = name === 'look' ? 'GET' : name.toUpperCase();
        const call = keyed({ method });
        const first = fresh(await tenant.call(`lab.${name}`, call));
        sameAnswer(first, await tenant.call(`lab.${name}`, call));
        await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
      },
    ],
  ),
  [
    'a billed answer without a body is replayed without one',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const empty = 'HTTP/1.1 204 No Content\r\nX-Vendor: a\r\n\r\n';
      world.origin.planFor(call.caseId, ({ complete }) => complete(empty));
      const first = await tenant.call('lab.fixed', call);
      same([first.status, refusalOf(first)], [204, null], 'the first answer');
      sameAnswer(first, await tenant.call('lab.fixed', { ...call, isolate: 1 }));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'a success that costs nothing was executed all the same: its key is used, its repeat gets the 204',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      world.origin.planFor(call.caseId, ({ complete }) =>
        complete('HTTP/1.1 204 No Content\r\n\r\n'),
      );
      const first = await tenant.call('lab.success', call);
      same(first.status, 204, 'the empty answer');
      sameAnswer(first, await tenant.call('lab.success', { ...call, isolate: 1 }));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: 0 });
    },
  ],
  [
    'without a key the same call is executed each time',
    async (world) => {
      const tenant = await world.tenant();
      const { caseId } = keyed();
      for (let i = 0; i < 2; i += 1) fresh(await tenant.call('lab.fixed', { caseId }));
      await spent(world, tenant, { caseId, hits: 2, micros: 2 * callMicros });
    },
  ],
];

const other: readonly Named[] = mismatches.map(([what, endpoint, change]) => [
  `IETF 2.7, C066: a used key with ${what} is 422: nothing sent, held or charged`,
  async (world) => {
    const tenant = await world.tenant();
    const call = keyed({ body: '{"n":1}' });
    const first = fresh(await tenant.call('lab.fixed', call));
    refused(await tenant.call(endpoint, { ...call, ...change }), 422, 'idempotency.mismatch');
    sameAnswer(first, await tenant.call('lab.fixed', call));
    await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
  },
]);

const whileRunning: readonly Named[] = [
  [
    'IETF 2.7: another request under a key whose first is still running is 422, not 409',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed({ body: '{"n":1}' });
      world.origin.planFor(call.caseId, () => undefined);
      const running = await tenant.open('lab.fixed', call);
      await world.origin.until(() => world.origin.arrivals(call.caseId) === 1);
      const changed = { ...call, isolate: 1, body: '{"n":2}' };
      refused(await tenant.call('lab.fixed', changed), 422, 'idempotency.mismatch');
      world.origin.calls
        .filter(({ caseId }) => caseId === call.caseId)
        .forEach((one) => void answers()(one));
      fresh(await running.answer('POST'));
      running.close();
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
];

export const repeats: readonly Named[] = [...again, ...other, ...whileRunning];
