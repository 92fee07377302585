/**
 * Tenants: the tree that owns configuration and money. Promises: a parent never changes, so there
 * is no cycle; a tenant's ledger is its own or an ancestor's, and only who acts at or above that
 * ancestor may choose it; a ledger is neither left nor deleted while holds are open in it; limits
 * are stored first and put in force after (`ledger-limits.ts`). Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { isId, newId } from '../base/ids';
import { tenantDepthMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import type { FieldIssue, Refusal } from '../domain/refusal';
import type { Stored, TenantRecord } from '../ports/store';
import { invalid } from './body';
import { dated, datedWire, displayName, reference } from './fields';
import { booksOf } from './ledger-access';
import {
  budgetsOf,
  budgetsWire,
  limitAnswer,
  limitFields,
  limitsIssue,
  needsLimits,
  putInForce,
} from './ledger-limits';
import { fromLedger } from './ledger-refusals';
import { answering, type Call, type Operation, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';

/**
 * Cloudflare's location hints for objects
 * (developers.cloudflare.com/durable-objects/reference/data-location).
 */
const regions = [
  'wnam',
  'enam',
  'sam',
  'weur',
  'eeur',
  'apac',
  'apac-ne',
  'apac-se',
  'oc',
  'afr',
  'me',
] as const;

const mutable = {
  name: displayName,
  home_region: z._default(z.nullable(z.enum(regions)), null),
  ledger_tenant_id: z
    ._default(z.nullable(reference), null)
    .check(z.describe('The tenant whose ledger pays: itself (null) or an ancestor.')),
  platform_overflow: z
    ._default(z.boolean(), true)
    .check(
      z.describe('False: no aggregator ever serves calls of this tenant or of those below it.'),
    ),
  ...limitFields,
};

/** Body of a change. */
const tenantBody = z.strictObject(mutable);

/** Body of a new tenant. */
const newTenantBody = z.strictObject({
  ...mutable,
  parent_id: z.optional(
    z
      .nullable(reference)
      .check(
        z.describe('The tenant above; by default the acting one. Null, a root: operator only.'),
      ),
  ),
});

/** A tenant on the wire. */
const tenantAnswer = z.object({
  id: z.string(),
  parent_id: z.nullable(z.string()),
  name: z.string(),
  depth: z.int(),
  home_region: z.nullable(z.string()),
  ledger_tenant_id: z.string(),
  platform_overflow: z.boolean(),
  ...limitAnswer,
  ...dated,
});

const toWire = (row: TenantRecord): z.output<typeof tenantAnswer> => ({
  id: row.id,
  parent_id: row.parentId,
  name: row.name,
  depth: row.depth,
  home_region: row.homeRegion,
  ledger_tenant_id: row.ledgerTenantId,
  platform_overflow: row.platformOverflow,
  daily_cap_micros: row.dailyCapMicros,
  budgets: budgetsWire(row.budgets),
  ...datedWire(row),
});

/** The operations on tenants. */
export const tenantOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/tenants',
    scope: 'tree',
    permission: 'config:read',
    summary: 'List the direct children of a tenant; the roots for an operator who names none',
    query: pageQuery,
    answer: pageOf(tenantAnswer),
    handle: (call) =>
      listed(
        call,
        'ten',
        (page) => call.services.store.tenants.children(call.acting, page),
        toWire,
      ),
  }),
  writing({
    method: 'POST',
    path: '/tenants',
    scope: 'tree',
    permission: 'config:write',
    summary: 'Make a tenant',
    body: newTenantBody,
    status: 201,
    answer: tenantAnswer,
    handle: create,
  }),
  answering({
    method: 'GET',
    path: '/tenants/{id}',
    scope: 'tree',
    permission: 'config:read',
    summary: 'Read a tenant',
    answer: tenantAnswer,
    async handle(call) {
      const row = await reachable(call);
      return row.ok ? ok(toWire(row.value.row)) : row;
    },
  }),
  writing({
    method: 'PUT',
    path: '/tenants/{id}',
    scope: 'tree',
    permission: 'config:write',
    summary: 'Replace what may change of a tenant; its parent never does',
    body: tenantBody,
    status: 200,
    answer: tenantAnswer,
    handle: replace,
  }),
  removing({
    path: '/tenants/{id}',
    scope: 'tree',
    permission: 'config:write',
    summary: 'Delete a tenant without children and resources',
    handle: remove,
  }),
];

/**
 * The tenant in the path with its chain, when it is the one that is acted in or below it; else
 * `resource.not_found`.
 */
export async function reachable(
  call: Call,
): Promise<Result<{ row: TenantRecord; chain: readonly string[] }, Refusal>> {
  const { id } = call.facts;
  const { tenants } = call.services.store;
  if (!isId('ten', id)) return err({ code: 'resource.not_found' });
  const chain = await tenants.chain(id);
  if (!chain.ok) return chain;
  const within = call.acting === null || chain.value.includes(call.acting);
  if (!within) return err({ code: 'resource.not_found' });
  const row = await tenants.get(id);
  return row.ok ? ok({ row: row.value, chain: chain.value }) : row;
}

