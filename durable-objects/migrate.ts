/** Brings an object's tables to the newest schema. Promises: each statement runs once, in order. Called by every object that starts. */
import { integer, type ObjectStorage } from './storage';

/** Runs the statements that this object has not run yet. */
export function migrate(storage: ObjectStorage, statements: readonly string[]): void {
  const { sql } = storage;
  sql.exec('CREATE TABLE IF NOT EXISTS migration (n INTEGER PRIMARY KEY)');
  const done = integer(sql.exec('SELECT count(*) AS n FROM migration').toArray()[0], 'n');
  if (done === statements.length) return;
  storage.transactionSync(() => {
    statements.slice(done).forEach((statement, index) => {
      sql.exec(statement);
      sql.exec('INSERT INTO migration (n) VALUES (?)', done + index + 1);
    });
  });
}
