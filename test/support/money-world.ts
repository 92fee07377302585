/**
 * A world with money: the real bundle in workerd with real sockets, a catalog provider `lab` whose
 * base URL is a priced origin, the platform account's setting, tenants with a topped-up ledger.
 *
 *   const world = await startMoneyWorld({ isolates: 4 });            // dispose() it
 *   const tenant = await world.tenant({ topUpMicros: 100 });         // own ledger, one access key
 *   const answer = await tenant.call('lab.fixed', { caseId: 'a' });  // raw bytes, platform account
 *   world.origin.completions('a');                                   // what the vendor bills for it
 *   await tenant.ended();                                            // no hold is open any more
 *   same(await tenant.books(), { available: 40, held: 0, settled: 60 }, 'books');
 *
 * - Endpoints and prices: `money-world-catalog.ts` (`lab.fixed|look|cancel|success|free|usage|
 *   stream|stream_cancel`); `catalog` adds rows. What the vendor does: `world.origin.plan(…)`,
 *   `.planFor(caseId, …)`, `.hold()`/`.open()` (`priced-origin.ts`).
 * - `isolates: n`: n gateway workers (own heap, own socket) on one OrgLedger namespace and one D1;
 *   `isolate: i` of a call says which. Ports stay the same after a restart.
 * - `limits`: other values of named limits (`{ ...shortLease(3_000), recordTtlMs: 1_500 }`), by a
 *   bundle of its own; the product has no switch for it. Without: dist/worker.js (build it first).
 * - `world.isolates.kill()` is kill -9; `world.restart(bundle?)` starts on the same storage.
 * - `tenant.open(…)` sends a call and gives the RawConnection: for whoever leaves early.
 * - `providers`: YAML files of further vendors at the same origin (`money-world-catalog.ts`, `providerFile`).
 * Called by the proofs breaker, spacer, overspend, kill, idempotency, disconnect-money, metered-sse, upgrade.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeCatalog } from '../../scripts/lib/catalog/write.ts';
import type { Gateway } from './gateway.ts';
import { Isolates } from './isolates.ts';
import { bundleWithLimits, type Limits } from './money-world-bundle.ts';
import { labFile, labKey, labSetting } from './money-world-catalog.ts';
import { type PricedOrigin, startPricedOrigin } from './priced-origin.ts';
import { headerOf, type RawAnswer, RawConnection } from './raw-client.ts';
import { makeScenario, type Scenario } from './scenario.ts';

export interface MoneyWorldOptions {
  readonly isolates?: number;
  readonly limits?: Limits;
  /** A bundle that is there already; not with `limits`. */
  readonly bundle?: string;
  /** A function gets the origin's authority. */
  readonly bindings?: Record<string, string> | ((authority: string) => Record<string, string>);
  /** Bindings that name the origin. */
  readonly bindingsAt?: (authority: string) => Record<string, string>;
  /** Further platform settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** YAML of further endpoints of `lab`, indented by two. */
  readonly catalog?: string;
  /** Further providers; `authority` is the origin's. */
  readonly providers?: (
    authority: string,
  ) => readonly { readonly name: string; readonly text: string }[];
}

/** Sums of a ledger, micro-USD. */
export interface Books {
  readonly available: number;
  readonly held: number;
  readonly settled: number;
}

export interface CallOptions {
  /** Which case the vendor counts it for; a new one when it is left out. */
  readonly caseId?: string;
  readonly isolate?: number;
  readonly method?: string;
  /** `Idempotency-Key`. */
  readonly key?: string;
  /** `X-Weir-Meta`. */
  readonly meta?: string;
  /** Further header lines. */
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  /** Behind the id, with its `?`. */
  readonly query?: string;
  readonly surface?: '/call/' | '/catalog/call/';
  /** Another access key of the tenant. */
  readonly token?: string;
  readonly timeoutMs?: number;
}

export interface TenantOptions {
  readonly name?: string;
  /** Default: a million. */
  readonly topUpMicros?: number;
  /** Fields of the tenant: `daily_cap_micros`, `budgets`. */
  readonly limits?: object;
  /** Fields of the first key: `daily_call_cap`. */
  readonly keyFields?: object;
}

/** How the management API shows them; only what proofs read. */
export interface EntryWire {
  readonly seq: number;
  readonly kind: string;
  readonly id: string | null;
  readonly micros: number | null;
  readonly held_micros: number | null;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly note: string | null;
}
export interface RecordWire {
  readonly id: string;
  readonly hold_id: string;
  readonly scope: string;
  readonly key: string;
  readonly state: 'claimed' | 'recorded' | 'unknown' | 'resolved';
  readonly status: number | null;
  readonly cost_micros: number | null;
}
export interface ReviewWire {
  readonly id: string;
  readonly micros: number;
  readonly closed_by: string | null;
}

