/**
 * Where the call log ends up: rows as large as callers and origins can make them are taken, by D1
 * and by a queue with its limits.
 */
import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { D1CallSink, QueueCallSink } from '../../../../src/adapters/d1/call-sink';
import {
  callLogBatchMax,
  callLogJsonCharsMax,
  callLogMessageCharsMax,
  callLogMessagesMax,
  evidenceBodyBytesMax,
  urlBytesMax,
} from '../../../../src/base/limits';
import type { CallRow } from '../../../../src/ports/evidence';
import { callRow } from '../telemetry/rows';

const { DB: db } = env as unknown as { DB: D1Database };

const batch = (parts: Partial<CallRow>, from = 0): CallRow[] =>
  Array.from({ length: callLogBatchMax }, (_, i) => ({ ...callRow(from + i), ...parts }));

const path = `/${'p'.repeat(urlBytesMax - 1)}`;
/** Rows whose error text takes one, three and six bytes a character. */
const texts = ['x', '…', '\u0001'].map((char) => char.repeat(evidenceBodyBytesMax));

it.each(texts)('a full batch of the largest rows is stored whole (error text %#)', async (text) => {
  const from = 1_000 * texts.indexOf(text);
  const rows = batch({ path, evidence: text }, from);
  await new D1CallSink(db).write(rows);
  await new D1CallSink(db).write(rows);
  const stored = await db
    .prepare('select count(*) n from calls where evidence = ? and path = ?')
    .bind(text, path)
    .first();
  expect(stored).toEqual({ n: callLogBatchMax });
});

it.each(texts)('no statement has a value above 2 MB (error text %#)', async (text) => {
  const values: string[] = [];
  const statement = {
    bind(value: string) {
      values.push(value);
      return { run: () => Promise.resolve() };
    },
  };
  const recording = { prepare: () => statement } as unknown as D1Database;
  await new D1CallSink(recording).write(batch({ path, evidence: text }));
  const sizes = values.map((value) => new TextEncoder().encode(value).byteLength);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(3 * callLogJsonCharsMax);
  expect(3 * callLogJsonCharsMax).toBeLessThan(2_000_000);
  expect(values.flatMap((value) => JSON.parse(value) as unknown[]).length).toBe(callLogBatchMax);
});

it.each(texts)(
  'no message and no send is above what a queue takes (error text %#)',
  async (text) => {
    const sends: (readonly { readonly body: readonly CallRow[] }[])[] = [];
    const queue = {
      sendBatch(messages: (typeof sends)[number]) {
        sends.push(messages);
        return Promise.resolve();
      },
    } as unknown as Queue<unknown>;
    const rows = [...batch({}), ...batch({ path, evidence: text }, callLogBatchMax)];
    await new QueueCallSink(queue).write(rows);
    expect(sends.flat().flatMap((message) => message.body)).toEqual(rows);
    for (const messages of sends) {
      const sizes = messages.map(
        ({ body }) => new TextEncoder().encode(JSON.stringify(body)).byteLength,
      );
      expect(Math.max(...sizes)).toBeLessThan(128_000);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(256_000);
      expect(messages.length).toBeLessThanOrEqual(callLogMessagesMax);
    }
    // Small rows share a message.
    expect(sends[0]?.[0]?.body.length).toBeGreaterThan(callLogMessageCharsMax / 1_000);
  },
);
