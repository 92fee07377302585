/**
 * `npm run bench`: the bars of the hot path, as ratios inside one round against the bare pass-through in the same process.
 * `--report` prints and exits 0; `--only unmetered,peer,…` picks parts; `--rounds N`; `--json`.
 * Read CPU ratios, never absolute times: medians over rotated rounds are good to about ±8 % on a shared machine.
 */
import { cpuUs, installTools, wrk } from './bench/machine.ts';
import { streamRound } from './bench/streams.ts';
import { startWorld, type Target, type World } from './bench/world.ts';

/** One line of the table: a measured value and the bar that it must keep. */
interface Bar {
  readonly what: string;
  readonly value: number;
  readonly limit: number;
  readonly sense: '≤' | '≥';
  readonly unit: string;
}

/** What one slice of load cost. CPU in microseconds a request. */
interface Slice {
  readonly cpu: number;
  readonly perSecond: number;
  readonly mb: number;
  readonly p50: number;
}

const args = process.argv.slice(2);
const option = (name: string): string | undefined => {
  const at = args.indexOf(`--${name}`);
  return at < 0 ? undefined : args[at + 1];
};
const rounds = Number(option('rounds') ?? 12);
const only = option('only')?.split(',');
const asJson = args.includes('--json');
let bad = 0;

function slice(target: Target, path: string, connections: number, seconds: number): Slice {
  const before = cpuUs(target.pid);
  const load = wrk(`${target.base}${path}`, { connections, seconds, headers: target.headers });
  bad += load.bad;
  return {
    cpu: (cpuUs(target.pid) - before) / Math.max(1, load.requests),
    perSecond: load.perSecond,
    mb: load.mb,
    p50: load.p50,
  };
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const mid = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[mid] ?? Number.NaN)
    : ((sorted[mid - 1] ?? 0) + (sorted[mid] ?? 0)) / 2;
};

type Pair = { readonly a: Slice; readonly b: Slice };

/** Rotated rounds of two targets; each pair is of one round. */
function pairs(a: Target, b: Target, path: string, connections: number, seconds: number): Pair[] {
  const out: Pair[] = [];
  slice(a, path, connections, 1);
  slice(b, path, connections, 1);
  for (let round = 0; round < rounds; round++) {
    if (!asJson)
      process.stderr.write(
        `\r  ${a.name} against ${b.name}, ${path}, ${connections} connections: round ${round + 1} of ${rounds} `,
      );
    const first = round % 2 === 0;
    const one = slice(first ? a : b, path, connections, seconds);
    const two = slice(first ? b : a, path, connections, seconds);
    out.push(first ? { a: one, b: two } : { a: two, b: one });
  }
  if (!asJson) process.stderr.write('\r\x1b[K');
  return out;
}

const cpuRatio = (all: readonly Pair[]): number => median(all.map(({ a, b }) => a.cpu / b.cpu));

function unmetered({ ours, bare }: World): Bar[] {
  const at = new Map([1, 16, 64].map((c) => [c, pairs(ours, bare, '/v1/json', c, 2)]));
  const limit = (c: number): number => (c === 1 ? 1.5 : 1.35);
  const bars = [...at].map(
    ([c, all]): Bar => ({
      what: `CPU a request against bare, ${c} connection${c === 1 ? '' : 's'}`,
      value: cpuRatio(all),
      limit: limit(c),
      sense: '≤',
      unit: '×',
    }),
  );
  const added = median((at.get(1) ?? []).map(({ a, b }) => a.p50 - b.p50));
  return [
    ...bars,
    { what: 'added p50 at one connection', value: added, limit: 0.2, sense: '≤', unit: 'ms' },
  ];
}

function peer({ ours, peer: other }: World): Bar[] {
  const all = pairs(ours, other, '/v1/json', 16, 2);
  const value = median(all.map(({ a, b }) => a.perSecond / b.perSecond));
  return [
    {
      what: 'requests/s against the peer gateway on node, 16 connections',
      value,
      limit: 2,
      sense: '≥',
      unit: '×',
    },
  ];
}

function tracked({ tracked: followed, bare }: World): Bar[] {
  return [
    {
      what: 'track_body: CPU a request against bare, 16 connections',
      value: cpuRatio(pairs(followed, bare, '/v1/json', 16, 2)),
      limit: 1.7,
      sense: '≤',
      unit: '×',
    },
  ];
}

function crowd({ many, ours }: World): Bar[] {
  return [
    {
      what: '10,000 upstreams in the tenant against 1: CPU a request',
      value: cpuRatio(pairs(many, ours, '/v1/json', 16, 2)),
      limit: 1.1,
      sense: '≤',
      unit: '×',
    },
  ];
}

