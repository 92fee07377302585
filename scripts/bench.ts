/**
 * `npm run bench`: the bars of the hot path, as ratios inside one round against the bare pass-through in the same process.
 * `npm run bench -- metered`: the bars of metered calls and of the ledger object.
 * `npm run bench -- capacity`: a metered call on a healthy vendor asks no object about it and costs no more; a refused one costs at most
 * 1.3 × an answer from memory, reaches no vendor and no object; 10,000 endpoints or 500 providers cost a call at most 1.1 ×.
 * Promises: `--json` is one document on standard output, whatever the answers were.
 * Read CPU ratios, never absolute times: medians over rotated rounds are good to about ±8 % on a shared machine.
 */
import { metricsReportMs } from '../src/base/limits-capacity.ts';
import { healthy, open, sizes } from './bench/capacity.ts';
import { ledger } from './bench/ledger.ts';
import { installTools } from './bench/machine.ts';
import {
  atLeast,
  atMost,
  connectionsText,
  cpuRatio,
  keeps,
  type Line,
  load,
  median,
  note,
  pairs,
  pairsOf,
  type Run,
  roundsOf,
} from './bench/measure.ts';
import { counts, metered, peerMetered, replay } from './bench/metered.ts';
import { streamRound } from './bench/streams.ts';
import { type ObjectCounts, startWorld, type World } from './bench/world.ts';
import { notUnderstood, ownArguments, type Taken } from './lib/arguments.ts';

const taken: Taken = {
  usage: `npm run bench [-- metered | capacity] [--only PART,PART] [--rounds N] [--json] [--report]

  --only     these parts of the set
  --rounds   rounds of each comparison (default 12)
  --json     one JSON document instead of text
  --report   exit 0 also when a bar is missed`,
  switches: ['json', 'report'],
  numbers: ['rounds'],
  texts: ['only'],
  wordsMax: 1,
};
const given = ownArguments(taken);
const [set = ''] = given.words;
const only = given.text('only')?.split(',');
const asJson = given.isSet('json');
const run: Run = { rounds: given.number('rounds') ?? 12, isQuiet: asJson, bad: new Map() };

function unmetered({ ours, bare, handmade }: World): Line[] {
  const lines: Line[] = [];
  for (const [connections, limit] of new Map([
    [1, 1.5],
    [16, 1.35],
    [64, 1.35],
  ])) {
    const rounds = roundsOf(run, [ours, bare, handmade], {
      path: '/v1/json',
      connections,
      seconds: 2,
    });
    const at = connectionsText(connections);
    const all = pairsOf(rounds, 0, 1);
    lines.push(
      atMost(`CPU a request against bare, ${at}`, cpuRatio(all), limit),
      note(`  hand-made against bare, ${at}`, cpuRatio(pairsOf(rounds, 2, 1))),
      note(`  ours against hand-made, ${at}`, cpuRatio(pairsOf(rounds, 0, 2))),
    );
    if (connections === 1) {
      const added = median(all.map(({ a, b }) => a.p50 - b.p50));
      lines.push(atMost('added p50 at one connection', added, 0.2, 'ms'));
    }
  }
  return lines;
}

function peer({ ours, peer: other }: World): Line[] {
  const all = pairs(run, [ours, other], { path: '/v1/json', connections: 16, seconds: 2 });
  const value = median(all.map(({ a, b }) => a.perSecond / b.perSecond));
  return [atLeast('requests/s against the peer gateway on node, 16 connections', value, 2)];
}

function tracked({ tracked: followed, bare }: World): Line[] {
  const all = pairs(run, [followed, bare], { path: '/v1/json', connections: 16, seconds: 2 });
  return [atMost('track_body: CPU a request against bare, 16 connections', cpuRatio(all), 1.7)];
}

function crowd({ many, ours }: World): Line[] {
  const all = pairs(run, [many, ours], { path: '/v1/json', connections: 16, seconds: 2 });
  return [atMost('10,000 upstreams in the tenant against 1: CPU a request', cpuRatio(all), 1.1)];
}

function blob({ ours, bare }: World): Line[] {
  const all = pairs(run, [ours, bare], { path: '/v1/blob', connections: 4, seconds: 2 });
  return [
    atLeast('10 MB bodies: MB/s against bare', median(all.map(({ a, b }) => a.mb / b.mb)), 0.95),
  ];
}

async function sse({ sse: ours, bare }: World): Promise<Line[]> {
  const header = Object.fromEntries(
    ours.headers.map((line) => line.split(': ') as [string, string]),
  );
  const added: number[] = [];
  let incomplete = 0;
  let merged = 0;
  let mergedBare = 0;
  for (let round = 0; round < run.rounds; round++) {
    const first = round % 2 === 0;
    const one = await streamRound(first ? ours.base : bare.base, first ? header : {}, 32);
    const two = await streamRound(first ? bare.base : ours.base, first ? {} : header, 32);
    const [a, b] = first ? [one, two] : [two, one];
    added.push(a.p50 - b.p50);
    incomplete += 32 - a.complete;
    merged += a.merged;
    mergedBare += b.merged;
  }
  return [
    atMost('SSE 32 × 200 events: p50 of an event above bare', median(added), 0.05, 'ms'),
    atMost('SSE streams that were not complete', incomplete, 0, ''),
    atMost('SSE chunks with merged events, above bare', Math.max(0, merged - mergedBare), 0, ''),
  ];
}

