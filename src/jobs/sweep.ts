/**
 * Sweep: reads the balance of every account of the operator's, once per firing.
 * Promises: one row per account whatever came of it; the readings run side by side, each with its own deadline, so that a slow vendor
 * delays no other; only an exact reading of a primary account reaches the provider's object; a stored policy is never changed, and an account
 * that nobody classified, or that the deployment has and the catalog cannot use, is named, not guessed. Must never: touch locks or money: the meter may not be the allowance that ran out.
 * Called by `jobs/crons.ts` (hourly) and by hand through wiring.ts.
 */

import type { CapacityStore, Firing } from '../adapters/d1/capacity-store';
import type { BalanceCollector } from '../adapters/egress/balance-collector';
import { newId } from '../base/ids';
import { collectorsTogetherMax, sweepLeaseMs, sweepMsMax } from '../base/limits-capacity';
import { err, type Result } from '../base/result';
import { sideBySide } from '../base/side-by-side';
import {
  accountsOf,
  type CollectFault,
  type Measured,
  type SweptAccount,
  type SweptProvider,
  unusedAccounts,
} from '../domain/capacity/collect';
import {
  type CapacityPolicy,
  defaultPolicy,
  readingOf,
  type SnapshotFacts,
  sourceOf,
} from '../domain/capacity/policy';
import { primaryAccount } from '../domain/capacity/signal';
import type { CapacityObjects } from '../ports/capacity';
import type { SnapshotRecord, SweepRun } from '../ports/capacity-records';
import type { Background } from '../ports/config';
import type { Report } from '../ports/report';
import { type Leases, leased } from './leased';

/** What a sweep needs. `labels` are the further accounts by provider; `aggregators` are accounts beside the catalog's. */
export interface SweepPorts {
  readonly store: Leases &
    Pick<CapacityStore, 'providers' | 'policies' | 'addPolicies' | 'addSnapshot'>;
  readonly collector: Pick<BalanceCollector, 'collect'>;
  readonly objects: Pick<CapacityObjects, 'observe'>;
  readonly settings: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, readonly string[]>;
  readonly aggregators: readonly SweptProvider[];
  readonly nowMs: () => number;
  readonly report: Report;
}

/** One firing. `only` names providers; null: all. */
export interface SweepFiring extends Firing {
  readonly only: readonly string[] | null;
  readonly background: Background;
}

/** Reads all balances; throws when the store does not answer. */
export function sweep(ports: SweepPorts, firing: SweepFiring): Promise<SweepRun> {
  const startedAtMs = ports.nowMs();
  const lease = { nowMs: startedAtMs, leaseMs: sweepLeaseMs };
  return leased(ports.store, firing, lease, () => swept(ports, firing, startedAtMs));
}

async function swept(
  ports: SweepPorts,
  firing: SweepFiring,
  startedAtMs: number,
): Promise<SweepRun> {
  const { accounts, unused } = await sweptAccounts(ports, firing.only);
  const policies = await ensuredPolicies(ports, accounts);
  const one = new AccountSweep(ports, firing, policies, startedAtMs + sweepMsMax);
  const done = await sideBySide(accounts, collectorsTogetherMax, (account) => one.run(account));
  const names = new Set(accounts.map(({ provider }) => provider.slug));
  const unknown = [...names].filter((name) => !policies.has(name));
  if (unknown.length > 0) ports.report('sweep.unclassified', { providers: unknown.join(' ') });
  if (unused.length > 0) ports.report('sweep.accounts_unused', { accounts: unused.join(' ') });
  const named = (which: (each: Swept) => boolean) => done.filter(which).map(nameOf);
  return {
    outcome: 'done',
    sweepAtMs: firing.scheduledAtMs,
    snapshots: done.map(({ snapshot }) => snapshot),
    unknown,
    notFound: (firing.only ?? []).filter((name) => !names.has(name)),
    unpublished: named(({ isPublished }) => !isPublished),
    unwritten: named(({ isWritten }) => !isWritten),
    unusedAccounts: unused,
  };
}

const nameOf = ({ snapshot: { provider, account } }: Swept): string =>
  account === primaryAccount ? provider : `${provider}#${account}`;

/** What came of one account. */
interface Swept {
  readonly snapshot: SnapshotRecord;
  readonly isWritten: boolean;
  readonly isPublished: boolean;
}