export interface MoneyWorld {
  readonly origin: PricedOrigin;
  readonly isolates: Isolates;
  readonly gateway: Gateway;
  /** Folder of the state: `${folder}/state` is what workerd keeps (`WEIR_STATE` of the scripts). */
  readonly folder: string;
  readonly tenant: (options?: TenantOptions) => Promise<MoneyTenant>;
  readonly restart: (bundle?: string) => Promise<void>;
  readonly dispose: () => Promise<void>;
}

let worlds = 0;

/** Starts vendor and gateway, writes the catalog. What was begun is ended when a later step fails. */
export async function startMoneyWorld(options: MoneyWorldOptions = {}): Promise<MoneyWorld> {
  const endings: (() => unknown)[] = [];
  const dispose = async (): Promise<void> => {
    for (const end of endings.splice(0).reverse()) await end();
  };
  try {
    return await begun(options, dispose, (end) => endings.push(end));
  } catch (fault) {
    await dispose();
    throw fault;
  }
}

async function begun(
  options: MoneyWorldOptions,
  dispose: () => Promise<void>,
  atEnd: (end: () => unknown) => void,
): Promise<MoneyWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-money-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const origin = await startPricedOrigin();
  atEnd(() => origin.close());
  const bundle = await bundleOf(options, atEnd);
  const isolates = await Isolates.start({
    isolates: options.isolates ?? 1,
    allow: [origin.authority],
    persist: `${folder}/state`,
    bindings: {
      PLATFORM_SETTINGS: JSON.stringify({ [labSetting]: labKey, ...options.settings }),
      ...(typeof options.bindings === 'function'
        ? options.bindings(origin.authority)
        : options.bindings),
      ...options.bindingsAt?.(origin.authority),
    },
    ...(bundle === undefined ? {} : { bundle }),
  });
  atEnd(() => isolates.dispose());
  const files = [
    { name: 'lab.yaml', text: labFile(origin.authority, options.catalog) },
    ...(options.providers?.(origin.authority) ?? []),
  ];
  await writeCatalog(await isolates.gateway.db(), origin.authority, files);
  return {
    origin,
    isolates,
    folder,
    get gateway() {
      return isolates.gateway;
    },
    tenant: (wanted = {}) => MoneyTenant.make(isolates, wanted),
    restart: (other) => isolates.restart(other),
    dispose,
  };
}

/** The bundle to run: one of its own for other limits, which goes with the world. */
async function bundleOf(
  { limits, bundle }: MoneyWorldOptions,
  atEnd: (end: () => unknown) => void,
): Promise<string | undefined> {
  if (limits === undefined) return bundle;
  worlds += 1;
  const outfile = `dist/money-${process.pid}-${worlds}.js`;
  atEnd(() => rmSync(outfile, { force: true }));
  return bundleWithLimits(limits, outfile);
}

let cases = 0;

/** A name that no other call of this run has. */
export function newCase(): string {
  cases += 1;
  return `case-${cases}`;
}

let credits = 0;

/** A tenant with a ledger of its own and one access key. */
export class MoneyTenant {
  readonly scenario: Scenario;
  readonly #isolates: Isolates;

  private constructor(isolates: Isolates, scenario: Scenario) {
    this.#isolates = isolates;
    this.scenario = scenario;
  }

  static async make(isolates: Isolates, options: TenantOptions): Promise<MoneyTenant> {
    const { name = 'Money', topUpMicros = 1_000_000, limits, keyFields } = options;
    const scenario = await makeScenario(isolates.gateway, {
      name,
      ...(keyFields === undefined ? {} : { keyFields }),
    });
    const tenant = new MoneyTenant(isolates, scenario);
    if (limits !== undefined) await tenant.api('PUT', `/tenants/${tenant.id}`, { name, ...limits });
    if (topUpMicros > 0) await tenant.topUp(topUpMicros);
    return tenant;
  }

  get id(): string {
    return this.scenario.tenantId;
  }

  /** A management call as the operator, in this tenant or of the whole gateway; throws unless 2xx. */
  async api(
    method: string,
    path: string,
    body?: unknown,
    scope: 'tenant' | 'gateway' = 'tenant',
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  ): Promise<any> {
    const mark = path.includes('?') ? '&' : '?';
    const target = `/api/v1${path}${scope === 'tenant' ? `${mark}tenant=${this.id}` : ''}`;
    const answer = await this.#isolates.gateway.api(method, target, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  async topUp(micros: number): Promise<void> {
    credits += 1;
    await this.api('POST', '/ledger/topups', { id: `pay-${credits}`, micros });
  }

