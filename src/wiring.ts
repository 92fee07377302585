/**
 * Composition root: environment → ports → the services of the road and of the management API; made once per isolate.
 * Must never: hold an I/O object of one request. Called by app.ts and worker.ts.
 */
import { D1CallSink, QueueCallSink } from './adapters/d1/call-sink';
import { CapacityStore } from './adapters/d1/capacity-store';
import { D1Catalog } from './adapters/d1/catalog';
import { CatalogReader } from './adapters/d1/catalog-reader';
import { D1Config } from './adapters/d1/config';
import { ConfigReader } from './adapters/d1/config-reader';
import { registerLedger } from './adapters/d1/journal';
import { D1OverflowRoutes, OverflowRouteReader } from './adapters/d1/overflow-routes';
import { OverflowStore } from './adapters/d1/overflow-store';
import { stored } from './adapters/d1/store/statements';
import { d1Store } from './adapters/d1/store/store';
import { D1TaskIndex } from './adapters/d1/task-index';
import { DurableCapacityDesk } from './adapters/durable/capacity-desk';
import { capacityStubs, DurableCapacityObjects } from './adapters/durable/capacity-objects';
import { ledgerStubs, packedLedger } from './adapters/durable/ledger-call';
import { DurableLedgerDesk } from './adapters/durable/ledger-desk';
import { DurableLedgers } from './adapters/durable/ledgers';
import { DurableOverflowBudgets } from './adapters/durable/overflow-budgets';
import { noSettlementQueue, SettlementQueue } from './adapters/durable/settlement-queue';
import { DurableTaskDesk } from './adapters/durable/task-desk';
import { BalanceCollector } from './adapters/egress/balance-collector';
import { dohEgressGuard } from './adapters/egress/doh-resolver';
import { JobClient } from './adapters/egress/job-client';
import { R2ReplayBodies } from './adapters/r2/replay-bodies';
import { BufferedCallLog } from './adapters/telemetry/call-log';
import { HubReader, hubShards, IsolateTally } from './adapters/telemetry/metrics';
import { report } from './adapters/telemetry/report';
import { platformTime } from './adapters/time';
import { VaultCredentials } from './adapters/vault/credentials';
import { platformSigner } from './adapters/vault/platform-sign';
import { TokenMint } from './adapters/vault/token-check';
import { AesVault } from './adapters/vault/vault';
import { overflowAnswerBytesMax } from './base/limits-capacity';
import type { Overflow } from './call/branch-overflow';
import type { CallServices } from './call/run-call';
import type { ManagementServices } from './control-plane/services';
import { aggregatorAccounts } from './domain/overflow/accounts';
import type { Aggregator } from './domain/overflow/aggregators';
import { type Bindings, type Env, parseEnv } from './env';
import { refusalTable } from './http/refusal-table';
import { overflowSync } from './jobs/overflow-sync';
import { type OverflowVerifyPorts, overflowVerify } from './jobs/overflow-verify';
import { type SweepPorts, sweep } from './jobs/sweep';
import { pollTasks, type TaskPollPorts } from './jobs/task-polls';
import type { Background } from './ports/config';
import type { MetricsReader } from './ports/metrics';
import type { OverflowByHand } from './ports/overflow-jobs';

/** Everything that one isolate runs on. */
export interface Wired {
  readonly env: Env;
  readonly call: CallServices;
  readonly management: ManagementServices;
  readonly callSink: D1CallSink;
  readonly metrics: MetricsReader;
  readonly sweepPorts: SweepPorts;
  readonly overflowPorts: OverflowVerifyPorts;
  readonly taskPorts: TaskPollPorts;
}

let wired: { readonly from: Bindings; readonly services: Wired } | null = null;

/** The services of this isolate; throws `EnvError` when the environment cannot be used. */
export function wire(bindings: Bindings): Wired {
  if (wired === null || wired.from !== bindings)
    wired = { from: bindings, services: make(bindings) };
  return wired.services;
}

