/**
 * Schema of `MetricsHub`: a numbered list of statements; the number is the place in the list.
 * Promises: a statement that was released is never edited or moved; new ones are appended.
 */
export const metricsHubSchema: readonly string[] = [
  // One row: the totals and the last report of each isolate, as JSON. It is written as a whole, because writes are paid by the row.
  `CREATE TABLE books (n INTEGER PRIMARY KEY CHECK (n = 1), body TEXT NOT NULL)`,
];
