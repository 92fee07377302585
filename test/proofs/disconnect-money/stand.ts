/**
 * The stand of the disconnect-money proof: a gateway with gates at its ledgers, a vendor that is
 * driven by hand, one tenant a call, and what is asked of its books afterwards.
 * Promises: every byte of the vendor's is written by a case; a call's row is read when the log's
 * flush has brought it, never by time; `drainMs` is shorter than in production, so that a vendor
 * that never answers is proven in seconds.
 * Called by ../disconnect-money.ts and the tables beside this file.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveSrcModules } from '../../../scripts/lib/src-modules.ts';
import { custodyArmMs } from '../../../src/base/limits.ts';
import { type DohStub, startDohStub } from '../../support/doh-stub.ts';
import { Isolates } from '../../support/isolates.ts';
import {
  type CallOptions,
  costOf,
  type EntryWire,
  isReplay,
  MoneyTenant,
  newCase,
  refusalOf,
} from '../../support/money-world.ts';
import { bundleWithLimits } from '../../support/money-world-bundle.ts';
import { callMicros, labFile, labKey, labSetting } from '../../support/money-world-catalog.ts';
import {
  type PricedOrigin,
  silent,
  startPricedOrigin,
  type VendorCall,
} from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { exchange, RawConnection } from '../../support/raw-client.ts';
import { type RecordingOrigin, startOrigin } from '../../support/recording-origin.ts';
import { until } from '../../support/until.ts';

/** How long this world's gateway waits for a vendor whose client has left, milliseconds. */
export const drainMs = 1_500;
/** Its first-byte watchdog, milliseconds. */
export const firstByteMs = 4_000;
/** How soon a cancelled vendor must notice, milliseconds. */
export const noticeMs = 1_000;
/**
 * How long a client stays, or is gone, where a case says so: the gateway looks after a call of its
 * own accord when it is `custodyArmMs` old, and its keeper may be a tick late.
 */
export const heldMs = 3 * custodyArmMs;
/** What every tenant pays in, micro-USD. */
export const paidInMicros = 100_000;

/** One call under test and who makes it. */
export interface Visit {
  readonly tenant: MoneyTenant;
  readonly caseId: string;
  readonly client: RawConnection;
}

/** The columns of a call's row that this proof reads. */
interface CallRecord {
  readonly id: string;
  readonly outcome: string;
  readonly status: number;
  readonly code: string | null;
  readonly cost_micros: number | null;
  readonly hold_id: string | null;
}

/** How a call's row has to end. */
export type End = readonly [outcome: string, status: number];
export const answered: End = ['answered', 200];
export const cancelled: End = ['cancelled', 499];

/** What a call has to leave behind. No `ends`: it may leave no row, since nothing was sent or owed. */
export interface Left {
  /** Micro-USD that it costs; `released`: its hold was given back; `no hold`: there was none. */
  readonly charge: number | 'released' | 'no hold';
  /** One of these is what its row says. */
  readonly ends: readonly End[];
}

export class Stand {
  readonly isolates: Isolates;
  readonly vendor: PricedOrigin;
  /** The vendor `raw`, which sees requests before they are whole. */
  readonly raw: RecordingOrigin;
  readonly resolver: DohStub;
  /** What is removed at the end. */
  readonly #files: readonly string[];
  /** Calls of this run by tenant, for the count of rows at the end. */
  readonly #calls = new Map<string, number>();
  readonly #mayLackRow = new Set<string>();

  private constructor(parts: {
    isolates: Isolates;
    vendor: PricedOrigin;
    raw: RecordingOrigin;
    resolver: DohStub;
    files: readonly string[];
  }) {
    this.isolates = parts.isolates;
    this.vendor = parts.vendor;
    this.raw = parts.raw;
    this.resolver = parts.resolver;
    this.#files = parts.files;
  }

  static async start(): Promise<Stand> {
    const folder = mkdtempSync(join(tmpdir(), 'weir-left-'));
    const [vendor, raw, resolver] = [
      await startPricedOrigin(),
      await startOrigin(() => undefined),
      await startDohStub(),
    ];
    const bundle = `dist/gated-${process.pid}.js`;
    const limits = { drainMs, firstByteTimeoutDefaultMs: firstByteMs };
    const entry = 'test/proofs/disconnect-money/gated-worker.ts';
    const allow = [vendor.authority, raw.authority];
    const isolates = await Isolates.start({
      isolates: 1,
      allow,
      persist: `${folder}/state`,
      bundle: await bundleWithLimits(limits, bundle, entry),
      bindings: {
        PLATFORM_SETTINGS: JSON.stringify({ [labSetting]: labKey }),
        EGRESS_RESOLVER: resolver.url,
      },
    });
    await writeProviders(isolates, allow, [
      { name: 'lab.yaml', text: labFile(vendor.authority) },
      { name: 'raw.yaml', text: uploadFile('raw', `http://${raw.authority}`) },
      { name: 'far.yaml', text: uploadFile('far', `https://${farHost}`) },
    ]);
    return new Stand({ isolates, vendor, raw, resolver, files: [folder, bundle] });
  }

