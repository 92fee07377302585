/**
 * The D1 tables beside the ledgers: the copy of their logs, and which asynchronous tasks wait for a poll. The objects' own rows are the truth.
 * Promises: losing all of it loses no money. Source of `d1-migrations/` beside schema.ts. Called by the D1 adapters only. Times are epoch
 * milliseconds, amounts micro-USD.
 */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Every ledger that money was ever put into or that counts the calls of a key, and how far its log is copied. Written by `journal.ts` and `store/`. */
export const ledgers = sqliteTable(
  'ledgers',
  {
    tenantId: text('tenant_id').primaryKey(),
    homeRegion: text('home_region'),
    /** Rows 1 to this one are in `ledger_journal`. */
    copiedSeq: integer('copied_seq').notNull().default(0),
    /** When the job last looked at it, whatever came of it: the longest not seen comes first. */
    seenAt: integer('seen_at').notNull().default(0),
    /** What was wrong with the newest outbox; nothing is copied beyond it. */
    fault: text('fault'),
    createdAt: integer('created_at').notNull(),
  },
  (t) => [index('ledgers_seen').on(t.seenAt, t.tenantId)],
);

/** One row of a ledger's log, as the object wrote it. Contiguous from 1 within a tenant. */
export const ledgerJournal = sqliteTable(
  'ledger_journal',
  {
    tenantId: text('tenant_id').notNull(),
    seq: integer('seq').notNull(),
    at: integer('at').notNull(),
    availableMicros: integer('available_micros').notNull(),
    heldMicros: integer('held_micros').notNull(),
    settledMicros: integer('settled_micros').notNull(),
    ops: text('ops').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.seq] })],
);

/** One pending task, by the hold that pays for it. Gone when it has ended. */
export const tasks = sqliteTable(
  'tasks',
  {
    holdId: text('hold_id').primaryKey(),
    ledgerTenantId: text('ledger_tenant_id').notNull(),
    homeRegion: text('home_region'),
    provider: text('provider').notNull(),
    /** The vendor's id. */
    taskId: text('task_id').notNull(),
    nextPollAt: integer('next_poll_at').notNull(),
    /** Polls that were answered, and polls in a row that were not. */
    polls: integer('polls').notNull().default(0),
    failures: integer('failures').notNull().default(0),
  },
  (t) => [index('tasks_due').on(t.nextPollAt)],
);
