/**
 * Secrets: a name and a value that is sealed on its way in. Promises: no operation gives a value
 * back. Operations read by `operations.ts`; the sealing also by `vault.ts`.
 */
import * as z from 'zod/mini';
import { newId } from '../base/ids';
import { secretBytesMax } from '../base/limits';
import { ok, type Result } from '../base/result';
import { utf8Bytes } from '../base/utf8';
import type { Refusal } from '../domain/refusal';
import type { SealedValue, SecretRecord } from '../ports/store';
import { dataKeyOf } from './data-key';
import { dated, datedWire, slug, visibility, wellFormed } from './fields';
import { answering, type Call, type Operation, onWire, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';

const fits = (value: string): boolean => utf8Bytes(value) <= secretBytesMax;

/** Body of a secret. */
const secretBody = z.strictObject({
  name: slug,
  value: z
    .string()
    .check(z.minLength(1), wellFormed, z.refine(fits, `may have at most ${secretBytesMax} bytes`)),
  visibility,
});

/** A secret on the wire; there is no field for the value. */
const secretAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  reference: z.string().check(z.describe('What a binding names: cred://name.')),
  visibility: z.enum(['private', 'descendants']),
  ...dated,
});

/** The reference of a secret name. */
const secretReference = (name: string): string => `cred://${name}`;

const toWire = (row: SecretRecord): z.output<typeof secretAnswer> => ({
  id: row.id,
  tenant_id: row.tenantId,
  name: row.name,
  reference: secretReference(row.name),
  visibility: row.visibility,
  ...datedWire(row),
});

/** The operations on secrets. */
export const secretOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/secrets',
    permission: 'config:read',
    summary: 'List secrets, without values',
    query: pageQuery,
    answer: pageOf(secretAnswer),
    handle: (call) =>
      listed(call, 'sec', (page) => call.services.store.secrets.list(call.tenantId, page), toWire),
  }),
  writing({
    method: 'POST',
    path: '/secrets',
    permission: 'secret:write',
    summary: 'Store a secret; its value is never shown again',
    body: secretBody,
    status: 201,
    answer: secretAnswer,
    handle: create,
  }),
  answering({
    method: 'GET',
    path: '/secrets/{id}',
    permission: 'config:read',
    summary: 'Read a secret, without its value',
    answer: secretAnswer,
    handle: (call) => onWire(call.services.store.secrets.get(call.tenantId, call.facts.id), toWire),
  }),
  writing({
    method: 'PUT',
    path: '/secrets/{id}',
    permission: 'secret:write',
    summary: 'Replace a secret and its value',
    body: secretBody,
    status: 200,
    answer: secretAnswer,
    handle: replace,
  }),
  removing({
    path: '/secrets/{id}',
    permission: 'secret:write',
    summary: 'Delete a secret that no upstream of the tenant is bound to',
    handle: (call) => call.wrote(call.services.store.secrets.remove(call.tenantId, call.facts.id)),
  }),
];

async function create(call: Call, body: z.output<typeof secretBody>) {
  const { nowMs } = call.facts;
  const row: SecretRecord = {
    id: newId('sec', nowMs),
    tenantId: call.tenantId,
    name: body.name,
    visibility: body.visibility,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const value = await sealed(call, row.id, body.value);
  if (!value.ok) return value;
  const made = await call.wrote(call.services.store.secrets.insert(row, value.value));
  return made.ok ? ok(toWire(row)) : made;
}

async function replace(call: Call, body: z.output<typeof secretBody>) {
  const { secrets } = call.services.store;
  const before = await secrets.get(call.tenantId, call.facts.id);
  if (!before.ok) return before;
  const value = await sealed(call, before.value.id, body.value);
  if (!value.ok) return value;
  const { name, visibility } = body;
  const row = { ...before.value, name, visibility, updatedAt: call.facts.nowMs };
  const written = await call.wrote(secrets.replace(row, value.value));
  return written.ok ? ok(toWire(row)) : written;
}

async function sealed(
  call: Call,
  id: string,
  value: string,
): Promise<Result<SealedValue, Refusal>> {
  const key = await dataKeyOf(call, call.tenantId);
  if (!key.ok) return key;
  const { vault } = call.services;
  const bytes = await vault.seal(key.value, { tenantId: call.tenantId, id, value });
  return ok({ sealed: bytes, dataKeyVersion: key.value.version });
}
