/**
 * Upstreams: registered targets with their bindings. Promises: everything that the road will trust
 * is judged here, when it is written; an upstream with a `platform_setting` is made and changed by
 * the operator only, because whoever chooses the host gets the value. Operations read by
 * `operations.ts`.
 */
import { newId } from '../base/ids';
import { err, ok, type Result } from '../base/result';
import type { Binding } from '../domain/catalog/upstream';
import type { Refusal } from '../domain/refusal';
import type { UpstreamRecord } from '../ports/store';
import { type BindingBody, judgeBindings, secretNames } from './bindings';
import { invalid } from './body';
import { judgeHeaderRules } from './header-rules';
import { namedProject } from './known';
import { answering, type Call, type Operation, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';
import { basePath } from './paths';
import { judgePool } from './pool';
import {
  type UpstreamAnswer,
  type UpstreamBody,
  upstreamAnswer,
  upstreamBody,
  upstreamWire,
} from './upstream-wire';

/** The operations on upstreams. */
export const upstreamOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/upstreams',
    permission: 'config:read',
    summary: 'List upstreams',
    query: pageQuery,
    answer: pageOf(upstreamAnswer),
    handle: list,
  }),
  writing({
    method: 'POST',
    path: '/upstreams',
    permission: 'config:write',
    summary: 'Register an upstream',
    body: upstreamBody,
    status: 201,
    answer: upstreamAnswer,
    handle: create,
  }),
  answering({
    method: 'GET',
    path: '/upstreams/{id}',
    permission: 'config:read',
    summary: 'Read an upstream',
    answer: upstreamAnswer,
    async handle(call) {
      const row = await call.services.store.upstreams.get(call.tenantId, call.facts.id);
      return row.ok ? shown(call, row.value) : row;
    },
  }),
  writing({
    method: 'PUT',
    path: '/upstreams/{id}',
    permission: 'config:write',
    summary: 'Replace an upstream; its routes stay',
    body: upstreamBody,
    status: 200,
    answer: upstreamAnswer,
    handle: replace,
  }),
  removing({
    path: '/upstreams/{id}',
    permission: 'config:write',
    summary: 'Delete an upstream and its routes',
    handle: (call) =>
      call.wrote(call.services.store.upstreams.remove(call.tenantId, call.facts.id)),
  }),
];

async function list(call: Call) {
  const { upstreams } = call.services.store;
  const page = await listed(
    call,
    'ups',
    (p) => upstreams.list(call.tenantId, p),
    (row) => row,
  );
  if (!page.ok) return page;
  const names = await visibleNames(call, page.value.data);
  if (!names.ok) return names;
  const data = page.value.data.map((row) => upstreamWire(row, names.value));
  return ok({ data, next_cursor: page.value.next_cursor });
}

async function create(call: Call, body: UpstreamBody) {
  const { nowMs } = call.facts;
  const written = await judged(call, body, undefined);
  if (!written.ok) return written;
  const row = { ...written.value, id: newId('ups', nowMs), createdAt: nowMs };
  const made = await call.wrote(call.services.store.upstreams.insert(row));
  return made.ok ? shown(call, row) : made;
}

async function replace(call: Call, body: UpstreamBody) {
  const { upstreams } = call.services.store;
  const before = await upstreams.get(call.tenantId, call.facts.id);
  if (!before.ok) return before;
  const written = await judged(call, body, before.value);
  if (!written.ok) return written;
  const { id, createdAt } = before.value;
  const row = { ...written.value, id, createdAt };
  const replaced = await call.wrote(upstreams.replace(row));
  return replaced.ok ? shown(call, row) : replaced;
}

/** The columns that a body writes, every part judged; the network is asked last. */
async function judged(
  call: Call,
  body: UpstreamBody,
  before: UpstreamRecord | undefined,
): Promise<Result<Omit<UpstreamRecord, 'id' | 'createdAt'>, Refusal>> {
  const allowed = operatorsOwn(call, body.bindings, before?.bindings ?? []);
  if (!allowed.ok) return allowed;
  const path = basePath(body.base_path);
  if (!path.ok) return err(invalid({ path: 'base_path', message: path.error }));
  const headerRules = judgeHeaderRules(body.header_rules);
  if (!headerRules.ok) return err(invalid(...headerRules.error));
  const project = await namedProject(call, body.project_id);
  if (!project.ok) return project;
  const bindings = await boundBindings(call, body.bindings);
  if (!bindings.ok) return bindings;
  const pool = await judgePool(call, body, before);
  if (!pool.ok) return pool;
  return ok({
    tenantId: call.tenantId,
    projectId: body.project_id,
    name: body.name,
    scheme: body.scheme,
    ...pool.value,
    basePath: path.value,
    bindings: bindings.value,
    headerRules: headerRules.value,
    firstByteTimeoutMs: body.first_byte_timeout_ms,
    idleTimeoutMs: body.idle_timeout_ms,
    visibility: body.visibility,
    enabled: body.enabled,
    trackBody: body.track_body,
    tags: body.tags,
    updatedAt: call.facts.nowMs,
  });
}

/** A tenant could point a platform setting at a host of its own and read it there. */
function operatorsOwn(
  call: Call,
  bodies: readonly BindingBody[],
  before: readonly Binding[],
): Result<void, Refusal> {
  const has =
    bodies.some((body) => body.platform_setting !== undefined) ||
    before.some((binding) => binding.source.kind === 'platform_setting');
  if (!has || call.facts.actor.kind === 'operator') return ok(undefined);
  return err({ code: 'authz.forbidden', needs: 'operator' });
}

/** Bindings with their secrets looked up along the tenant chain, the closest of a name first. */
async function boundBindings(
  call: Call,
  bodies: readonly BindingBody[],
): Promise<Result<readonly Binding[], Refusal>> {
  const { chain } = call.facts;
  const found = await call.services.store.secrets.visible(chain, secretNames(bodies));
  if (!found.ok) return found;
  const farthestFirst = [...found.value].sort(
    (a, b) => chain.indexOf(b.tenantId) - chain.indexOf(a.tenantId),
  );
  const secretIds = new Map(farthestFirst.map((secret) => [secret.name, secret.id]));
  const settings = new Set(call.services.env.platformSettings.keys());
  const bindings = judgeBindings(bodies, { secretIds, settings });
  return bindings.ok ? bindings : err(invalid(...bindings.error));
}

async function shown(call: Call, row: UpstreamRecord): Promise<Result<UpstreamAnswer, Refusal>> {
  const names = await visibleNames(call, [row]);
  return names.ok ? ok(upstreamWire(row, names.value)) : names;
}

/** Names, by id, of the bound secrets that the tenant may see. */
async function visibleNames(
  call: Call,
  rows: readonly UpstreamRecord[],
): Promise<Result<ReadonlyMap<string, string>, Refusal>> {
  const ids = rows.flatMap((row) =>
    row.bindings.flatMap(({ source }) => (source.kind === 'secret' ? [source.secretId] : [])),
  );
  if (ids.length === 0) return ok(new Map());
  const found = await call.services.store.secrets.visibleIds(call.facts.chain, ids);
  return found.ok ? ok(new Map(found.value.map((secret) => [secret.id, secret.name]))) : found;
}
