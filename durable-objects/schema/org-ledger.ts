/**
 * Schema of `OrgLedger`: a numbered list of statements; the number is the place in the list.
 * Promises: a statement that was released is never edited or moved; new ones are appended. Run by
 * `durable-objects/migrate.ts` when an object starts.
 */
export const orgLedgerSchema: readonly string[] = [
  // The log: one row per object call that changed something. `ops` is JSON, see
  // src/domain/ledger/entries.ts.
  `CREATE TABLE log (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    available INTEGER NOT NULL,
    held INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    ops TEXT NOT NULL
  )`,
  // Memory at row `seq`, in parts. Three at most: where the log begins, where it will begin next,
  // the newest.
  `CREATE TABLE snapshot (
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (seq, part)
  ) WITHOUT ROWID`,
  // Ended holds, written together with a snapshot: many in one row, sorted by id, so that they cost
  // an unkeyed call no page of its own. The range of ids finds the row.
  `CREATE TABLE ended (
    n INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    id_min TEXT NOT NULL,
    id_max TEXT NOT NULL,
    body TEXT NOT NULL
  )`,
  `CREATE INDEX ended_ids ON ended (id_max, id_min)`,
  // Grants and top-ups are remembered for ever: a payment is never booked twice.
  `CREATE TABLE credit (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    micros INTEGER NOT NULL,
    seq INTEGER NOT NULL
  ) WITHOUT ROWID`,
  // Idempotency records. `due`: end of the lease while claimed, else end of the record.
  `CREATE TABLE record (
    id TEXT PRIMARY KEY,
    hold_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    due INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    cost INTEGER,
    status INTEGER,
    headers TEXT,
    body_ref TEXT,
    body_bytes INTEGER,
    body BLOB
  )`,
  `CREATE UNIQUE INDEX record_key ON record (scope, key)`,
  `CREATE INDEX record_due ON record (due, state, bytes)`,
  // What an operator has to look at: expired holds, in the order of their ids.
  `CREATE TABLE review (
    hold_id TEXT PRIMARY KEY,
    micros INTEGER NOT NULL,
    at INTEGER NOT NULL,
    closed_at INTEGER,
    closed_by TEXT
  ) WITHOUT ROWID`,
  // Numbers that are not the state of the books: how far D1 has the log.
  `CREATE TABLE mark (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID`,
  // Asynchronous tasks by the hold that pays for each; ended ones are remembered for their owner.
  `CREATE TABLE task (
    hold_id TEXT PRIMARY KEY,
    provider TEXT NOT NULL,
    task_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    account TEXT NOT NULL,
    state TEXT NOT NULL,
    held INTEGER NOT NULL,
    terms TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    closed_at INTEGER
  ) WITHOUT ROWID`,
  `CREATE UNIQUE INDEX task_ids ON task (provider, task_id)`,
  `CREATE INDEX task_states ON task (state, closed_at)`,
  // Both questions, what is pending and what ended long ago, are about the end alone: what is pending has none.
  `DROP INDEX task_states`,
  `CREATE INDEX task_ends ON task (closed_at)`,
];
