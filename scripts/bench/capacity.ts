/**
 * Capacity: what knowing of vendor accounts costs. `healthy`: a call on a vendor without a declared rate makes no object call for capacity and
 * costs what a metered call may. `open`: a call that an open breaker refuses, against a worker that gives the same answer from memory; nothing
 * reaches the vendor and no object is asked. `sizes`: a large catalog costs a call what a small one does.
 * Promises: breakers are opened as in life, by answers that say 402, strikes apart; no switch of the product. Called by bench.ts.
 */
import {
  capacityViewRefreshMs,
  metricsReportMs,
  probeIntervalMs,
  strikeSpacingMs,
} from '../../src/base/limits-capacity.ts';
import {
  atLeast,
  atMost,
  cpuRatio,
  type Line,
  load,
  median,
  note,
  pairs,
  progress,
  type Run,
  type Target,
} from './measure.ts';
import { metered } from './metered.ts';
import type { Sized } from './sized.ts';
import type { ObjectCounts, World } from './world.ts';

/** Longer than the fastest look of any isolate at anything, shorter than a view's age. */
const countedSeconds = 12;
/** What a refusal may cost, against an answer from memory (issue 4). */
const refusalRatioMax = 1.3;
/** What a large catalog may cost a call (issue 4). */
const sizeRatioMax = 1.1;

/** What one warm load did. */
interface Counted {
  readonly requests: number;
  readonly seconds: number;
  readonly before: ObjectCounts;
  readonly after: ObjectCounts;
  /** Requests that reached the vendor. */
  readonly hits: number;
}

async function counted(run: Run, world: World, target: Target): Promise<Counted> {
  const shape = { path: '/', connections: 16 };
  load(run, target, { ...shape, seconds: 1 });
  const hitsBefore = await world.originHits();
  const before = await world.objectCounts();
  const startedAt = performance.now();
  const { requests } = load(run, target, { ...shape, seconds: countedSeconds });
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await world.objectCounts();
  // The second look is a request too.
  const hits = (await world.originHits()) - hitsBefore - 1;
  return { requests, seconds, before, after, hits };
}

/** Calls of provider objects that some call made; the look at the view behind a call is not among them. */
const capacityCalls = ({ before, after }: Counted): number =>
  after.capacity - after.capacityViews - (before.capacity - before.capacityViews);

const reports = ({ before, after, seconds }: Counted, of: string): Line =>
  atMost(
    `${of}: reports to the metrics hub in ${Math.round(seconds)} s`,
    after.metrics - before.metrics,
    Math.ceil((seconds * 1000) / metricsReportMs) + 1,
    '',
  );

export async function healthy(run: Run, world: World): Promise<Line[]> {
  const seen = await counted(run, world, world.countedFixed);
  const views = seen.after.capacityViews - seen.before.capacityViews;
  return [
    atMost(`healthy: capacity object calls of ${seen.requests} calls`, capacityCalls(seen), 0, ''),
    atMost(
      `healthy: looks at the view, behind calls, in ${Math.round(seen.seconds)} s`,
      views,
      Math.ceil((seen.seconds * 1000) / capacityViewRefreshMs) + 1,
      '',
    ),
    reports(seen, 'healthy'),
    ...metered(run, world),
  ];
}

export async function open(run: Run, world: World): Promise<Line[]> {
  const { dry, countedDry, memory } = world;
  const answer = await opened(dry, countedDry);
  await remember(memory, answer);
  const seen = await counted(run, world, countedDry);
  const { before, after, requests, hits } = seen;
  const views = after.capacityViews - before.capacityViews;
  const others = after.ledger + after.overflowBudget - before.ledger - before.overflowBudget;
  const hitsBefore = await world.originHits();
  const startedAt = performance.now();
  const shape = { path: '/', connections: 16, seconds: 2 };
  const rounds = pairs(run, [dry, memory], shape);
  const probes = Math.floor((performance.now() - startedAt) / probeIntervalMs) + 1;
  const probed = (await world.originHits()) - hitsBefore - 1;
  return [
    atMost(`open: upstream hits of ${requests} refused calls`, hits, 0, ''),
    atMost('open: capacity object calls of these calls', capacityCalls(seen), 0, ''),
    atMost('open: ledger and budget object calls of these calls', others, 0, ''),
    atMost('open: looks at the view, behind calls, within its age', views, 0, ''),
    reports(seen, 'open'),
    atMost(
      'open: CPU a refused call against the answer from memory, 16 connections',
      cpuRatio(rounds),
      refusalRatioMax,
    ),
    atMost('open: upstream hits meanwhile (one probe a minute)', probed, probes, ''),
  ];
}

