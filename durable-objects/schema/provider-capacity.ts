/**
 * Schema of `ProviderCapacity`: a numbered list of statements; the number is the place in the list.
 * Promises: a statement that was released is never edited or moved; new ones are appended. Run by
 * `durable-objects/migrate.ts` when an object starts.
 */
export const providerCapacitySchema: readonly string[] = [
  // What the breaker remembers, by kind and key; `body` is JSON, see src/domain/capacity/shelf.ts.
  `CREATE TABLE item (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, key)
  ) WITHOUT ROWID`,
  // Sends that an enforced window may still count, epoch milliseconds; see src/domain/capacity/slots.ts.
  `CREATE TABLE send (bucket TEXT NOT NULL, at REAL NOT NULL)`,
  `CREATE INDEX send_at ON send (bucket, at)`,
];
