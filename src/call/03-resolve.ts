/**
 * 03 resolve: which upstream, which endpoint of it, which path?
 * Promises: a prefix counts at a segment boundary only; upstreams that the key may not use can neither cause a 409 nor win;
 * unknown, foreign and private names take this one path and get one answer; a key that may not call, or not this upstream, learns nothing
 * else of it. Called by run-call.
 */
import { assert } from '../base/assert';
import { err, type MaybePromise, ok, type Result, whenHere, whenOk } from '../base/result';
import { isCatalogId } from '../domain/catalog/endpoint';
import { matchRead, matchRoute } from '../domain/catalog/route-match';
import type { Endpoint, Route, Upstream } from '../domain/catalog/upstream';
import type { TargetUrl } from '../domain/egress/target-url';
import type { Refusal } from '../domain/refusal';
import { covers, mergedPath, readings } from '../domain/relay/path';
import { may, mayUse } from '../domain/tenancy/access';
import type { Background } from '../ports/config';
import { grow, type IdentifiedCall, type ResolvedCall, spoken } from './call';
import { type CatalogTarget, catalogTarget, type LadderPorts } from './catalog-target';

/** Refuses: authz.forbidden, authz.upstream_forbidden, routing.*, route.not_found, catalog.*, egress.blocked, config.unavailable. Nothing is owed. */
export function resolve(
  call: IdentifiedCall,
  ports: LadderPorts,
  background: Background,
): MaybePromise<Result<ResolvedCall, Refusal>> {
  const target = call.target;
  if (!may(call.key, 'call:invoke')) return err({ code: 'authz.forbidden', needs: 'call:invoke' });
  if (target.kind === 'catalog') return resolveCatalog(call, target.id, ports, background);
  // The same answer as for a registered upstream that leads there: no entry is laxer than another.
  if (target.kind === 'private_url') return err({ code: 'egress.blocked', host: target.host });
  if (target.kind === 'url') return resolveUrl(call, target.url);
  const looked =
    target.kind === 'name' ? call.tenant.named(target.name) : call.tenant.aliased(target.alias);
  return whenHere(looked, (found) => {
    if (!found.ok) return found;
    // The walk from the tenant to the root ends at the closest enabled one (decisions section 5).
    const upstream = found.value.find(({ enabled }) => enabled);
    // An upstream of the caller's own is never shadowed by a catalog row of the same name.
    if (found.value.length === 0 && target.kind === 'name' && isCatalogId(target.name)) {
      const { name } = target;
      return whenHere(resolveCatalog(call, name, ports, background), (resolved) =>
        resolved.ok ? resolved : withOwn(call, name, resolved.error),
      );
    }
    return upstream === undefined
      ? notEnabled(call, found.value)
      : withTarget(call, upstream, call.path, null);
  });
}

const resolveCatalog = (
  call: IdentifiedCall,
  id: string,
  ports: LadderPorts,
  background: Background,
): MaybePromise<Result<ResolvedCall, Refusal>> =>
  whenOk(catalogTarget(call, id, ports, background), (target) => withCatalogTarget(call, target));

/**
 * An id that leads nowhere may be a slip for `/call/{upstream}/…`: names the upstream of the caller's own that its first word names, unless
 * a near id of that provider is the likelier one (seed 000, named-miss diagnostics).
 */
function withOwn(
  call: IdentifiedCall,
  id: string,
  refusal: Refusal,
): MaybePromise<Result<never, Refusal>> {
  if (refusal.code !== 'catalog.not_found' && refusal.code !== 'catalog.no_credential')
    return err(refusal);
  const word = id.slice(0, id.indexOf('.'));
  const near = refusal.code === 'catalog.not_found' ? refusal.didYouMean : [];
  if (near.some((one) => one.startsWith(`${word}.`))) return err(refusal);
  return whenHere(call.tenant.named(word), (found) => {
    const isCallable = (one: Upstream): boolean => one.enabled && mayUse(call.key, one);
    const own = found.ok ? found.value.find(isCallable) : undefined;
    return err(own === undefined ? refusal : { ...refusal, ownUpstream: own.name });
  });
}

function withCatalogTarget(
  call: IdentifiedCall,
  { entry, tier, upstream, accounts, hasRoute, base, path, query }: CatalogTarget,
): Result<ResolvedCall, Refusal> {
  const sentPath = base.basePath + path;
  const callersQuery = call.query;
  // An own upstream may begin above or below the provider's base path.
  const below = sentPath.slice(upstream.basePath.length);
  const route = upstream.routes.length === 0 ? ok(null) : routeOf(call, upstream, below);
  if (!route.ok) return route;
  const endpoint = upstream.endpoints.find((e) => e.host === base.host && e.port === base.port);
  if (endpoint === undefined) return err({ code: 'routing.unknown_target_host' });
  return ok(
    grow(call, {
      catalog: { entry, tier, path, callersQuery, plainQuery: query, accounts, hasRoute },
      query,
      upstream,
      endpoint,
      route: route.value,
      sentPath,
    }),
  );
}

/** Nothing visible has the name, or all that has it is switched off, which is for those to know who may use one of it (decisions section 5). */
function notEnabled(call: IdentifiedCall, off: readonly Upstream[]): Result<never, Refusal> {
  const [closest] = off;
  if (closest === undefined) return err({ code: 'routing.not_found', surface: call.surface });
  const known = off.find((upstream) => mayUse(call.key, upstream)) ?? closest;
  return toldOf(known, call, { code: 'routing.upstream_disabled' });
}

