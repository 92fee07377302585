/**
 * The stand of the overflow jobs: a vendor `acme` with a row per verdict, a vendor `bare` at which we have no key, and both aggregators, all
 * at one loopback origin; the command line as an operator runs it. Called by test/proofs/overflow.ts.
 */
import { main } from '../../../scripts/weir/main.ts';
import { type MoneyWorld, startMoneyWorld } from '../../support/money-world.ts';
import { perCall, providerFile, row } from '../../support/money-world-catalog.ts';
import type { Plan, VendorCall } from '../../support/priced-origin.ts';
import { headerOf } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { operatorKey } from '../../support/test-env.ts';

export const weekly = '23 4 * * MON';
/** Price of every route there, micro-USD; ours is 60. */
export const thereMicros = 90;

/** An answer in JSON. */
export const says =
  (status: string, body: unknown): Plan =>
  ({ write }) =>
    write(reply(status, ['Content-Type: application/json'], JSON.stringify(body)));
/** What an aggregator relays of a vendor. */
export const relays = (data: unknown, status = '200 OK'): Plan =>
  says(status, { success: status.startsWith('2'), priceCents: thereMicros / 10_000, data });

const keys = {
  ACME_KEY: 'acme-key-0123456789',
  OVERFLOW_KEY_ORTHOGONAL: 'orthogonal-key-0123456789',
  OVERFLOW_KEY_MONID: 'monid-key-0123456789',
};

/** One row of `acme`: what its vendor says and what its aggregator relays. */
export interface Leg {
  readonly direct: Plan;
  readonly relay: Plan;
}

export interface JobStandOptions {
  readonly legs: Readonly<Record<string, Leg>>;
  readonly budgetUsd?: number;
  /** Price of every route, micro-USD. */
  readonly priceMicros?: number;
  /** Price of every row here, micro-USD. */
  readonly oursMicros?: number;
}

/** What a command said. */
export interface Said {
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly document: any;
  readonly err: string;
}

export class JobStand {
  readonly world: MoneyWorld;
  readonly legs: Map<string, Leg>;
  /** What the catalogs answer. */
  catalog: Plan;
  monidCatalog: Plan = says('200 OK', { endpoints: [] });
  readonly #priceMicros: number;

  private constructor(world: MoneyWorld, { legs, priceMicros = thereMicros }: JobStandOptions) {
    this.world = world;
    this.legs = new Map(Object.entries(legs));
    this.#priceMicros = priceMicros;
    this.catalog = says('200 OK', { endpoints: this.offers() });
    world.origin.plan((call) => this.#serve(call));
  }

  static async start(options: JobStandOptions): Promise<JobStand> {
    const cost =
      options.oursMicros === undefined
        ? perCall
        : `{ kind: per_call, prices: [{ price_micros: ${options.oursMicros} }] }`;
    const tested = `cost: ${cost}\n    test_request: { query: { q: test me } }`;
    const endpoints = Object.keys(options.legs).map((name) => row(name, 'GET', tested));
    const world = await startMoneyWorld({
      isolates: 2,
      settings: keys,
      bindingsAt: (authority) => ({
        OVERFLOW_DAILY_BUDGET_USD: String(options.budgetUsd ?? 20),
        OVERFLOW_AGGREGATORS: JSON.stringify({
          orthogonal: { base_url: `http://${authority}/orthogonal` },
          monid: { base_url: `http://${authority}/monid` },
        }),
      }),
      providers: (authority) => [
        providerFile('acme', { authority, setting: 'ACME_KEY', endpoints }),
        providerFile('bare', {
          authority,
          setting: 'BARE_KEY',
          endpoints: [row('look', 'GET', tested), row('untested', 'GET', `cost: ${cost}`)],
        }),
      ],
    });
    return new JobStand(world, options);
  }

  /** What the first aggregator's catalog offers: every row, and some that are not ours. */
  offers(): object[] {
    const paths = [
      ...[...this.legs.keys()].map((name) => `/acme/${name}`),
      '/bare/look',
      '/bare/untested',
    ];
    return paths.map((path) => ({
      api: path.split('/')[1],
      host: '127.0.0.1',
      method: 'GET',
      path,
      price_cents: this.#priceMicros / 10_000,
    }));
  }

  /** Requests that arrived below a path. */
  arrived(path: string): VendorCall[] {
    return this.world.origin.calls.filter(({ request }) => request.target.startsWith(path));
  }

  /** A command of the operator's, with `--json`. */
  async weir(...args: string[]): Promise<Said> {
    let [out, err] = ['', ''];
    const url = `http://127.0.0.1:${this.world.gateway.port}`;
    const code = await main([...args, '--json'], {
      env: { WEIR_STATE: '/nonexistent', WEIR_URL: url, OPERATOR_KEY: operatorKey },
      send: (input, init) => fetch(input, init),
      write: (text) => {
        out += text;
      },
      complain: (text) => {
        err += text;
      },
    });
    return { code, document: out === '' ? null : JSON.parse(out), err };
  }

  fire(scheduledAtMs: number, isolate = 0): Promise<void> {
    return this.world.gateway.cron(weekly, scheduledAtMs, isolate);
  }

  /** The stored routes: `name` to [enabled, disabled_reason, whether stamped]. */
  async routes(): Promise<Record<string, readonly [boolean, string | null, boolean]>> {
    const db = await this.world.gateway.db();
    const sql = 'select * from overflow_routes order by endpoint_id, aggregator';
    const { results } = await db.prepare(sql).bind().all();
    return Object.fromEntries(
      (results as Record<string, unknown>[]).map((each) => [
        String(each.endpoint_id),
        [each.enabled === 1, each.disabled_reason as string | null, each.last_verified_at !== null],
      ]),
    );
  }

  #serve(call: VendorCall): void | Promise<void> {
    const [, first = '', second = ''] = (call.request.target.split('?')[0] ?? '').split('/');
    if (first === 'acme') return this.#leg(second, 'direct')(call);
    if (first === 'orthogonal' && second === 'run') {
      const key = headerOf(call.request.lines, 'authorization');
      if (key !== `Bearer ${keys.OVERFLOW_KEY_ORTHOGONAL}`)
        return says('401 Unauthorized', { success: false, code: 'UNAUTHORIZED' })(call);
      const { path } = JSON.parse(call.request.body.toString()) as { path: string };
      const [, vendor = '', name = ''] = path.split('/');
      return vendor === 'acme' ? this.#leg(name, 'relay')(call) : relays({ hits: [] })(call);
    }
    if (first === 'orthogonal' && second === 'catalog') return this.catalog(call);
    if (first === 'monid' && second === 'catalog') return this.monidCatalog(call);
    return says('404 Not Found', { error: 'nothing here' })(call);
  }

  #leg(name: string, leg: keyof Leg): Plan {
    return this.legs.get(name)?.[leg] ?? says('404 Not Found', { error: 'no such row' });
  }
}

export { keys as standKeys };
