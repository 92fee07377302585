/**
 * What the management API needs from outside. Made by `wiring.ts`, once per isolate; the tests make
 * it by hand.
 */
import type { EgressAllowance } from '../domain/egress/allowance';
import type { Aggregator } from '../domain/overflow/aggregators';
import type { OverflowMode } from '../domain/overflow/child';
import type { CapacityObjects } from '../ports/capacity';
import type { CapacityRecords, SweepByHand } from '../ports/capacity-records';
import type { Background, Config } from '../ports/config';
import type { EgressGuard } from '../ports/egress';
import type { Ledgers } from '../ports/ledger';
import type { OverflowBudgets } from '../ports/overflow';
import type { OverflowByHand } from '../ports/overflow-jobs';
import type { Store, Stored } from '../ports/store';
import type { PollCounts } from '../ports/tasks';
import type { Vault } from '../ports/vault';

/** Makes access key tokens; `adapters/vault/token-check.ts` does. */
export interface KeyMint {
  mint(): Promise<string>;
}

/** The parts of the environment that the management API reads. */
export interface ManagementEnv {
  readonly operatorKeys: readonly string[];
  readonly gatewayHosts: readonly string[];
  readonly egressAllow: EgressAllowance;
  readonly platformSettings: ReadonlyMap<string, string>;
  /** Labels of the further accounts of a provider. */
  readonly platformAccounts: ReadonlyMap<string, readonly string[]>;
  readonly overflow: {
    readonly mode: OverflowMode;
    /** Of one aggregator and UTC day. */
    readonly dailyBudgetMicros: number;
    readonly aggregators: readonly Pick<Aggregator, 'name' | 'setting'>[];
  };
}

/** Everything that a handler may use. `clock` is epoch milliseconds. */
export interface ManagementServices {
  readonly env: ManagementEnv;
  readonly store: Store;
  readonly config: Config;
  readonly ledgers: Ledgers;
  readonly mint: KeyMint;
  readonly vault: Vault;
  readonly egress: EgressGuard;
  readonly capacity: CapacityObjects;
  readonly capacityRecords: CapacityRecords;
  readonly sweepByHand: SweepByHand;
  readonly pollTasks: (background: Background) => Stored<PollCounts>;
  readonly overflow: OverflowByHand;
  readonly overflowBudgets: Pick<OverflowBudgets, 'days'>;
  readonly clock: () => number;
}
