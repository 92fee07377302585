/**
 * Principals: who calls; a role inside one tenant, and any number of keys. Operations read by
 * `operations.ts`.
 */
import * as z from 'zod/mini';
import { newId } from '../base/ids';
import { ok } from '../base/result';
import { roles } from '../domain/tenancy/access';
import type { PrincipalRecord } from '../ports/store';
import { dated, datedWire, displayName } from './fields';
import { mayGiveRole, mayManage } from './grants';
import { answering, type Call, type Operation, onWire, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';

/** Body of a principal. */
const principalBody = z.strictObject({
  name: displayName,
  role: z.enum(roles),
  enabled: z._default(z.boolean(), true),
});

/** A principal on the wire. */
const principalAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  enabled: z.boolean(),
  ...dated,
});

const toWire = (row: PrincipalRecord): z.output<typeof principalAnswer> => ({
  id: row.id,
  tenant_id: row.tenantId,
  name: row.name,
  role: row.role,
  enabled: row.enabled,
  ...datedWire(row),
});

/** The operations on principals. */
export const principalOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/principals',
    permission: 'config:read',
    summary: 'List principals',
    query: pageQuery,
    answer: pageOf(principalAnswer),
    handle: (call) =>
      listed(
        call,
        'prn',
        (page) => call.services.store.principals.list(call.tenantId, page),
        toWire,
      ),
  }),
  writing({
    method: 'POST',
    path: '/principals',
    permission: 'access:write',
    summary: 'Make a principal',
    body: principalBody,
    status: 201,
    answer: principalAnswer,
    handle: create,
  }),
  answering({
    method: 'GET',
    path: '/principals/{id}',
    permission: 'config:read',
    summary: 'Read a principal',
    answer: principalAnswer,
    handle: (call) =>
      onWire(call.services.store.principals.get(call.tenantId, call.facts.id), toWire),
  }),
  writing({
    method: 'PUT',
    path: '/principals/{id}',
    permission: 'access:write',
    summary: 'Replace a principal; a disabled one has no working key',
    body: principalBody,
    status: 200,
    answer: principalAnswer,
    handle: replace,
  }),
  removing({
    path: '/principals/{id}',
    permission: 'access:write',
    summary: 'Delete a principal and its keys',
    handle: remove,
  }),
];

async function create(call: Call, body: z.output<typeof principalBody>) {
  const { actor, nowMs } = call.facts;
  const may = mayGiveRole(actor, body.role);
  if (!may.ok) return may;
  const times = { createdAt: nowMs, updatedAt: nowMs };
  const row = { id: newId('prn', nowMs), tenantId: call.tenantId, ...body, ...times };
  const made = await call.wrote(call.services.store.principals.insert(row));
  return made.ok ? ok(toWire(row)) : made;
}

async function replace(call: Call, body: z.output<typeof principalBody>) {
  const { principals } = call.services.store;
  const { actor, id, nowMs } = call.facts;
  const before = await principals.get(call.tenantId, id);
  if (!before.ok) return before;
  const manages = mayManage(actor, before.value.role);
  const may = manages.ok ? mayGiveRole(actor, body.role) : manages;
  if (!may.ok) return may;
  const row = { ...before.value, ...body, updatedAt: nowMs };
  const written = await call.wrote(principals.replace(row));
  return written.ok ? ok(toWire(row)) : written;
}

async function remove(call: Call) {
  const { principals } = call.services.store;
  const before = await principals.get(call.tenantId, call.facts.id);
  if (!before.ok) return before;
  const may = mayManage(call.facts.actor, before.value.role);
  if (!may.ok) return may;
  return call.wrote(principals.remove(call.tenantId, before.value.id));
}
