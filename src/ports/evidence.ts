/**
 * CallLog: where finished calls go. Promises: pushing never waits and never throws; rows are written in batches, bounded in count and
 * age; lossy only with a dying isolate (and counted when the sink does not answer). Never the source of money.
 */
import type { Outcome as Found } from '../domain/capacity/outcome';
import type { Background } from './config';

/** How a call ended: exactly one of these (issue 1, custody). */
export type Outcome = 'answered' | 'refused' | 'failed' | 'cancelled' | 'timed_out';

/** Who caused a refusal or a fault. */
export type Blame = 'caller' | 'gateway' | 'upstream' | 'connection';

/** One finished call. No body, no query, no secret; `evidence` is a masked error body head. Times in milliseconds, sizes in bytes. */
export interface CallRow {
  readonly id: string;
  readonly tenantId: string;
  readonly keyId: string | null;
  readonly principalId: string | null;
  readonly upstreamId: string | null;
  readonly surface: string;
  readonly method: string;
  readonly host: string | null;
  readonly path: string | null;
  readonly outcome: Outcome;
  readonly status: number;
  readonly code: string | null;
  readonly blame: Blame | null;
  readonly startedAtMs: number;
  readonly latencyMs: number;
  readonly requestBytes: number | null;
  readonly responseBytes: number | null;
  readonly evidence: string | null;
  /** With whose credential it was served: 1 own upstream, 2 own secret, 3 none, 4 platform account; null: it was not decided. */
  readonly tier: number | null;
  /** The catalog row that was called. */
  readonly catalogId: string | null;
  /** What the caller was charged, micro-USD; null: the call was not metered, or its charge was not known when the row was written. */
  readonly costMicros: number | null;
  readonly holdId: string | null;
  /** Label of the platform account that served it (`domain/capacity/signal.ts`); null: it was served by none. */
  readonly account: string | null;
  /** What the answer said of that account: a `SignalKind`. */
  readonly signal: string | null;
  /** `overflow:<aggregator>` on the row of a child call that an aggregator served. */
  readonly servedVia: string | null;
}

/** A row on its way to the log, with what is counted and not kept. */
export interface FinishedCall extends CallRow {
  /** Whether the vendor of a catalog row had what was asked for (`domain/capacity/outcome.ts`). */
  readonly found: Found | null;
}

/** A call that was sent and has not ended. An armed one sees its own end; another one may die with its context. */
export interface OpenCall {
  readonly startedAtMs: number;
  readonly armed: boolean;
  /** Where the log keeps it; only the log writes it. */
  slot: number;
  /** Tells a call that `custodyArmMs` have passed; it arms itself in its own context, if that is still alive. */
  wake(): void;
  /** Ends the call as cancelled: nobody else can any more. */
  lapse(): void;
}

export interface CallLog {
  push(row: FinishedCall, background: Background): void;
  /** Takes note of a call that is being sent, until {@link unwatch}. */
  watch(call: OpenCall, background: Background): void;
  unwatch(call: OpenCall): void;
}

/** Where batches of rows end up: D1 by default, a queue for scale. Repeating a batch must not duplicate a row. */
export interface CallSink {
  write(rows: readonly CallRow[]): Promise<void>;
}