async function create(call: Call, body: z.output<typeof newTenantBody>) {
  const parentId = body.parent_id === undefined ? call.acting : body.parent_id;
  const above = await parentChain(call, parentId);
  if (!above.ok) return above;
  const { nowMs, services } = call.facts;
  const id = newId('ten', nowMs);
  const ledgerTenantId = body.ledger_tenant_id ?? id;
  const fault = ledgerFault(call, ledgerTenantId, [id, ...above.value]);
  if (fault !== null) return err(fault);
  const row: TenantRecord = {
    id,
    parentId,
    name: body.name,
    depth: above.value.length + 1,
    homeRegion: body.home_region,
    ledgerTenantId,
    platformOverflow: body.platform_overflow,
    dailyCapMicros: body.daily_cap_micros,
    budgets: budgetsOf(body.budgets),
    ledgerConfigVersion: 0,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const issue = limitsIssue(row);
  if (issue !== null) return err(invalid(issue));
  return written(call, row, services.store.tenants.insert(row));
}

async function replace(call: Call, body: z.output<typeof tenantBody>) {
  const found = await reachable(call);
  if (!found.ok) return found;
  const before = found.value.row;
  const ledgerTenantId = body.ledger_tenant_id ?? before.id;
  const keeps = ledgerTenantId === before.ledgerTenantId;
  const fault = keeps ? null : ledgerFault(call, ledgerTenantId, found.value.chain);
  if (fault !== null) return err(fault);
  const { name, home_region: homeRegion, daily_cap_micros: dailyCapMicros } = body;
  const limits = { dailyCapMicros, budgets: budgetsOf(body.budgets) };
  const row: TenantRecord = {
    ...before,
    ...limits,
    name,
    homeRegion,
    ledgerTenantId,
    platformOverflow: body.platform_overflow,
    updatedAt: call.facts.nowMs,
  };
  const issue = limitsIssue(row);
  if (issue !== null) return err(invalid(issue));
  const left = keeps ? ok(undefined) : await withoutHolds(call, before.ledgerTenantId);
  if (!left.ok) return left;
  return written(call, row, call.services.store.tenants.replace(row));
}

/** Once the tenant is stored, its ledger hears of it too when it has or had limits. */
async function written(call: Call, row: TenantRecord, write: Stored<void>) {
  const stored = await call.wrote(write, row.id);
  if (!stored.ok) return stored;
  if (row.ledgerTenantId !== row.id || !needsLimits(row)) return ok(toWire(row));
  const inForce = await putInForce(call, row);
  return inForce.ok ? ok(toWire(row)) : inForce;
}

async function remove(call: Call): Promise<Result<void, Refusal>> {
  const found = await reachable(call);
  if (!found.ok) return found;
  const { id, ledgerTenantId } = found.value.row;
  const left = ledgerTenantId === id ? await withoutHolds(call, id) : ok(undefined);
  if (!left.ok) return left;
  return call.wrote(call.services.store.tenants.remove(id), id);
}

/** Whether nothing is held in a ledger. Refuses with a conflict, or when it does not answer. */
async function withoutHolds(call: Call, ledgerTenantId: string): Promise<Result<void, Refusal>> {
  const owner = await call.services.store.tenants.get(ledgerTenantId);
  if (!owner.ok) return owner;
  const view = await fromLedger(booksOf(call, owner.value).ledger.view());
  if (!view.ok) return view;
  return view.value.openHolds === 0 ? ok(undefined) : err({ code: 'ledger.holds_open' });
}

/** The chain of the tenant above a new one, leaf first; empty above a root. */
async function parentChain(
  call: Call,
  parentId: string | null,
): Promise<Result<readonly string[], Refusal>> {
  if (parentId === null) {
    if (call.facts.actor.kind === 'operator') return ok([]);
    return err({ code: 'authz.forbidden', needs: 'operator' });
  }
  const chain = await call.services.store.tenants.chain(parentId);
  if (!chain.ok) return chain;
  const issue = parentIssue(chain.value, call.acting);
  return issue === null ? chain : err(invalid(issue));
}

function parentIssue(chain: readonly string[], acting: string | null): FieldIssue | null {
  const path = 'parent_id';
  const known = chain.length > 0 && (acting === null || chain.includes(acting));
  if (!known) return { path, message: 'names no tenant of yours' };
  if (chain.length < tenantDepthMax) return null;
  return { path, message: `is too deep: a tree has at most ${tenantDepthMax} levels` };
}

/**
 * Why a tenant may not name this ledger: it is neither itself nor an ancestor, or it belongs to
 * somebody above the actor, whose money the actor may not spend. `chain` is the tenant's own, leaf
 * first.
 */
function ledgerFault(call: Call, ledgerId: string, chain: readonly string[]): Refusal | null {
  const at = chain.indexOf(ledgerId);
  const { actor } = call.facts;
  const reach = actor.kind === 'operator' ? chain.length - 1 : chain.indexOf(actor.key.tenantId);
  const message = 'must be the tenant itself or an ancestor of it';
  if (at < 0) return invalid({ path: 'ledger_tenant_id', message });
  return at <= reach ? null : { code: 'authz.forbidden', needs: 'a key of the ledger tenant' };
}
