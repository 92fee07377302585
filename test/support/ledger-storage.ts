/**
 * The ledger's storage on `node:sqlite`, in memory: the same statements as in the object. A fault
 * can be armed so that a transaction dies at any statement, as it does when a machine does.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { ObjectStorage, SqlRow, SqlValue } from '../../durable-objects/storage.ts';

export class NodeStorage implements ObjectStorage {
  readonly #db = new DatabaseSync(':memory:');
  readonly #prepared = new Map<string, StatementSync>();
  /** Statements that still work before one fails; `null`: no fault is armed. */
  #untilFault: number | null = null;
  readonly sql = { exec: (text: string, ...params: SqlValue[]) => this.#exec(text, params) };

  /** The statement after `statements` more ones throws, once. */
  failAfter(statements: number): void {
    this.#untilFault = statements;
  }

  /** Takes an armed fault away; true when it had not struck yet. */
  disarm(): boolean {
    const armed = this.#untilFault !== null;
    this.#untilFault = null;
    return armed;
  }

  transactionSync<T>(work: () => T): T {
    this.#db.exec('SAVEPOINT turn');
    try {
      const result = work();
      this.#strike();
      this.#db.exec('RELEASE turn');
      return result;
    } catch (fault) {
      this.#db.exec('ROLLBACK TO turn');
      this.#db.exec('RELEASE turn');
      throw fault;
    }
  }

  close(): void {
    this.#db.close();
  }

  #exec(text: string, params: readonly SqlValue[]): { toArray(): SqlRow[] } {
    this.#strike();
    let statement = this.#prepared.get(text);
    if (statement === undefined) {
      statement = this.#db.prepare(text);
      this.#prepared.set(text, statement);
    }
    const rows = statement.all(...params.map(toNode)).map(fromNode);
    return { toArray: () => rows };
  }

  #strike(): void {
    if (this.#untilFault === null) return;
    if (this.#untilFault === 0) {
      this.#untilFault = null;
      throw new Error('the machine died here');
    }
    this.#untilFault -= 1;
  }
}

const toNode = (value: SqlValue): SQLInputValue =>
  value instanceof ArrayBuffer ? new Uint8Array(value) : value;

function fromNode(row: Record<string, unknown>): SqlRow {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof Uint8Array) row[name] = new Uint8Array(value).buffer;
  }
  return row as SqlRow;
}
