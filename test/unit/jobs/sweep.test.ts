/** The sweep over a real D1, with a scripted collector and scripted objects: what is written, told, named; once per firing. */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { CapacityStore } from '../../../src/adapters/d1/capacity-store';
import { collectorsTogetherMax, sweepMsMax } from '../../../src/base/limits-capacity';
import { err, ok, type Result } from '../../../src/base/result';
import type { CollectFault, Measured, SweptProvider } from '../../../src/domain/capacity/collect';
import type { Reading } from '../../../src/domain/capacity/operations';
import type { Bindings } from '../../../src/env';
import { type SweepPorts, sweep } from '../../../src/jobs/sweep';
import type { SweepRun } from '../../../src/ports/capacity-records';
import { balanceCall, vendor } from '../domain/capacity/accounts-under-test';
import { provider } from '../domain/catalog/rows';

const db = (env as unknown as Bindings).DB;
const store = new CapacityStore(db);
const startMs = Date.UTC(2030, 0, 1);

type Read = Result<Measured, CollectFault>;
const left = (remaining: number, parts: Partial<Measured> = {}): Read =>
  ok({ remaining, total: null, resetsAtMs: null, note: null, ...parts });

/** Every account has a credential of its own; `answers` says what its vendor does. */
function world(
  providers: readonly SweptProvider[],
  answers: Readonly<Record<string, () => Read | Promise<Read>>> = {},
  parts: Partial<SweepPorts> = {},
) {
  const told: [string, Reading][] = [];
  const asked: string[] = [];
  const clock = { nowMs: startMs };
  const ports: SweepPorts = {
    store,
    collector: {
      collect: async ({ account, credential }) => {
        const name = `${account.provider.slug}#${account.account}`;
        asked.push(`${name} ${credential}`);
        return (answers[account.provider.slug] ?? (() => left(5)))();
      },
    },
    objects: {
      observe: async (name, reading) => {
        told.push([name, reading]);
        return true;
      },
    },
    settings: new Map(
      providers.flatMap(({ accounts }) =>
        accounts.map(({ setting }) => [setting, `key of ${setting}`]),
      ),
    ),
    labels: new Map(),
    aggregators: [],
    nowMs: () => clock.nowMs,
    report: () => undefined,
    ...parts,
  };
  const fire = (
    scheduledAtMs = startMs,
    only: readonly string[] | null = null,
  ): Promise<SweepRun> =>
    sweep(ports, { job: 'sweep', scheduledAtMs, only, background: () => undefined });
  return { told, asked, clock, fire };
}

/** Puts providers into the catalog, as an import does. */
async function import_(providers: readonly SweptProvider[]): Promise<void> {
  await db.batch(
    providers.map((each) =>
      db
        .prepare('insert into catalog_providers (slug, name, document) values (?, ?, ?)')
        .bind(each.slug, each.slug, JSON.stringify(provider(each))),
    ),
  );
}

const named = (slug: string, parts: Partial<SweptProvider> = {}): SweptProvider =>
  vendor({ slug, accounts: [{ label: 'main', setting: `${slug.toUpperCase()}_KEY` }], ...parts });

async function done(run: Promise<SweepRun>) {
  const ended = await run;
  if (ended.outcome !== 'done') throw new Error('the sweep was skipped');
  return ended;
}

const rows = async () =>
  (
    await db
      .prepare('select * from capacity_snapshots order by provider, account, sweep_at')
      .all<Record<string, unknown>>()
  ).results;

beforeEach(async () => {
  await db.batch(
    ['capacity_snapshots', 'capacity_policies', 'job_leases', 'catalog_providers'].map((table) =>
      db.prepare(`delete from ${table}`),
    ),
  );
});

