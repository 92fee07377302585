/**
 * Named scenes of the breaker: the cases of `cases.jsonl`, played in the small world on a calm wire. Each throws when it does not hold.
 */
import {
  capacityVendorHoldMsMax,
  capacityViewMsMax,
  guessedHoldMs,
  probeIntervalMs,
} from '../../../../src/base/limits-capacity';
import type { Scene } from '../../../support/breaker-played';
import { type CallKind, type Dry, type Endpoint, endpoints, World } from './world';

const hour = 3_600_000;

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const [find, list, free] = endpoints as readonly [Endpoint, Endpoint, Endpoint];

/** Both accounts are out for so long: a call of that endpoint has nowhere to go. */
function drought(
  world: World,
  kind: 'balance' | 'quota',
  forMs: number,
  resetsInMs: number | null = null,
): readonly Dry[] {
  const fromMs = world.clock.nowMs();
  const endpointId = kind === 'quota' ? find.endpointId : null;
  return ['primary', 'b'].map((account) => ({
    kind,
    account,
    endpointId,
    fromMs,
    toMs: fromMs + forMs,
    resetsInMs,
    share: 1,
  }));
}

/** Calls every second from each isolate in turn, until nothing of that endpoint is open. */
async function untilLocked(world: World, endpoint: Endpoint): Promise<void> {
  for (let seconds = 0; world.isOpen(endpoint); seconds += 1) {
    must(seconds < 120, 'a dry vendor is not locked');
    void world.call(world.isolate(seconds), endpoint);
    await world.clock.pass(1_000);
  }
}

/** One call, and whatever it takes. */
async function called(world: World, kind: CallKind, endpoint = find, at = 0) {
  const outcome = world.call(world.isolate(at), endpoint, kind);
  await world.clock.pass(2_000);
  return outcome;
}

/** C071: the one probe gets nowhere; after the interval the next one is admitted, and its 2xx ends exactly that lock. */
function probeLost(what: string, kind: CallKind, also?: (world: World) => void): Scene {
  return {
    name: `C071: ${what}: the next interval has another one`,
    run: async () => {
      const world = new World(71, 4);
      world.accounts = ['primary'];
      world.dry = drought(world, 'balance', 120_000, 5 * hour);
      await untilLocked(world, find);
      await world.clock.pass(2 * probeIntervalMs);
      await world.warm();
      const first = world.call(world.isolate(0), find, kind);
      await world.clock.pass(50);
      also?.(world);
      await world.warm();
      must((await first).probe !== null, 'the first call is no probe');
      for (const at of [0, 1, 2, 3]) {
        const { outcome } = await called(world, 'good', find, at);
        must(outcome === 'refused', 'a call goes through a lock beside its probe');
      }
      must(!world.isOpen(find), 'a probe without a 2xx ended the lock');
      await world.clock.pass(probeIntervalMs - 8_000);
      await world.warm();
      const second = await called(world, 'good', find, 1);
      must(second.probe !== null && second.status === 200, 'no second probe after the interval');
      must(world.isOpen(find), 'its 2xx did not end the lock');
      must(world.object.fault === null, world.object.fault ?? '');
      return undefined;
    },
  };
}

/** C076. */
function burst(
  what: string,
  kind: 'balance' | 'quota',
  okAtMs: number | null,
  isSplit: boolean,
): Scene {
  return {
    name: `C076: five at once and a sixth at 16 s, ${kind}${what}`,
    run: async () => {
      const world = new World(76, 2);
      const startMs = world.clock.nowMs();
      world.dry = drought(world, kind, hour).filter(({ account }) => account === 'primary');
      const isolate = world.isolate(0);
      const strike = (id: string): void => {
        world.object.checker.exhausted.set(
          id,
          kind === 'balance' ? 'predictleads' : find.endpointId,
        );
        const op = { id, account: 'primary', endpointId: find.endpointId, kind, resetsInMs: null };
        isolate.desk.strike('predictleads', op, isolate.background);
      };
      for (let i = 0; i < 5; i += 1) strike(`burst${i}`);
      await world.clock.pass(1_000);
      const { locks, strikes } = world.object.view();
      must(locks.length === 0 && strikes.length === 1, 'the burst is not one strike');
      if (okAtMs !== null) {
        const seer = isSplit ? world.isolate(1) : isolate;
        seer.desk.standing('predictleads', {
          nowMs: world.clock.nowMs(),
          background: seer.background,
        });
        await world.clock.pass(okAtMs - 1_000);
        const op = { id: 'ok', account: 'primary', endpointId: find.endpointId };
        seer.desk.ok('predictleads', { ...op, spendsBalance: true, probe: null }, seer.background);
      }
      await world.clock.pass(startMs + 16_000 - world.clock.nowMs());
      strike('sixth');
      await world.clock.pass(1_000);
      const keys = world.object.view().locks.map(({ key }) => key);
      const wanted = kind === 'balance' ? 'predictleads' : find.endpointId;
      must(
        JSON.stringify(keys) === JSON.stringify(okAtMs === null ? [wanted] : []),
        `locked: ${keys.join(', ')}`,
      );
      must(world.object.fault === null, world.object.fault ?? '');
      return undefined;
    },
  };
}

