/**
 * Access keys of principals. Promises: the token is in the answer that makes it and nowhere else; a
 * key gives nothing that its maker has not; its lists name what exists in the tenant. Operations
 * read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { newId } from '../base/ids';
import { accessListMax } from '../base/limits';
import { ledgerAmountMicrosMax } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import type { FieldIssue, Refusal } from '../domain/refusal';
import { permissions } from '../domain/tenancy/access';
import type { KeyRecord, PrincipalRecord } from '../ports/store';
import { invalid } from './body';
import {
  dated,
  datedWire,
  datetime,
  displayName,
  reference,
  time,
  timeOrNull,
  whole,
} from './fields';
import { mayGiveKey, mayManage } from './grants';
import { named } from './known';
import { answering, type Call, type Operation, onWire, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';

/** Characters of a token that a list shows: `wk_`, the version and four random ones. */
const hintChars = 8;
/** The last instant that RFC 3339 can say in UTC, epoch milliseconds. */
const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const accessList = (description: string) =>
  z
    ._default(z.nullable(z.array(reference).check(z.maxLength(accessListMax))), null)
    .check(z.describe(description));
/** With an offset the last hours of 9999 are another year in UTC, which RFC 3339 cannot spell. */
const expiry = datetime({ offset: true, error: 'must be an RFC 3339 date and time' }).check(
  z.refine((when) => !(Date.parse(when) > lastTimeMs), 'must be before the year 10000'),
);
const mutable = {
  name: displayName,
  permissions: z
    ._default(z.nullable(z.array(z.enum(permissions)).check(z.maxLength(permissions.length))), null)
    .check(z.describe('Narrows what the role allows; null leaves it as it is.')),
  upstream_access: accessList(
    'Upstream ids that the key may call; null is all. No list binds an owner.',
  ),
  project_access: accessList(
    'Project ids whose upstreams the key may call; null is all. No list binds an owner.',
  ),
  daily_call_cap: z
    ._default(z.nullable(whole(0, ledgerAmountMicrosMax)), null)
    .check(
      z.describe(
        'Calls that the key may make per UTC day, on whatever credential; null is no cap.',
      ),
    ),
  expires_at: z._default(z.nullable(expiry), null),
};

/** Body of a change. */
const keyBody = z.strictObject(mutable);

/** Body of a new key. */
const newKeyBody = z.strictObject({ ...mutable, principal_id: reference });

/** A key on the wire, without its token. */
const keyAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  principal_id: z.string(),
  name: z.string(),
  hint: z.string(),
  permissions: z.nullable(z.array(z.enum(permissions))),
  upstream_access: z.nullable(z.array(z.string())),
  project_access: z.nullable(z.array(z.string())),
  daily_call_cap: z.nullable(z.int()),
  expires_at: z.nullable(time),
  revoked_at: z.nullable(time),
  ...dated,
});

/** The only answer with a token. */
const newKeyAnswer = z.extend(keyAnswer, {
  token: z.string().check(z.describe('Shown once; only its SHA-256 is kept.')),
});

const list = <T>(items: readonly T[] | null): T[] | null => (items === null ? null : [...items]);

const toWire = (row: KeyRecord): z.output<typeof keyAnswer> => ({
  id: row.id,
  tenant_id: row.tenantId,
  principal_id: row.principalId,
  name: row.name,
  hint: row.hint,
  permissions: list(row.permissions),
  upstream_access: list(row.upstreamAccess),
  project_access: list(row.projectAccess),
  daily_call_cap: row.dailyCallCap,
  expires_at: timeOrNull(row.expiresAt),
  revoked_at: timeOrNull(row.revokedAt),
  ...datedWire(row),
});

/** The operations on keys. */
export const keyOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/keys',
    permission: 'config:read',
    summary: 'List access keys',
    query: { ...pageQuery, principal_id: { description: 'Only keys of this principal.' } },
    answer: pageOf(keyAnswer),
    handle(call) {
      const principalId = call.facts.query.get('principal_id') ?? null;
      const { keys } = call.services.store;
      return listed(call, 'key', (page) => keys.list(call.tenantId, page, principalId), toWire);
    },
  }),
  writing({
    method: 'POST',
    path: '/keys',
    permission: 'access:write',
    summary: 'Make an access key; the answer shows its token, once',
    body: newKeyBody,
    status: 201,
    answer: newKeyAnswer,
    handle: create,
  }),
  answering({
    method: 'GET',
    path: '/keys/{id}',
    permission: 'config:read',
    summary: 'Read an access key',
    answer: keyAnswer,
    handle: (call) => onWire(call.services.store.keys.get(call.tenantId, call.facts.id), toWire),
  }),
  writing({
    method: 'PUT',
    path: '/keys/{id}',
    permission: 'access:write',
    summary: 'Replace what may change of an access key',
    body: keyBody,
    status: 200,
    answer: keyAnswer,
    handle: replace,
  }),
  answering({
    method: 'POST',
    path: '/keys/{id}/revoke',
    permission: 'access:write',
    summary: 'Revoke an access key for good',
    answer: keyAnswer,
    handle: revoke,
  }),
  removing({
    path: '/keys/{id}',
    permission: 'access:write',
    summary: 'Revoke an access key and forget it',
    handle: remove,
  }),
];

