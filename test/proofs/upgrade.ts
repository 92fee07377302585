/**
 * `npm run prove -- upgrade`: the newest landed bundle that differs from the present one runs on a
 * fresh store with its own schema, takes money, makes holds and records, and is killed with holds
 * open; then the present schema and bundle start on the same store. Nothing is lost.
 * Promises: the earlier bundle is built from its commit; without history (a shallow clone) the
 * present one stands in for it, and the figure says so. The present bundle has a shorter lease, so
 * that the end of the open holds is proven in seconds; everything else is as it is deployed.
 * Called by scripts/prove.ts and test/fault/upgrade.test.ts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeCatalog } from '../../scripts/lib/catalog/write.ts';
import { migrate } from '../../scripts/lib/migrations.ts';
import { type IsolateSet, Isolates } from '../support/isolates.ts';
import { costOf, isReplay, MoneyTenant, refusalOf } from '../support/money-world.ts';
import { bundleWithLimits } from '../support/money-world-bundle.ts';
import { labFile, labKey, labSetting } from '../support/money-world-catalog.ts';
import { answers, type PricedOrigin, startPricedOrigin } from '../support/priced-origin.ts';
import { holds, type Proof, type Row, type Staged, same } from '../support/proof.ts';
import { until } from '../support/until.ts';
import { type Before, callRows, limits, makeBefore, openCalls } from './upgrade/before.ts';
import { type EarlierBundle, earlierBundle } from './upgrade/earlier.ts';

/** The lease of the present bundle in this proof, milliseconds. */
const leaseMs = 6_000;
const presentMigrations = 'd1-migrations';

/** A store that was made by the earlier bundle and is run by the present one. */
interface Upgraded {
  readonly isolates: Isolates;
  readonly origin: PricedOrigin;
  readonly before: Before;
}

type Named = readonly [name: string, run: (upgraded: Upgraded) => Promise<unknown>];

const settledLedger: readonly Named[] = [
  [
    'right after the start: the same balance, blocks, limits, debts and open holds',
    async ({ before: { tenant, view } }) => {
      const now = await tenant.api('GET', '/ledger');
      // The start of the object is a row of its own, and a day may begin.
      const moving = { seq: null, settled_today_micros: null };
      same({ ...now, ...moving }, { ...view, ...moving }, 'the view');
      same([now.daily_cap_micros, now.limits.in_force], [limits.daily_cap_micros, true], 'limits');
      return `${now.available_micros} available, ${now.held_micros} held, ${now.settled_micros} settled`;
    },
  ],
  [
    'every entry of the log is there, in its place',
    async ({ before: { tenant, entries } }) => {
      const now = await tenant.entries();
      same(now.slice(0, entries.length), entries, 'entries');
      return `${entries.length} entries`;
    },
  ],
  [
    'every open hold is there, with a lease that begins anew',
    async ({ before }) => {
      const now = (await before.tenant.api('GET', '/ledger/holds?limit=100')).data;
      const known = (list: readonly unknown[]) =>
        list.map((hold) => ({ ...(hold as object), lease_until: null }));
      same(known(now), known(before.holds), 'holds');
      return `${now.length} holds`;
    },
  ],
  [
    'every idempotency record is there, in its state',
    async ({ before: { tenant, records } }) => {
      same(await tenant.records(), records, 'records');
      return records.map(({ state }) => state).join(', ');
    },
  ],
  [
    'a payment that was booked before is not booked again',
    async ({ before: { tenant, view, entries } }) => {
      const gift = { id: 'gift', kind: 'promotional', micros: 500 };
      const again = await tenant.api('POST', '/ledger/grants', gift);
      same(again.seq, entries.find(({ id }) => id === 'gift')?.seq, 'its row');
      same((await tenant.api('GET', '/ledger')).granted_micros, view.granted_micros, 'granted');
    },
  ],
  [
    'every row of a call is there, with its cost and hold',
    async ({ isolates, before: { tenant, calls } }) => {
      same(await callRows(isolates, tenant, calls.length), calls, 'rows');
      return `${calls.length} rows`;
    },
  ],
];

