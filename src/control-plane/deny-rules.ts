/**
 * Deny rules: guardrails for every role of a tenant and the tenants below. Promises: a rule says
 * something; what it names exists. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { newId } from '../base/ids';
import { denyRulesPerTenantMax, hostCharsMax, noteCharsMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import { callMethods as methods } from '../domain/catalog/upstream';
import { judgeHost } from '../domain/egress/hostname';
import type { Refusal } from '../domain/refusal';
import type { DenyRuleRecord } from '../ports/store';
import { invalid } from './body';
import { dated, datedWire, reference, text, wellFormed } from './fields';
import { named, namedProject } from './known';
import { answering, type Call, type Operation, onWire, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';
import { prefixPath } from './paths';

/** Body of a deny rule: the parts that are given must all match. */
const denyRuleBody = z
  .strictObject({
    host: z
      ._default(z.nullable(text(hostCharsMax)), null)
      .check(z.describe('A host, or *.example.com for every host below it.')),
    path: z
      ._default(z.nullable(z.string()), null)
      .check(z.describe('A prefix at a segment boundary.')),
    method: z._default(z.nullable(z.enum(methods)), null),
    principal_id: z._default(z.nullable(reference), null),
    project_id: z._default(z.nullable(reference), null),
    note: z._default(z.nullable(z.string().check(z.maxLength(noteCharsMax), wellFormed)), null),
  })
  .check(
    z.refine(
      (rule) => Object.entries(rule).some(([name, part]) => name !== 'note' && part !== null),
      'give at least one of host, path, method, principal_id, project_id',
    ),
  );

/** A deny rule on the wire. */
const denyRuleAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  host: z.nullable(z.string()),
  path: z.nullable(z.string()),
  method: z.nullable(z.string()),
  principal_id: z.nullable(z.string()),
  project_id: z.nullable(z.string()),
  note: z.nullable(z.string()),
  ...dated,
});

const toWire = (row: DenyRuleRecord): z.output<typeof denyRuleAnswer> => ({
  id: row.id,
  tenant_id: row.tenantId,
  host: row.host,
  path: row.path,
  method: row.method,
  principal_id: row.principalId,
  project_id: row.projectId,
  note: row.note,
  ...datedWire(row),
});

/** The operations on deny rules. */
export const denyRuleOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/deny-rules',
    permission: 'config:read',
    summary: 'List deny rules',
    query: pageQuery,
    answer: pageOf(denyRuleAnswer),
    handle: (call) =>
      listed(
        call,
        'den',
        (page) => call.services.store.denyRules.list(call.tenantId, page),
        toWire,
      ),
  }),
  writing({
    method: 'POST',
    path: '/deny-rules',
    permission: 'config:write',
    summary: 'Make a deny rule',
    body: denyRuleBody,
    status: 201,
    answer: denyRuleAnswer,
    handle: create,
  }),
  answering({
    method: 'GET',
    path: '/deny-rules/{id}',
    permission: 'config:read',
    summary: 'Read a deny rule',
    answer: denyRuleAnswer,
    handle: (call) =>
      onWire(call.services.store.denyRules.get(call.tenantId, call.facts.id), toWire),
  }),
  writing({
    method: 'PUT',
    path: '/deny-rules/{id}',
    permission: 'config:write',
    summary: 'Replace a deny rule',
    body: denyRuleBody,
    status: 200,
    answer: denyRuleAnswer,
    handle: replace,
  }),
  removing({
    path: '/deny-rules/{id}',
    permission: 'config:write',
    summary: 'Delete a deny rule',
    handle: (call) =>
      call.wrote(call.services.store.denyRules.remove(call.tenantId, call.facts.id)),
  }),
];

async function create(call: Call, body: z.output<typeof denyRuleBody>) {
  const { denyRules } = call.services.store;
  const { nowMs } = call.facts;
  const given = await judged(call, body);
  if (!given.ok) return given;
  const times = { createdAt: nowMs, updatedAt: nowMs };
  const row = { id: newId('den', nowMs), tenantId: call.tenantId, ...given.value, ...times };
  const made = await call.wrote(denyRules.insertBelow(row, denyRulesPerTenantMax));
  if (!made.ok) return made;
  if (!made.value) {
    const message = `the tenant has its ${denyRulesPerTenantMax} deny rules`;
    return err(invalid({ path: '', message }));
  }
  return ok(toWire(row));
}

async function replace(call: Call, body: z.output<typeof denyRuleBody>) {
  const { denyRules } = call.services.store;
  const before = await denyRules.get(call.tenantId, call.facts.id);
  if (!before.ok) return before;
  const given = await judged(call, body);
  if (!given.ok) return given;
  const row = { ...before.value, ...given.value, updatedAt: call.facts.nowMs };
  const written = await call.wrote(denyRules.replace(row));
  return written.ok ? ok(toWire(row)) : written;
}

type Given = Omit<DenyRuleRecord, 'id' | 'tenantId' | 'createdAt' | 'updatedAt'>;

async function judged(
  call: Call,
  body: z.output<typeof denyRuleBody>,
): Promise<Result<Given, Refusal>> {
  const host = body.host === null ? null : hostPattern(body.host);
  if (host === undefined) return err(invalid({ path: 'host', message: 'is not a host name' }));
  const path = body.path === null ? ok(null) : prefixPath(body.path);
  if (!path.ok) return err(invalid({ path: 'path', message: path.error }));
  const project = await namedProject(call, body.project_id);
  if (!project.ok) return project;
  const { principals } = call.services.store;
  const { principal_id: principalId } = body;
  const principal =
    principalId === null
      ? ok(null)
      : await named('principal', principals.get(call.tenantId, principalId));
  if (!principal.ok) return principal;
  return ok({
    host,
    path: path.value,
    method: body.method,
    principalId,
    projectId: body.project_id,
    note: body.note,
  });
}

/**
 * The normal form of a host, as targets have it. A rule may also name what no call may reach:
 * private addresses and reserved names are kept as they are.
 */
function hostPattern(text: string): string | undefined {
  const wildcard = text.startsWith('*.');
  const host = wildcard ? text.slice(2) : text;
  const judged = judgeHost(host);
  if (judged.ok) return wildcard ? `*.${judged.value.host}` : judged.value.host;
  const plain = /^[a-z0-9._-]+$|^\[?[0-9a-f:.]+\]?$/i.test(host);
  const keeps = judged.error === 'private_address' || judged.error === 'reserved_name';
  if (!plain || !keeps) return undefined;
  const bare = host.toLowerCase().replace(/^\[|\]$|\.$/g, '');
  return wildcard ? `*.${bare}` : bare;
}
