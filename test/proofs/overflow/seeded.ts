/**
 * Seeded faults: what vendor, aggregator and client do is drawn, call by call; afterwards the books say who was charged for what.
 * Promises: the seed is printed and given with `--seed`; a call is charged for its parent or for its child, never for both.
 * Called by test/proofs/overflow.ts.
 */
import { drawer } from '../../support/drawer.ts';
import { answers, type Plan, refuses, resets, silent } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { reply } from '../../support/recording-origin.ts';
import { broke, envelope, type RoadStand, runs } from './road-stand.ts';

/** Calls that are in flight together. */
const togetherMax = 12;

const late =
  (ms: number, plan: Plan): Plan =>
  async (call) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return plan(call);
  };

const burst: Plan = (call) =>
  call.write(
    reply(
      '429 Too Many',
      ['Content-Type: application/json', 'Retry-After: 30'],
      '{"error":"slow"}',
    ),
  );

const vendors: readonly Plan[] = [
  answers(),
  broke,
  broke,
  broke,
  broke,
  burst,
  late(40, broke),
  refuses('500 X'),
  refuses('404 X'),
  resets(),
];
const aggregators: readonly Plan[] = [
  runs(),
  runs(),
  runs(),
  late(60, runs()),
  runs(null),
  envelope(404, { success: false, priceCents: 0, data: { error: 'nobody' } }),
  envelope(502, { success: false, status: 503, priceCents: 2, data: { error: 'busy' } }),
  envelope(401, { success: false, error: 'key' }),
  envelope(402, { success: false, error: 'credits', code: 'INSUFFICIENT_CREDITS' }),
  envelope(422, { success: false, error: 'schema' }),
  envelope(200, { nonsense: true }),
  resets(),
  late(30, resets()),
  silent,
];

/** Runs `count` calls; gives what is shown behind the row. Throws when a call is charged twice. */
export async function seededFaults(stand: RoadStand, count: number, seed: number): Promise<string> {
  const draw = drawer(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(draw() * list.length)] as T;
  stand.vendor((call) => pick(vendors)(call));
  stand.aggregator((call) => pick(aggregators)(call));
  let left = 0;
  const one = async (at: number): Promise<void> => {
    const leavesAfterMs = draw() < 0.3 ? draw() * 120 : null;
    const key = draw() < 0.25 ? `seed-${seed}-${at % 7}` : undefined;
    const client = await stand.tenant.open('dry.a', { ...(key === undefined ? {} : { key }) });
    if (leavesAfterMs === null) await client.answer('POST', 60_000);
    else {
      await stand.pass(leavesAfterMs);
      left += 1;
    }
    if (leavesAfterMs !== null && draw() < 0.5) client.reset();
    else client.close();
  };
  const before = await stand.tenant.ended();
  const waiting = Array.from({ length: count }, (_, at) => at);
  await Promise.all(
    Array.from({ length: togetherMax }, async () => {
      for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) await one(at);
    }),
  );
  // The last runs go on without their clients.
  const after = await stand.tenant.ended(60_000);
  return verdict(stand, { settled: after.settled - before.settled, count, seed, left });
}

interface Found {
  readonly settled: number;
  readonly count: number;
  readonly seed: number;
  readonly left: number;
}

/** The rows of the run, by call: charged at most once each; together they are what was settled. */
async function verdict(stand: RoadStand, { settled, count, seed, left }: Found): Promise<string> {
  const entries = await stand.tenant.entries();
  const charged = new Map<string, number>();
  for (const { kind, id, micros } of entries)
    if (kind === 'settle' && id !== null && (micros ?? 0) > 0)
      charged.set(id, (charged.get(id) ?? 0) + 1);
  holds(
    [...charged.values()].every((times) => times === 1),
    'a hold was settled twice',
  );
  const rows = await rowsOf(stand);
  let [direct, relayed] = [0, 0];
  for (const holdsOfCall of rows.values()) {
    const paid = holdsOfCall.filter((id) => charged.has(id));
    holds(paid.length <= 1, `a call was charged ${paid.length} times (seed ${seed})`);
    direct += paid.length === 1 && paid[0] === holdsOfCall[0] ? 1 : 0;
    relayed += paid.length === 1 && paid[0] !== holdsOfCall[0] ? 1 : 0;
  }
  await stand.tenant.audit();
  same((await stand.tenant.books()).held, 0, 'held');
  return `seed ${seed}: ${count} calls, ${left} left early, ${direct + relayed} charged once, ${settled} micro-USD, 0 twice`;
}

/** Hold ids by call id without a child's suffix. */
async function rowsOf(stand: RoadStand): Promise<ReadonlyMap<string, string[]>> {
  const db = await stand.world.gateway.db();
  const { results } = await db
    .prepare('select id, hold_id from calls where hold_id is not null')
    .all();
  const found = new Map<string, string[]>();
  for (const { id, hold_id } of results as { id: string; hold_id: string }[]) {
    const callId = id.replace(/:overflow$/, '');
    found.set(callId, [...(found.get(callId) ?? []), hold_id]);
  }
  return found;
}
