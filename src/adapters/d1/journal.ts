/**
 * D1's copy of the ledgers' logs: which ledgers there are, how far each is copied, its rows.
 * Promises: rows are written by (tenant, seq), so that twice is once; a row and how far the copy
 * goes change together. Must never: change a row that is there. Called by `jobs/journal.ts`,
 * wiring.ts (`register`) and readers of entries.
 */
import { journalJsonCharsMax } from '../../base/limits-money';
import { partsOf } from '../../base/parts';
import type { LogRow } from '../../domain/ledger/entries';
import type { LedgerAddress } from '../../ports/ledger';

/** A ledger as the job knows it. */
export interface KnownLedger {
  readonly address: LedgerAddress;
  readonly copiedSeq: number;
  readonly fault: string | null;
}

/** Makes a ledger known; a repeat changes nothing. */
export async function registerLedger(
  db: D1Database,
  address: LedgerAddress,
  nowMs: number,
): Promise<void> {
  await db
    .prepare(
      'insert into ledgers (tenant_id, home_region, created_at) values (?, ?, ?) on conflict do nothing',
    )
    .bind(address.ledgerTenantId, address.homeRegion, nowMs)
    .run();
}

/** The ledgers that were not looked at for the longest; they count as looked at from now on. */
export async function nextLedgers(
  db: D1Database,
  limit: number,
  nowMs: number,
): Promise<readonly KnownLedger[]> {
  const { results } = await db
    .prepare(
      `update ledgers set seen_at = ?1 where tenant_id in
         (select tenant_id from ledgers order by seen_at, tenant_id limit ?2)
       returning tenant_id, home_region, copied_seq, fault`,
    )
    .bind(nowMs, limit)
    .all<LedgerRow>();
  return results.map(knownLedger);
}

/** Writes rows, and that everything up to the last one is copied; gives how many batches that took. */
export async function writeJournal(
  db: D1Database,
  tenantId: string,
  rows: readonly LogRow[],
): Promise<number> {
  const insert = db.prepare(
    `insert into ledger_journal
       (tenant_id, seq, at, available_micros, held_micros, settled_micros, ops)
     select ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
     from json_each(?2) where true on conflict do nothing`,
  );
  const mark = db.prepare(
    'update ledgers set copied_seq = max(copied_seq, ?2) where tenant_id = ?1',
  );
  const opsChars = ([, , , , , ops]: Tuple): number => ops.length;
  const parts = partsOf(rows.map(tupleOf), journalJsonCharsMax, opsChars);
  for (const part of parts) {
    const last = part.at(-1);
    if (last === undefined) continue;
    await db.batch([insert.bind(tenantId, JSON.stringify(part)), mark.bind(tenantId, last[0])]);
  }
  return parts.length;
}

/** Notes what is wrong with a ledger's copy; the first fault stays. */
export async function noteFault(db: D1Database, tenantId: string, fault: string): Promise<void> {
  await db
    .prepare('update ledgers set fault = ?2 where tenant_id = ?1 and fault is null')
    .bind(tenantId, fault)
    .run();
}

/** Copied rows behind `afterSeq`, oldest first. */
export async function readJournal(
  db: D1Database,
  { tenantId, afterSeq, limit }: { tenantId: string; afterSeq: number; limit: number },
): Promise<readonly LogRow[]> {
  const { results } = await db
    .prepare(
      `select seq, at as atMs, available_micros as availableMicros, held_micros as heldMicros,
         settled_micros as settledMicros, ops
       from ledger_journal where tenant_id = ? and seq > ? order by seq limit ?`,
    )
    .bind(tenantId, afterSeq, limit)
    .all<{ -readonly [K in keyof LogRow]: LogRow[K] }>();
  return results;
}

type Tuple = readonly [number, number, number, number, number, string];

const tupleOf = (row: LogRow): Tuple => [
  row.seq,
  row.atMs,
  row.availableMicros,
  row.heldMicros,
  row.settledMicros,
  row.ops,
];

interface LedgerRow {
  readonly tenant_id: string;
  readonly home_region: string | null;
  readonly copied_seq: number;
  readonly fault: string | null;
}

const knownLedger = (row: LedgerRow): KnownLedger => ({
  address: { ledgerTenantId: row.tenant_id, homeRegion: row.home_region },
  copiedSeq: row.copied_seq,
  fault: row.fault,
});