function make(bindings: Bindings): Wired {
  const env = parseEnv(bindings);
  const shared = sharedBy(bindings, env);
  const jobs = jobsOf(bindings, env, shared);
  return {
    env,
    call: roadOf(bindings, env, shared),
    callSink: shared.callSink,
    metrics: new HubReader(shared.hub),
    ...jobs,
    management: managementOf(bindings, env, { ...shared, ...jobs }),
  };
}

const nowMs = (): number => Date.now();
const sleep = (ms: number): Promise<void> => scheduler.wait(ms);

/** What more than one of the road, the jobs and the management API use. */
function sharedBy(bindings: Bindings, env: Env) {
  const mint = new TokenMint(env.keyCheckSecrets);
  const vault = new AesVault({ masterKeys: env.masterKeys, ttlMs: env.configTtlMs, clock: nowMs });
  const config = new D1Config({
    reader: new ConfigReader(bindings.DB, report),
    mint,
    ttlMs: env.configTtlMs,
    nowMs,
  });
  const egressPolicy = { allow: env.egressAllow, gatewayHosts: env.gatewayHosts, httpsOnly: true };
  const egress = dohEgressGuard({
    fetch: (url, init) => fetch(url, init),
    resolverUrl: env.egressResolver,
    allow: env.egressAllow,
  });
  const ledgerOf = ledgerStubs(bindings.LEDGER);
  const ledgers = new DurableLedgers({
    stubOf: ledgerOf,
    register: (address) => registerLedger(bindings.DB, address, nowMs()),
    time: platformTime,
  });
  const ownSends = {
    send: (url: string, init: RequestInit) => fetch(url, init),
    egress,
    policy: egressPolicy,
    time: platformTime,
  };
  const client = new JobClient(ownSends);
  const capacityOf = capacityStubs(bindings.CAPACITY);
  return {
    mint,
    vault,
    config,
    egressPolicy,
    egress,
    ledgerOf,
    ledgers,
    ownSends,
    client,
    callSink: new D1CallSink(bindings.DB),
    hub: { shardOf: hubShards(bindings.METRICS), time: platformTime },
    capacityOf,
    capacityRecords: new CapacityStore(bindings.DB),
    capacityObjects: new DurableCapacityObjects({ stubOf: capacityOf, time: platformTime }),
    overflow: overflowOf(bindings, env, client),
    catalog: new D1Catalog({
      reader: new CatalogReader(bindings.DB, report),
      ttlMs: env.configTtlMs,
      nowMs,
    }),
    taskIndex: new D1TaskIndex(bindings.DB),
  };
}

type Shared = ReturnType<typeof sharedBy>;
type Jobs = Pick<Wired, 'sweepPorts' | 'overflowPorts' | 'taskPorts'>;

/** What the jobs run on. */
function jobsOf(bindings: Bindings, env: Env, shared: Shared): Jobs {
  const { capacityRecords, catalog, client, egressPolicy, ledgers, overflow, taskIndex } = shared;
  const common = { settings: env.platformSettings, nowMs, report };
  return {
    sweepPorts: {
      ...common,
      store: capacityRecords,
      collector: new BalanceCollector(shared.ownSends),
      objects: shared.capacityObjects,
      labels: env.platformAccounts,
      aggregators: aggregatorAccounts(env.overflow.aggregators, egressPolicy),
    },
    overflowPorts: {
      ...common,
      leases: capacityRecords,
      store: new OverflowStore(bindings.DB),
      client,
      budgets: overflow.budgets,
      aggregators: overflow.aggregators,
      keyOf: overflow.keyOf,
      policy: egressPolicy,
      sleep,
    },
    taskPorts: {
      ...common,
      labels: env.platformAccounts,
      index: taskIndex,
      ledgers,
      catalog,
      client,
      policy: egressPolicy,
    },
  };
}

