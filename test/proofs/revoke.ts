/**
 * `npm run prove -- revoke`: what is changed in one isolate is obeyed there at once and in the
 * other within CONFIG_TTL_S; without its store the gateway serves what it knows until a stated
 * bound, and what it knows to be revoked stays refused.
 * Promises: the second isolate is warm and under light, steady load; a call counts by when it
 * began. Called by scripts/prove.ts and test/fault/revoke.test.ts.
 */
import { fileURLToPath } from 'node:url';
import { bundleWorker } from '../../scripts/build.ts';
import {
  configReadTimeoutMs,
  keeperLifeMs,
  keeperTickMs,
  staleConfigMaxMs,
} from '../../src/base/limits.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { holds, type Proof, type Row, type Staged, same } from '../support/proof.ts';
import { exchange, headerOf, type RawAnswer, RawConnection } from '../support/raw-client.ts';
import { type RecordingOrigin, reply, startOrigin } from '../support/recording-origin.ts';
import { makeScenario, type Scenario } from '../support/scenario.ts';
import { type Change, changes, type Prepared, type Seen } from './revoke/changes.ts';

/** Pause between two calls of the steady load, milliseconds. */
const loadEveryMs = 100;
/** Calls that must go on obeying after the first one did. */
const steadyCalls = 5;

// ── two isolates ──

const request = (token: string, target: string): string =>
  `GET ${target} HTTP/1.1\r\nHost: gw\r\nX-Weir-Key: ${token}\r\n\r\n`;