function blob({ ours, bare }: World): Bar[] {
  const all = pairs(ours, bare, '/v1/blob', 4, 2);
  return [
    {
      what: '10 MB bodies: MB/s against bare',
      value: median(all.map(({ a, b }) => a.mb / b.mb)),
      limit: 0.95,
      sense: '≥',
      unit: '×',
    },
  ];
}

async function sse({ sse: ours, bare }: World): Promise<Bar[]> {
  const header = Object.fromEntries(
    ours.headers.map((line) => line.split(': ') as [string, string]),
  );
  const added: number[] = [];
  let incomplete = 0;
  let merged = 0;
  let mergedBare = 0;
  for (let round = 0; round < rounds; round++) {
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
    {
      what: 'SSE 32 × 200 events: p50 of an event above bare',
      value: median(added),
      limit: 0.05,
      sense: '≤',
      unit: 'ms',
    },
    {
      what: 'SSE streams that were not complete',
      value: incomplete,
      limit: 0,
      sense: '≤',
      unit: '',
    },
    {
      what: 'SSE chunks with merged events, above bare',
      value: Math.max(0, merged - mergedBare),
      limit: Math.ceil(rounds * 64 * 0.01),
      sense: '≤',
      unit: '',
    },
  ];
}

/** Counts instead of times: what D1 saw during a warm run. */
async function queries(world: World): Promise<Bar[]> {
  slice(world.ours, '/v1/json', 16, 1);
  const before = await world.queries();
  const startedAt = performance.now();
  const load = wrk(`${world.ours.base}/v1/json`, {
    connections: 16,
    seconds: 12,
    headers: world.ours.headers,
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await world.queries();
  bad += load.bad;
  const versions = after.versions - before.versions;
  const batches = after.callBatches - before.callBatches;
  console.log(
    `  in the background of ${load.requests} requests: ${versions} version reads, ${batches} batches of call rows; no object exists yet to call`,
  );
  return [
    {
      what: 'D1 reads on the path of warm requests',
      value: after.reads - before.reads,
      limit: 0,
      sense: '≤',
      unit: '',
    },
    {
      what: 'version reads in the background',
      value: versions,
      limit: Math.ceil(seconds / 5) + 1,
      sense: '≤',
      unit: '',
    },
    {
      what: 'call rows a batch',
      value: load.requests / Math.max(1, batches),
      limit: 100,
      sense: '≥',
      unit: '',
    },
  ];
}

const bundle = async ({ bundleGzipBytes }: World): Promise<Bar[]> => [
  { what: 'bundle, gzip', value: bundleGzipBytes / 1000, limit: 150, sense: '≤', unit: 'kB' },
];

const parts: Readonly<Record<string, (world: World) => Bar[] | Promise<Bar[]>>> = {
  bundle,
  unmetered,
  queries,
  tracked,
  crowd,
  blob,
  sse,
  peer,
};

const keeps = (bar: Bar): boolean =>
  bar.sense === '≤' ? bar.value <= bar.limit : bar.value >= bar.limit;

function print(bars: readonly Bar[]): void {
  if (asJson) {
    console.log(
      JSON.stringify(
        { rounds, bad, bars: bars.map((bar) => ({ ...bar, keeps: keeps(bar) })) },
        null,
        2,
      ),
    );
    return;
  }
  const width = Math.max(...bars.map((bar) => bar.what.length));
  for (const bar of bars) {
    const value = `${bar.value.toFixed(2)} ${bar.unit}`.padStart(12);
    console.log(
      `  ${keeps(bar) ? 'ok  ' : 'FAIL'}  ${bar.what.padEnd(width)} ${value}   (${bar.sense} ${bar.limit} ${bar.unit})`,
    );
  }
}

const wanted = Object.entries(parts).filter(([name]) => only === undefined || only.includes(name));
if (wanted.length === 0) {
  console.error(`Which part? --only ${Object.keys(parts).join(',')}`);
  process.exit(1);
}
installTools();
const world = await startWorld();
const bars: Bar[] = [];
try {
  for (const [name, measure] of wanted) {
    if (!asJson) console.log(`${name} …`);
    const measured = await measure(world);
    bars.push(...measured);
    if (!asJson)
      for (const bar of measured) console.log(`  ${bar.value.toFixed(2)} ${bar.unit} ${bar.what}`);
  }
} finally {
  await world.stop();
}
print(bars);
const failed = bars.filter((bar) => !keeps(bar)).length + (bad > 0 ? 1 : 0);
if (bad > 0) console.log(`  FAIL  ${bad} answers that were no success`);
console.log(
  `${bars.length - bars.filter((bar) => !keeps(bar)).length} of ${bars.length} bars hold, medians of ${rounds} rounds`,
);
process.exit(failed === 0 || args.includes('--report') ? 0 : 1);