/** The accounts to read, and those of the deployment's that nothing can use. */
async function sweptAccounts(
  { store, aggregators, settings, labels }: SweepPorts,
  only: readonly string[] | null,
): Promise<{ readonly accounts: readonly SweptAccount[]; readonly unused: readonly string[] }> {
  const providers = await store.providers();
  const accounts = [...providers, ...aggregators]
    .filter(({ slug }) => only === null || only.includes(slug))
    .flatMap((provider) => accountsOf(provider, settings, labels));
  return { accounts, unused: unusedAccounts(providers, settings, labels) };
}

/** The policies that are stored, with those that were missing and are known. */
async function ensuredPolicies(
  { store, nowMs }: SweepPorts,
  accounts: readonly SweptAccount[],
): Promise<ReadonlyMap<string, CapacityPolicy>> {
  const read = await store.policies();
  if (!read.ok) throw new Error('the policies cannot be read');
  const policies = new Map(read.value.map((policy) => [policy.provider, policy]));
  const missing = new Map<string, CapacityPolicy>();
  for (const { provider } of accounts) {
    const policy = defaultPolicy(provider.slug, provider.balance);
    if (policy !== null && !policies.has(provider.slug)) missing.set(provider.slug, policy);
  }
  await store.addPolicies([...missing.values()], nowMs());
  return new Map([...policies, ...missing]);
}

/** The way of one account: collect, write, tell. */
class AccountSweep {
  readonly #ports: SweepPorts;
  readonly #firing: SweepFiring;
  readonly #policies: ReadonlyMap<string, CapacityPolicy>;
  readonly #endsAtMs: number;

  constructor(
    ports: SweepPorts,
    firing: SweepFiring,
    policies: ReadonlyMap<string, CapacityPolicy>,
    endsAtMs: number,
  ) {
    this.#ports = ports;
    this.#firing = firing;
    this.#policies = policies;
    this.#endsAtMs = endsAtMs;
  }

  async run(account: SweptAccount): Promise<Swept> {
    const read = await this.#collected(account);
    const snapshot = this.#snapshot(account, read);
    const [isWritten, isPublished] = await Promise.all([
      this.#write(snapshot),
      this.#publish(snapshot),
    ]);
    return { snapshot, isWritten, isPublished };
  }

  /** What the vendor said; null where it publishes no meter, or none is known. */
  async #collected(account: SweptAccount): Promise<Result<Measured, CollectFault> | null> {
    const { balance: call } = account.provider;
    if (call?.kind !== 'call') return null;
    const { settings, collector, nowMs } = this.#ports;
    const credential = settings.get(account.setting);
    if (credential === undefined) return err('no_credential');
    if (nowMs() >= this.#endsAtMs) return err('not_reached');
    return collector.collect({ account, call, credential, background: this.#firing.background });
  }

  #snapshot(
    { provider: { slug, balance }, account }: SweptAccount,
    read: Result<Measured, CollectFault> | null,
  ): SnapshotRecord {
    const nowMs = this.#ports.nowMs();
    const [unit, confidence] =
      balance?.kind === 'call' ? [balance.unit, balance.confidence] : [null, 'none' as const];
    const value = read?.ok === true ? read.value : null;
    const facts: SnapshotFacts = {
      observedAtMs: nowMs,
      remaining: value?.remaining ?? null,
      resetsAtMs: value?.resetsAtMs ?? null,
      confidence: value === null ? 'none' : confidence,
      error: read?.ok === false ? read.error : null,
    };
    return {
      ...facts,
      id: newId('snp', nowMs),
      provider: slug,
      account,
      sweepAtMs: this.#firing.scheduledAtMs,
      state: readingOf(facts, this.#policies.get(slug)?.lowRemaining ?? null, nowMs),
      total: value?.total ?? null,
      unit,
      source: sourceOf(balance),
      note: value?.note ?? null,
    };
  }

  async #write(snapshot: SnapshotRecord): Promise<boolean> {
    try {
      await this.#ports.store.addSnapshot(snapshot);
      return true;
    } catch {
      this.#ports.report('sweep.unwritten', { provider: snapshot.provider });
      return false;
    }
  }

  /** Tells the object; true where there is nothing to tell. An account that could not be read is no longer known to be empty. */
  async #publish({
    provider,
    account,
    confidence,
    error,
    ...reading
  }: SnapshotRecord): Promise<boolean> {
    const isTold = confidence === 'exact' || error !== null;
    if (!isTold || account !== primaryAccount) return true;
    const { observedAtMs, resetsAtMs, state } = reading;
    const told = error !== null ? 'stale' : state === 'exhausted' ? state : 'ok';
    const answer = await this.#ports.objects.observe(provider, {
      observedAtMs,
      state: told,
      resetsAtMs: told === 'exhausted' ? resetsAtMs : null,
    });
    return answer !== null;
  }
}
