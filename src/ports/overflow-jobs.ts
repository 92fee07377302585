/**
 * Overflow jobs: what a sync and a verification did, and the operator's way to them and to the stored routes.
 * Promises: one of them runs at a time; each is bounded and says where it stopped; a store that does not answer is `config.unavailable`.
 * Implemented by `jobs/overflow-*.ts` and `adapters/d1/overflow-store.ts`, wired by `wiring.ts`. Amounts are micro-USD.
 */

import type { OverflowFailure } from '../domain/overflow/envelope';
import type { RouteRow } from '../domain/overflow/routes';
import type { TestFault } from '../domain/overflow/test-call';
import type { RunAlarm, VerdictKind } from '../domain/overflow/verdict';
import type { Background } from './config';
import type { Page, Stored } from './store';

/** How the catalog of one aggregator was read. */
export type CatalogRead =
  | {
      readonly aggregator: string;
      readonly outcome: 'read';
      readonly offers: number;
      /** Entries that could not be read. */
      readonly leftOut: number;
      /** Of our rows, how many it has. */
      readonly matched: number;
    }
  /** Its rows were derived again from what is stored. */
  | {
      readonly aggregator: string;
      readonly outcome: 'no_key' | 'unreachable' | 'refused' | 'no_catalog';
    };

/** What one sync did. */
export type SyncRun =
  /** Another one, or a verification, is at work. */
  | { readonly outcome: 'skipped' }
  | {
      readonly outcome: 'done';
      readonly rows: number;
      readonly enabled: number;
      readonly changed: number;
      /** How many rows are off, by reason. */
      readonly off: Readonly<Record<string, number>>;
      /** Empty unless it was live. */
      readonly catalogs: readonly CatalogRead[];
    };

/** Why a route was not attempted. */
export type VerifySkip =
  | TestFault
  | 'no_key'
  | 'no_price'
  | 'too_dear'
  | 'budget'
  | 'endpoint_gone'
  | 'not_relayable'
  | 'store';

/** What came of one route. */
export interface VerifyEntry {
  readonly endpointId: string;
  readonly aggregator: string;
  /** null: it was not attempted, `reason` is a {@link VerifySkip}. */
  readonly verdict: VerdictKind | null;
  readonly reason: string;
  readonly stamped: boolean;
  readonly failure: OverflowFailure | null;
  /** null: not known, or not attempted. */
  readonly costMicros: number | null;
}

/** What one verification did. */
export type VerifyRun =
  | { readonly outcome: 'skipped' }
  | {
      readonly outcome: 'done';
      readonly entries: readonly VerifyEntry[];
      /** What makes it a failed run; null: nothing. Over this run's entries alone. */
      readonly alarm: RunAlarm | null;
      /** Where to go on; null: everything was visited, and a sync followed. */
      readonly next: string | null;
      readonly sync: SyncRun | null;
    };

/** What a verification visits. */
export interface VerifyOptions {
  /** Every row; else those that are enabled or were verified before. */
  readonly all: boolean;
  /** The dearest route that is paid for. */
  readonly maxMicros: number;
  /** Behind which row to go on; null: from the first. */
  readonly after: string | null;
}

/** The operator's side. */
export interface OverflowByHand {
  sync(live: boolean, background: Background): Stored<SyncRun>;
  verify(options: VerifyOptions, background: Background): Stored<VerifyRun>;
  /** Ordered by endpoint and aggregator; `after` is a {@link routeCursor}. */
  routes(page: Page): Stored<readonly RouteRow[]>;
}

/** Names a row in the order of lists. */
export const routeCursor = (row: Pick<RouteRow, 'endpointId' | 'aggregator'>): string =>
  `${row.endpointId} ${row.aggregator}`;
