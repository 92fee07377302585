/**
 * The breaker's simulations: histories of a small world by their seed, each first on a bad wire, then on a calm one with a vendor that
 * serves again. Bundled by the proof breaker-model, as it is and with one guard of the breaker removed.
 */
import {
  capacityAskAgainMs,
  capacityViewMsMax,
  probeIntervalMs,
} from '../../../../src/base/limits-capacity';
import type { Played, Simulations } from '../../../support/breaker-played';
import { scenes } from './scenes';
import {
  accounts,
  type CallKind,
  calmWire,
  type Dry,
  type Endpoint,
  endpoints,
  type Random,
  World,
} from './world';

export { scenes };

const minute = 60_000;
const hour = 60 * minute;
/** Journeys, and one call that comes a little later. */
const slackMs = 3_000;

/** One history. */
export async function play(seed: number): Promise<Played> {
  const world = new World(seed, 2 + (seed % 4));
  const { random, object } = world;
  const startMs = world.clock.nowMs();
  const spanMs = (seed % 3 === 0 ? 9 : 2) * hour;
  world.wire = { lost: 0.08, answerLost: 0.08, doubled: 0.1, slow: 0.1, slowMsMax: 12_000 };
  world.dry = droughts(random, startMs, spanMs);
  let calls = 0;
  while (world.clock.nowMs() < startMs + spanMs && object.fault === null) {
    calls += await moment(world, random);
  }
  const fault = object.fault ?? (await recovery(world));
  const { operations, checker } = object;
  return { fault, operations, calls, hits: world.hits.length, counts: checker.counts };
}

/** Some of them end while a lock lives, some outlive it, some only hover. */
function droughts(random: Random, startMs: number, spanMs: number): Dry[] {
  return Array.from({ length: 3 + random.below(8) }, () => {
    const fromMs = startMs + random.below(spanMs);
    const kind = random.is(0.5) ? 'balance' : 'quota';
    return {
      kind,
      account: random.of(accounts),
      endpointId: kind === 'quota' ? random.of(endpoints).endpointId : null,
      fromMs,
      toMs: fromMs + random.of([20_000, 5 * minute, 5 * minute, 20 * minute, 2 * hour, 8 * hour]),
      resetsInMs: random.of([null, null, 90_000, 30 * minute, 5 * hour, 40 * hour]),
      share: random.of([0.1, 0.4, 0.8, 1]),
    };
  });
}

const busyGaps = [50, 500, 2_000, 5_000];
const calmGaps = [50, 10_000, 16_000, 40_000, 150_000];

/** A burst, a call, a sweep, a death; then some time. Gives how many calls that were. */
async function moment(world: World, random: Random): Promise<number> {
  const event = random.next();
  const calls = event < 0.1 ? 2 + random.below(6) : 1;
  const endpoint = random.of(endpoints);
  for (let i = 0; i < calls; i += 1) {
    void world.call(world.isolate(random.below(9)), endpoint, kindOf(random));
  }
  if (event > 0.97) world.kill(random.of(world.isolates));
  else if (event > 0.94) world.object.restart();
  else if (event > 0.91) void world.observe();
  else if (event > 0.89) mark(world, random);
  else if (event > 0.8) stray(world, random);
  // Busy and calm minutes by turns.
  const isBusy = Math.floor(world.clock.nowMs() / (4 * minute)) % 8 === 0;
  await world.clock.pass(random.of(isBusy ? busyGaps : calmGaps));
  return calls;
}

/** A success of long ago, of any kind and of any probe that ever was: messages have no order. */
function stray(world: World, random: Random): void {
  const endpoint = random.of(endpoints);
  const lockIds = world.object.lockIds();
  const lockId = lockIds.length === 0 || random.is(0.8) ? null : random.of(lockIds);
  const id = world.newId();
  const op = { id, account: random.of(accounts), ...endpoint, agoMs: random.below(40_000) };
  const probe = lockId === null ? null : { id, lockId };
  const object = world.objectFor(random.of(world.isolates));
  object.ok({ ...op, probe }).catch(() => undefined);
}

const kindOf = (random: Random): CallKind =>
  random.is(0.75) ? 'good' : random.of<CallKind>(['malformed', 'hangs', 'leaves']);

function mark(world: World, random: Random): void {
  const isolate = random.of(world.isolates);
  const key = random.of(['', 'v1', 'v2']);
  const forMs = random.of([1_000, 15 * minute, 20 * hour]);
  isolate.desk.mark(
    'predictleads',
    { id: world.newId(), key, reason: 'dry', forMs },
    isolate.background,
  );
}

/** The vendor serves again: every endpoint is open within one interval of its next call, and every isolate within a view's age. */
async function recovery(world: World): Promise<string | null> {
  const { object, clock } = world;
  world.dry = [];
  world.wire = calmWire;
  await clock.pass(minute);
  const openWithinMs = probeIntervalMs + capacityAskAgainMs + slackMs;
  const firstCallMs = clock.nowMs();
  const lastCallMs = firstCallMs + openWithinMs + capacityViewMsMax;
  const late: string[] = [];
  for (let at = 0; clock.nowMs() < lastCallMs + 15_000; at += 1) {
    for (const endpoint of endpoints) {
      const isolate = world.isolate(at);
      const isLate = clock.nowMs() > lastCallMs;
      void world.call(isolate, endpoint).then(({ outcome }) => {
        if (isLate && outcome === 'refused') late.push(endpoint.endpointId);
      });
    }
    await clock.pass(1_000);
    const shut = endpoints.find((endpoint: Endpoint) => !world.isOpen(endpoint));
    if (shut !== undefined && clock.nowMs() > firstCallMs + openWithinMs)
      return `${shut.endpointId} is shut ${clock.nowMs() - firstCallMs} ms after its next call`;
  }
  if (late.length > 0) return `${late[0]} is refused by an isolate although it is open`;
  return object.fault;
}

/** See {@link Simulations}. */
export const playAll: Simulations['playAll'] = async (from, count) => {
  const counts: Record<string, number> = {};
  let [operations, calls, hits] = [0, 0, 0];
  for (let seed = from; seed < from + count; seed += 1) {
    const played = await play(seed);
    if (played.fault !== null) return { seed, fault: played.fault };
    operations += played.operations;
    calls += played.calls;
    hits += played.hits;
    for (const [what, n] of Object.entries(played.counts)) counts[what] = (counts[what] ?? 0) + n;
  }
  return { total: { fault: null, operations, calls, hits, counts } };
};
