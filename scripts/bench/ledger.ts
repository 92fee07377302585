/**
 * The ledger object alone: ours against the kit's minimal one, each called by a loop in the gateway's process, on the same disk; and ours
 * with a million entries behind it against ours with few. Calls per CPU second decide: the disk's own time is common to both.
 * Called by bench.ts.
 */
import { cpuUs, look } from './machine.ts';
import { atLeast, atMost, type Line, median, note, progress, type Run } from './measure.ts';
import type { World } from './world.ts';

/** One loop of object calls. */
interface Loop {
  readonly of: 'ours' | 'minimal';
  readonly name: string;
  readonly calls: number;
  readonly claims: number;
}

/** Microseconds of a call. */
interface Cost {
  readonly cpu: number;
  readonly wall: number;
}

const roundCalls = 1_500;
/** Calls before a measured loop: whoever comes second would otherwise find warm caches. */
const warmCalls = 300;
/** A batch as it is at 64 connections: 20 claims and the 20 settlements that ride along. */
const groupedClaims = 20;
const pastEntries = 1_000_000;

async function loop({ pairBase }: World, { of, name, calls, claims }: Loop): Promise<void> {
  const text = await look(`${pairBase}/${of}?name=${name}&calls=${calls}&claims=${claims}`);
  const { placed } = JSON.parse(text) as { placed: number };
  if (placed !== calls * claims)
    throw new Error(`${placed} of ${calls * claims} claims were placed`);
}

async function cost(world: World, what: Omit<Loop, 'calls'>): Promise<Cost> {
  await loop(world, { ...what, calls: warmCalls });
  const [cpu, wall] = [cpuUs(world.gatewayPid), performance.now()];
  await loop(world, { ...what, calls: roundCalls });
  return {
    cpu: (cpuUs(world.gatewayPid) - cpu) / roundCalls,
    wall: ((performance.now() - wall) * 1000) / roundCalls,
  };
}

type What = Pick<Loop, 'of' | 'name'>;

/** Rounds of two objects in turn; each pair is of one round. */
async function against(
  run: Run,
  world: World,
  [a, b]: readonly [What, What],
  claims: number,
): Promise<{ a: Cost; b: Cost }[]> {
  const pairs = [];
  for (const what of [a, b]) await cost(world, { ...what, claims });
  for (let round = 0; round < run.rounds; round++) {
    progress(
      run,
      `ledger ${a.name} against ${b.name}, ${claims} claims a call: round ${round + 1}`,
    );
    const isFirst = round % 2 === 0;
    const one = await cost(world, { ...(isFirst ? a : b), claims });
    const two = await cost(world, { ...(isFirst ? b : a), claims });
    pairs.push(isFirst ? { a: one, b: two } : { a: two, b: one });
  }
  progress(run, '');
  return pairs;
}

export async function ledger(run: Run, world: World): Promise<Line[]> {
  const ours = { of: 'ours', name: 'ours' } as const;
  const minimal = { of: 'minimal', name: 'minimal' } as const;
  const past = { of: 'ours', name: 'past' } as const;
  const lines: Line[] = [];
  for (const [claims, how] of [
    [1, 'single'],
    [groupedClaims, `grouped (${groupedClaims} claims)`],
  ] as const) {
    const all = await against(run, world, [ours, minimal], claims);
    lines.push(
      atLeast(
        `ledger object, ${how}: calls per CPU second against the minimal object`,
        median(all.map(({ a, b }) => b.cpu / a.cpu)),
        0.9,
      ),
      note(
        `ledger object, ${how}: calls per second against the minimal object`,
        median(all.map(({ a, b }) => b.wall / a.wall)),
      ),
      note(`ledger object, ${how}: CPU a call`, median(all.map(({ a }) => a.cpu)), 'us'),
    );
  }
  progress(run, `${pastEntries} entries into one ledger, round 0`);
  // 40 entries a call, a claim and a settlement of each.
  await loop(world, { ...past, calls: pastEntries / (2 * 50), claims: 50 });
  for (const claims of [1, groupedClaims]) {
    const all = await against(run, world, [past, ours], claims);
    lines.push(
      atMost(
        `ledger object with ${pastEntries.toLocaleString('en')} entries, ${claims} claim${claims === 1 ? '' : 's'} a call: CPU against few`,
        median(all.map(({ a, b }) => a.cpu / b.cpu)),
        1.1,
      ),
    );
  }
  return lines;
}
