/**
 * What the bench measures and how it says it: slices of load, rounds of several targets, lines with and without a bar.
 * Promises: targets of one round stand in rotated order and are compared inside that round only. Called by bench.ts and its parts.
 */
import { cpuUs, type Load, wrk } from './machine.ts';

/** One thing that is measured. */
export interface Target {
  readonly name: string;
  readonly pid: number;
  readonly base: string;
  readonly headers: readonly string[];
  /** The only path that it has, whatever is asked for. */
  readonly path?: string;
  /** A file of Lua that takes several paths in turn. */
  readonly script?: string;
  /** Every answer has to be a no. */
  readonly isRefused?: boolean;
}

/** A measured value; with a bar that it must keep, or as a comparison (`limit` is `null`). */
export interface Line {
  readonly what: string;
  readonly value: number;
  readonly limit: number | null;
  readonly sense: '≤' | '≥';
  readonly unit: string;
}

/** What one slice of load cost. CPU in microseconds a request. */
export interface Slice {
  readonly cpu: number;
  readonly perSecond: number;
  readonly mb: number;
  readonly p50: number;
}

/** How the bench was asked to run, and what went wrong so far. */
export interface Run {
  readonly rounds: number;
  readonly isQuiet: boolean;
  /** Answers that were not as they should be, by the name of the target. */
  readonly bad: Map<string, number>;
}

export interface LoadShape {
  readonly path: string;
  readonly connections: number;
  readonly seconds: number;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const mid = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[mid] ?? Number.NaN)
    : ((sorted[mid - 1] ?? 0) + (sorted[mid] ?? 0)) / 2;
};

/** Loads one target, and counts what was not as it should be. */
export function load(run: Run, target: Target, shape: LoadShape): Load {
  const done = wrk(`${target.base}${target.path ?? shape.path}`, {
    ...shape,
    headers: target.headers,
    script: target.script ?? null,
  });
  const wrong = target.isRefused === true ? done.requests - done.refused : done.refused;
  const bad = wrong + (done.isBroken ? 1 : 0);
  if (bad > 0) run.bad.set(target.name, (run.bad.get(target.name) ?? 0) + bad);
  return done;
}

function slice(run: Run, target: Target, shape: LoadShape): Slice {
  const before = cpuUs(target.pid);
  const { requests, perSecond, mb, p50 } = load(run, target, shape);
  return { cpu: (cpuUs(target.pid) - before) / Math.max(1, requests), perSecond, mb, p50 };
}

/** Rotated rounds; each gives the slices of all targets, in the order of `targets`. */
export function roundsOf(run: Run, targets: readonly Target[], shape: LoadShape): Slice[][] {
  for (const target of targets) slice(run, target, { ...shape, seconds: 1 });
  const names = targets.map(({ name }) => name).join(', ');
  const out: Slice[][] = [];
  for (let round = 0; round < run.rounds; round++) {
    progress(run, `${names}, ${shape.connections} connections: round ${round + 1}`);
    const slices: Slice[] = [];
    for (let turn = 0; turn < targets.length; turn++) {
      const at = (round + turn) % targets.length;
      const target = targets[at];
      if (target !== undefined) slices[at] = slice(run, target, shape);
    }
    out.push(slices);
  }
  progress(run, '');
  return out;
}

/** What is under way, on one line of the terminal. */
export function progress({ isQuiet, rounds }: Run, text: string): void {
  if (isQuiet) return;
  process.stderr.write(text === '' ? '\r\x1b[K' : `\r\x1b[K  ${text} of ${rounds} `);
}

export type Pair = { readonly a: Slice; readonly b: Slice };

/** Two targets of the same rounds. */
export const pairsOf = (rounds: readonly Slice[][], a: number, b: number): Pair[] =>
  rounds.flatMap((slices) => {
    const [one, two] = [slices[a], slices[b]];
    return one === undefined || two === undefined ? [] : [{ a: one, b: two }];
  });

/** Rounds of two targets. */
export const pairs = (run: Run, [a, b]: readonly [Target, Target], shape: LoadShape): Pair[] =>
  pairsOf(roundsOf(run, [a, b], shape), 0, 1);

export const cpuRatio = (all: readonly Pair[]): number =>
  median(all.map(({ a, b }) => a.cpu / b.cpu));

/** `1 connection`, `16 connections`. */
export const connectionsText = (count: number): string =>
  `${count} connection${count === 1 ? '' : 's'}`;

/** A comparison, never a bar. */
export const note = (what: string, value: number, unit = '×'): Line => ({
  what,
  value,
  limit: null,
  sense: '≤',
  unit,
});

export const atMost = (what: string, value: number, limit: number, unit = '×'): Line => ({
  what,
  value,
  limit,
  sense: '≤',
  unit,
});

export const atLeast = (what: string, value: number, limit: number, unit = '×'): Line => ({
  what,
  value,
  limit,
  sense: '≥',
  unit,
});

export const keeps = ({ sense, value, limit }: Line): boolean =>
  limit === null || (sense === '≤' ? value <= limit : value >= limit);
