/**
 * Projects: named parts of a tenant that upstreams, deny rules and keys refer to. Operations read
 * by `operations.ts`.
 */
import * as z from 'zod/mini';
import { newId } from '../base/ids';
import { ok } from '../base/result';
import type { ProjectRecord } from '../ports/store';
import { dated, datedWire, displayName } from './fields';
import { answering, type Call, type Operation, onWire, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';

/** Body of a project. */
const projectBody = z.strictObject({ name: displayName });

/** A project on the wire. */
const projectAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  ...dated,
});

const toWire = (row: ProjectRecord): z.output<typeof projectAnswer> => ({
  id: row.id,
  tenant_id: row.tenantId,
  name: row.name,
  ...datedWire(row),
});

/** The operations on projects. */
export const projectOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/projects',
    permission: 'config:read',
    summary: 'List projects',
    query: pageQuery,
    answer: pageOf(projectAnswer),
    handle: (call) =>
      listed(call, 'prj', (page) => call.services.store.projects.list(call.tenantId, page), toWire),
  }),
  writing({
    method: 'POST',
    path: '/projects',
    permission: 'config:write',
    summary: 'Make a project',
    body: projectBody,
    status: 201,
    answer: projectAnswer,
    async handle(call, body) {
      const { tenantId } = call;
      const { nowMs } = call.facts;
      const times = { createdAt: nowMs, updatedAt: nowMs };
      const row = { id: newId('prj', nowMs), tenantId, name: body.name, ...times };
      const made = await call.wrote(call.services.store.projects.insert(row));
      return made.ok ? ok(toWire(row)) : made;
    },
  }),
  answering({
    method: 'GET',
    path: '/projects/{id}',
    permission: 'config:read',
    summary: 'Read a project',
    answer: projectAnswer,
    handle: (call) =>
      onWire(call.services.store.projects.get(call.tenantId, call.facts.id), toWire),
  }),
  writing({
    method: 'PUT',
    path: '/projects/{id}',
    permission: 'config:write',
    summary: 'Replace a project',
    body: projectBody,
    status: 200,
    answer: projectAnswer,
    handle: replace,
  }),
  removing({
    path: '/projects/{id}',
    permission: 'config:write',
    summary: 'Delete a project that no upstream belongs to',
    handle: (call) => call.wrote(call.services.store.projects.remove(call.tenantId, call.facts.id)),
  }),
];

async function replace(call: Call, body: z.output<typeof projectBody>) {
  const { projects } = call.services.store;
  const before = await projects.get(call.tenantId, call.facts.id);
  if (!before.ok) return before;
  const row = { ...before.value, name: body.name, updatedAt: call.facts.nowMs };
  const written = await call.wrote(projects.replace(row));
  return written.ok ? ok(toWire(row)) : written;
}
