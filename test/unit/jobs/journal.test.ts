/** The journal job and D1: what it does not take of one ledger keeps no other one from being copied, and an event stays within its queries. */
import { expect, it } from 'vitest';
import { journalFailuresMax, journalWritesMax } from '../../../src/base/limits-money';
import type { LogRow } from '../../../src/domain/ledger/entries';
import { copyJournals } from '../../../src/jobs/journal';
import type { LedgerAddress, Ledgers } from '../../../src/ports/ledger';

const row = (seq: number): LogRow => ({
  seq,
  atMs: seq,
  availableMicros: 0,
  heldMicros: 0,
  settledMicros: 0,
  ops: '[]',
});

interface World {
  readonly ledgers: readonly string[];
  /** Rows that each of them has for every outbox; the last one empties it. */
  readonly outboxes?: number;
  /** Ledgers whose rows D1 refuses. */
  readonly refused?: readonly string[];
}

/** A D1 that only counts, and ledgers that give a row an outbox. */
function world({ ledgers, outboxes = 1, refused = [] }: World) {
  const copied: string[] = [];
  const asked: string[] = [];
  let queries = 0;
  const statement = (values: readonly unknown[] = []) => ({
    values,
    bind: (...bound: unknown[]) => statement(bound),
    run: async () => {
      queries += 1;
    },
    all: async () => {
      queries += 1;
      const known = { home_region: null, copied_seq: 0, fault: null };
      return { results: ledgers.map((tenant_id) => ({ tenant_id, ...known })) };
    },
  });
  const db = {
    prepare: () => statement(),
    batch: async (statements: readonly { readonly values: readonly unknown[] }[]) => {
      queries += statements.length;
      const tenantId = String(statements[0]?.values[0]);
      if (refused.includes(tenantId)) throw new Error(`D1_ERROR: ${tenantId}`);
      copied.push(tenantId);
    },
  } as unknown as D1Database;
  const seen = new Map<string, number>();
  const of = ({ ledgerTenantId }: LedgerAddress) => ({
    outbox: async () => {
      asked.push(ledgerTenantId);
      const seq = (seen.get(ledgerTenantId) ?? 0) + 1;
      seen.set(ledgerTenantId, seq);
      return { seq: outboxes, rows: [row(seq)] };
    },
    acknowledge: async () => undefined,
  });
  const run = copyJournals(db, { of } as unknown as Ledgers, 1);
  return { run, copied, asked, queries: () => queries };
}

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `ten_${at}`);

it('rows that D1 does not take of one ledger keep no other from being copied; the event fails', async () => {
  const { run, copied } = world({ ledgers: names(5), refused: ['ten_1', 'ten_3'] });
  await expect(run).rejects.toThrow('D1_ERROR: ten_1');
  expect(copied).toEqual(['ten_0', 'ten_2', 'ten_4']);
});

it('journalFailuresMax in a row are D1 itself: the run ends', async () => {
  const ledgers = names(10);
  const { run, asked } = world({ ledgers, refused: ledgers });
  await expect(run).rejects.toThrow('D1_ERROR: ten_0');
  expect(asked).toHaveLength(journalFailuresMax);
});

it('an event stays below the thousand queries that the platform allows, however much there is to copy', async () => {
  const { run, copied, queries } = world({ ledgers: names(50), outboxes: 1_000 });
  expect(await run).toMatchObject({ rows: journalWritesMax, behind: 50 });
  expect([copied.length, queries() < 1_000]).toEqual([journalWritesMax, true]);
});
