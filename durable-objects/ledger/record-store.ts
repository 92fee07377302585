/**
 * RecordStore: idempotency records on disk. Only keyed calls come here; an unkeyed one costs no
 * statement. Promises: a key has one row; a claim whose lease ended is unknown from that moment,
 * whether the alarm has run or not; an expired row is absent. Called inside the core's transaction.
 */
import {
  ledgerLeaseMs,
  recordInlineBodyBytesMax,
  recordTenantBytesMax,
  recordTtlMs,
} from '../../src/base/limits-money';
import type { Claim, RecordedAnswer, RecordState } from '../../src/domain/ledger/operations';
import {
  answerBytes,
  isAbandoned,
  isExpired,
  type RecordRow,
} from '../../src/domain/ledger/records';
import type { RecordView } from '../../src/domain/ledger/views';
import {
  bytesOrNull,
  integer,
  integerOrNull,
  type ObjectSql,
  type Slice,
  type SqlRow,
  text,
  textOrNull,
} from '../storage';

/** Every column but the body. */
const columns = `id, hold_id, scope, key, fingerprint, state, claimed_at, due, expires_at, bytes,
  cost, status, headers, body_ref, body_bytes`;

export class RecordStore {
  readonly #sql: ObjectSql;
  /** Bytes of recorded answers and number of claims; read from disk when first needed. */
  #used: { bytes: number; claims: number } | null = null;
  #nextDueMs: number | null;

  constructor(sql: ObjectSql) {
    this.#sql = sql;
    this.#nextDueMs = this.#readNextDue();
  }

  /** When the next lease or record ends; never later than the truth. */
  get nextDueMs(): number | null {
    return this.#nextDueMs;
  }

  /** The record of a key as of `nowMs`. */
  ofKey(scope: string, key: string, nowMs: number): RecordRow | null {
    const row = this.#sql
      .exec(`SELECT ${columns} FROM record WHERE scope = ? AND key = ?`, scope, key)
      .toArray()[0];
    return row === undefined ? null : this.#asOf(recordOf(row), nowMs);
  }

  /** A record by its own id, as of `nowMs`. */
  ofId(id: string, nowMs: number): RecordRow | null {
    const row = this.#sql.exec(`SELECT ${columns} FROM record WHERE id = ?`, id).toArray()[0];
    return row === undefined ? null : this.#asOf(recordOf(row), nowMs);
  }

  /** Whether another answer may be recorded: claims count as if each took what the object keeps. */
  hasRoom(): boolean {
    const { bytes, claims } = this.#usage();
    return bytes + (claims + 1) * recordInlineBodyBytesMax <= recordTenantBytesMax;
  }

