/**
 * Rotation of master and data keys, in bounded steps that a command repeats until nothing remains.
 * Promises: serving goes on meanwhile, because every version in use stays until nothing uses it; a
 * step that is repeated or cut off loses nothing; a secret that somebody writes meanwhile keeps the
 * new value. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { rotationStepMax } from '../base/limits';
import { ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { Resealed, Rewrapped } from '../ports/store';
import type { SealedSecret, WrappedDataKey } from '../ports/vault';
import { nextDataKey } from './data-key';
import { whole } from './fields';
import { type Call, type Operation, writing } from './operation';
import { reachable } from './tenants';

const stepBody = z.strictObject({
  limit: z
    ._default(whole(1, rotationStepMax), rotationStepMax)
    .check(z.describe('Rows of this step.')),
});

const unreadable = z
  .int()
  .check(z.describe('Rows of this step that do not open; they stay as they are.'));
const rewrapAnswer = z.object({
  rewrapped: z.int(),
  remaining: z.int(),
  unreadable,
  // An isolate of the deployment before knows no newer key, and finds nothing to do for it.
  master_version: z.int().check(z.describe('The newest master key of who answers.')),
});
const resealAnswer = z.object({ resealed: z.int(), remaining: z.int(), unreadable });

/** The operations on keys of the vault. */
export const vaultOperations: readonly Operation[] = [
  writing({
    method: 'POST',
    path: '/vault/rotate',
    scope: 'gateway',
    permission: 'operator',
    summary: 'Wrap data keys of all tenants under the newest master key; repeat until none remains',
    body: stepBody,
    status: 200,
    answer: rewrapAnswer,
    handle: (call, body) => rewrapStep(call, body.limit),
  }),
  writing({
    method: 'POST',
    path: '/tenants/{id}/data-key/rotate',
    scope: 'tree',
    permission: 'secret:write',
    summary: 'Seal the secrets of a tenant under a new data key; repeat until none remains',
    body: stepBody,
    status: 200,
    answer: resealAnswer,
    async handle(call, body) {
      const found = await reachable(call);
      return found.ok ? resealStep(call, found.value.row.id, body.limit) : found;
    },
  }),
];

async function rewrapStep(
  call: Call,
  limit: number,
): Promise<Result<z.output<typeof rewrapAnswer>, Refusal>> {
  const { store, vault } = call.services;
  const old = await store.dataKeys.wrappedBefore(vault, limit);
  if (!old.ok) return old;
  const changes: Rewrapped[] = [];
  for (const before of old.value.rows) {
    const after = await vault.rewrap(before);
    if (after.ok && after.value !== null) changes.push({ before, after: after.value });
  }
  const written = await store.dataKeys.rewrap(changes);
  if (!written.ok) return written;
  const rewrapped = changes.length;
  const skipped = old.value.rows.length - rewrapped;
  const remaining = old.value.total - rewrapped;
  const { newestMasterVersion: master_version } = vault;
  return ok({ rewrapped, remaining, unreadable: skipped, master_version });
}

/**
 * Goes on with a rotation that has not ended; begins a new one only when every secret is under the
 * newest data key, and that one opens.
 */
async function resealStep(
  call: Call,
  tenantId: string,
  limit: number,
): Promise<Result<z.output<typeof resealAnswer>, Refusal>> {
  const { dataKeys } = call.services.store;
  const newest = await dataKeys.newest(tenantId);
  if (!newest.ok) return newest;
  if (newest.value === null) return ok({ resealed: 0, remaining: 0, unreadable: 0 });
  const unfinished = await dataKeys.sealedBefore(tenantId, newest.value.version, 1);
  if (!unfinished.ok) return unfinished;
  const goesOn = unfinished.value.total > 0 && (await call.services.vault.opens(newest.value));
  const key = goesOn ? ok(newest.value) : await nextDataKey(call, tenantId, newest.value);
  if (!key.ok) return key;
  const old = await dataKeys.sealedBefore(tenantId, key.value.version, limit);
  if (!old.ok) return old;
  const changes = await resealed(call, key.value, old.value.rows);
  const written = await call.wrote(dataKeys.reseal(tenantId, changes), tenantId);
  if (!written.ok) return written;
  const remaining = old.value.total - changes.length;
  const ended = remaining === 0 ? await dataKeys.retire(tenantId, key.value.version) : written;
  if (!ended.ok) return ended;
  const skipped = old.value.rows.length - changes.length;
  return ok({ resealed: changes.length, remaining, unreadable: skipped });
}

async function resealed(
  call: Call,
  key: WrappedDataKey,
  rows: readonly SealedSecret[],
): Promise<readonly Resealed[]> {
  const { vault } = call.services;
  const changes: Resealed[] = [];
  for (const before of rows) {
    const { id, tenantId } = before;
    const value = await vault.open(before);
    if (!value.ok) continue;
    const sealed = await vault.seal(key, { tenantId, id, value: value.value });
    changes.push({ before, after: { sealed, dataKeyVersion: key.version } });
  }
  return changes;
}
