/**
 * Capacity records: policies and snapshots of the operator's accounts, and the sweep that writes them.
 * Promises: a policy is inserted when it is missing and never overwritten; snapshots are only added; a store that does not answer is
 * `config.unavailable`. Implemented by `adapters/d1/capacity-store.ts` and wired by `wiring.ts`. Times are epoch milliseconds.
 */
import type {
  BalanceSource,
  CapacityPolicy,
  ReadingState,
  SnapshotFacts,
} from '../domain/capacity/policy';
import type { Background } from './config';
import type { Page, Stored } from './store';

/** One reading of one account by one sweep. A collector that failed is one with an `error`. */
export interface SnapshotRecord extends SnapshotFacts {
  readonly id: string;
  readonly provider: string;
  readonly account: string;
  readonly sweepAtMs: number;
  /** What it meant when it was made; `readingOf` says what it means now. */
  readonly state: ReadingState;
  readonly total: number | null;
  readonly unit: string | null;
  readonly source: BalanceSource;
  readonly note: string | null;
}

/** A snapshot beside what the ledgers spent there: micro-USD of that account's calls on the UTC day of the reading, as far as they are kept. */
export interface SnapshotBesideSpend {
  readonly snapshot: SnapshotRecord;
  readonly spentMicros: number;
}

/** What the operator's views read. */
export interface CapacityRecords {
  policies(): Stored<readonly CapacityPolicy[]>;
  /** The newest snapshot of every account. */
  latest(): Stored<readonly SnapshotRecord[]>;
  /** Newest first; `after` is a snapshot's id, and the rows behind it are older. */
  snapshots(provider: string | null, page: Page): Stored<readonly SnapshotBesideSpend[]>;
}

/** What one sweep did. */
export type SweepRun =
  /** Another one of the same kind has this firing, or is still at work. */
  | { readonly outcome: 'skipped' }
  | {
      readonly outcome: 'done';
      readonly sweepAtMs: number;
      readonly snapshots: readonly SnapshotRecord[];
      /** Accounts without a policy that code knows: a person must classify them. */
      readonly unknown: readonly string[];
      /** Asked for by name, and no account of that name is configured. */
      readonly notFound: readonly string[];
      /** Read, but the provider's object did not take the reading. */
      readonly unpublished: readonly string[];
      /** Read, but the store did not take the snapshot. */
      readonly unwritten: readonly string[];
      /** Of PLATFORM_ACCOUNTS, `provider/label`: no call can use them. */
      readonly unusedAccounts: readonly string[];
    };

/** Reads balances now. `only` names providers; null: all. */
export type SweepByHand = (
  only: readonly string[] | null,
  background: Background,
) => Stored<SweepRun>;