  async dispose(): Promise<void> {
    await this.isolates.dispose();
    await Promise.all([this.vendor.close(), this.raw.close(), this.resolver.close()]);
    for (const file of this.#files) rmSync(file, { recursive: true, force: true });
  }

  /** A tenant that nobody else uses. */
  async tenant(): Promise<MoneyTenant> {
    const tenant = await MoneyTenant.make(this.isolates, { topUpMicros: paidInMicros });
    this.#calls.set(tenant.id, 0);
    return tenant;
  }

  /** Starts a call; the vendor takes it and does nothing of its own. */
  async visit(endpoint: string, options: CallOptions = {}, by?: MoneyTenant): Promise<Visit> {
    const tenant = by ?? (await this.tenant());
    const caseId = newCase();
    this.vendor.planFor(caseId, silent);
    this.#count(tenant);
    return { tenant, caseId, client: await tenant.open(endpoint, { caseId, ...options }) };
  }

  /** A call whose bytes behind the key's header are the case's own. */
  async upload(endpoint: string, tail: string): Promise<Visit> {
    const tenant = await this.tenant();
    const caseId = newCase();
    this.#count(tenant);
    const client = await RawConnection.open(this.isolates.ports[0] as number);
    const head = [
      `POST /call/${endpoint} HTTP/1.1`,
      'Host: gw',
      `X-Weir-Key: ${tenant.scenario.token}`,
      `X-Case: ${caseId}`,
      'Content-Type: application/json',
    ];
    client.send(`${head.join('\r\n')}\r\n${tail}`);
    return { tenant, caseId, client };
  }

  /** The same call again, its answer waited for. */
  async repeat(
    { tenant }: Visit,
    endpoint: string,
    options: CallOptions,
  ): Promise<{
    readonly status: number;
    readonly body: string;
    readonly code: string | null;
    readonly replay: boolean;
    readonly cost: number | null;
  }> {
    this.#count(tenant);
    const answer = await tenant.call(endpoint, options);
    return {
      status: answer.status,
      body: answer.body.toString(),
      code: refusalOf(answer),
      replay: isReplay(answer),
      cost: costOf(answer),
    };
  }

  #count({ id }: MoneyTenant): void {
    this.#calls.set(id, (this.#calls.get(id) ?? 0) + 1);
  }

  /** The call as the vendor has it, once it has arrived whole. */
  async arrived({ caseId }: Visit): Promise<VendorCall> {
    await this.vendor.until(() => this.vendor.arrivals(caseId) > 0);
    return this.vendor.calls.find((call) => call.caseId === caseId) as VendorCall;
  }

  /** Shuts or opens the gate of a tenant's ledger. */
  async gate(what: 'before' | 'behind' | 'open', tenant: MoneyTenant): Promise<void> {
    await this.#control(what, tenant);
  }

  /** Waits until a call stands at the gate. */
  async atTheGate(tenant: MoneyTenant): Promise<void> {
    const waits = async () => (await this.#control('waiting', tenant)) !== '0' || undefined;
    await until('a call at the gate', waits);
  }

  async #control(what: string, { id }: MoneyTenant): Promise<string> {
    const port = this.isolates.ports[0] as number;
    const got = await exchange(port, `GET /gate/${what}/${id} HTTP/1.1\r\nHost: gw\r\n\r\n`);
    holds(got.status < 300, `the gate: ${got.status}`);
    return got.body.toString();
  }

  /** Terminal rows of a tenant's calls. */
  async rows({ id }: Pick<MoneyTenant, 'id'>): Promise<CallRecord[]> {
    const db = await this.isolates.gateway.db();
    const sql = 'select * from calls where tenant_id = ? order by id';
    const { results } = await db.prepare(sql).bind(id).all();
    return results as unknown as CallRecord[];
  }

  /** Holds what one call left behind against the rule, then makes the next call. */
  async leftBehind({ tenant }: Visit, { charge, ends: allowed }: Left): Promise<void> {
    const costMicros = typeof charge === 'number' ? charge : 0;
    const row = allowed.length === 0 ? null : await this.#firstRow(tenant);
    const books = await tenant.ended();
    same(books.settled, costMicros, 'settled');
    same(books.available, paidInMicros - costMicros, 'available');
    const ends = holdEntries(await tenant.entries());
    same(ends.map(ending), charge === 'no hold' ? [] : [endingOf(charge)], 'ends of its hold');
    if (row !== null) {
      const end = JSON.stringify([row.outcome, row.status]);
      holds(
        allowed.some((one) => JSON.stringify(one) === end),
        `the row: ${end} ${row.code}`,
      );
      same(row.cost_micros, typeof charge === 'number' ? charge : null, 'cost of the row');
      if (charge !== 'no hold') same(row.hold_id, ends[0]?.id, 'hold of the row');
    }
    await this.nextPasses(tenant, costMicros);
    if (allowed.length === 0) this.#mayLackRow.add(tenant.id);
  }

