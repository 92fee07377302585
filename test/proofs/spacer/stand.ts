/**
 * The stand of the spacer proof: vendors with declared rates at one origin that counts a sliding window each, four gateway isolates.
 * Called by test/proofs/spacer.ts.
 */
import { type MoneyWorld, startMoneyWorld } from '../../support/money-world.ts';
import { perCall, providerFile, row } from '../../support/money-world-catalog.ts';
import { answers, type Plan, refuses, type VendorCall } from '../../support/priced-origin.ts';
import { reply } from '../../support/recording-origin.ts';

export const isolateCount = 4;

/** Sends in any window, milliseconds: as declared in the catalog, and as the vendor counts. */
export const rates = {
  /** A hundred calls wait 1.6 s at most. */
  quick: { limit: 80, windowMs: 1_000 },
  /** Most of a hundred would wait longer than 2 s. */
  slow: { limit: 10, windowMs: 1_000 },
  /** The same, and its bucket is enforced. */
  strict: { limit: 10, windowMs: 1_000 },
} as const;
export type Vendor = keyof typeof rates;

export class Stand {
  readonly world: MoneyWorld;
  total = 0;
  /** When each counted request came, performance.now(). */
  readonly #times = new Map<string, number[]>();
  readonly #plans = new Map<string, Plan>();
  readonly #refusals = new Map<string, number>();

  private constructor(world: MoneyWorld) {
    this.world = world;
    world.origin.plan((call) => this.#serve(call));
  }

  static async start(): Promise<Stand> {
    const endpoints = [
      row('do', 'POST', `cost: ${perCall}`),
      row('look', 'GET', `cost: ${perCall}`),
    ];
    const names = Object.keys(rates) as Vendor[];
    const plain = ['plain', 'lusha'];
    const settingOf = (slug: string): string => `${slug.toUpperCase()}_KEY`;
    const providers = (authority: string) => [
      ...names.map((slug) => {
        const { limit, windowMs } = rates[slug];
        const more = `rate: { limit: ${limit}, window_s: ${windowMs / 1000} }\n`;
        return providerFile(slug, { authority, setting: settingOf(slug), more, endpoints });
      }),
      ...plain.map((slug) =>
        providerFile(slug, { authority, setting: settingOf(slug), endpoints }),
      ),
    ];
    const settings = Object.fromEntries(
      [...names, ...plain].map((slug) => [settingOf(slug), `${slug}-key-0123456789`]),
    );
    const world = await startMoneyWorld({
      isolates: isolateCount,
      settings,
      bindings: { PROVIDER_RATE_ENFORCE: 'strict' },
      providers,
    });
    return new Stand(world);
  }

  /** What a vendor without a declared rate does. */
  vendor(name: string, plan: Plan): void {
    this.#plans.set(name, plan);
  }

  /** Lets time pass that is part of a case. */
  async pass(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  times(name: string): readonly number[] {
    return this.#times.get(name) ?? [];
  }

  /** Requests that the vendor's own window refused. */
  refusals(name: string): number {
    return this.#refusals.get(name) ?? 0;
  }

  forget(): void {
    this.#times.clear();
    this.#refusals.clear();
  }

  #serve(call: VendorCall): void | Promise<void> {
    this.total += 1;
    const name = call.request.target.split('/')[1] ?? '';
    const times = this.#times.get(name) ?? [];
    const nowMs = performance.now();
    times.push(nowMs);
    this.#times.set(name, times);
    const plan = this.#plans.get(name);
    if (plan !== undefined) return plan(call);
    const rate = name in rates ? rates[name as Vendor] : null;
    const inWindow = rate === null ? 0 : times.filter((at) => at > nowMs - rate.windowMs).length;
    if (rate !== null && inWindow > rate.limit) {
      this.#refusals.set(name, this.refusals(name) + 1);
      return refuses('429 Too Many Requests', { error: 'rate' })(call);
    }
    return answers()(call);
  }
}

/** A 429 that says to wait. */
export const burstOf =
  (retryAfter: string, body: object = { error: 'slow down' }): Plan =>
  (call) =>
    call.write(
      reply(
        '429 Too Many Requests',
        ['Content-Type: application/json', `Retry-After: ${retryAfter}`],
        JSON.stringify(body),
      ),
    );