/** A key and its principal, when the actor may manage them. */
async function managed(
  call: Call,
): Promise<Result<{ key: KeyRecord; principal: PrincipalRecord }, Refusal>> {
  const { keys, principals } = call.services.store;
  const key = await keys.get(call.tenantId, call.facts.id);
  if (!key.ok) return key;
  const principal = await principals.get(call.tenantId, key.value.principalId);
  if (!principal.ok) return principal;
  const may = mayManage(call.facts.actor, principal.value.role);
  return may.ok ? ok({ key: key.value, principal: principal.value }) : may;
}

async function create(
  call: Call,
  body: z.output<typeof newKeyBody>,
): Promise<Result<z.output<typeof newKeyAnswer>, Refusal>> {
  const { store, mint } = call.services;
  const { nowMs } = call.facts;
  const asked = store.principals.get(call.tenantId, body.principal_id);
  const principal = await named('principal', asked);
  if (!principal.ok) return principal;
  const given = await granted(call, body, principal.value);
  if (!given.ok) return given;
  const token = await mint.mint();
  const row: KeyRecord = {
    id: newId('key', nowMs),
    tenantId: call.tenantId,
    principalId: principal.value.id,
    hint: token.slice(0, hintChars),
    ...given.value,
    revokedAt: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const made = await call.wrote(store.keys.insert(row, token));
  return made.ok ? ok({ ...toWire(row), token }) : made;
}

async function replace(call: Call, body: z.output<typeof keyBody>) {
  const found = await managed(call);
  if (!found.ok) return found;
  const given = await granted(call, body, found.value.principal);
  if (!given.ok) return given;
  const row = { ...found.value.key, ...given.value, updatedAt: call.facts.nowMs };
  const written = await call.wrote(call.services.store.keys.replace(row));
  return written.ok ? ok(toWire(row)) : written;
}

async function revoke(call: Call) {
  const found = await managed(call);
  if (!found.ok) return found;
  const { id, nowMs } = call.facts;
  const done = await call.wrote(call.services.store.keys.revoke(call.tenantId, id, nowMs));
  if (!done.ok) return done;
  const revokedAt = found.value.key.revokedAt ?? nowMs;
  return ok(toWire({ ...found.value.key, revokedAt, updatedAt: nowMs }));
}

async function remove(call: Call) {
  const found = await managed(call);
  if (!found.ok) return found;
  return call.wrote(call.services.store.keys.remove(call.tenantId, call.facts.id));
}

type Given = Pick<
  KeyRecord,
  'name' | 'permissions' | 'upstreamAccess' | 'projectAccess' | 'dailyCallCap' | 'expiresAt'
>;

/** What the body gives, once the actor may give it and everything that it names exists. */
async function granted(
  call: Call,
  body: z.output<typeof keyBody>,
  principal: PrincipalRecord,
): Promise<Result<Given, Refusal>> {
  const lists = { upstreamAccess: body.upstream_access, projectAccess: body.project_access };
  const dailyCallCap = body.daily_call_cap;
  const { role } = principal;
  const expiresAt = body.expires_at === null ? null : Date.parse(body.expires_at);
  const bounds = { callCap: dailyCallCap, expiresAtMs: expiresAt };
  const may = mayGiveKey(call.facts.actor, {
    role,
    permissions: body.permissions,
    ...lists,
    ...bounds,
  });
  if (!may.ok) return may;
  if (expiresAt !== null && expiresAt <= call.facts.nowMs) {
    return err(invalid({ path: 'expires_at', message: 'must be in the future' }));
  }
  const { upstreams, projects } = call.services.store;
  const upstreamsKnown = await upstreams.visibleIds(call.facts.chain, body.upstream_access ?? []);
  if (!upstreamsKnown.ok) return upstreamsKnown;
  const projectsKnown = await projects.existing(call.tenantId, body.project_access ?? []);
  if (!projectsKnown.ok) return projectsKnown;
  const unknown = [
    ...missing('upstream_access', body.upstream_access, upstreamsKnown.value),
    ...missing('project_access', body.project_access, projectsKnown.value),
  ];
  if (unknown.length > 0) return err(invalid(...unknown));
  const { name, permissions } = body;
  return ok({ name, permissions, ...lists, dailyCallCap, expiresAt });
}

function missing(
  field: string,
  asked: readonly string[] | null,
  known: readonly string[],
): FieldIssue[] {
  return (asked ?? []).flatMap((id, at) =>
    known.includes(id) ? [] : [{ path: `${field}.${at}`, message: 'names nothing of yours' }],
  );
}