  #firstRow(tenant: MoneyTenant): Promise<CallRecord> {
    return until('the row', async () => (await this.rows(tenant))[0]);
  }

  /** The next call of the same tenant passes, and the books are right after it. */
  async nextPasses(tenant: MoneyTenant, spentMicros: number): Promise<void> {
    this.#count(tenant);
    const next = await tenant.call('lab.fixed');
    same(next.status, 200, 'the next call');
    same((await tenant.ended()).settled, spentMicros + callMicros, 'settled after it');
  }

  /** Tenants whose calls have other than one row each. */
  async wrongCounts(): Promise<readonly string[]> {
    const wrong: string[] = [];
    for (const [tenantId, calls] of this.#calls) {
      const least = this.#mayLackRow.has(tenantId) ? calls - 1 : calls;
      const rows = await until('all rows', async () => {
        const found = await this.rows({ id: tenantId });
        return found.length >= least ? found.length : undefined;
      }).catch(() => 0);
      if (rows < least || rows > calls) wrong.push(`${tenantId}: ${rows} of ${calls}`);
    }
    return wrong;
  }

  get calls(): number {
    return [...this.#calls.values()].reduce((sum, count) => sum + count, 0);
  }
}

/** A vendor that is asked by name, so that its address has to be looked up before the send. */
export const farHost = 'api.weir-far.com';

/** A provider with one operation whose body nobody has to read. */
const uploadFile = (provider: string, base: string): string => `provider: ${provider}
name: ${provider}
base_urls: ['${base}/v1']
auth: [{ in: header, name: x-lab-key, as: api_key }]
accounts: [{ label: main, setting: ${labSetting} }]
price_note: a test's own
endpoints:
  - name: upload
    capability: lab.upload
    summary: upload
    method: POST
    path: /upload
    platform_auth: account
    cost: { kind: per_call, prices: [{ price_micros: ${callMicros} }] }
`;

async function writeProviders(
  isolates: Isolates,
  allow: readonly string[],
  files: readonly { readonly name: string; readonly text: string }[],
): Promise<void> {
  resolveSrcModules();
  const [{ bring, faultLine }, { databaseOver }, { readSources }] = await Promise.all([
    import('../../../scripts/lib/catalog/main.ts'),
    import('../../../scripts/lib/catalog/database.ts'),
    import('../../../scripts/lib/catalog/read.ts'),
  ]);
  const policy = { allow: { pairs: new Set(allow) }, gatewayHosts: [], httpsOnly: true };
  const read = readSources(files, policy);
  if (!read.ok) throw new Error(read.faults.map(faultLine).join('\n'));
  await bring(databaseOver(await isolates.gateway.db(), 'test'), read.files, true);
}

const terminal = new Set(['settle', 'release', 'expire', 'late_settle']);

/** Entries that end a hold. */
const holdEntries = (entries: readonly EntryWire[]): readonly EntryWire[] =>
  entries.filter(({ kind }) => terminal.has(kind));

/** An ending without its reason. */
const ending = ({ kind, micros }: EntryWire): readonly unknown[] => [
  kind,
  kind === 'release' ? null : micros,
];
const endingOf = (charge: number | 'released'): readonly unknown[] =>
  charge === 'released' ? ['release', null] : ['settle', charge];

/** The client goes: RST, or FIN with nothing unread; then time for the gateway to see it. */
export async function leave({ client }: Visit, how: How): Promise<void> {
  if (how === 'RST') client.reset();
  else client.close();
  await passed(heldMs);
}

/** Lets the time pass that is part of a case. */
export function passed(ms: number): Promise<unknown> {
  const startedAtMs = performance.now();
  return until('the time', () => performance.now() - startedAtMs >= ms || undefined);
}

/** How a client leaves. */
export type How = 'RST' | 'FIN';
export const ways: readonly How[] = ['RST', 'FIN'];
/** What most cases use, and so micro-USD of what they are charged. */
export const units = 30;
export const released = 'released';
/** What the vendor does when its client's client is gone. */
export type Rest = (call: VendorCall) => void;

/** A charge as a row's name has it. */
export const shown = (charge: Left['charge']): string =>
  typeof charge === 'number' ? `charged ${charge}` : charge;

export type Named = readonly [name: string, run: (stand: Stand) => Promise<unknown>];