/** Counts instead of times: what D1 and the objects saw during a warm run. */
async function queries(world: World): Promise<Line[]> {
  load(run, world.counted, { path: '/v1/json', connections: 16, seconds: 1 });
  const callsBefore = await world.objectCounts();
  const before = await world.queries();
  const startedAt = performance.now();
  const { requests } = load(run, world.counted, {
    path: '/v1/json',
    connections: 16,
    seconds: 12,
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await world.queries();
  const calls = await world.objectCounts();
  const reports = calls.metrics - callsBefore.metrics;
  const objectCalls = objectCallsOf(calls) - objectCallsOf(callsBefore);
  const batches = after.callBatches - before.callBatches;
  if (after.reads > before.reads && !asJson) console.log(`  D1 read ${after.lastRead}`);
  return [
    atMost('D1 reads on the path of warm requests', after.reads - before.reads, 0, ''),
    atMost(`object calls of ${requests} unmetered requests`, objectCalls, 0, ''),
    atMost(
      'version reads in the background',
      after.versions - before.versions,
      Math.ceil(seconds / 5) + 1,
      '',
    ),
    atMost(
      'reports to the metrics hub',
      reports,
      Math.ceil((seconds * 1000) / metricsReportMs) + 1,
      '',
    ),
    atLeast('call rows a batch', requests / Math.max(1, batches), 100, ''),
  ];
}

/** All that a call could make; reports are the isolate's. */
const objectCallsOf = ({ ledger: claims, capacity, overflowBudget }: ObjectCounts): number =>
  claims + capacity + overflowBudget;

const bundle = ({ bundleGzipBytes }: World): Line[] => [
  atMost('bundle, gzip', bundleGzipBytes / 1000, 150, 'kB'),
];

type Parts = Readonly<Record<string, (world: World) => Line[] | Promise<Line[]>>>;

const plainParts: Parts = { bundle, unmetered, queries, tracked, crowd, blob, sse, peer };
const meteredParts: Parts = {
  metered: (world) => metered(run, world),
  counts: (world) => counts(run, world),
  replay: (world) => replay(run, world),
  peer: (world) => peerMetered(run, world),
  // Last: a million entries make the process old.
  ledger: (world) => ledger(run, world),
};
const capacityParts: Parts = {
  healthy: (world) => healthy(run, world),
  open: (world) => open(run, world),
  sizes: (world) => sizes(run, world),
};
const sets: Readonly<Record<string, Parts>> = { metered: meteredParts, capacity: capacityParts };
const parts = set === '' ? plainParts : (sets[set] ?? unknownSet());

function unknownSet(): never {
  notUnderstood(`There is no set "${set}".`, taken);
}

function print(lines: readonly Line[]): void {
  if (asJson) {
    const judged = lines.map((line) => ({ ...line, keeps: keeps(line) }));
    console.log(
      JSON.stringify(
        { rounds: run.rounds, bad: Object.fromEntries(run.bad), bars: judged },
        null,
        2,
      ),
    );
    return;
  }
  const width = Math.max(...lines.map((line) => line.what.length));
  for (const line of lines) {
    const value = `${line.value.toFixed(2)} ${line.unit}`.padStart(12);
    const mark = line.limit === null ? '    ' : keeps(line) ? 'ok  ' : 'FAIL';
    const bar = line.limit === null ? '' : `   (${line.sense} ${line.limit} ${line.unit})`;
    console.log(`  ${mark}  ${line.what.padEnd(width)} ${value}${bar}`);
  }
}

const unknown = only?.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined)
  notUnderstood(`There is no part "${unknown}": ${Object.keys(parts).join(', ')}.`, taken);
const wanted = Object.entries(parts).filter(([name]) => only === undefined || only.includes(name));
installTools();
const world = await startWorld();
const lines: Line[] = [];
try {
  for (const [name, measure] of wanted) {
    if (!asJson) console.log(`${name} …`);
    const measured = await measure(world);
    lines.push(...measured);
    if (!asJson)
      for (const { value, unit, what } of measured)
        console.log(`  ${value.toFixed(2)} ${unit} ${what}`);
  }
} finally {
  await world.stop();
}
print(lines);
const bars = lines.filter((line) => line.limit !== null);
const missed = bars.filter((bar) => !keeps(bar)).length;
if (!asJson) {
  for (const [name, bad] of run.bad)
    console.log(`  FAIL  ${bad} answers of ${name} were not what they have to be`);
  console.log(
    `${bars.length - missed} of ${bars.length} bars hold, medians of ${run.rounds} rounds`,
  );
}
process.exit(missed + run.bad.size === 0 || given.isSet('report') ? 0 : 1);
