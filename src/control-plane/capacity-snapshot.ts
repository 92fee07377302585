/**
 * Capacity snapshot on the wire: one reading of one account. Promises: what a vendor noted was looked through for credentials before it
 * was stored. Called by the operations on capacity.
 */
import * as z from 'zod/mini';
import type { SnapshotRecord } from '../ports/capacity-records';
import { time, timeOrNull, timeText } from './fields';

/** One reading. */
export const snapshotAnswer = z.object({
  id: z.string(),
  provider: z.string(),
  account: z.string(),
  sweep_at: time,
  observed_at: time,
  state: z
    .enum(['ok', 'low', 'exhausted', 'stale'])
    .check(z.describe('What it meant then; stale: nothing could be read.')),
  remaining: z.nullable(z.number()),
  total: z.nullable(z.number()),
  unit: z.nullable(z.string()),
  resets_at: z.nullable(time),
  source: z.enum(['api', 'dashboard', 'unknown']),
  confidence: z.enum(['exact', 'estimated', 'none']),
  note: z.nullable(z.string()),
  error: z.nullable(z.string()),
});

/** Makes a {@link snapshotAnswer}. */
export const snapshotWire = (row: SnapshotRecord): z.output<typeof snapshotAnswer> => ({
  id: row.id,
  provider: row.provider,
  account: row.account,
  sweep_at: timeText(row.sweepAtMs),
  observed_at: timeText(row.observedAtMs),
  state: row.state,
  remaining: row.remaining,
  total: row.total,
  unit: row.unit,
  resets_at: timeOrNull(row.resetsAtMs),
  source: row.source,
  confidence: row.confidence,
  note: row.note,
  error: row.error,
});
