/**
 * The audit of every ledger that D1 knows: the object replays its own log, and D1's copy alone has
 * to give the same books. Promises: reads only, a page at a time; one bad ledger does not end the
 * audit of the others. Called by `scripts/ledger-audit.ts` and proofs.
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { LogRow } from '../../src/domain/ledger/entries.ts';
import type { JournalAudit, JournalFault } from '../../src/domain/ledger/journal-audit.ts';
import type { D1Like } from './migrations.ts';
import type { LedgerLike, Workerd } from './miniflare.ts';

/** Rows of the copy that are read at a time. */
const pageRows = 500;

/** The rule of the product; sources import each other without endings, which Node does not load. */
async function loadRule(): Promise<typeof JournalAudit> {
  const outfile = `dist/journal-audit-${process.pid}.mjs`;
  await build({
    entryPoints: ['src/domain/ledger/journal-audit.ts'],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    logLevel: 'warning',
  });
  const loaded = (await import(pathToFileURL(path.resolve(outfile)).href)) as {
    JournalAudit: typeof JournalAudit;
  };
  rmSync(outfile);
  return loaded.JournalAudit;
}

/** What was found of one ledger; `faults` is empty when it is clean. Amounts in micro-USD. */
export interface LedgerFinding {
  readonly tenantId: string;
  readonly seq: number;
  readonly copiedSeq: number;
  readonly availableMicros: number;
  readonly heldMicros: number;
  readonly settledMicros: number;
  readonly openHolds: number;
  readonly faults: readonly string[];
}

/** Audits all ledgers, in the order of their tenants. */
export async function auditLedgers(
  workerd: Pick<Workerd, 'db' | 'ledgerOf'>,
): Promise<readonly LedgerFinding[]> {
  const [Rule, db] = await Promise.all([loadRule(), workerd.db()]);
  const { results } = await db
    .prepare('select tenant_id, fault from ledgers order by tenant_id')
    .all();
  const findings: LedgerFinding[] = [];
  for (const row of results) {
    const tenantId = String(row.tenant_id);
    const ledger = await workerd.ledgerOf(tenantId);
    const noted = row.fault === null ? [] : [`noted by the journal: ${String(row.fault)}`];
    findings.push(await auditOne({ db, ledger, tenantId, noted, copy: new Rule() }));
  }
  return findings;
}

async function auditOne(parts: {
  readonly db: D1Like;
  readonly ledger: LedgerLike;
  readonly tenantId: string;
  readonly noted: readonly string[];
  readonly copy: JournalAudit;
}): Promise<LedgerFinding> {
  const { db, ledger, tenantId, noted, copy } = parts;
  const own = await replayOwn(ledger);
  const replayed = await replayCopy(db, tenantId, copy);
  const view = await ledger.view();
  const fault = replayed ?? copy.compare(view);
  return {
    tenantId,
    seq: view.seq,
    copiedSeq: copy.seq,
    availableMicros: view.availableMicros,
    heldMicros: view.heldMicros,
    settledMicros: view.settledMicros,
    openHolds: view.openHolds,
    faults: [...(own === null ? [] : [own]), ...(fault === null ? [] : [text(fault)]), ...noted],
  };
}

async function replayOwn(ledger: LedgerLike): Promise<string | null> {
  for (;;) {
    const step = await ledger.audit();
    if (step.outcome === 'clean') return null;
    if (step.outcome === 'fault') return `ledger, row ${step.seq}: ${step.what}`;
  }
}

async function replayCopy(
  db: D1Like,
  tenantId: string,
  audit: JournalAudit,
): Promise<JournalFault | null> {
  const page = db.prepare(
    `select seq, at as atMs, available_micros as availableMicros, held_micros as heldMicros,
       settled_micros as settledMicros, ops
     from ledger_journal where tenant_id = ? and seq > ? order by seq limit ?`,
  );
  for (;;) {
    const { results } = await page.bind(tenantId, audit.seq, pageRows).all();
    const fault = audit.take(results as unknown as readonly LogRow[]);
    if (fault !== null || results.length < pageRows) return fault;
  }
}

function text(fault: JournalFault): string {
  switch (fault.kind) {
    case 'gap':
      return `copy: rows ${fault.afterSeq + 1} to ${fault.nextSeq - 1} are missing`;
    case 'books':
      return `copy, row ${fault.seq}: ${fault.what}`;
    case 'lost':
      return `copy: ends at row ${fault.copiedSeq}, the ledger gave away up to ${fault.ackedSeq}`;
    case 'ahead':
      return `copy: has row ${fault.copiedSeq}, the ledger ends at ${fault.seq}`;
  }
}