  /** A new claim; its lease is that of its hold. The caller has seen that key and id are new. */
  claim([id, scope, key, fingerprint]: Claim, holdId: string, nowMs: number): void {
    const usage = this.#usage();
    const leaseUntilMs = nowMs + ledgerLeaseMs;
    this.#sql.exec(
      `INSERT INTO record
         (id, hold_id, scope, key, fingerprint, state, claimed_at, due, expires_at, bytes)
       VALUES (?, ?, ?, ?, ?, 'claimed', ?, ?, ?, 0)`,
      id,
      holdId,
      scope,
      key,
      fingerprint,
      nowMs,
      leaseUntilMs,
      nowMs + recordTtlMs,
    );
    usage.claims += 1;
    this.#dueAt(leaseUntilMs);
  }

  /** A claim lives as long as its hold's lease; one that ended does not come back to life. */
  prolong(id: string, leaseUntilMs: number, nowMs: number): void {
    this.#sql.exec(
      "UPDATE record SET due = ? WHERE id = ? AND state = 'claimed' AND due > ?",
      leaseUntilMs,
      id,
      nowMs,
    );
  }

  /** Keeps the answer; from here the key replays it. */
  record(row: RecordRow, answer: RecordedAnswer): void {
    const usage = this.#usage();
    const bytes = answerBytes(answer);
    this.#sql.exec(
      `UPDATE record SET state = 'recorded', due = expires_at, bytes = ?, cost = ?, status = ?,
       headers = ?, body_ref = ?, body_bytes = ?, body = ? WHERE id = ?`,
      bytes,
      answer.costMicros,
      answer.status,
      JSON.stringify(answer.headers),
      answer.bodyRef,
      answer.bodyBytes,
      answer.body === null ? null : toBuffer(answer.body),
      row.id,
    );
    if (row.state === 'claimed') usage.claims -= 1;
    usage.bytes += bytes;
    this.#dueAt(row.expiresAtMs);
  }

  /** The answer of a recorded row. */
  answerOf(id: string): RecordedAnswer {
    const row = this.#sql.exec('SELECT * FROM record WHERE id = ?', id).toArray()[0];
    return {
      status: integer(row, 'status'),
      headers: parseHeaders(text(row, 'headers')),
      body: row === undefined ? null : bytesOrNull(row, 'body'),
      bodyRef: row === undefined ? null : textOrNull(row, 'body_ref'),
      bodyBytes: integer(row, 'body_bytes'),
      costMicros: row === undefined ? null : integerOrNull(row, 'cost'),
    };
  }

  /** Nobody knows the outcome, or an operator has decided that it was executed. */
  mark(row: RecordRow, state: 'unknown' | 'resolved'): void {
    const usage = this.#usage();
    this.#sql.exec('UPDATE record SET state = ?, due = expires_at WHERE id = ?', state, row.id);
    if (row.state === 'claimed') usage.claims -= 1;
    this.#dueAt(row.expiresAtMs);
  }

  /** The key may be used again. */
  remove(row: RecordRow): void {
    const usage = this.#usage();
    const gone = this.#sql
      .exec('DELETE FROM record WHERE id = ? RETURNING bytes', row.id)
      .toArray();
    usage.bytes -= integer(gone[0], 'bytes');
    if (row.state === 'claimed') usage.claims -= 1;
  }

  /** Abandons claims and removes records whose time is over, `limit` at most. */
  sweep(nowMs: number, limit: number): void {
    const due = this.#sql
      .exec(`SELECT ${columns} FROM record WHERE due <= ? ORDER BY due LIMIT ?`, nowMs, limit)
      .toArray();
    for (const row of due) this.#asOf(recordOf(row), nowMs);
    this.#nextDueMs = this.#readNextDue();
  }

  /** Records as of `nowMs`, whether the sweep has come to them or not. */
  list({ after, limit }: Slice, nowMs: number): readonly RecordView[] {
    return this.#sql
      .exec(
        `SELECT ${columns} FROM record
         WHERE id > ? AND (due > ? OR (state = 'claimed' AND expires_at > ?)) ORDER BY id LIMIT ?`,
        after ?? '',
        nowMs,
        nowMs,
        limit,
      )
      .toArray()
      .map((row) => viewOf(row, nowMs));
  }

  /** Carries out what time has decided. */
  #asOf(row: RecordRow, nowMs: number): RecordRow | null {
    if (isAbandoned(row, nowMs)) {
      this.mark(row, 'unknown');
      return this.#asOf({ ...row, state: 'unknown', dueMs: row.expiresAtMs }, nowMs);
    }
    if (!isExpired(row, nowMs)) return row;
    this.remove(row);
    return null;
  }

  #usage(): { bytes: number; claims: number } {
    if (this.#used === null) {
      const row = this.#sql
        .exec("SELECT total(bytes) AS bytes, total(state = 'claimed') AS claims FROM record")
        .toArray()[0];
      this.#used = { bytes: integer(row, 'bytes'), claims: integer(row, 'claims') };
    }
    return this.#used;
  }

  #dueAt(atMs: number): void {
    if (this.#nextDueMs === null || atMs < this.#nextDueMs) this.#nextDueMs = atMs;
  }

  #readNextDue(): number | null {
    const row = this.#sql.exec('SELECT min(due) AS due FROM record').toArray()[0];
    return row === undefined ? null : integerOrNull(row, 'due');
  }
}

/** The bytes alone, not the buffer that they are a view of. */
const toBuffer = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

function parseHeaders(headers: string): RecordedAnswer['headers'] {
  return JSON.parse(headers) as RecordedAnswer['headers'];
}

/** We wrote it ourselves. */
const parseState = (state: string): RecordState => state as RecordState;

const recordOf = (row: SqlRow): RecordRow => ({
  id: text(row, 'id'),
  holdId: text(row, 'hold_id'),
  scope: text(row, 'scope'),
  key: text(row, 'key'),
  fingerprint: text(row, 'fingerprint'),
  state: parseState(text(row, 'state')),
  claimedAtMs: integer(row, 'claimed_at'),
  dueMs: integer(row, 'due'),
  expiresAtMs: integer(row, 'expires_at'),
});

const viewOf = (row: SqlRow, nowMs: number): RecordView => ({
  id: text(row, 'id'),
  holdId: text(row, 'hold_id'),
  scope: text(row, 'scope'),
  key: text(row, 'key'),
  state: isAbandoned(recordOf(row), nowMs) ? 'unknown' : parseState(text(row, 'state')),
  claimedAtMs: integer(row, 'claimed_at'),
  expiresAtMs: integer(row, 'expires_at'),
  status: integerOrNull(row, 'status'),
  costMicros: integerOrNull(row, 'cost'),
  bodyBytes: integerOrNull(row, 'body_bytes'),
});
