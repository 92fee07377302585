/**
 * The audit of a ledger: its log is replayed and compared with its books, and D1's copy of the log
 * with both. Promises: bounded steps, so that a long log takes several requests; changes nothing; a
 * copy that is merely behind is no fault. Read by `ledger.ts`.
 */
import * as z from 'zod/mini';
import { ledgerAuditStepsMax, ledgerCopyPageRows, ledgerCopyRowsMax } from '../base/limits-money';
import { ok, type Result } from '../base/result';
import { JournalAudit, type JournalFault } from '../domain/ledger/journal-audit';
import type { AuditStep } from '../domain/ledger/views';
import type { Refusal } from '../domain/refusal';
import { type Books, books } from './ledger-access';
import { fromLedger } from './ledger-refusals';
import { answering, type Call, type Operation } from './operation';

const copyAnswer = z.object({
  outcome: z
    .enum(['clean', 'fault', 'partial'])
    .check(z.describe('partial: it is longer than one request reads.')),
  seq: z.int().check(z.describe('The copy was replayed up to this row.')),
  what: z.nullable(z.string()),
});

/** The result of an audit. */
const auditAnswer = z.object({
  outcome: z.enum(['clean', 'fault', 'more']),
  seq: z.int().check(z.describe('The log was replayed up to this row.')),
  until_seq: z.nullable(z.int()),
  from_seq: z.nullable(z.int()),
  what: z.nullable(z.string()).check(z.describe('What differs, for a fault.')),
  copy: z.nullable(copyAnswer).check(z.describe("D1's copy of the log; null for more.")),
});

type AuditWire = z.output<typeof auditAnswer>;
type CopyWire = z.output<typeof copyAnswer>;

/** `GET /ledger/audit`. */
export const auditOperation: Operation = answering({
  method: 'GET',
  path: '/ledger/audit',
  permission: 'config:write',
  summary: 'Replay the log and its copy and compare them with the books; more: ask again',
  answer: auditAnswer,
  handle: audit,
});

async function audit(call: Call): Promise<Result<AuditWire, Refusal>> {
  const found = await books(call);
  if (!found.ok) return found;
  const step = await stepped(found.value);
  if (!step.ok) return step;
  if (step.value.outcome === 'more') return ok({ ...wire(step.value), copy: null });
  const copy = await copyAudit(call, found.value);
  return copy.ok ? ok({ ...wire(step.value), copy: copy.value }) : copy;
}

/** Walks the audit; the object remembers where it is between two requests. */
async function stepped({ ledger }: Books): Promise<Result<AuditStep, Refusal>> {
  let step = await fromLedger(ledger.audit());
  for (let n = 1; n < ledgerAuditStepsMax; n += 1) {
    if (!step.ok || step.value.outcome !== 'more') break;
    step = await fromLedger(ledger.audit());
  }
  return step;
}

/**
 * What D1 must have is asked before the copy is read, what it may have after: both move meanwhile,
 * and the other way round an honest copy could look lost or ahead.
 */
async function copyAudit(call: Call, { ledger, owner }: Books): Promise<Result<CopyWire, Refusal>> {
  const before = await fromLedger(ledger.view());
  if (!before.ok) return before;
  const replay = new JournalAudit();
  for (let read = 0; read < ledgerCopyRowsMax; read += ledgerCopyPageRows) {
    const rows = await call.services.store.ledgerLog.rows(owner.id, replay.seq, ledgerCopyPageRows);
    if (!rows.ok) return rows;
    const fault = replay.take(rows.value);
    if (fault !== null) return ok(copyWire(replay, fault));
    if (rows.value.length < ledgerCopyPageRows) {
      const after = await fromLedger(ledger.view());
      if (!after.ok) return after;
      const { ackedSeq } = before.value;
      return ok(copyWire(replay, replay.compare({ ...after.value, ackedSeq })));
    }
  }
  return ok({ outcome: 'partial', seq: replay.seq, what: null });
}

const copyWire = (replay: JournalAudit, fault: JournalFault | null): CopyWire => ({
  outcome: fault === null ? 'clean' : 'fault',
  seq: replay.seq,
  what: fault === null ? null : whatOf(fault),
});

function whatOf(fault: JournalFault): string {
  switch (fault.kind) {
    case 'gap':
      return `rows are missing between ${fault.afterSeq} and ${fault.nextSeq}`;
    case 'books':
      return `row ${fault.seq}: ${fault.what}`;
    case 'lost':
      return `the ledger gave away row ${fault.ackedSeq}, the copy ends at ${fault.copiedSeq}`;
    case 'ahead':
      return `the copy ends at ${fault.copiedSeq}, the ledger at ${fault.seq}`;
  }
}

const wire = (step: AuditStep): Omit<AuditWire, 'copy'> => ({
  outcome: step.outcome,
  seq: step.seq,
  until_seq: step.outcome === 'more' ? step.untilSeq : null,
  from_seq: step.outcome === 'clean' ? step.fromSeq : null,
  what: step.outcome === 'fault' ? step.what : null,
});