export const scenes: readonly Scene[] = [
  probeLost('(a) a probe that never gets an answer', 'hangs'),
  probeLost('(b) a probe whose client leaves', 'leaves'),
  probeLost('(c) a probe that gets a 404 or a 422', 'malformed'),
  probeLost('(d) a probe whose isolate dies', 'good', (world) => world.kill(world.isolate(0))),
  {
    name: 'C071: at the cap a lock lapses, whatever the vendor said and however its probes end',
    run: async () => {
      const world = new World(711, 3);
      world.dry = drought(world, 'quota', 100 * hour, 40 * hour);
      await untilLocked(world, find);
      const lockedMs = world.clock.nowMs();
      const ids = world.object.view().locks.map(({ id }) => id);
      while (world.clock.nowMs() < lockedMs + capacityVendorHoldMsMax + 1_000) {
        void world.call(world.random.of(world.isolates), find);
        await world.clock.pass(30_000);
      }
      const left = world.object.view().locks.filter(({ id }) => ids.includes(id));
      must(left.length === 0, 'a lock outlives its cap');
      must(world.object.fault === null, world.object.fault ?? '');
      return `${world.hits.length} hits in six hours`;
    },
  },
  {
    name: 'a guessed lock lapses after its hour although every probe is refused',
    run: async () => {
      const world = new World(712, 3);
      world.dry = drought(world, 'quota', 100 * hour);
      await untilLocked(world, find);
      const ids = world.object.view().locks.map(({ id }) => id);
      const lockedMs = world.clock.nowMs();
      while (world.clock.nowMs() < lockedMs + guessedHoldMs) {
        void world.call(world.random.of(world.isolates), find);
        await world.clock.pass(20_000);
      }
      const left = world.object.view().locks.filter(({ id }) => ids.includes(id));
      must(left.length === 0, 'a guess holds longer than its hour');
      return undefined;
    },
  },
  {
    name: 'C073: malformed requests and edge blocks strike nothing; the next caller gets 200',
    run: async () => {
      const world = new World(73, 1);
      for (let i = 0; i < 60; i += 1) await called(world, 'malformed', [find, list, free][i % 3]);
      const { locks, strikes } = world.object.view();
      must(locks.length + strikes.length === 0, 'a caller’s fault struck');
      const { status } = await called(world, 'good');
      must(status === 200, `the next caller got ${status}`);
      const statuses = new Set(world.hits.map((hit) => hit.status));
      must(
        [400, 403, 404, 413, 422].every((one) => statuses.has(one)),
        'not every fault came',
      );
      return undefined;
    },
  },
  ...(['quota', 'balance'] as const).flatMap((kind) => [
    burst('', kind, null, false),
    burst(', a 200 at 8 s', kind, 8_000, false),
    burst(', a 200 at 8 s of another isolate that knows the strike', kind, 8_000, true),
  ]),
  {
    name: 'one hit per interval and lock once a view’s age has passed, from 4 isolates with 16 callers each',
    run: async () => {
      const world = new World(64, 4);
      world.dry = drought(world, 'balance', hour);
      await untilLocked(world, find);
      const fromMs = world.clock.nowMs() + capacityViewMsMax;
      const intervals = 10;
      while (world.clock.nowMs() < fromMs + intervals * probeIntervalMs) {
        for (let i = 0; i < 64; i += 1) void world.call(world.isolate(i), find);
        await world.clock.pass(1_000);
      }
      const hits = world.hits.filter(({ atMs }) => atMs >= fromMs);
      const locks = 2;
      must(hits.length <= locks * (intervals + 1), `${hits.length} hits`);
      must(hits.length >= locks * (intervals - 1), `only ${hits.length} probes`);
      must(
        hits.every(({ probe }) => probe),
        'a hit that is no probe',
      );
      must(world.isOpen(free), 'a free route is shut by a balance');
      return `${hits.length} hits of ${locks} locks in ${intervals} intervals`;
    },
  },
  {
    name: 'the probe’s 2xx opens it for every isolate within a view’s age',
    run: async () => {
      const world = new World(65, 4);
      world.dry = drought(world, 'balance', 5 * 60_000);
      await untilLocked(world, find);
      await world.clock.pass(6 * 60_000);
      const nextCallMs = world.clock.nowMs();
      let openMs: number | null = null;
      let lastRefusedMs = 0;
      for (let seconds = 0; seconds < 180; seconds += 1) {
        const atMs = world.clock.nowMs();
        for (const at of [0, 1, 2, 3])
          void world.call(world.isolate(at), find).then(({ outcome }) => {
            if (outcome === 'refused') lastRefusedMs = atMs;
          });
        await world.clock.pass(1_000);
        if (world.isOpen(find)) openMs ??= world.clock.nowMs();
      }
      const opened = (openMs ?? Number.POSITIVE_INFINITY) - nextCallMs;
      must(opened <= probeIntervalMs + 1_000, `open after ${opened} ms`);
      must(lastRefusedMs - nextCallMs <= opened + capacityViewMsMax, 'an isolate still refuses');
      return `open after ${opened} ms, the last isolate after ${lastRefusedMs - nextCallMs} ms`;
    },
  },
];