describe('a sweep', () => {
  it('writes one row per account, whatever came of it, and tells the objects of exact readings and of those that failed', async () => {
    const resetsAtMs = startMs + 60_000;
    const providers = [
      named('openai'),
      named('brave', { balance: { kind: 'none' } }),
      named('anthropic', { balance: null }),
      named('apify', { balance: balanceCall({ confidence: 'estimated' }) }),
      named('deepgram'),
      named('resend'),
    ];
    await import_(providers);
    const { told, fire } = world(providers, {
      openai: () => left(0, { resetsAtMs, total: 9, note: 'Pro' }),
      apify: () => left(0),
      deepgram: () => err('status_500'),
    });
    const run = await done(fire());
    expect(await rows()).toMatchObject([
      { provider: 'anthropic', state: 'stale', source: 'unknown', confidence: 'none', error: null },
      { provider: 'apify', state: 'low', remaining: 0, confidence: 'estimated' },
      { provider: 'brave', state: 'stale', source: 'dashboard', remaining: null, error: null },
      {
        provider: 'deepgram',
        state: 'stale',
        source: 'api',
        confidence: 'none',
        error: 'status_500',
        unit: 'credits',
      },
      {
        provider: 'openai',
        account: 'primary',
        sweep_at: startMs,
        observed_at: startMs,
        state: 'exhausted',
        remaining: 0,
        total: 9,
        unit: 'credits',
        resets_at: resetsAtMs,
        source: 'api',
        confidence: 'exact',
        note: 'Pro',
        error: null,
      },
      { provider: 'resend', state: 'ok', remaining: 5 },
    ]);
    expect(new Map(told)).toEqual(
      new Map<string, Reading>([
        ['deepgram', { observedAtMs: startMs, state: 'stale', resetsAtMs: null }],
        ['openai', { observedAtMs: startMs, state: 'exhausted', resetsAtMs }],
        ['resend', { observedAtMs: startMs, state: 'ok', resetsAtMs: null }],
      ]),
    );
    expect(run.snapshots).toHaveLength(6);
    expect(run).toMatchObject({
      sweepAtMs: startMs,
      unknown: [],
      notFound: [],
      unpublished: [],
      unwritten: [],
      unusedAccounts: [],
    });
  });

  it('names the accounts of the deployment that no call can use, by name and never by value', async () => {
    const providers = [named('openai'), named('brave')];
    await import_(providers);
    const reports: unknown[] = [];
    const { fire } = world(
      providers,
      {},
      {
        settings: new Map([
          ['OPENAI_KEY', 'planted'],
          ['opnai/backup/OPENAI_KEY', 'planted'],
          ['openai/old/OPENAI_ADMIN', 'planted'],
          ['openai/good/OPENAI_KEY', 'planted'],
        ]),
        labels: new Map([
          ['opnai', ['backup']],
          ['openai', ['old', 'good']],
        ]),
        report: (...line) => void reports.push(line),
      },
    );
    const run = await done(fire(startMs, ['brave']));
    expect(run.unusedAccounts).toEqual(['opnai/backup', 'openai/old']);
    expect(reports).toContainEqual([
      'sweep.accounts_unused',
      { accounts: 'opnai/backup openai/old' },
    ]);
    expect(JSON.stringify([run, reports])).not.toContain('planted');
  });

  it('reads every account with a credential: further ones by label, aggregators, and no other', async () => {
    const providers = [named('openai'), named('brave'), named('gemini', { accounts: [] })];
    await import_(providers);
    const { told, asked, fire } = world(
      providers,
      {},
      {
        settings: new Map([
          ['OPENAI_KEY', 'one'],
          ['openai/backup/OPENAI_KEY', 'two'],
          ['MONID_KEY', 'three'],
        ]),
        labels: new Map([['openai', ['backup']]]),
        aggregators: [
          named('overflow:monid', { accounts: [{ label: 'main', setting: 'MONID_KEY' }] }),
        ],
      },
    );
    await fire();
    expect(asked.sort()).toEqual([
      'openai#backup two',
      'openai#primary one',
      'overflow:monid#primary three',
    ]);
    expect(told.map(([name]) => name).sort()).toEqual(['openai', 'overflow:monid']);
    expect((await rows()).map(({ provider, account }) => `${provider} ${account}`)).toEqual([
      'openai backup',
      'openai primary',
      'overflow:monid primary',
    ]);
  });

  it('notes a credential that is missing for the balance call alone', async () => {
    const balance = balanceCall({ setting: 'ADMIN_KEY' });
    const providers = [named('openai', { balance })];
    await import_(providers);
    const { asked, fire } = world(providers);
    await fire();
    expect(asked).toEqual([]);
    expect(await rows()).toMatchObject([{ error: 'no_credential', state: 'stale' }]);
  });

  it('adds the policies that are missing, keeps those that a person edited, names those that nobody knows', async () => {
    const providers = [named('openai'), named('brave'), named('strange'), named('classified')];
    await import_(providers);
    const insert =
      "insert into capacity_policies (provider, capacity_type, funding_mode, source, low_remaining, overflow_allowed, created_at) values (?, 'postpaid', 'manual', 'dashboard', ?, 0, 1)";
    await db.batch([
      db.prepare(insert).bind('openai', 7),
      db.prepare(insert).bind('classified', null),
    ]);
    const before = await db
      .prepare("select * from capacity_policies where provider = 'openai'")
      .first();
    const { fire } = world(providers);
    const run = await done(fire());
    expect(run.unknown).toEqual(['strange']);
    expect((await rows()).map(({ provider, state }) => [provider, state])).toEqual([
      ['brave', 'ok'],
      ['classified', 'ok'],
      ['openai', 'low'],
      ['strange', 'ok'],
    ]);
    const policies = await db.prepare('select provider from capacity_policies order by 1').all();
    expect(policies.results.map(({ provider }) => provider)).toEqual([
      'brave',
      'classified',
      'openai',
    ]);
    expect(
      await db.prepare("select * from capacity_policies where provider = 'openai'").first(),
    ).toEqual(before);
  });

  it('reads only those that are named, and says which are not there', async () => {
    const providers = [named('openai'), named('brave')];
    await import_(providers);
    const { asked, fire } = world(providers);
    const run = await done(fire(startMs, ['brave', 'nobody']));
    expect(asked).toEqual(['brave#primary key of BRAVE_KEY']);
    expect(run.notFound).toEqual(['nobody']);
  });
});

