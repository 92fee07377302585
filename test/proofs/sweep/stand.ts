/**
 * The stand of the sweep proof: every vendor of `vendors.ts` on one loopback origin, a second origin that must never be asked, two gateway
 * isolates on one database and one namespace of objects. Called by test/proofs/sweep.ts.
 */
import { type MoneyTenant, type MoneyWorld, startMoneyWorld } from '../../support/money-world.ts';
import { answers, type Plan } from '../../support/priced-origin.ts';
import { type RecordingOrigin, startOrigin } from '../../support/recording-origin.ts';
import { backupKey, keyOf, monidSays, settingOf, vendorFile, vendors } from './vendors.ts';

export const hourly = '7 * * * *';
const hourMs = 3_600_000;

/** One stored reading, columns by name. */
export type SnapshotRow = Readonly<Record<string, string | number | null>>;

export class Stand {
  readonly world: MoneyWorld;
  readonly elsewhere: RecordingOrigin;
  readonly tenant: MoneyTenant;
  /** How long one vendor may take, milliseconds. */
  readonly waitMs: number;
  readonly #plans = new Map<string, Plan>();
  #firings = 0;

  private constructor(
    world: MoneyWorld,
    elsewhere: RecordingOrigin,
    tenant: MoneyTenant,
    waitMs: number,
  ) {
    this.world = world;
    this.elsewhere = elsewhere;
    this.tenant = tenant;
    this.waitMs = waitMs;
    world.origin.plan((call) => (this.#plans.get(pathOf(call.request.target)) ?? answers())(call));
  }

  static async start(short: boolean): Promise<Stand> {
    const elsewhere = await startOrigin();
    const all = vendors(`http://${elsewhere.authority}/steal`);
    const waitMs = short ? 1_500 : 10_000;
    const settings = Object.fromEntries(all.map(({ slug }) => [settingOf(slug), keyOf(slug)]));
    const world = await startMoneyWorld({
      isolates: 2,
      limits: { collectorWaitMs: waitMs, capacityViewMsMax: 1_000, capacityViewRefreshMs: 500 },
      settings: {
        ...settings,
        OVERFLOW_KEY_MONID: keyOf('monid'),
        OVERFLOW_KEY_ORTHOGONAL: keyOf('orthogonal'),
      },
      bindingsAt: (authority) => ({
        PLATFORM_ACCOUNTS: JSON.stringify({ openai: { backup: { OPENAI_KEY: backupKey } } }),
        OVERFLOW_AGGREGATORS: JSON.stringify({
          monid: { base_url: `http://${authority}/monid/v1` },
          orthogonal: { base_url: `http://${authority}/orthogonal/v1` },
        }),
      }),
      providers: (authority) => all.map((vendor) => vendorFile(authority, vendor)),
    });
    const stand = new Stand(world, elsewhere, await world.tenant({ topUpMicros: 1e9 }), waitMs);
    for (const { slug, plans = {} } of all)
      for (const [last, plan] of Object.entries(plans))
        stand.vendor(
          `/${slug}/${slug === 'deepgram' && last === 'credits' ? 'p-1/' : ''}${last}`,
          plan,
        );
    stand.vendor('/monid/v1/wallet/balance', monidSays);
    return stand;
  }

  /** What is answered at a path from now on. */
  vendor(path: string, plan: Plan): void {
    this.#plans.set(path, plan);
  }

  /** The time of the next hourly firing, epoch milliseconds. */
  nextFiring(): number {
    this.#firings += 1;
    return Math.floor(Date.now() / hourMs) * hourMs + this.#firings * hourMs;
  }

  fire(scheduledAtMs: number, isolate = 0): Promise<void> {
    return this.world.gateway.cron(hourly, scheduledAtMs, isolate);
  }

  /** Requests for balances that arrived, by path. */
  asked(): string[] {
    return this.world.origin.calls
      .map(({ request }) => pathOf(request.target))
      .filter((path) => /\/(?:credits|projects|balance)$/.test(path))
      .sort();
  }

  /** The readings of one firing, by account. */
  async snapshots(scheduledAtMs: number): Promise<ReadonlyMap<string, SnapshotRow>> {
    const db = await this.world.gateway.db();
    const { results } = await db
      .prepare('select * from capacity_snapshots where sweep_at = ?')
      .bind(scheduledAtMs)
      .all();
    return new Map(
      results.map((row) => {
        const { provider, account } = row;
        return [
          account === 'primary' ? String(provider) : `${provider}#${account}`,
          row as SnapshotRow,
        ];
      }),
    );
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.world.gateway.api(method, `/api/v1${path}`, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  async dispose(): Promise<void> {
    await this.world.dispose();
    await this.elsewhere.close();
  }
}

const pathOf = (target: string): string => target.split('?')[0] ?? '';
