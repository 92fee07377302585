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
import { capacityStubs } from './adapters/durable/capacity-call';
import { DurableCapacityDesk } from './adapters/durable/capacity-desk';
import { DurableCapacityObjects } from './adapters/durable/capacity-objects';
import { ledgerStubs, packedLedger, platformTime } from './adapters/durable/ledger-call';
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
  const nowMs = () => Date.now();
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
  const callSink = new D1CallSink(bindings.DB);
  const stubOf = ledgerStubs(bindings.LEDGER);
  const ledgers = new DurableLedgers({
    stubOf,
    register: (address) => registerLedger(bindings.DB, address, nowMs()),
    time: platformTime,
  });
  const desk = new DurableLedgerDesk({
    objectOf: (address) => packedLedger(stubOf(address)),
    keeper:
      bindings.SETTLEMENTS === undefined
        ? noSettlementQueue
        : new SettlementQueue(bindings.SETTLEMENTS, platformTime),
    time: platformTime,
  });
  const wait = (ms: number) => scheduler.wait(ms);
  const hub = { shardOf: hubShards(bindings.METRICS), time: platformTime };
  const tally = new IsolateTally({
    ...hub,
    isRefusal: (code) => Object.hasOwn(refusalTable, code),
    isolate: crypto.randomUUID(),
    random: Math.random(),
  });
  const capacityOf = capacityStubs(bindings.CAPACITY);
  const capacity = new DurableCapacityDesk({
    objectOf: capacityOf,
    time: platformTime,
    unanswered: (question) => tally.failOpen(`capacity_${question}`),
  });
  const ownSends = {
    send: (url: string, init: RequestInit) => fetch(url, init),
    egress,
    policy: egressPolicy,
    time: platformTime,
  };
  const capacityRecords = new CapacityStore(bindings.DB);
  const capacityObjects = new DurableCapacityObjects({ stubOf: capacityOf, time: platformTime });
  const sweepPorts: SweepPorts = {
    store: capacityRecords,
    collector: new BalanceCollector(ownSends),
    objects: capacityObjects,
    settings: env.platformSettings,
    labels: env.platformAccounts,
    aggregators: aggregatorAccounts(env.overflow.aggregators, egressPolicy),
    nowMs,
    report,
  };
  const client = new JobClient(ownSends);
  const overflow: Overflow = {
    ...overflowOf(bindings, env, nowMs),
    ask: (request, background) =>
      client.ask(request, { bytesMax: overflowAnswerBytesMax, background }),
  };
  const overflowPorts: OverflowVerifyPorts = {
    leases: capacityRecords,
    store: new OverflowStore(bindings.DB),
    client,
    budgets: overflow.budgets,
    aggregators: overflow.aggregators,
    keyOf: overflow.keyOf,
    settings: env.platformSettings,
    policy: egressPolicy,
    nowMs,
    sleep: (ms) => scheduler.wait(ms),
    report,
  };
  const catalog = new D1Catalog({
    reader: new CatalogReader(bindings.DB, report),
    ttlMs: env.configTtlMs,
    nowMs,
  });
  const taskIndex = new D1TaskIndex(bindings.DB);
  const taskPorts: TaskPollPorts = {
    index: taskIndex,
    ledgers,
    catalog,
    client,
    policy: egressPolicy,
    settings: env.platformSettings,
    nowMs,
    report,
  };
  const call: CallServices = {
    config,
    credentials: new VaultCredentials({
      vault,
      platformSettings: env.platformSettings,
      ttlMs: env.configTtlMs,
    }),
    egress,
    egressPolicy,
    clientIpHeaders: new Set(env.clientIpHeaders),
    catalog,
    anonymousProviders: new Set(env.anonymousProviders),
    hasSetting: (name) => env.platformSettings.has(name),
    platformAccounts: env.platformAccounts,
    capacity,
    rateEnforced: new Set(env.rateEnforced),
    overflow,
    desk,
    tasks: new DurableTaskDesk({ ledgers, index: taskIndex, nowMs, report }),
    failOpen: (what) => tally.failOpen(what),
    peek: (address, claim) => ledgers.of(address).peek(claim),
    replayBodies: bindings.RECORDS === undefined ? null : new R2ReplayBodies(bindings.RECORDS),
    sign: platformSigner(env.keyCheckSecrets),
    callLog: new BufferedCallLog({
      sink: bindings.CALL_QUEUE === undefined ? callSink : new QueueCallSink(bindings.CALL_QUEUE),
      tally,
      nowMs,
      wait,
    }),
    send: (target, init) => fetch(target, init),
    sleep: (ms) => scheduler.wait(ms),
    nowMs,
    report,
  };
  return {
    env,
    call,
    callSink,
    metrics: new HubReader(hub),
    sweepPorts,
    overflowPorts,
    taskPorts,
    management: {
      env,
      store: d1Store(bindings.DB),
      config,
      mint,
      vault,
      egress,
      ledgers,
      capacity: capacityObjects,
      capacityRecords,
      sweepByHand: (only, background) => {
        const firing = { job: 'sweep by hand', scheduledAtMs: nowMs(), only, background };
        const run = stored(sweep(sweepPorts, firing));
        // A command that hangs up must not leave a sweep half done.
        background(run);
        return run;
      },
      pollTasks: (background) => {
        const run = stored(pollTasks(taskPorts, background));
        background(run);
        return run;
      },
      overflow: overflowByHand(overflowPorts),
      overflowBudgets: overflow.budgets,
      clock: nowMs,
    },
  };
}

/** The overflow jobs of an operator; one that hangs up must not leave a job half done. */
function overflowByHand(ports: OverflowVerifyPorts): OverflowByHand {
  const kept = <T>(work: T & Promise<unknown>, background: Background): T => {
    background(work);
    return work;
  };
  return {
    sync: (live, background) => kept(stored(overflowSync(ports, live, background)), background),
    verify: (options, background) =>
      kept(stored(overflowVerify(ports, options, background)), background),
    routes: (page) => stored(ports.store.list(page)),
  };
}

/** Routes through aggregators that have a key, and their budgets. */
function overflowOf(bindings: Bindings, env: Env, nowMs: () => number): Omit<Overflow, 'ask'> {
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
      start: platformTime.start,
    }),
  };
}