/** One call through one isolate. The origin echoes what it got. */
async function seenBy(port: number, { token, target }: Prepared): Promise<Seen> {
  const answer = await exchange(port, request(token, target));
  if (headerOf(answer.lines, 'x-weir-error-source') !== 'upstream')
    return { status: answer.status, path: '', credential: '' };
  return { status: answer.status, ...JSON.parse(answer.body.toString()) };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Makes a change in isolate 0; gives how long isolate 1 went on with the old configuration,
 * milliseconds.
 */
async function obeyed(gateway: Gateway, prepared: Prepared, ttlMs: number): Promise<number> {
  const [here, there] = gateway.ports as [number, number];
  for (const port of [here, there, there]) {
    const seen = await seenBy(port, prepared);
    same([seen.status, seen.credential], [200, 'sk-before'], 'before the change');
  }
  await prepared.change();
  const changedAtMs = performance.now();
  let lastOldMs = 0;
  for (let obedient = 0; obedient < steadyCalls; ) {
    const begunMs = performance.now() - changedAtMs;
    const seen = await seenBy(there, prepared);
    const obeys = prepared.obeys(seen);
    holds(obeys || obedient === 0, `isolate 1 fell back to the old: ${JSON.stringify(seen)}`);
    holds(obeys || begunMs <= ttlMs, `isolate 1 after ${begunMs} ms: ${JSON.stringify(seen)}`);
    obedient += Number(obeys);
    if (!obeys) lastOldMs = begunMs;
    await pause(loadEveryMs);
  }
  return lastOldMs;
}

/** Isolate 0 made the change itself. An expiry that lies ahead is no change yet. */
async function atOnce(gateway: Gateway, change: Change, originPort: number): Promise<void> {
  const prepared = await change.prepare(gateway, originPort);
  const here = gateway.port;
  same((await seenBy(here, prepared)).status, 200, 'before the change');
  await prepared.change();
  if (change.name === 'key expired') await pause(250);
  const seen = await seenBy(here, prepared);
  holds(prepared.obeys(seen), `isolate 0, the next call: ${JSON.stringify(seen)}`);
}

/** A warm isolate without any load: its first call after the TTL. */
async function afterIdling(gateway: Gateway, originPort: number, ttlMs: number): Promise<void> {
  const [revoked] = changes as [Change];
  const prepared = await revoked.prepare(gateway, originPort);
  const there = gateway.ports[1] as number;
  for (let i = 0; i < 2; i++) same((await seenBy(there, prepared)).status, 200, 'before');
  await prepared.change();
  await pause(ttlMs);
  same((await seenBy(there, prepared)).status, 401, 'the first call after the TTL');
}

/** An expiry that was known when the key was read needs no store. */
async function knownExpiry(gateway: Gateway, originPort: number): Promise<void> {
  const [first] = changes as [Change];
  const { target } = await first.prepare(gateway, originPort);
  const lifeMs = 1_500;
  const expiresAtMs = Date.now() + lifeMs;
  const keyFields = { expires_at: new Date(expiresAtMs).toISOString() };
  const { token, upstream } = await makeScenario(gateway, { keyFields });
  const endpoints = [{ host: '127.0.0.1', port: originPort }];
  await upstream({ name: 'api', alias: 'api.test', scheme: 'http', endpoints });
  for (const port of gateway.ports) {
    const used = await exchange(port, request(token, target));
    holds(used.status === 200 || Date.now() >= expiresAtMs, `a live key: ${used.status}`);
  }
  await pause(Math.max(0, expiresAtMs - Date.now()) + 20);
  for (const port of gateway.ports)
    same((await exchange(port, request(token, target))).status, 401, 'after the expiry');
}

/**
 * Rows of one pair of isolates; the changes run side by side, because each has to wait for the TTL.
 */
function isolateRows(gateway: Gateway, originPort: number, ttlS: number): Row[] {
  const ttlMs = ttlS * 1_000;
  const first: { running: Map<string, Promise<number>> | null } = { running: null };
  const started = (): Map<string, Promise<number>> => {
    first.running ??= new Map(
      changes.map((change) => {
        const run = change
          .prepare(gateway, originPort)
          .then((prepared) => obeyed(gateway, prepared, ttlMs));
        run.catch(() => undefined);
        return [change.name, run];
      }),
    );
    return first.running;
  };
  return [
    ...changes.map((change) => ({
      name: `${change.name}: the other isolate obeys within ${ttlS} s`,
      run: async () => `old for ${((await started().get(change.name)) ?? 0).toFixed(0)} ms`,
    })),
    ...changes.map((change) => ({
      name: `${change.name}: the isolate that wrote it obeys at once (TTL ${ttlS} s)`,
      run: () => atOnce(gateway, change, originPort),
    })),
    {
      name: `a revoked key of an idle isolate is refused by its first call after ${ttlS} s`,
      run: () => afterIdling(gateway, originPort, ttlMs),
    },
    {
      name: `a key that expires is refused from that moment, in both isolates (TTL ${ttlS} s)`,
      run: () => knownExpiry(gateway, originPort),
    },
  ];
}

// ── without the store ──

interface Outage {
  readonly gateway: Gateway;
  readonly origin: RecordingOrigin;
  readonly scenario: Scenario;
  /** A key that this isolate knows to be revoked. */
  readonly revokedToken: string;
  /** Bound to the same tenant, never used before the outage. */
  readonly unseenToken: string;
  readonly control: (what: 'store' | 'ahead', value: string | number) => Promise<void>;
  readonly call: (target?: string, token?: string) => Promise<RawAnswer>;
}

/**
 * A fresh tenant that the isolate knows, in a world whose store answers and whose clock is right.
 */
async function beforeOutage(gateway: Gateway, origin: RecordingOrigin): Promise<Outage> {
  const control: Outage['control'] = async (what, value) => {
    await exchange(gateway.port, `GET /fault/${what}/${value} HTTP/1.1\r\nHost: gw\r\n\r\n`);
  };
  await control('store', 'ok');
  await control('ahead', 0);
  const scenario = await makeScenario(gateway);
  const call: Outage['call'] = (target = '/call/api/x', token = scenario.token) =>
    exchange(gateway.port, request(token, target), { timeoutMs: 20_000 });
  const endpoints = [{ host: '127.0.0.1', port: origin.port }];
  const named = (name: string) => ({ name, alias: `${name}.test`, scheme: 'http', endpoints });
  await scenario.upstream(named('api'));
  await scenario.upstream(named('unseen'));
  await scenario.upstream({ ...named('off'), enabled: false });
  const keyOf = () => scenario.post('/keys', { name: 'k', principal_id: scenario.principalId });
  const [revoked, unseen] = [await keyOf(), await keyOf()];
  await scenario.post(`/keys/${revoked.id}/revoke`, undefined);
  same((await call()).status, 200, 'a live key');
  same((await call('/call/off/x')).status, 503, 'an upstream that is off');
  same((await call('/call/api/x', revoked.token)).status, 401, 'a revoked key');
  return {
    gateway,
    origin,
    scenario,
    control,
    call,
    revokedToken: revoked.token,
    unseenToken: unseen.token,
  };
}

const problemOf = (answer: RawAnswer): string =>
  JSON.parse(answer.body.toString()).type.replace('urn:weir:problem:', '');

type OutageRow = readonly [name: string, run: (outage: Outage) => Promise<unknown>];
const ttlMs = 10_000;

const storeGone: readonly OutageRow[] = (['fails', 'hangs'] as const).flatMap((mode) => [
  [
    `D1 ${mode}: the last good configuration serves from the TTL to ${staleConfigMaxMs / 1000} s`,
    async ({ call, control }) => {
      await control('store', mode);
      for (const aheadMs of [0, ttlMs / 2, ttlMs, 60_000, staleConfigMaxMs - 20_000]) {
        await control('ahead', aheadMs);
        same((await call()).status, 200, `${aheadMs} ms after the store went`);
      }
    },
  ],
  [
    `D1 ${mode}: at ${staleConfigMaxMs / 1000} s it stops: 503 with Retry-After, and nothing is sent`,
    async ({ call, control }) => {
      await control('store', mode);
      await control('ahead', staleConfigMaxMs);
      const answer = await call();
      same([answer.status, problemOf(answer)], [503, 'config.unavailable'], 'after the bound');
      same(headerOf(answer.lines, 'retry-after'), '1', 'Retry-After');
    },
  ],
  [
    `D1 ${mode}: what is known to be revoked or disabled stays refused`,
    async ({ call, control, revokedToken }) => {
      await control('store', mode);
      for (const aheadMs of [0, ttlMs, staleConfigMaxMs - 20_000]) {
        await control('ahead', aheadMs);
        const revoked = await call('/call/api/x', revokedToken);
        same([revoked.status, problemOf(revoked)], [401, 'auth.failed'], `key at ${aheadMs} ms`);
        same(problemOf(await call('/call/off/x')), 'routing.upstream_disabled', 'upstream');
      }
      await control('ahead', staleConfigMaxMs);
      holds((await call('/call/api/x', revokedToken)).status >= 400, 'a revoked key served');
    },
  ],
  [
    `D1 ${mode}: what this isolate has never seen is 503, never a guess`,
    async ({ call, control, unseenToken }) => {
      await control('store', mode);
      same(problemOf(await call('/call/unseen/x')), 'config.unavailable', 'an unseen upstream');
      same(problemOf(await call('/call/api/x', unseenToken)), 'config.unavailable', 'a key');
    },
  ],
  [
    `D1 ${mode}: a call waits for it at most once, ${configReadTimeoutMs} ms`,
    async ({ call, control }) => {
      await control('store', mode);
      await control('ahead', ttlMs);
      const startedAtMs = performance.now();
      same((await call()).status, 200, 'status');
      const waitedMs = performance.now() - startedAtMs;
      holds(waitedMs < configReadTimeoutMs + 1_000, `waited ${waitedMs.toFixed(0)} ms`);
      return `${waitedMs.toFixed(0)} ms`;
    },
  ],
  [
    `D1 ${mode}: a client that leaves lets its upstream go within 1 s all the same`,
    async (outage) => {
      await outage.control('store', mode);
      return letsGo(outage);
    },
  ],
  [
    `D1 ${mode}: the same for a call that outlives the keeper of the call log`,
    async (outage) => {
      // The keeper runs in this call's context, and is found alive by the next one.
      same((await outage.call()).status, 200, 'the call whose context keeps');
      return letsGo(outage, async () => {
        await outage.control('ahead', keeperLifeMs + 1_000);
        await pause(5 * keeperTickMs);
        await outage.control('store', mode);
      });
    },
  ],
  [
    `D1 ${mode}, then answers: served again, changes obeyed, and the calls of the outage have rows`,
    async (outage) => {
      const { gateway, scenario, call, control } = outage;
      await control('store', mode);
      await control('ahead', ttlMs);
      const served = await call();
      const ids = [headerOf(served.lines, 'x-weir-call-id')];
      await control('ahead', staleConfigMaxMs);
      same((await call()).status, 503, 'after the bound');
      await control('store', 'ok');
      await pause(1_100);
      const again = await call();
      same([served.status, again.status], [200, 200], 'during and after');
      ids.push(headerOf(again.lines, 'x-weir-call-id'));
      await logged(outage, ids);
      await gateway.api(
        'POST',
        `/api/v1/keys/${scenario.keyId}/revoke?tenant=${scenario.tenantId}`,
      );
      same((await call()).status, 401, 'a revocation after the outage');
    },
  ],
]);

/**
 * A call that waits for its upstream and whose client resets; gives how long the upstream was open
 * after that.
 */
async function letsGo(
  { gateway, origin, scenario }: Outage,
  meanwhile: () => Promise<void> = () => pause(500),
): Promise<string> {
  const path = `/held-${performance.now()}`;
  const connection = () => origin.connections.findLast((c) => c.bytes.includes(path));
  const client = await RawConnection.open(gateway.port);
  client.send(request(scenario.token, `/call/api${path}`));
  while (connection() === undefined) await pause(5);
  await meanwhile();
  const leftAtMs = performance.now();
  client.reset();
  while ((connection()?.closedAtMs ?? null) === null) {
    holds(performance.now() - leftAtMs < 1_000, 'the upstream is open after 1 s');
    await pause(5);
  }
  return `closed after ${(performance.now() - leftAtMs).toFixed(0)} ms`;
}

/**
 * Waits for the rows of these calls; the light load goes on, because a batch is somebody's
 * `waitUntil`.
 */
async function logged({ gateway, call }: Outage, ids: readonly (string | null)[]): Promise<void> {
  const db = await gateway.db();
  const deadline = performance.now() + 15_000;
  const count = db.prepare('select id from calls where id in (select value from json_each(?))');
  for (;;) {
    const { results } = await count.bind(JSON.stringify(ids)).all();
    if (results.length === ids.length) return;
    holds(performance.now() < deadline, `${results.length} of ${ids.length} rows`);
    await call();
    await pause(loadEveryMs);
  }
}

// ── the stage ──

const echo = (origin: RecordingOrigin): void =>
  origin.answer(({ target, lines, connection }) => {
    // A held call is never answered.
    if (target.startsWith('/held-')) return;
    const body = JSON.stringify({ path: target, credential: headerOf(lines, 'x-api-key') ?? '' });
    connection.socket.write(reply('200 OK', ['Content-Type: application/json'], body));
  });

async function stage({ short }: { readonly short: boolean }): Promise<Staged> {
  const origin = await startOrigin();
  echo(origin);
  const allow = [origin.authority];
  const gateways: Gateway[] = [];
  const rows: Row[] = [];
  for (const ttlS of short ? [2] : [10, 2]) {
    const pair = await startGateway({
      isolates: 2,
      allow,
      bindings: { CONFIG_TTL_S: String(ttlS) },
    });
    gateways.push(pair);
    rows.push(...isolateRows(pair, origin.port, ttlS));
  }
  const bundle = 'dist/faulty.js';
  const entry = fileURLToPath(new URL('../support/faulty-worker.ts', import.meta.url));
  await bundleWorker({ entry, outfile: bundle });
  const faulty = await startGateway({ bundle, allow });
  gateways.push(faulty);
  for (const [name, run] of storeGone) {
    rows.push({
      name,
      run: async () => {
        const shown = await run(await beforeOutage(faulty, origin));
        return typeof shown === 'string' ? shown : undefined;
      },
    });
  }
  let passed = 0;
  const counted = rows.map(({ name, run }) => ({
    name,
    run: async () => {
      const shown = await run();
      passed += 1;
      return shown;
    },
  }));
  return {
    rows: counted,
    figure: () => `${passed} of ${rows.length} rows hold`,
    dispose: async () => {
      await Promise.all(gateways.map((gateway) => gateway.dispose()));
      await origin.close();
    },
  };
}

export const proof: Proof = {
  name: 'revoke',
  title:
    'a change is obeyed everywhere within CONFIG_TTL_S; without D1 the last good word counts for a while',
  stage,
};
