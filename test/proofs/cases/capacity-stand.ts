/**
 * The stand of the capacity cases: vendors of the signature table at one origin, one gateway. A
 * second strike counts after a quarter of a second and a view is never old, a hold that is guessed
 * ends in seconds; what a vendor says to wait, the cap of six hours and the probe's minute are real.
 * Called by `capacity.ts` beside this file.
 */
import { type MoneyTenant, type MoneyWorld, startMoneyWorld } from '../../support/money-world.ts';
import { perCall, providerFile, row } from '../../support/money-world-catalog.ts';

/** Other limits, milliseconds. */
export const timed = {
  strikeSpacingMs: 250,
  guessedHoldMs: 3_000,
  capacityViewMsMax: 400,
} as const;

/** How many endpoints of its own each vendor has: a quota locks one. */
const endpointsMax = 12;
const slugs = ['anthropic', 'openai', 'acme', 'dull'] as const;

/** As the catalog bounds what these two may be asked for: so their bodies are read. */
const bounded =
  'platform_request: [{ rule: count, in: body, at: max_tokens, min: 1, max: 9 }]\n    ';

const endpoints = [
  ...Array.from({ length: endpointsMax }, (_, at) => [
    row(`do${at}`, 'POST', `cost: ${perCall}`),
    row(`look${at}`, 'GET', `cost: ${perCall}`),
  ]).flat(),
  row('read', 'POST', `${bounded}cost: ${perCall}`),
];

/** What the operator sees of a vendor. */
export interface Seen {
  readonly locks: readonly { readonly key: string; readonly until: string }[];
  readonly strikes: readonly { readonly key: string }[];
}

export class CapacityStand {
  readonly world: MoneyWorld;
  readonly tenant: MoneyTenant;
  readonly other: MoneyTenant;

  private constructor(world: MoneyWorld, [tenant, other]: readonly [MoneyTenant, MoneyTenant]) {
    this.world = world;
    this.tenant = tenant;
    this.other = other;
  }

  static async start(): Promise<CapacityStand> {
    const settings = Object.fromEntries(
      slugs.map((slug) => [`${slug.toUpperCase()}_KEY`, `${slug}-key-0123456789`]),
    );
    const world = await startMoneyWorld({
      limits: { ...timed, capacityViewRefreshMs: 200 },
      settings,
      providers: (authority) =>
        slugs.map((slug) =>
          providerFile(slug, { authority, setting: `${slug.toUpperCase()}_KEY`, endpoints }),
        ),
    });
    const tenants = [await world.tenant({ name: 'A' }), await world.tenant({ name: 'B' })] as const;
    return new CapacityStand(world, tenants);
  }

  dispose(): Promise<void> {
    return this.world.dispose();
  }

  /** Locks and strikes of a vendor, as the operator's view has them. */
  async seen(slug: (typeof slugs)[number]): Promise<Seen> {
    const { body } = await this.world.gateway.api('GET', '/api/v1/capacity?limit=100');
    const found = body.data.find((one: { provider: string }) => one.provider === slug);
    if (found === undefined) throw new Error(`no capacity of ${slug}: ${JSON.stringify(body)}`);
    return found;
  }

  /** Lets a second strike count. */
  async spaced(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, timed.strikeSpacingMs * 1.3));
  }
}
