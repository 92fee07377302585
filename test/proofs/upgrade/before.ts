/**
 * What is there before an upgrade: books, open holds, records of every state, rows of calls, made by
 * calls through the earlier bundle as users would make them.
 * Promises: the earlier gateway is killed with its holds open, so that what is found later was on
 * disk. Called by ../upgrade.ts.
 */

import type { Isolates } from '../../support/isolates.ts';
import {
  type EntryWire,
  type MoneyTenant,
  newCase,
  type RecordWire,
} from '../../support/money-world.ts';
import {
  answers,
  type PricedOrigin,
  refuses,
  resets,
  silent,
} from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import type { RawAnswer } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';

/** A keyed call that was answered, and its answer. */
export interface Recorded {
  readonly key: string;
  readonly caseId: string;
  readonly answer: RawAnswer;
}

/** The state that an upgrade finds. */
export interface Before {
  readonly tenant: MoneyTenant;
  readonly entries: readonly EntryWire[];
  readonly records: readonly RecordWire[];
  // biome-ignore lint/suspicious/noExplicitAny: the view is compared as a whole
  readonly view: any;
  readonly holds: readonly unknown[];
  readonly recorded: readonly Recorded[];
  /** Whose vendor had it when the gateway was killed. */
  readonly open: Recorded['caseId'];
  readonly openKey: string;
  readonly unknownKey: string;
  readonly calls: readonly Record<string, unknown>[];
}

/** Calls that are at the vendor when the gateway is killed. */
export const openCalls = 5;
const settledCalls = 20;
const budgets = [{ dimension: 'team', window: 'total', spend_max_micros: 50_000 }];
/** Every limit of the tenant. */
export const limits = { daily_cap_micros: 90_000, budgets };

/** Makes it, and kills the gateway. */
export async function makeBefore(
  isolates: Isolates,
  origin: PricedOrigin,
  tenant: MoneyTenant,
): Promise<Before> {
  await tenant.api('POST', '/ledger/grants', { id: 'gift', kind: 'promotional', micros: 500 });
  for (let i = 0; i < settledCalls; i += 1)
    same((await tenant.call('lab.fixed', { meta: `team=t${i % 3}` })).status, 200, 'a call');
  const recorded = await recordSome(tenant, origin);
  const unknownKey = 'key-unknown';
  const broken = newCase();
  origin.planFor(broken, resets());
  same((await tenant.call('lab.fixed', { caseId: broken, key: unknownKey })).status, 502, 'broken');
  const refused = newCase();
  origin.planFor(refused, refuses('500 No'));
  await tenant.call('lab.fixed', { caseId: refused, key: 'key-freed' });
  await tenant.ended();
  const calls = await callRows(isolates, tenant, settledCalls + recorded.length + 2);
  const [open, openKey] = [newCase(), 'key-open'];
  await openSome(tenant, origin, { caseId: open, key: openKey });
  const before: Before = {
    tenant,
    entries: await tenant.entries(),
    records: await tenant.records(),
    view: await tenant.api('GET', '/ledger'),
    holds: (await tenant.api('GET', '/ledger/holds?limit=100')).data,
    recorded,
    open,
    openKey,
    unknownKey,
    calls,
  };
  same([before.view.open_holds, before.holds.length], [openCalls, openCalls], 'open holds');
  await isolates.kill();
  return before;
}

/** Answers of different kinds: small, empty, and as large as the object keeps in one row. */
async function recordSome(tenant: MoneyTenant, origin: PricedOrigin): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  for (const [name, more] of [
    ['small', {}],
    ['large', { text: 'x'.repeat(200_000) }],
  ] as const) {
    const [key, caseId] = [`key-${name}`, newCase()];
    origin.planFor(caseId, answers(30, more));
    const answer = await tenant.call('lab.usage', { caseId, key });
    same(answer.status, 200, `the answer that is recorded, ${name}`);
    recorded.push({ key, caseId, answer });
  }
  return recorded;
}

async function openSome(
  tenant: MoneyTenant,
  origin: PricedOrigin,
  keyed: { readonly caseId: string; readonly key: string },
): Promise<void> {
  const cases = Array.from({ length: openCalls - 1 }, () => ({ caseId: newCase() }));
  for (const options of [...cases, keyed]) {
    origin.planFor(options.caseId, silent);
    await tenant.open('lab.fixed', options);
  }
  await origin.until(() => [...cases, keyed].every(({ caseId }) => origin.arrivals(caseId) === 1));
}

/** The rows of a tenant's calls, once there are so many. */
export async function callRows(
  { gateway }: Pick<Isolates, 'gateway'>,
  { id }: MoneyTenant,
  count: number,
): Promise<readonly Record<string, unknown>[]> {
  const db = await gateway.db();
  const sql =
    'select id, outcome, status, cost_micros, hold_id from calls where tenant_id = ? order by id';
  const rows = await until(`${count} rows of calls`, async () => {
    const { results } = await db.prepare(sql).bind(id).all();
    return results.length >= count ? results : undefined;
  });
  holds(rows.length > 0, 'no rows of calls');
  return rows;
}