  /** Another access key: of the first principal, or of a new one. Gives its token. */
  async anotherKey(whose: 'same' | 'new principal', fields: object = {}): Promise<string> {
    const principal_id =
      whose === 'same'
        ? this.scenario.principalId
        : (await this.scenario.post('/principals', { name: 'other', role: 'owner' })).id;
    return (await this.scenario.post('/keys', { name: 'another', principal_id, ...fields })).token;
  }

  /** The bytes of a call. */
  request(endpoint: string, options: CallOptions = {}): Buffer {
    const { caseId = newCase(), surface = '/call/', query = '', headers = [] } = options;
    const method = options.method ?? (endpoint === 'lab.look' ? 'GET' : 'POST');
    const body = Buffer.from(options.body ?? (method === 'GET' ? '' : '{"a":1}'));
    const lines = [
      `${method} ${surface}${endpoint}${query} HTTP/1.1`,
      'Host: gw',
      `X-Weir-Key: ${options.token ?? this.scenario.token}`,
      `X-Case: ${caseId}`,
      ...(options.key === undefined ? [] : [`Idempotency-Key: ${options.key}`]),
      ...(options.meta === undefined ? [] : [`X-Weir-Meta: ${options.meta}`]),
      ...headers,
      ...(method === 'GET'
        ? []
        : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    ];
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
  }

  /** Sends a call on a connection of its own. */
  async open(endpoint: string, options: CallOptions = {}): Promise<RawConnection> {
    const port = this.#isolates.ports[options.isolate ?? 0] as number;
    const connection = await RawConnection.open(port);
    connection.send(this.request(endpoint, options));
    return connection;
  }

  /** One call and its answer. */
  async call(endpoint: string, options: CallOptions = {}): Promise<RawAnswer> {
    const connection = await this.open(endpoint, options);
    try {
      return await connection.answer(options.method ?? 'POST', options.timeoutMs ?? 20_000);
    } finally {
      connection.close();
    }
  }

  /** The sums; throws unless paid in = available + held + settled. */
  async books(): Promise<Books> {
    const view = await this.api('GET', '/ledger');
    const { available_micros: available, held_micros: held, settled_micros: settled } = view;
    const paidIn = view.granted_micros + view.topped_up_micros;
    if (available + held + settled !== paidIn)
      throw new Error(`paid in ${paidIn} is not ${available} + ${held} + ${settled}`);
    return { available, held, settled };
  }

  /** Waits until no hold is open; gives the sums. */
  async ended(timeoutMs = 10_000): Promise<Books> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const { open_holds: open } = await this.api('GET', '/ledger');
      if (open === 0) return this.books();
      if (performance.now() > deadline)
        throw new Error(`${open} holds are open for ${timeoutMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Every entry of the log, oldest first. */
  async entries(): Promise<EntryWire[]> {
    const all: EntryWire[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const page: { data: EntryWire[]; next_after: number | null } = await this.api(
        'GET',
        `/ledger/entries?after=${after}`,
      );
      all.push(...page.data);
      after = page.next_after;
    }
    return all;
  }

  records = (): Promise<RecordWire[]> => this.#all('/idempotency');
  reviews = (): Promise<ReviewWire[]> => this.#all('/ledger/reviews');

  /** Replays the log; throws when anything differs from the books. Gives the rows looked at. */
  async audit(): Promise<number> {
    for (;;) {
      const step = await this.api('GET', '/ledger/audit');
      if (step.outcome === 'more') continue;
      if (step.outcome === 'clean' && step.copy.outcome === 'clean') return step.seq;
      throw new Error(`audit: ${JSON.stringify(step)}`);
    }
  }

  async #all<T>(path: string): Promise<T[]> {
    const all: T[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: { data: T[]; next_cursor: string | null } = await this.api(
        'GET',
        `${path}?limit=100${from}`,
      );
      all.push(...page.data);
      cursor = page.next_cursor;
    }
    return all;
  }
}

/** The problem code of a refusal of ours; `null` for an answer of the vendor. */
export function refusalOf(answer: RawAnswer): string | null {
  if (headerOf(answer.lines, 'x-weir-error') !== '1') return null;
  const type = JSON.parse(answer.body.toString()).type;
  return String(type).replace('urn:weir:problem:', '');
}

/** `X-Weir-Cost-Micro`, or `null`. */
export function costOf(answer: RawAnswer): number | null {
  const text = headerOf(answer.lines, 'x-weir-cost-micro');
  return text === null ? null : Number(text);
}

/** Whether the answer came from an idempotency record. */
export const isReplay = (answer: RawAnswer): boolean =>
  headerOf(answer.lines, 'x-weir-idempotent-replay') === 'true';
