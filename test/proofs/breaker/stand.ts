/**
 * The stand of the breaker proof: vendors `dry`, `wet` and `twin` (two accounts) at one origin, four gateway isolates on one namespace of
 * objects, times one sixtieth. Promises: what a vendor says is decided per provider; every arrival is kept with its time.
 * Called by test/proofs/breaker.ts.
 */
import {
  type CallOptions,
  type MoneyTenant,
  type MoneyWorld,
  refusalOf,
  startMoneyWorld,
} from '../../support/money-world.ts';
import { fastBreaker } from '../../support/money-world-bundle.ts';
import { perCall, providerFile, row } from '../../support/money-world-catalog.ts';
import { answers, type Plan, refuses, type VendorCall } from '../../support/priced-origin.ts';
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';

export const intervalMs = fastBreaker.probeIntervalMs as number;
export const viewMs = fastBreaker.capacityViewMsMax as number;
export const spacingMs = fastBreaker.strikeSpacingMs as number;
export const isolateCount = 4;

/** What a vendor says when our account there is empty. */
export const broke: Plan = refuses('402 Payment Required', { error: { message: 'no credit' } });
export const well: Plan = answers();

/** One arrival at the vendors. */
export interface Arrival {
  readonly provider: string;
  readonly account: string;
  readonly atMs: number;
  readonly call: VendorCall;
}

const endpoints = [
  row('a', 'POST', `cost: ${perCall}`),
  row('b', 'POST', `cost: ${perCall}`),
  row('free', 'POST', 'cost: { kind: free }'),
];
const settings = {
  DRY_KEY: 'dry-key-0123456789',
  WET_KEY: 'wet-key-0123456789',
  TWIN_KEY: 'twin-key-0123456789',
  HUNTER_KEY: 'hunter-key-0123456789',
};
const twinKeys = { primary: settings.TWIN_KEY, b: 'twin-second-0123456789' };

export class Stand {
  readonly world: MoneyWorld;
  readonly tenants: readonly MoneyTenant[];
  readonly arrivals: Arrival[] = [];
  readonly #plans = new Map<string, Plan>();

  private constructor(world: MoneyWorld, tenants: readonly MoneyTenant[]) {
    this.world = world;
    this.tenants = tenants;
    world.origin.plan((call) => this.#serve(call));
  }

  static async start(): Promise<Stand> {
    const providers = (authority: string) =>
      (['dry', 'wet', 'twin', 'hunter'] as const).map((slug) =>
        providerFile(slug, { authority, setting: `${slug.toUpperCase()}_KEY`, endpoints }),
      );
    const world = await startMoneyWorld({
      isolates: isolateCount,
      limits: fastBreaker,
      settings,
      bindings: { PLATFORM_ACCOUNTS: JSON.stringify({ twin: { b: { TWIN_KEY: twinKeys.b } } }) },
      providers,
    });
    const tenants: MoneyTenant[] = [];
    for (let i = 0; i < 5; i += 1)
      tenants.push(await world.tenant({ name: `T${i}`, topUpMicros: 1e9 }));
    return new Stand(world, tenants);
  }

  /** What a provider, or `provider#account`, does from now on. */
  vendor(name: string, plan: Plan): void {
    this.#plans.set(name, plan);
  }

  /** Arrivals of a provider since `sinceMs` (performance.now()). */
  hits(provider: string, sinceMs = 0): Arrival[] {
    return this.arrivals.filter((a) => a.provider === provider && a.atMs >= sinceMs);
  }

  tenant(at = 0): MoneyTenant {
    return this.tenants[at % this.tenants.length] as MoneyTenant;
  }

  call(endpoint: string, options: CallOptions & { readonly of?: number } = {}): Promise<RawAnswer> {
    return this.tenant(options.of ?? 0).call(endpoint, options);
  }

  /** Strikes until our own refusal comes; gives how many answers of the vendor it took. */
  async lock(endpoint: string): Promise<number> {
    for (let seen = 0; ; seen += 1) {
      const answer = await this.call(endpoint, { isolate: 0 });
      if (refusalOf(answer) === 'provider_capacity') return seen;
      if (seen > 200) throw new Error(`${endpoint} is never locked`);
      await this.pass(spacingMs / 5);
    }
  }

  /** Lets time pass that is part of a case. */
  async pass(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  #serve(call: VendorCall): void | Promise<void> {
    const provider = call.request.target.split('/')[1] ?? '';
    const key = headerOf(call.request.lines, `x-${provider}-key`);
    const account = key === twinKeys.b ? 'b' : 'primary';
    this.arrivals.push({ provider, account, atMs: performance.now(), call });
    const plan = this.#plans.get(`${provider}#${account}`) ?? this.#plans.get(provider) ?? well;
    return plan(call);
  }
}

/** Whether an answer is our refusal for capacity. */
export const isOut = (answer: RawAnswer): boolean => refusalOf(answer) === 'provider_capacity';