function resolveUrl(
  call: IdentifiedCall,
  url: TargetUrl,
): MaybePromise<Result<ResolvedCall, Refusal>> {
  return whenHere(call.tenant.at(url.host, url.port), (found) =>
    found.ok ? amongUpstreams(call, url, found.value) : found,
  );
}

function amongUpstreams(
  call: IdentifiedCall,
  url: TargetUrl,
  found: readonly Upstream[],
): Result<ResolvedCall, Refusal> {
  const matching = found.filter((u) => u.scheme === url.scheme && underBase(u.basePath, call.path));
  const usable = matching.filter((u) => mayUse(call.key, u));
  if (usable.length === 0) {
    if (matching.length > 0) return err({ code: 'authz.upstream_forbidden', named: url.authority });
    return err({ code: 'routing.not_found', surface: 'call' });
  }
  const enabled = usable.filter((u) => u.enabled);
  if (enabled.length === 0) return err({ code: 'routing.upstream_disabled' });
  const best = mostSpecific(enabled);
  if (best.length > 1) return err({ code: 'routing.ambiguous', names: best.map((u) => u.name) });
  const [upstream] = best;
  assert(upstream !== undefined, 'of the enabled upstreams one is the most specific');
  const endpoint =
    upstream.endpoints.find((e) => e.host === url.host && e.port === url.port) ?? null;
  return withTarget(call, upstream, call.path.slice(upstream.basePath.length), endpoint);
}

/** The base path must cover the path as sent and as an origin may read it (decisions section 5). */
const underBase = (base: string, path: string): boolean =>
  base === '' || (covers(base, path) && covers(mergedPath(base), mergedPath(path)));

/** Longest base path, then the closest tenant (the look-up is ordered leaf first); what is left is a real tie. */
function mostSpecific(upstreams: readonly Upstream[]): readonly Upstream[] {
  const longest = Math.max(...upstreams.map((u) => u.basePath.length));
  const best = upstreams.filter((u) => u.basePath.length === longest);
  return best.filter((u) => u.tenantId === best[0]?.tenantId);
}

function withTarget(
  call: IdentifiedCall,
  upstream: Upstream,
  path: string,
  fixed: Endpoint | null,
): Result<ResolvedCall, Refusal> {
  const route = routeOf(call, upstream, path);
  if (!route.ok) return toldOf(upstream, call, route.error);
  const endpoint = fixed === null ? chooseEndpoint(upstream, call.headers.targetHost) : ok(fixed);
  if (!endpoint.ok) return toldOf(upstream, call, endpoint.error);
  return ok(
    grow(call, {
      catalog: null,
      upstream,
      endpoint: endpoint.value,
      route: route.value,
      sentPath: upstream.basePath + path,
    }),
  );
}

/** Who may not use an upstream is told that, and nothing of its routes and hosts. */
const toldOf = (
  upstream: Upstream,
  { key, target }: IdentifiedCall,
  refusal: Refusal,
): Result<never, Refusal> =>
  mayUse(key, upstream)
    ? err(refusal)
    : err({ code: 'authz.upstream_forbidden', named: spoken(target) });

/** An upstream with routes is guarded by them on every surface; one without is open on /call and closed on /proxy (decisions section 2). */
function routeOf(
  call: IdentifiedCall,
  upstream: Upstream,
  path: string,
): Result<Route | null, Refusal> {
  if (upstream.routes.length === 0)
    return call.surface === 'call' ? ok(null) : err({ code: 'route.not_found' });
  const route = matchRoute(upstream.routes, call.method, path);
  if (route === null) return err({ code: 'route.not_found' });
  if (!hasOtherReading.test(path)) return ok(route);
  // A path that an origin would read as another route's is nobody's; where the route itself has parameters, they are a part of its name.
  const read = route.path.includes(';') ? [mergedPath(path)] : readings(path);
  const isNobodys = read.some((each) => matchRead(upstream.routes, call.method, each) !== route);
  if (isNobodys) return err({ code: 'route.not_found' });
  return ok(route);
}

/** An escape, what fetch writes as one (all but the path characters of RFC 3986 section 3.3), parameters, or an empty segment. */
const hasOtherReading = /[^A-Za-z0-9._~!$&'()*+,=:@/-]|\/\//;

const turns = new WeakMap<Upstream, number>();

/** The named host of the pool, else round robin per isolate. */
function chooseEndpoint(upstream: Upstream, named: string | null): Result<Endpoint, Refusal> {
  const pool = upstream.endpoints;
  if (named !== null) return namedEndpoint(pool, named.trim().toLowerCase());
  if (upstream.needsTargetHost)
    return err({
      code: 'routing.missing_target_host',
      hosts: pool.map((e) => `${e.host}:${e.port}`),
    });
  const turn = pool.length === 1 ? 0 : (turns.get(upstream) ?? 0);
  if (pool.length > 1) turns.set(upstream, turn + 1);
  const endpoint = pool[turn % pool.length];
  assert(endpoint !== undefined, 'a pool has an endpoint');
  return ok(endpoint);
}

function namedEndpoint(pool: readonly Endpoint[], named: string): Result<Endpoint, Refusal> {
  const parts = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/.exec(named);
  if (parts === null) return err({ code: 'routing.invalid_target_host' });
  const host = (parts[1] ?? '').replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const found = pool.find(
    (e) => e.host === host && (parts[2] === undefined || e.port === Number(parts[2])),
  );
  return found === undefined ? err({ code: 'routing.unknown_target_host' }) : ok(found);
}
