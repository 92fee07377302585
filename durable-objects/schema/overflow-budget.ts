/**
 * Schema of `OverflowBudget`: a numbered list of statements; the number is the place in the list.
 * Promises: a statement that was released is never edited or moved; new ones are appended. Run by
 * `durable-objects/migrate.ts` when an object starts.
 */
export const overflowBudgetSchema: readonly string[] = [
  // Totals by UTC day, `2030-01-31`. `reserved`: estimates of runs whose cost is not known.
  `CREATE TABLE day (
    day TEXT PRIMARY KEY,
    spent INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    open INTEGER NOT NULL
  ) WITHOUT ROWID`,
  // First answers by id: open, reconciled, returned, refused. `micros`: the estimate while it is
  // open; of a refused one what was spent then.
  `CREATE TABLE reservation (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    day TEXT NOT NULL,
    state TEXT NOT NULL,
    micros INTEGER NOT NULL
  )`,
  `CREATE INDEX reservation_state ON reservation (state, n)`,
  `CREATE INDEX reservation_day ON reservation (day)`,
];
