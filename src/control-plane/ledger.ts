/**
 * The books of the ledger that pays for a tenant, read only: balance, open holds, entries, audit.
 * Promises: amounts are integer micro-USD; what is shown is the object's own truth, entries that it
 * has given away come from D1's copy; nobody sees the books of a tenant above it. Operations read
 * by `operations.ts`.
 */
import * as z from 'zod/mini';
import { ok } from '../base/result';
import type { HoldView, LedgerView } from '../domain/ledger/views';
import { time, timeText } from './fields';
import { type Books, books } from './ledger-access';
import { auditOperation } from './ledger-audit';
import { entryOperation } from './ledger-entries';
import { budgetsWire, limitAnswer } from './ledger-limits';
import { listedFromLedger } from './ledger-pages';
import { fromLedger } from './ledger-refusals';
import { tagsAnswer, tagsWire } from './ledger-tags';
import { answering, type Operation } from './operation';
import { pageOf, pageQuery } from './pagination';

const micros = z.int();

/** A credit that is not used up, in the order of burning. */
const blockAnswer = z.object({
  id: z.string(),
  kind: z.enum(['promotional', 'earned', 'purchased']),
  granted_micros: micros,
  remaining_micros: micros,
  held_micros: micros,
});

/** The balance: granted + topped up = available + held + settled, always. */
const balanceAnswer = z.object({
  ledger_tenant_id: z.string(),
  home_region: z.nullable(z.string()),
  available_micros: micros,
  held_micros: micros,
  settled_micros: micros,
  granted_micros: micros,
  topped_up_micros: micros,
  debt_micros: micros,
  open_holds: z.int(),
  settled_today_micros: micros,
  ...limitAnswer,
  limits: z.object({
    version: z.int().check(z.describe('Of the limits that the ledger applies.')),
    stored_version: z.int().check(z.describe('Of the limits that were written last.')),
    in_force: z.boolean(),
  }),
  blocks: z.array(blockAnswer),
  seq: z.int().check(z.describe('Newest row of the log.')),
  copied_seq: z.int().check(z.describe('Newest row that D1 has a copy of.')),
});

/** An open hold. */
const holdAnswer = z.object({
  id: z.string(),
  amount_micros: micros,
  placed_at: time,
  lease_until: time,
  key_id: z.string(),
  tags: tagsAnswer,
  record_id: z.nullable(z.string()),
});

/** The operations on a ledger's books. */
export const ledgerOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/ledger',
    permission: 'call:read',
    summary: 'Read the balance, what is held and spent, and the limits in force',
    answer: balanceAnswer,
    async handle(call) {
      const found = await books(call);
      if (!found.ok) return found;
      const view = await fromLedger(found.value.ledger.view());
      return view.ok ? ok(balanceWire(found.value, view.value)) : view;
    },
  }),
  answering({
    method: 'GET',
    path: '/ledger/holds',
    permission: 'call:read',
    summary: 'List open holds',
    query: pageQuery,
    answer: pageOf(holdAnswer),
    handle: (call) =>
      listedFromLedger(call, {
        name: 'hold',
        read: (ledger, after) => ledger.holds(after),
        idOf: (hold) => hold.id,
        toWire: holdWire,
      }),
  }),
  entryOperation,
  auditOperation,
];

function balanceWire({ address, owner }: Books, view: LedgerView): z.output<typeof balanceAnswer> {
  const { version, dailyCapMicros, budgets } = view.config;
  return {
    ledger_tenant_id: address.ledgerTenantId,
    home_region: address.homeRegion,
    available_micros: view.availableMicros,
    held_micros: view.heldMicros,
    settled_micros: view.settledMicros,
    granted_micros: view.grantedMicros,
    topped_up_micros: view.toppedUpMicros,
    debt_micros: view.debtMicros,
    open_holds: view.openHolds,
    settled_today_micros: view.settledTodayMicros,
    daily_cap_micros: dailyCapMicros,
    budgets: budgetsWire(budgets),
    limits: {
      version,
      stored_version: owner.ledgerConfigVersion,
      in_force: version === owner.ledgerConfigVersion,
    },
    blocks: view.blocks.map((block) => ({
      id: block.id,
      kind: block.kind,
      granted_micros: block.grantedMicros,
      remaining_micros: block.remainingMicros,
      held_micros: block.heldMicros,
    })),
    seq: view.seq,
    copied_seq: view.ackedSeq,
  };
}

const holdWire = (hold: HoldView): z.output<typeof holdAnswer> => ({
  id: hold.id,
  amount_micros: hold.amountMicros,
  placed_at: timeText(hold.placedAtMs),
  lease_until: timeText(hold.leaseUntilMs),
  key_id: hold.keyId,
  tags: tagsWire(hold.tags),
  record_id: hold.recordId,
});
