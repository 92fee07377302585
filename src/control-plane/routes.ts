/**
 * Routes: what of an upstream may be called. Promises: two enabled routes of one upstream never
 * share path, priority and method. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { newId } from '../base/ids';
import {
  fieldNameCharsMax,
  queryAllowlistMax,
  routePriorityMax,
  routesPerUpstreamMax,
} from '../base/limits';
import { err, ok, type Result } from '../base/result';
import { callMethods as methods } from '../domain/catalog/upstream';
import type { Refusal } from '../domain/refusal';
import type { RouteRecord } from '../ports/store';
import { invalid } from './body';
import { dated, datedWire, reference, text, whole } from './fields';
import { named } from './known';
import { answering, type Call, type Operation, onWire, removing, writing } from './operation';
import { listed, pageOf, pageQuery } from './pagination';
import { prefixPath } from './paths';

const distinct = (items: readonly string[]): boolean => new Set(items).size === items.length;

const mutable = {
  methods: z
    .array(z.enum(methods))
    .check(z.minLength(1), z.maxLength(methods.length), z.refine(distinct, 'names a method twice')),
  path: z.string().check(z.describe('A prefix at a segment boundary, below the base path.')),
  query_allowlist: z
    ._default(
      z.nullable(z.array(text(fieldNameCharsMax)).check(z.maxLength(queryAllowlistMax))),
      [],
    )
    .check(z.describe('Allowed query names; null allows every name, an empty list none.')),
  suffix_mode: z._default(z.enum(['disabled', 'append']), 'append'),
  priority: z._default(whole(-routePriorityMax, routePriorityMax), 0),
  enabled: z._default(z.boolean(), true),
};

/** Body of a change. */
const routeBody = z.strictObject(mutable);

/** Body of a new route. */
const newRouteBody = z.strictObject({ ...mutable, upstream_id: reference });

/** A route on the wire. */
export const routeAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  upstream_id: z.string(),
  methods: z.array(z.string()),
  path: z.string(),
  query_allowlist: z.nullable(z.array(z.string())),
  suffix_mode: z.enum(['disabled', 'append']),
  priority: z.int(),
  enabled: z.boolean(),
  ...dated,
});

const toWire = (row: RouteRecord): z.output<typeof routeAnswer> => ({
  id: row.id,
  tenant_id: row.tenantId,
  upstream_id: row.upstreamId,
  methods: [...row.methods],
  path: row.path,
  query_allowlist: row.queryAllowlist === null ? null : [...row.queryAllowlist],
  suffix_mode: row.suffixMode,
  priority: row.priority,
  enabled: row.enabled,
  ...datedWire(row),
});

/** The operations on routes. */
export const routeOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/routes',
    permission: 'config:read',
    summary: 'List routes',
    query: { ...pageQuery, upstream_id: { description: 'Only routes of this upstream.' } },
    answer: pageOf(routeAnswer),
    handle(call) {
      const upstreamId = call.facts.query.get('upstream_id') ?? null;
      const { routes } = call.services.store;
      return listed(call, 'rte', (page) => routes.list(call.tenantId, page, upstreamId), toWire);
    },
  }),
  writing({
    method: 'POST',
    path: '/routes',
    permission: 'config:write',
    summary: 'Make a route',
    body: newRouteBody,
    status: 201,
    answer: routeAnswer,
    handle: create,
  }),
  answering({
    method: 'GET',
    path: '/routes/{id}',
    permission: 'config:read',
    summary: 'Read a route',
    answer: routeAnswer,
    handle: (call) => onWire(call.services.store.routes.get(call.tenantId, call.facts.id), toWire),
  }),
  writing({
    method: 'PUT',
    path: '/routes/{id}',
    permission: 'config:write',
    summary: 'Replace a route; its upstream never changes',
    body: routeBody,
    status: 200,
    answer: routeAnswer,
    handle: replace,
  }),
  removing({
    path: '/routes/{id}',
    permission: 'config:write',
    summary: 'Delete a route',
    handle: (call) => call.wrote(call.services.store.routes.remove(call.tenantId, call.facts.id)),
  }),
];

async function create(call: Call, body: z.output<typeof newRouteBody>) {
  const { nowMs } = call.facts;
  const given = judged(body);
  if (!given.ok) return given;
  const { routes, upstreams } = call.services.store;
  const upstream = await named('upstream', upstreams.get(call.tenantId, body.upstream_id));
  if (!upstream.ok) return upstream;
  const row: RouteRecord = {
    id: newId('rte', nowMs),
    tenantId: call.tenantId,
    upstreamId: body.upstream_id,
    ...given.value,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const made = await call.wrote(routes.insertBelow(row, routesPerUpstreamMax));
  if (!made.ok) return made;
  if (!made.value) {
    const message = `may have at most ${routesPerUpstreamMax} routes`;
    return err(invalid({ path: 'upstream_id', message }));
  }
  return ok(toWire(row));
}

async function replace(call: Call, body: z.output<typeof routeBody>) {
  const { routes } = call.services.store;
  const before = await routes.get(call.tenantId, call.facts.id);
  if (!before.ok) return before;
  const given = judged(body);
  if (!given.ok) return given;
  const row = { ...before.value, ...given.value, updatedAt: call.facts.nowMs };
  const written = await call.wrote(routes.replace(row));
  return written.ok ? ok(toWire(row)) : written;
}

type Given = Pick<
  RouteRecord,
  'methods' | 'path' | 'queryAllowlist' | 'suffixMode' | 'priority' | 'enabled'
>;

function judged(body: z.output<typeof routeBody>): Result<Given, Refusal> {
  const path = prefixPath(body.path);
  if (!path.ok) return err(invalid({ path: 'path', message: path.error }));
  return ok({
    methods: body.methods,
    path: path.value,
    queryAllowlist: body.query_allowlist,
    suffixMode: body.suffix_mode,
    priority: body.priority,
    enabled: body.enabled,
  });
}
