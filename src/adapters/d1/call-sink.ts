/**
 * D1CallSink and QueueCallSink: where batches of finished calls end up.
 * Promises: a statement and a message have the size that D1 and a queue take, whatever the rows hold; writing a batch twice leaves one row
 * per call. Called by wiring.ts and the queue handler.
 */
import { callLogJsonCharsMax, callLogMessageCharsMax, callLogMessagesMax } from '../../base/limits';
import { partsOf } from '../../base/parts';
import type { CallRow, CallSink } from '../../ports/evidence';

const insert = `insert or ignore into calls
  (id, tenant_id, key_id, principal_id, upstream_id, surface, method, host, path, outcome, status, code, blame,
   started_at, latency_ms, request_bytes, response_bytes, evidence,
   tier, catalog_id, cost_micros, hold_id, account, signal, served_via)
  select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9, value->>10,
   value->>11, value->>12, value->>13, value->>14, value->>15, value->>16, value->>17, value->>18, value->>19,
   value->>20, value->>21, value->>22, value->>23, value->>24 from json_each(?)`;

/** Writes straight into D1. */
export class D1CallSink implements CallSink {
  readonly #d1: D1Database;

  constructor(d1: D1Database) {
    this.#d1 = d1;
  }

  async write(rows: readonly CallRow[]): Promise<void> {
    const texts = rows.map((row) => JSON.stringify(columns(row)));
    for (const part of partsOf(texts, callLogJsonCharsMax, charsOf))
      await this.#d1
        .prepare(insert)
        .bind(`[${part.join(',')}]`)
        .run();
  }
}

/** Hands batches to a queue, whose handler writes them into D1. */
export class QueueCallSink implements CallSink {
  readonly #queue: Queue<unknown>;

  constructor(queue: Queue<unknown>) {
    this.#queue = queue;
  }

  async write(rows: readonly CallRow[]): Promise<void> {
    const sizeOf = (row: CallRow): number => charsOf(JSON.stringify(row));
    const messages = partsOf(rows, callLogMessageCharsMax, sizeOf).map((body) => ({
      body,
      contentType: 'json' as const,
    }));
    for (let sent = 0; sent < messages.length; sent += callLogMessagesMax)
      await this.#queue.sendBatch(messages.slice(sent, sent + callLogMessagesMax));
  }
}

/**
 * In a list, with the comma behind it. Rows are of any size: a caller's path has 16 KB, an origin's error text 8,192 characters, and one
 * statement that is too large would never be taken, with every row that waits behind it.
 */
const charsOf = (text: string): number => text.length + 1;

const columns = (r: CallRow): readonly (string | number | null)[] => [
  r.id,
  r.tenantId,
  r.keyId,
  r.principalId,
  r.upstreamId,
  r.surface,
  r.method,
  r.host,
  r.path,
  r.outcome,
  r.status,
  r.code,
  r.blame,
  r.startedAtMs,
  r.latencyMs,
  r.requestBytes,
  r.responseBytes,
  r.evidence,
  r.tier,
  r.catalogId,
  r.costMicros,
  r.holdId,
  r.account,
  r.signal,
  r.servedVia,
];