/** A refused call's answer. */
interface Refused {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const paused = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

/** Two answers of the empty vendor, far enough apart, open the breaker of each gateway; gives a refusal of the first. */
async function opened(first: Target, second: Target): Promise<Refused> {
  const struck = async (): Promise<void> => {
    for (const target of [first, second]) {
      const { status } = await answerOf(target);
      if (status !== 402) throw new Error(`${target.name}: ${status} instead of the vendor's 402`);
    }
  };
  await struck();
  await paused(strikeSpacingMs + 500);
  await struck();
  await refusalOf(second);
  return refusalOf(first);
}

/** The strike travels behind its call, so that the breaker opens a moment later. */
async function refusalOf(target: Target): Promise<Refused> {
  for (let tries = 0; tries < 50; tries += 1) {
    const answer = await answerOf(target);
    if (answer.status === 503 && answer.body.includes('urn:weir:problem:provider_capacity'))
      return answer;
    await paused(100);
  }
  throw new Error(`${target.name}: the breaker does not open`);
}

async function answerOf({ base, path = '', headers }: Target): Promise<Refused> {
  const sent = headers.map((line) => line.split(': ') as [string, string]);
  const answer = await fetch(`${base}${path}`, {
    headers: { ...Object.fromEntries(sent), connection: 'close' },
  });
  const told: Record<string, string> = {};
  answer.headers.forEach((value, name) => {
    told[name] = value;
  });
  return { status: answer.status, headers: told, body: await answer.text() };
}

/** What the runtime adds by itself is not kept. */
async function remember({ base, path = '' }: Target, answer: Refused): Promise<void> {
  const own = new Set(['connection', 'content-length', 'date', 'transfer-encoding']);
  const headers = Object.entries(answer.headers).filter(([name]) => !own.has(name));
  const body = JSON.stringify({ ...answer, headers: Object.fromEntries(headers) });
  await fetch(`${base}${path}`, { method: 'POST', body, headers: { connection: 'close' } });
}

/**
 * The bars are for the size of the catalog: ten rows are called in each. Calls of all providers are told beside them: each one's view is read
 * every 30 s behind some call, so that they cost more the fewer calls there are.
 */
export async function sizes(run: Run, world: World): Promise<Line[]> {
  const sized = await world.sized();
  const { few, endpoints, providers, everyProvider, endpointCount, providerCount } = sized;
  const shape = { path: '/', connections: 16, seconds: 2 };
  for (const target of [few, endpoints, providers]) load(run, target, { ...shape, seconds: 3 });
  const rows = pairs(run, [endpoints, few], shape);
  const vendors = pairs(run, [providers, few], shape);
  // After the bars: five hundred objects that come and go are work for the whole process.
  warm(run, sized);
  const every = pairs(run, [everyProvider, few], shape);
  return [
    atLeast('sizes: endpoints of the large catalog', endpointCount, 10_000, ''),
    atLeast('sizes: providers of the large catalog', providerCount, 500, ''),
    atMost(
      `sizes: CPU a metered call, ${endpointCount} endpoints against 10`,
      cpuRatio(rows),
      sizeRatioMax,
    ),
    atMost(
      `sizes: CPU a metered call, ${providerCount} providers against 1`,
      cpuRatio(vendors),
      sizeRatioMax,
    ),
    note(
      `  all ${providerCount} providers in turn against 1, reads of their views included`,
      cpuRatio(every),
    ),
    note('  requests/s meanwhile', median(every.map(({ a }) => a.perSecond)), ''),
  ];
}

/** Twice around before the rounds begin: each row is read from D1 once, and each provider's object is made. */
function warm(run: Run, { everyProvider, providerCount }: Sized): void {
  const shape = { path: '/', connections: 16, seconds: 3 };
  for (let left = 2 * providerCount; left > 0; ) {
    progress(run, `catalog of every provider: ${left} calls before round 1`);
    left -= Math.max(1, load(run, everyProvider, shape).requests);
  }
}