/** What the road runs on. */
function roadOf(
  { CALL_QUEUE, RECORDS, SETTLEMENTS }: Bindings,
  env: Env,
  shared: Shared,
): CallServices {
  const { callSink, catalog, ledgers, overflow, taskIndex } = shared;
  const tally = new IsolateTally({
    ...shared.hub,
    isRefusal: (code) => Object.hasOwn(refusalTable, code),
    isolate: crypto.randomUUID(),
    random: Math.random(),
  });
  return {
    config: shared.config,
    credentials: new VaultCredentials({
      vault: shared.vault,
      platformSettings: env.platformSettings,
      ttlMs: env.configTtlMs,
    }),
    egress: shared.egress,
    egressPolicy: shared.egressPolicy,
    clientIpHeaders: new Set(env.clientIpHeaders),
    catalog,
    anonymousProviders: new Set(env.anonymousProviders),
    hasSetting: (name) => env.platformSettings.has(name),
    platformAccounts: env.platformAccounts,
    capacity: new DurableCapacityDesk({
      objectOf: shared.capacityOf,
      time: platformTime,
      unanswered: (question) => tally.failOpen(`capacity_${question}`),
    }),
    rateEnforced: new Set(env.rateEnforced),
    overflow,
    desk: new DurableLedgerDesk({
      objectOf: (address) => packedLedger(shared.ledgerOf(address)),
      keeper:
        SETTLEMENTS === undefined
          ? noSettlementQueue
          : new SettlementQueue(SETTLEMENTS, platformTime),
      time: platformTime,
    }),
    tasks: new DurableTaskDesk({ ledgers, index: taskIndex, nowMs, report }),
    failOpen: (what) => tally.failOpen(what),
    peek: (address, claim) => ledgers.of(address).peek(claim),
    replayBodies: RECORDS === undefined ? null : new R2ReplayBodies(RECORDS, platformTime),
    sign: platformSigner(env.keyCheckSecrets),
    callLog: new BufferedCallLog({
      sink: CALL_QUEUE === undefined ? callSink : new QueueCallSink(CALL_QUEUE),
      tally,
      nowMs,
      wait: sleep,
    }),
    send: (target, init) => fetch(target, init),
    sleep,
    nowMs,
    report,
  };
}

/** What the management API runs on. */
function managementOf(bindings: Bindings, env: Env, shared: Shared & Jobs): ManagementServices {
  const { config, mint, vault, egress, ledgers, capacityRecords } = shared;
  return {
    env,
    store: d1Store(bindings.DB),
    config,
    mint,
    vault,
    egress,
    ledgers,
    capacity: shared.capacityObjects,
    capacityRecords,
    sweepByHand: (only, background) => {
      const firing = { job: 'sweep by hand', scheduledAtMs: nowMs(), only, background };
      return kept(stored(sweep(shared.sweepPorts, firing)), background);
    },
    pollTasks: (background) => kept(stored(pollTasks(shared.taskPorts, background)), background),
    overflow: overflowByHand(shared.overflowPorts),
    overflowBudgets: shared.overflow.budgets,
    clock: nowMs,
  };
}

/** A command that hangs up must not leave a job half done. */
function kept<T>(work: T & Promise<unknown>, background: Background): T {
  background(work);
  return work;
}

/** The overflow jobs of an operator. */
function overflowByHand(ports: OverflowVerifyPorts): OverflowByHand {
  return {
    sync: (live, background) => kept(stored(overflowSync(ports, live, background)), background),
    verify: (options, background) =>
      kept(stored(overflowVerify(ports, options, background)), background),
    routes: (page) => stored(ports.store.list(page)),
  };
}

/** Routes through aggregators that have a key, their budgets, and how they are asked. */
function overflowOf(bindings: Bindings, env: Env, client: JobClient): Overflow {
  const { mode, aggregators, dailyBudgetMicros } = env.overflow;
  const keyOf = ({ setting }: Aggregator): string | null =>
    env.platformSettings.get(setting) ?? null;
  const usable = aggregators.filter((one) => keyOf(one) !== null).map(({ name }) => name);
  return {
    mode,
    aggregators,
    keyOf,
    routes: new D1OverflowRoutes({
      reader: new OverflowRouteReader(bindings.DB, report),
      usable,
      nowMs,
    }),
    budgets: new DurableOverflowBudgets({
      stubOf: (name) => bindings.OVERFLOW_BUDGET.get(bindings.OVERFLOW_BUDGET.idFromName(name)),
      budgetMicros: dailyBudgetMicros,
      report,
      time: platformTime,
    }),
    ask: (request, background) =>
      client.ask(request, { bytesMax: overflowAnswerBytesMax, background }),
  };
}