const keysAndCalls: readonly Named[] = [
  [
    'an answer that was recorded before is replayed: same status, bytes and cost, nothing is sent',
    async ({ origin, before: { tenant, recorded } }) => {
      for (const { key, caseId, answer } of recorded) {
        const again = await tenant.call('lab.usage', { key, caseId });
        same([again.status, isReplay(again), costOf(again)], [200, true, costOf(answer)], key);
        holds(again.body.equals(answer.body), `${key}: other bytes`);
        same(origin.arrivals(caseId), 1, 'requests at the vendor');
      }
    },
  ],
  [
    'a key whose outcome was unknown is still unknown, and one in flight is not sent again',
    async ({ origin, before: { tenant, unknownKey, openKey, open } }) => {
      const unknown = await tenant.call('lab.fixed', { key: unknownKey });
      same(refusalOf(unknown), 'idempotency.outcome_unknown', unknownKey);
      const inFlight = await tenant.call('lab.fixed', { key: openKey, caseId: open });
      same(inFlight.status, 409, openKey);
      same(origin.arrivals(open), 1, 'requests at the vendor');
    },
  ],
  [
    'the next call passes, with the key, the catalog and the budgets of before',
    async ({ before: { tenant, view } }) => {
      const next = await tenant.call('lab.fixed', { meta: 'team=t0' });
      same([next.status, costOf(next)], [200, 60], 'the call');
      await until('its settlement', async () => {
        const now = await tenant.api('GET', '/ledger');
        return now.settled_micros === view.settled_micros + 60 || undefined;
      });
    },
  ],
  [
    'each hold that was open ends once: expired in favour of the caller, listed for review',
    async ({ before }) => {
      const { tenant, view } = before;
      await tenant.ended(3 * leaseMs);
      const expired = (await tenant.entries()).filter(({ kind }) => kind === 'expire');
      const ids = before.holds.map((hold) => (hold as { id: string }).id).sort();
      same(expired.map(({ id }) => String(id)).sort(), ids, 'expired holds');
      same((await tenant.reviews()).map(({ id }) => id).sort(), ids, 'reviews');
      const { settled } = await tenant.books();
      same(settled, view.settled_micros + 60, 'settled');
      return `${openCalls} holds`;
    },
  ],
  [
    'what was in flight is unknown now; freed, its key is used again',
    async ({ origin, before: { tenant, open, openKey } }) => {
      const again = () => tenant.call('lab.fixed', { key: openKey, caseId: open });
      const unknown = await again();
      same(refusalOf(unknown), 'idempotency.outcome_unknown', 'the retry');
      const { record_id } = JSON.parse(unknown.body.toString());
      await tenant.api('POST', `/idempotency/${record_id}/resolve`, { resolution: 'free' });
      origin.planFor(open, answers());
      same([(await again()).status, origin.arrivals(open)], [200, 2], 'once it is free');
    },
  ],
  [
    'the audit of the whole log is clean, and its numbers go on without a gap',
    async ({ before: { tenant, view } }) => {
      await tenant.ended();
      const rows = await tenant.audit();
      holds(rows > view.seq, `audited up to row ${rows}, before the upgrade ${view.seq}`);
      const seqs = [...new Set((await tenant.entries()).map(({ seq }) => seq))];
      same(
        seqs,
        Array.from({ length: seqs.length }, (_, at) => at + 1),
        'numbers of the log',
      );
      return `${rows} rows`;
    },
  ],
];

// ── what is released is never edited ──

/** Rows about the sources of the earlier commit. */
const released = (earlier: EarlierBundle): readonly Named[] => [
  [
    'every migration of D1 that has landed is there, unchanged',
    async () => {
      const names = readdirSync(earlier.migrations).filter((name) => name.endsWith('.sql'));
      for (const name of names) {
        const [then, now] = [earlier.migrations, presentMigrations].map((folder) =>
          readFileSync(path.join(folder, name), 'utf8'),
        );
        holds(then === now, `${name} was edited`);
      }
      return `${names.length} files`;
    },
  ],
  [
    'every statement of the schema of the object that has landed is there, in its place',
    async () => {
      const [then, now] = await Promise.all([earlier.folder, '.'].map(schemaOf));
      same(now?.slice(0, then?.length), then, 'statements');
      return `${then?.length} statements`;
    },
  ],
];

async function schemaOf(folder: string): Promise<readonly string[]> {
  const file = path.resolve(folder, 'durable-objects/schema/org-ledger.ts');
  const module = (await import(pathToFileURL(file).href)) as { orgLedgerSchema: readonly string[] };
  return module.orgLedgerSchema;
}

// ── the stage ──

/** What the earlier and the present gateway have in common. */
const setOf = (origin: PricedOrigin, folder: string): IsolateSet => ({
  isolates: 1,
  allow: [origin.authority],
  persist: folder,
  bindings: { PLATFORM_SETTINGS: JSON.stringify({ [labSetting]: labKey }) },
});

/** Without history: the present bundle, under another name. */
function standIn(): Pick<EarlierBundle, 'title' | 'bundle' | 'migrations' | 'dispose'> {
  const bundle = `dist/earlier-${process.pid}.js`;
  writeFileSync(bundle, `// earlier\n${readFileSync('dist/worker.js', 'utf8')}`);
  return {
    title: 'the present bundle (no earlier one in this clone)',
    bundle,
    migrations: presentMigrations,
    dispose: () => rmSync(bundle, { force: true }),
  };
}

async function stage(): Promise<Staged> {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-upgrade-'));
  const origin = await startPricedOrigin();
  const found = earlierBundle('dist/worker.js');
  const earlier = found ?? standIn();
  const { bundle, migrations } = earlier;
  const isolates = await Isolates.start({ ...setOf(origin, folder), bundle, migrations });
  const files = [{ name: 'lab.yaml', text: labFile(origin.authority) }];
  await writeCatalog(await isolates.gateway.db(), origin.authority, files);
  const tenant = await MoneyTenant.make(isolates, { topUpMicros: 100_000, limits });
  const before = await makeBefore(isolates, origin, tenant);
  const present = `dist/present-${process.pid}.js`;
  await bundleWithLimits({ ledgerLeaseMs: leaseMs, ledgerAlarmJitterMs: 20 }, present);
  await isolates.restart(present);
  await migrate(await isolates.gateway.db(), presentMigrations);
  const upgraded: Upgraded = { isolates, origin, before };
  const table = [...settledLedger, ...keysAndCalls, ...(found === null ? [] : released(found))];
  let passed = 0;
  const rows: Row[] = table.map(([name, run]) => ({
    name,
    run: async () => {
      const shown = await run(upgraded);
      passed += 1;
      return typeof shown === 'string' ? shown : undefined;
    },
  }));
  return {
    rows,
    figure: () => `${passed} of ${rows.length} rows hold, from ${earlier.title}`,
    dispose: async () => {
      await isolates.dispose();
      await origin.close();
      earlier.dispose();
      for (const made of [folder, present]) rmSync(made, { recursive: true, force: true });
    },
  };
}

export const proof: Proof = {
  name: 'upgrade',
  title:
    'a store that an earlier bundle left with open holds and records: the present one loses nothing',
  stage,
};
