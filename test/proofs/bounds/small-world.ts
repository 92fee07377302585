/**
 * Limits that would take minutes or millions: the deployed Worker with a smaller value of each, over sockets. Called by
 * test/proofs/bounds.ts.
 */
import {
  ledgerAuditStepsMax,
  ledgerCopyPageRows,
  ledgerCopyRowsMax,
} from '../../../src/base/limits-money.ts';
import { type MoneyTenant, type MoneyWorld, startMoneyWorld } from '../../support/money-world.ts';
import { holds, same } from '../../support/proof.ts';
import { headerOf } from '../../support/raw-client.ts';
import { type Named, refused } from './stand.ts';

const small = { meteredAnswerWaitMs: 300, ledgerAuditRowsMax: 1 };

const inWorld = (name: string, run: (world: MoneyWorld) => Promise<unknown>): Named => [
  name,
  async () => {
    const world = await startMoneyWorld({ limits: small });
    try {
      return await run(world);
    } finally {
      await world.dispose();
    }
  },
];

const outcomeOf = async (tenant: MoneyTenant): Promise<string> =>
  (await tenant.api('GET', '/ledger/audit')).outcome;

/** Rows of nothing in D1's copy of a ledger's log. */
async function fillCopy(world: MoneyWorld, tenantId: string, count: number): Promise<void> {
  const db = await world.gateway.db();
  const sql = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
    insert into ledger_journal (tenant_id, seq, at, available_micros, held_micros, settled_micros, ops)
    select ?1, i, 1, 0, 0, 0, '[]' from n where true on conflict do nothing`;
  await db.prepare(sql).bind(tenantId, count).run();
}

/** Every row of this file. */
export const inSmallWorlds: readonly Named[] = [
  inWorld(
    'meteredAnswerWaitMs, ledgerAuditStepsMax, ledgerCopyRowsMax: a slow answer, long books',
    async (world) => {
      await answerWait(world);
      await auditSteps(world);
      await copyRows(world);
    },
  ),
];

/** An answer that stalls behind its headers is no answer, and costs nothing. */
async function answerWait(world: MoneyWorld): Promise<void> {
  const tenant = await world.tenant();
  world.origin.planFor('stalls', ({ write }) => {
    write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{');
  });
  const answer = await tenant.call('lab.usage', { caseId: 'stalls' });
  refused(answer, 502, 'downstream.error');
  same(headerOf(answer.lines, 'x-weir-cost-micro'), null, 'cost');
  same((await tenant.ended()).settled, 0, 'settled');
}

/** With one row a step, a log of one row more than a request has steps needs a second request. */
async function auditSteps(world: MoneyWorld): Promise<void> {
  const tenant = await world.tenant({ topUpMicros: 0 });
  for (let i = 0; i < ledgerAuditStepsMax; i += 1) await tenant.topUp(1);
  same(await outcomeOf(tenant), 'clean', 'a row for each step');
  await tenant.topUp(1);
  same([await outcomeOf(tenant), await outcomeOf(tenant)], ['more', 'clean'], 'one row more');
}

/** A longer copy is audited in part; one page less, and it is compared with its ledger. */
async function copyRows(world: MoneyWorld): Promise<void> {
  const tenant = await world.tenant({ topUpMicros: 0 });
  const audited = async () => (await tenant.api('GET', '/ledger/audit')).copy;
  await fillCopy(world, tenant.id, ledgerCopyRowsMax - ledgerCopyPageRows + 1);
  const short = await audited();
  same(short.outcome, 'fault', 'a copy that is ahead of its ledger');
  holds(String(short.what).includes('the copy ends at'), short.what);
  await fillCopy(world, tenant.id, ledgerCopyRowsMax);
  same(await audited(), { outcome: 'partial', seq: ledgerCopyRowsMax, what: null }, 'a long copy');
}
