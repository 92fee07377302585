/**
 * Finished calls, read only: the reporting copy, never the source of money. Promises: evidence was
 * masked before it was stored; nobody can unmask it. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { err, ok } from '../base/result';
import { callRowId } from '../domain/overflow/child';
import type { CallRow } from '../ports/evidence';
import type { Page } from '../ports/store';
import { invalid } from './body';
import { time, timeText } from './fields';
import { answering, type Operation, telling } from './operation';
import { listed, pageOf, pageQuery } from './pagination';

/** A call in a list. */
const callAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  key_id: z.nullable(z.string()),
  principal_id: z.nullable(z.string()),
  upstream_id: z.nullable(z.string()),
  surface: z.string(),
  method: z.string(),
  host: z.nullable(z.string()),
  path: z.nullable(z.string()),
  outcome: z.enum(['answered', 'refused', 'failed', 'cancelled', 'timed_out']),
  status: z.int(),
  code: z.nullable(z.string()),
  blame: z.nullable(z.enum(['caller', 'gateway', 'upstream', 'connection'])),
  started_at: time,
  latency_ms: z.number(),
  request_bytes: z.nullable(z.int()),
  response_bytes: z.nullable(z.int()),
  tier: z
    .nullable(z.int())
    .check(z.describe('1 own upstream, 2 own secret, 3 no credential, 4 platform account.')),
  catalog_id: z.nullable(z.string()),
  cost_micros: z.nullable(z.int()).check(z.describe('What was charged; null: not metered.')),
  hold_id: z.nullable(z.string()),
  account: z
    .nullable(z.string())
    .check(z.describe('Label of the platform account that served it.')),
  signal: z
    .nullable(z.string())
    .check(z.describe('What the answer said of that account: balance, quota, burst, ….')),
  served_via: z
    .nullable(z.string())
    .check(z.describe('The aggregator that served it: overflow:<name>.')),
});

/** One call with its evidence: the head of a masked error body. */
const callDetailAnswer = z.extend(callAnswer, { evidence: z.nullable(z.string()) });

const toWire = (row: CallRow): z.output<typeof callAnswer> => ({
  id: row.id,
  tenant_id: row.tenantId,
  key_id: row.keyId,
  principal_id: row.principalId,
  upstream_id: row.upstreamId,
  surface: row.surface,
  method: row.method,
  host: row.host,
  path: row.path,
  outcome: row.outcome,
  status: row.status,
  code: row.code,
  blame: row.blame,
  started_at: timeText(row.startedAtMs),
  latency_ms: row.latencyMs,
  request_bytes: row.requestBytes,
  response_bytes: row.responseBytes,
  tier: row.tier,
  catalog_id: row.catalogId,
  cost_micros: row.costMicros,
  hold_id: row.holdId,
  account: row.account,
  signal: row.signal,
  served_via: row.servedVia,
});

/** The operations on calls. */
export const callOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/calls',
    permission: 'call:read',
    summary: 'List calls, oldest first unless asked otherwise',
    query: { ...pageQuery, order: { description: 'oldest (the default) or newest first.' } },
    answer: pageOf(callAnswer),
    async handle(call) {
      const { calls } = call.services.store;
      const order = call.facts.query.get('order') ?? 'oldest';
      if (order !== 'oldest' && order !== 'newest')
        return err(invalid({ path: 'order', message: 'must be oldest or newest' }));
      const read = (page: Page) =>
        order === 'oldest' ? calls.list(call.tenantId, page) : calls.newest(call.tenantId, page);
      return listed(call, callRowId, read, toWire);
    },
  }),
  answering({
    method: 'GET',
    path: '/calls/{id}',
    id: callRowId,
    permission: 'call:read',
    summary: 'Read a call and its evidence',
    answer: callDetailAnswer,
    async handle(call) {
      const row = await call.services.store.calls.get(call.tenantId, call.facts.id);
      return row.ok ? ok({ ...toWire(row.value), evidence: row.value.evidence }) : row;
    },
  }),
  telling({
    path: '/calls/{id}/result',
    id: callRowId,
    permission: 'call:read',
    summary: 'Read what an upstream answered, masked, where it was kept',
    async handle(call) {
      const row = await call.services.store.calls.get(call.tenantId, call.facts.id);
      if (!row.ok) return row;
      const { evidence } = row.value;
      return evidence === null ? err({ code: 'resource.not_found' }) : ok(evidence);
    },
  }),
];
