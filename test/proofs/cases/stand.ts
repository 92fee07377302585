/**
 * The stand of the cases proof: a world with money whose catalog has the rows that the cases name,
 * two vendors beside `lab`, and limits small enough that a lease or a time-out ends in seconds.
 * Called by ../cases.ts and the tables beside this file.
 */
import { resolveSrcModules } from '../../../scripts/lib/src-modules.ts';
import {
  type CallOptions,
  type MoneyTenant,
  type MoneyWorld,
  refusalOf,
  startMoneyWorld,
  type TenantOptions,
} from '../../support/money-world.ts';
import { labFile, labKey, labSetting } from '../../support/money-world-catalog.ts';
import type { Plan, VendorCall } from '../../support/priced-origin.ts';
import { same } from '../../support/proof.ts';
import type { RawAnswer } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';

/** Limits of the quick world, milliseconds; in production the lease is 120 s, the time-out as well. */
export const limits = {
  ledgerLeaseMs: 1_500,
  ledgerAlarmJitterMs: 20,
  holdRenewMs: 500,
  firstByteTimeoutDefaultMs: 3_000,
} as const;

const perCall = (micros: number): string =>
  `{ kind: per_call, prices: [{ price_micros: ${micros} }] }`;

const row = (name: string, method: string, more: string, path = `/${name}`): string => `
  - name: ${name}
    capability: lab.${name}
    summary: ${name}
    method: ${method}
    path: '${path}'
    platform_auth: account
    ${more}`;

/** The rows that the cases name, indented as `labFile` wants them. */
const rows = [
  row('forty', 'POST', `cost: ${perCall(40)}`),
  row('socket', 'GET', `cost: ${perCall(40)}`),
  row(
    'live',
    'POST',
    `cost:
      kind: usage
      meters:
        - { name: units, paths: [usage.units], required: true, reserve: [{ kind: fixed, units: 60 }] }
      prices: [{ per_million_micros: { units: 1000000 } }]
      ends: [{ kind: data, text: '[DONE]' }]`,
  ),
  row('search', 'GET', `cost: ${perCall(1)}`, '/search?type=b'),
  row('gone', 'DELETE', `cost: ${perCall(40)}`),
  row(
    'rows',
    'GET',
    `parameters:
      - { in: path, name: id, type: string, required: true, description: site }
      - { in: path, name: email, type: string, required: true, description: person }
    cost: ${perCall(1)}`,
    '/sites/{id}/rows/{email}',
  ),
  row(
    'strict',
    'GET',
    `strict_query: true
    parameters:
      - { in: query, name: limit, type: integer, min: 1, max: 1000 }
      - { in: query, name: q, type: string }
    cost:
      kind: quota_rows
      prices: [{ per_million_micros: 1000000 }]
      page: { in: query, at: limit, default: 1, max: 1000 }`,
  ),
  row(
    'reported',
    'POST',
    `settlement: { reported: { in: body, at: cost, per_million_micros: 1000000 } }
    cost: ${perCall(10)}`,
  ),
  row(
    'judged',
    'POST',
    `body_allowlist: true
    parameters:
      - { in: body, name: n, type: integer, min: 1, max: 1000 }
      - { in: body, name: o, type: any }
    cost:
      kind: quota_rows
      prices: [{ per_million_micros: 1000000 }]
      page: { in: body, at: n, default: 1, max: 1000 }`,
  ),
].join('');

/** Another vendor at the same host, whose key is a query pair; and one whose name nobody can look up. */
const other = (provider: string, base: string, auth: string): string => `provider: ${provider}
name: ${provider}
base_urls: ['${base}']
auth: [${auth}]
accounts: [{ label: main, setting: ${labSetting} }]
price_note: a test's own
endpoints:
  - name: call
    capability: lab.call
    summary: call
    method: POST
    path: /call
    platform_auth: account
    cost: ${perCall(1)}
`;

export class Stand {
  readonly world: MoneyWorld;

  private constructor(world: MoneyWorld) {
    this.world = world;
  }

  /** `how` quick: with {@link limits}; calm: as it is deployed, for bodies that take their time. */
  static async start(how: 'quick' | 'calm'): Promise<Stand> {
    const options = how === 'quick' ? { limits, catalog: rows } : { catalog: rows };
    const world = await startMoneyWorld(options);
    await writeCatalog(world);
    return new Stand(world);
  }

