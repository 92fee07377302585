/** Many at once under one key. Called by test/proofs/idempotency.ts. */
import { isReplay, type MoneyWorld, refusalOf } from '../../support/money-world.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { refuses } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { RawConnection } from '../../support/raw-client.ts';
import { keyed, type Named, sameAnswer, spent } from './stand.ts';

/** Callers under one key (issue 3). */
const crowd = 20;
/** Rounds of a crowd that nobody holds back. */
const roundsFull = 20;

/** Sends the same call from `crowd` connections that are open already, over all isolates. */
async function together(
  { isolates }: MoneyWorld,
  request: Buffer,
): Promise<readonly RawConnection[]> {
  const { ports } = isolates;
  const clients = await Promise.all(
    Array.from({ length: crowd }, (_, i) => RawConnection.open(ports[i % ports.length] as number)),
  );
  for (const client of clients) client.send(request);
  return clients;
}

export const crowds: readonly Named[] = [
  [
    `IETF 2.6, 2.7, concurrent: ${crowd} POSTs with one key over 4 isolates: 1 at the vendor, ${crowd - 1} × 409; afterwards all get its answer`,
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const { origin } = world;
      origin.hold();
      const clients = await together(world, tenant.request('lab.fixed', call));
      const statuses: number[] = [];
      const all = clients.map(async (client) => {
        const answer = await client.answer('POST', 30_000);
        statuses.push(answer.status);
        return answer;
      });
      const deadline = performance.now() + 30_000;
      while (statuses.length < crowd - 1 || origin.waiting() < 1) {
        holds(performance.now() < deadline, `${statuses.length} answers, ${origin.waiting()} held`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      same(new Set(statuses), new Set([409]), 'who came second');
      same(origin.arrivals(call.caseId), 1, 'requests at the vendor');
      origin.open();
      const answers = await Promise.all(all);
      const [first] = answers.filter(({ status }) => status === 200);
      holds(first !== undefined, 'nobody got the answer');
      const codes = new Set(answers.filter((answer) => answer !== first).map(refusalOf));
      same([...codes], ['idempotency.in_progress'], 'the refusals');
      for (const client of clients) client.close();
      for (let i = 0; i < crowd; i += 1)
        sameAnswer(first, await tenant.call('lab.fixed', { ...call, isolate: i % 4 }));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    `${crowd} POSTs with one key that nobody holds back: 1 at the vendor, everybody gets its answer or 409`,
    async (world, short) => {
      const tenant = await world.tenant();
      const rounds = short ? 2 : roundsFull;
      let replayed = 0;
      for (let round = 0; round < rounds; round += 1) {
        const call = keyed();
        const clients = await together(world, tenant.request('lab.fixed', call));
        const answers = await Promise.all(clients.map((client) => client.answer('POST', 30_000)));
        const bodies = answers.filter(({ status }) => status === 200).map(({ body }) => `${body}`);
        same(new Set(bodies).size, 1, 'different answers');
        const others = answers.filter(({ status }) => status !== 200).map(refusalOf);
        holds(
          others.every((code) => code === 'idempotency.in_progress'),
          `${others}`,
        );
        same(answers.filter((a) => a.status === 200 && !isReplay(a)).length, 1, 'first answers');
        replayed += answers.filter(isReplay).length;
        same(world.origin.arrivals(call.caseId), 1, 'requests at the vendor');
        for (const client of clients) client.close();
      }
      same((await tenant.ended()).settled, rounds * callMicros, 'settled');
      return `${rounds} rounds, ${replayed} replays`;
    },
  ],
  [
    'a crowd whose first call fails: one at a time is at the vendor, nothing is charged',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      world.origin.planFor(call.caseId, refuses('503 Service Unavailable'));
      const clients = await together(world, tenant.request('lab.fixed', call));
      const answers = await Promise.all(clients.map((client) => client.answer('POST', 30_000)));
      const kinds = answers.map((answer) => refusalOf(answer) ?? answer.status);
      holds(
        kinds.every((kind) => kind === 503 || kind === 'idempotency.in_progress'),
        `${kinds}`,
      );
      const hits = kinds.filter((kind) => kind === 503).length;
      await spent(world, tenant, { caseId: call.caseId, hits, micros: 0 });
      for (const client of clients) client.close();
      return `${hits} tried in turn`;
    },
  ],
];
