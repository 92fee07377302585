/**
 * Composition root: environment → ports → the services of the road and of the management API; made once per isolate.
 * Must never: hold an I/O object of one request. Called by app.ts and worker.ts.
 */
import { D1CallSink, QueueCallSink } from './adapters/d1/call-sink';
import { D1Catalog } from './adapters/d1/catalog';
import { CatalogReader } from './adapters/d1/catalog-reader';
import { D1Config } from './adapters/d1/config';
import { ConfigReader } from './adapters/d1/config-reader';
import { registerLedger } from './adapters/d1/journal';
import { d1Store } from './adapters/d1/store/store';
import { ledgerStubs, packedLedger, platformTime } from './adapters/durable/ledger-call';
import { DurableLedgerDesk } from './adapters/durable/ledger-desk';
import { DurableLedgers } from './adapters/durable/ledgers';
import { noSettlementQueue, SettlementQueue } from './adapters/durable/settlement-queue';
import { dohEgressGuard } from './adapters/egress/doh-resolver';
import { R2ReplayBodies } from './adapters/r2/replay-bodies';
import { BufferedCallLog } from './adapters/telemetry/call-log';
import { report } from './adapters/telemetry/report';
import { VaultCredentials } from './adapters/vault/credentials';
import { platformSigner } from './adapters/vault/platform-sign';
import { TokenMint } from './adapters/vault/token-check';
import { AesVault } from './adapters/vault/vault';
import type { CallServices } from './call/run-call';
import type { ManagementServices } from './control-plane/services';
import { type Bindings, type Env, parseEnv } from './env';

/** Everything that one isolate runs on. */
export interface Wired {
  readonly env: Env;
  readonly call: CallServices;
  readonly management: ManagementServices;
  readonly callSink: D1CallSink;
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
    catalog: new D1Catalog({
      reader: new CatalogReader(bindings.DB, report),
      ttlMs: env.configTtlMs,
      nowMs,
    }),
    anonymousProviders: new Set(env.anonymousProviders),
    hasSetting: (name) => env.platformSettings.has(name),
    desk,
    replayBodies: bindings.RECORDS === undefined ? null : new R2ReplayBodies(bindings.RECORDS),
    sign: platformSigner(env.keyCheckSecrets),
    callLog: new BufferedCallLog({
      sink: bindings.CALL_QUEUE === undefined ? callSink : new QueueCallSink(bindings.CALL_QUEUE),
      nowMs,
      wait: (ms) => scheduler.wait(ms),
    }),
    send: (target, init) => fetch(target, init),
    nowMs,
    report,
  };
  return {
    env,
    call,
    callSink,
    management: {
      env,
      store: d1Store(bindings.DB),
      config,
      mint,
      vault,
      egress,
      ledgers,
      clock: nowMs,
    },
  };
}