  dispose(): Promise<void> {
    return this.world.dispose();
  }

  tenant(options?: TenantOptions): Promise<MoneyTenant> {
    return this.world.tenant(options);
  }

  /** What the vendor does with a case. */
  plan(caseId: string, plan: Plan): void {
    this.world.origin.planFor(caseId, plan);
  }

  /** Requests of a case at the vendor. */
  arrivals(caseId: string): number {
    return this.world.origin.arrivals(caseId);
  }

  /** The newest request of a case at the vendor, once there are so many. */
  async arrived(caseId: string, count = 1): Promise<VendorCall> {
    const { origin } = this.world;
    await origin.until(() => origin.arrivals(caseId) >= count);
    return origin.calls.findLast((call) => call.caseId === caseId) as VendorCall;
  }

  /** Waits for the terminal rows of a tenant's calls. */
  async rows({ id }: MoneyTenant, count: number): Promise<CallRecord[]> {
    const db = await this.world.gateway.db();
    const sql = 'select outcome, status, code, cost_micros from calls where tenant_id = ?';
    return until(`${count} rows`, async () => {
      const { results } = await db.prepare(sql).bind(id).all();
      return results.length >= count ? (results as unknown as CallRecord[]) : undefined;
    });
  }
}

/** The columns of a call's row that the cases read. */
export interface CallRecord {
  readonly outcome: string;
  readonly status: number;
  readonly code: string | null;
  readonly cost_micros: number | null;
}

async function writeCatalog({ gateway, origin }: MoneyWorld): Promise<void> {
  resolveSrcModules();
  const [{ bring, faultLine }, { databaseOver }, { readSources }] = await Promise.all([
    import('../../../scripts/lib/catalog/main.ts'),
    import('../../../scripts/lib/catalog/database.ts'),
    import('../../../scripts/lib/catalog/read.ts'),
  ]);
  const { authority } = origin;
  const files = [
    { name: 'lab.yaml', text: labFile(authority, rows) },
    {
      name: 'pair.yaml',
      text: other('pair', `http://${authority}/pair`, '{ in: query, name: key }'),
    },
    {
      name: 'lost.yaml',
      text: other('lost', 'https://api.weir-lost.com', '{ in: header, name: x-lab-key }'),
    },
  ];
  const allow = { pairs: new Set([authority]) };
  const read = readSources(files, { allow, gatewayHosts: [], httpsOnly: true });
  if (!read.ok) throw new Error(read.faults.map(faultLine).join('\n'));
  await bring(databaseOver(await gateway.db(), 'test'), read.files, true);
}

/** The vendor's key, which `pair` wants in its query. */
export const vendorKey = labKey;

/** Terminal entries of a tenant's holds: kind, and micro-USD of a settlement. */
export async function ends(tenant: MoneyTenant): Promise<readonly (readonly unknown[])[]> {
  const terminal = new Set(['settle', 'release', 'expire', 'late_settle']);
  const all = await tenant.entries();
  return all
    .filter(({ kind }) => terminal.has(kind))
    .map(({ kind, micros }) => (kind === 'settle' ? [kind, micros] : [kind]));
}

/** How many holds were ever placed. */
export const placed = async (tenant: MoneyTenant): Promise<number> =>
  (await tenant.entries()).filter(({ kind }) => kind === 'place').length;

/** Holds an answer against its status and our problem code (`null`: the vendor's own answer). */
export function says(answer: RawAnswer, status: number, code: string | null, what: string): void {
  same([answer.status, refusalOf(answer)], [status, code], what);
}

/** Each of these calls is refused with the same code; nothing reaches the vendor, no hold is made. */
export async function refusedEach(
  stand: Stand,
  tenant: MoneyTenant,
  endpoint: string,
  calls: readonly (readonly [what: string, options: CallOptions, status: number, code: string])[],
): Promise<void> {
  const before = await placed(tenant);
  for (const [what, options, status, code] of calls) {
    const caseId = `refused ${what.slice(0, 20)} ${performance.now()}`.replace(/[^\w. -]/g, '_');
    says(await tenant.call(endpoint, { ...options, caseId }), status, code, what);
    same(stand.arrivals(caseId), 0, `${what}: requests at the vendor`);
  }
  same(await placed(tenant), before, 'holds');
  same((await tenant.ended()).held, 0, 'held');
}

export type Check = (stand: Stand) => Promise<string | void>;
