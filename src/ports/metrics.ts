/**
 * Metrics: counts of finished calls, on their way from isolates to the totals, and back to whoever scrapes.
 * Promises: counting never waits, never throws and never fails a call; a report that no object takes is dropped and counted as such.
 * Implemented by `adapters/telemetry/metrics.ts`.
 */
import type { Counts } from '../domain/metrics/series';
import type { FinishedCall } from './evidence';

/** Protections that let calls go on when what they ask does not answer (decisions section 5), and what may be lost. */
export const failOpens = [
  'capacity_view',
  'capacity_probe',
  'capacity_strike',
  'capacity_ok',
  'capacity_mark',
  'capacity_take',
  'capacity_give_back',
  'call_cap',
  'call_rows',
  'metrics',
] as const;

/** One of {@link failOpens}. */
export type FailOpen = (typeof failOpens)[number];

/** The counts of one isolate. */
export interface Tally {
  /** Counts finished calls; the call log gives it each row once. */
  add(rows: readonly FinishedCall[]): void;
  /** Something did not answer, and `times` calls went on without it. */
  failOpen(what: FailOpen, times?: number): void;
  /** Whether there are counts that were not sent. */
  readonly isWaiting: boolean;
  /** Sends them when it is time at `nowMs` (or whenever `isLast`); bounded in time, never rejects. */
  report(nowMs: number, isLast: boolean): Promise<void>;
}

/** The totals of all isolates; null: a part of them does not answer, and half of a sum is no sum. */
export interface MetricsReader {
  read(): Promise<Counts | null>;
}