describe('a firing', () => {
  it('that comes twice at once, or again, reads once', async () => {
    const providers = [named('openai')];
    await import_(providers);
    const { asked, fire } = world(providers);
    const runs = await Promise.all([fire(), fire(), fire()]);
    expect(runs.map(({ outcome }) => outcome).sort()).toEqual(['done', 'skipped', 'skipped']);
    expect(await fire()).toEqual({ outcome: 'skipped' });
    expect(asked).toHaveLength(1);
    expect(await rows()).toHaveLength(1);
    expect(await done(fire(startMs + 3_600_000))).toMatchObject({ outcome: 'done' });
    expect(await rows()).toHaveLength(2);
  });
});

describe('a slow vendor', () => {
  it('delays no other: the others are read and written before it answers', async () => {
    const providers = ['openai', 'a', 'b', 'c', 'd', 'e', 'f'].map((slug) => named(slug));
    await import_(providers);
    const slow = Promise.withResolvers<Read>();
    const { told, fire } = world(providers, { openai: () => slow.promise });
    const run = fire();
    while (told.length < 6) await scheduler.wait(1);
    expect((await rows()).map(({ provider }) => provider)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    slow.resolve(err('late'));
    expect((await done(run)).snapshots).toHaveLength(7);
    expect((await rows()).find(({ provider }) => provider === 'openai')).toMatchObject({
      error: 'late',
    });
  });

  it('is one of at most so many that are asked at a time', async () => {
    const providers = Array.from({ length: 3 * collectorsTogetherMax }, (_, n) => named(`v${n}`));
    await import_(providers);
    let [open, most] = [0, 0];
    const answer = async (): Promise<Read> => {
      open += 1;
      most = Math.max(most, open);
      await scheduler.wait(1);
      open -= 1;
      return left(1);
    };
    const { fire } = world(
      providers,
      Object.fromEntries(providers.map(({ slug }) => [slug, answer])),
    );
    expect((await done(fire())).snapshots).toHaveLength(providers.length);
    expect(most).toBe(collectorsTogetherMax);
  });

  it('that uses up the sweep’s time leaves a row for everybody behind it', async () => {
    const providers = Array.from({ length: collectorsTogetherMax + 2 }, (_, n) => named(`v${n}`));
    await import_(providers);
    const { asked, clock, fire } = world(
      providers,
      Object.fromEntries(
        providers.map(({ slug }) => [
          slug,
          () => {
            clock.nowMs = startMs + sweepMsMax;
            return err('late');
          },
        ]),
      ),
    );
    await fire();
    const errors = (await rows()).map(({ error }) => error);
    expect(errors).toHaveLength(providers.length);
    expect(errors.filter((error) => error === 'not_reached').length).toBe(
      providers.length - asked.length,
    );
    expect(errors).toContain('not_reached');
  });
});

describe('what does not answer', () => {
  it('the store at the policies: the sweep fails, and its lease ends with it', async () => {
    await import_([named('openai')]);
    const flaky = new CapacityStore(db);
    flaky.addPolicies = () => Promise.reject(new Error('down'));
    await expect(world([named('openai')], {}, { store: flaky }).fire()).rejects.toThrow('down');
    const { fire } = world([named('openai')]);
    expect(await done(fire(startMs + 1))).toMatchObject({ unknown: [] });
  });

  it('an object: the row is there, and the account is named', async () => {
    const providers = [named('openai')];
    await import_(providers);
    const { fire } = world(providers, {}, { objects: { observe: async () => null } });
    expect(await done(fire())).toMatchObject({ unpublished: ['openai'], unwritten: [] });
    expect(await rows()).toHaveLength(1);
  });

  it('the store at one row: the object is told, the others are written', async () => {
    const providers = [named('openai'), named('brave')];
    await import_(providers);
    const lines: string[] = [];
    const flaky = new CapacityStore(db);
    const add = flaky.addSnapshot.bind(flaky);
    flaky.addSnapshot = (record) =>
      record.provider === 'brave' ? Promise.reject(new Error('down')) : add(record);
    const { told, fire } = world(
      providers,
      {},
      { store: flaky, report: (event) => lines.push(event) },
    );
    expect(await done(fire())).toMatchObject({ unwritten: ['brave'], unpublished: [] });
    expect(told).toHaveLength(2);
    expect(await rows()).toHaveLength(1);
    expect(lines).toEqual(['sweep.unwritten']);
  });
});
