/**
 * Metered calls: strict, so the hold is durable before the send. CPU and latency against the bare path in the same process and round, counts of
 * object calls and log rows, the peer that meters nothing, and replays. The ledgers are objects in the gateway's own process.
 * Called by bench.ts.
 */
import {
  atLeast,
  atMost,
  connectionsText,
  cpuRatio,
  type Line,
  load,
  median,
  note,
  pairs,
  pairsOf,
  type Run,
  roundsOf,
  type Target,
} from './measure.ts';
import type { LedgerCounts, World } from './world.ts';

const bars = new Map([
  [1, 2.6],
  [16, 1.8],
  [64, 1.6],
]);

/** The bars hold for a call with one price; a price that is in the answer has its body read whole, and is told beside it. */
export function metered(run: Run, { fixed, usage, bare }: World): Line[] {
  const lines: Line[] = [];
  for (const [connections, limit] of bars) {
    const at = connectionsText(connections);
    const shape = { path: '/v1/json', connections, seconds: 2 };
    const rounds = roundsOf(run, [fixed, usage, bare], shape);
    const [strict, read] = [pairsOf(rounds, 0, 2), pairsOf(rounds, 1, 2)];
    lines.push(
      atMost(`metered: CPU a request against bare, ${at}`, cpuRatio(strict), limit),
      note(`metered, price read from the answer: CPU against bare, ${at}`, cpuRatio(read)),
    );
    const added = median(strict.map(({ a, b }) => a.p50 - b.p50));
    const what = `metered: added p50 at ${at}`;
    lines.push(connections === 1 ? atMost(what, added, 1.5, 'ms') : note(what, added, 'ms'));
  }
  return lines;
}

/** What a run of calls did to the ledger. */
async function counted(
  run: Run,
  world: World,
  target: Target,
  connections: number,
): Promise<LedgerCounts & { requests: number }> {
  load(run, target, { path: '/v1/json', connections, seconds: 1 });
  await settled(world);
  const before = await world.ledgerCounts();
  const { requests } = load(run, target, { path: '/v1/json', connections, seconds: 4 });
  await settled(world);
  const after = await world.ledgerCounts();
  const places = after.places - before.places;
  return {
    // What was under way when the load ended was sent and is not among its requests.
    requests: Math.max(requests, Math.min(places, requests + connections)),
    // Each look at the rows is a call of its own.
    ledger: after.ledger - before.ledger - 1,
    capacity: after.capacity - before.capacity,
    overflowBudget: after.overflowBudget - before.overflowBudget,
    metrics: after.metrics - before.metrics,
    capacityViews: after.capacityViews - before.capacityViews,
    batches: after.batches - before.batches,
    batchesWithPlaces: after.batchesWithPlaces - before.batchesWithPlaces,
    places,
    ends: after.ends - before.ends,
    rows: after.rows - before.rows,
  };
}

/** Waits until every hold has its end: looks until nothing moves. */
async function settled(world: World): Promise<void> {
  let before = await world.ledgerCounts();
  for (;;) {
    await new Promise((wake) => setTimeout(wake, 300));
    const now = await world.ledgerCounts();
    if (now.batches === before.batches && now.places === now.ends) return;
    before = now;
  }
}

export async function counts(run: Run, world: World): Promise<Line[]> {
  const alone = await counted(run, world, world.countedFixed, 1);
  const crowd = await counted(run, world, world.countedFixed, 16);
  return [
    atMost(
      'places a call, 1 connection (nothing is sent twice)',
      alone.places / alone.requests,
      1,
      '',
    ),
    atMost(
      'awaited object calls (they carry places) a metered call, 1 connection',
      alone.batchesWithPlaces / alone.requests,
      1,
      '',
    ),
    note('ledger calls a metered call, 1 connection', alone.ledger / alone.requests, ''),
    atLeast('claims an object call, 16 connections', crowd.places / crowd.ledger, 5, ''),
    atMost('log rows an object call, 16 connections', crowd.rows / crowd.ledger, 1, ''),
    atMost('log rows an object call, 1 connection', alone.rows / alone.ledger, 1, ''),
  ];
}

export function peerMetered(run: Run, { fixed, peer }: World): Line[] {
  const all = pairs(run, [fixed, peer], { path: '/v1/json', connections: 16, seconds: 2 });
  return [
    atLeast(
      'metered: requests/s against the peer gateway on node, which meters nothing',
      median(all.map(({ a, b }) => a.perSecond / b.perSecond)),
      1,
    ),
  ];
}

export async function replay(run: Run, world: World): Promise<Line[]> {
  const before = await world.originHits();
  const shape = { path: '/', connections: 16, seconds: 2 };
  const all = pairs(run, [world.replay, world.oneCall], shape);
  // The look itself is a request too.
  const hits = (await world.originHits()) - before - 1;
  return [
    atMost('replay: CPU against a request that makes one ledger call', cpuRatio(all), 1.3),
    atMost('replay: requests that reached the origin', hits, 0, ''),
  ];
}
