/**
 * The kit's minimal ledger object (`../shared/bench/workers/ledger-prototype.js`, its strict part), statement for statement: numbers as
 * ids, one row a call, a snapshot every 1,000 rows. Promises: what is needed so that a hold survives a crash, and no more: no repeats, caps,
 * records, tags, late settlements, audit or journal. Never tuned; never made worse. Called by the bench as the denominator of the ledger bars.
 */
import { DurableObject } from 'cloudflare:workers';

const [claimed, settled, expired] = [1, 2, 3];
const initial = 1e12;
const leaseMs = 600_000;

export class MinimalLedger extends DurableObject {
  readonly #sql: SqlStorage;
  #available = initial;
  #held = 0;
  #charged = 0;
  #seq = 0;
  #sinceSnapshot = 0;
  #isAlarmSet = false;
  /** By id: amount and end of the lease. */
  #holds = new Map<number, [amount: number, untilMs: number]>();

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS log(seq INTEGER PRIMARY KEY, bal INTEGER, held INTEGER, charged INTEGER, ops BLOB);
      CREATE TABLE IF NOT EXISTS snap(id INTEGER PRIMARY KEY, seq INTEGER, body TEXT);`);
    this.#load();
  }

  /** `[claims, id, amount, …, id, used, …]` → 1 or 0 for each claim. */
  apply(flat: readonly number[]): number[] {
    const claims = flat[0] ?? 0;
    const ops: number[] = [];
    const out: number[] = [];
    const untilMs = Date.now() + leaseMs;
    for (let i = 1 + 2 * claims; i < flat.length; i += 2) {
      const [id = 0, used = 0] = [flat[i], flat[i + 1]];
      const hold = this.#holds.get(id);
      if (hold === undefined) continue;
      const [amount] = hold;
      this.#holds.delete(id);
      this.#held -= amount;
      this.#available += amount - used;
      this.#charged += used;
      ops.push(settled, id, used, 0);
    }
    for (let i = 1; i <= 2 * claims; i += 2) {
      const [id = 0, amount = 0] = [flat[i], flat[i + 1]];
      if (this.#holds.has(id)) {
        out.push(1);
        continue;
      }
      if (this.#available < amount) {
        out.push(0);
        continue;
      }
      this.#available -= amount;
      this.#held += amount;
      this.#holds.set(id, [amount, untilMs]);
      ops.push(claimed, id, amount, untilMs);
      out.push(1);
    }
    this.#write(ops);
    return out;
  }

  override alarm(): void {
    this.#isAlarmSet = false;
    const nowMs = Date.now();
    const ops: number[] = [];
    for (const [id, [amount, untilMs]] of this.#holds) {
      if (untilMs >= nowMs) continue;
      this.#holds.delete(id);
      this.#held -= amount;
      this.#charged += amount;
      ops.push(expired, id, amount, 0);
    }
    this.#write(ops);
    if (this.#holds.size > 0) this.#arm();
  }

  #write(ops: number[]): void {
    if (ops.length === 0) return;
    this.#seq += 1;
    this.#sql.exec(
      'INSERT INTO log VALUES(?,?,?,?,?)',
      this.#seq,
      this.#available,
      this.#held,
      this.#charged,
      new Float64Array(ops).buffer,
    );
    this.#sinceSnapshot += 1;
    if (this.#sinceSnapshot >= 1000) this.#snapshot();
    this.#arm();
  }

  #snapshot(): void {
    this.#sinceSnapshot = 0;
    const body = JSON.stringify({
      bal: this.#available,
      held: this.#held,
      charged: this.#charged,
      H: [...this.#holds],
    });
    this.#sql.exec('INSERT OR REPLACE INTO snap VALUES(1,?,?)', this.#seq, body);
    this.#sql.exec('DELETE FROM log WHERE seq<=?', this.#seq - 5000);
  }

  #arm(): void {
    if (this.#isAlarmSet) return;
    this.#isAlarmSet = true;
    void this.ctx.storage.setAlarm(Date.now() + 500);
  }

  #load(): void {
    const [snap] = this.#sql.exec('SELECT seq, body FROM snap WHERE id=1').toArray();
    if (snap !== undefined) {
      const books = JSON.parse(String(snap.body)) as {
        bal: number;
        held: number;
        charged: number;
        H: [number, [number, number]][];
      };
      this.#seq = Number(snap.seq);
      this.#available = books.bal;
      this.#held = books.held;
      this.#charged = books.charged;
      this.#holds = new Map(books.H);
    }
    const rows = this.#sql.exec('SELECT * FROM log WHERE seq>? ORDER BY seq', this.#seq).toArray();
    for (const row of rows) {
      this.#replay(new Float64Array(row.ops as ArrayBuffer));
      this.#seq = Number(row.seq);
      this.#available = Number(row.bal);
      this.#held = Number(row.held);
      this.#charged = Number(row.charged);
    }
  }

  #replay(ops: Float64Array): void {
    for (let i = 0; i < ops.length; i += 4) {
      const [kind, id = 0, amount = 0, untilMs = 0] = ops.subarray(i, i + 4);
      if (kind === claimed) this.#holds.set(id, [amount, untilMs]);
      else this.#holds.delete(id);
    }
  }
}
