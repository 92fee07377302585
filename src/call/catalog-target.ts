/**
 * The credential ladder of a catalog row: own upstream → own secret → anonymous → platform account (digest A6).
 * Promises: the target is one of the provider's approved base URLs, or an upstream of the caller's own; a rung is skipped only because it
 * is not there; the upstream that stands for a rung is one object per configuration, so that what is prepared for it is kept.
 * Called by stage 03.
 */

import { firstByteTimeoutDefaultMs, idleTimeoutDefaultMs } from '../base/limits';
import { err, type MaybePromise, ok, type Result, whenHere, whenOk } from '../base/result';
import { accountSetting } from '../domain/capacity/accounts';
import { primaryAccount } from '../domain/capacity/signal';
import { accessOf, type CatalogEndpoint } from '../domain/catalog/endpoint';
import type { NearRows } from '../domain/catalog/near-ids';
import { fillPath } from '../domain/catalog/placeholders';
import {
  approvedBase,
  type BaseUrl,
  bindingsOf,
  bringsCredential,
} from '../domain/catalog/provider';
import type { Binding, BindingSource, Upstream } from '../domain/catalog/upstream';
import type { EgressPolicy } from '../domain/egress/allowance';
import type { OverflowMode } from '../domain/overflow/child';
import type { Refusal } from '../domain/refusal';
import { covers } from '../domain/relay/path';
import { mergeQuery, type RawQuery } from '../domain/relay/query';
import { mayUse } from '../domain/tenancy/access';
import type { Catalog, CatalogEntry, LookupContext } from '../ports/catalog';
import type { Background } from '../ports/config';
import type { OverflowRoutes } from '../ports/overflow';
import type { AccountRung, IdentifiedCall, Tier } from './call';

/** What the ladder asks. */
export interface LadderPorts {
  readonly catalog: Catalog;
  readonly egressPolicy: EgressPolicy;
  /** Providers that this deployment allows to be called without a credential. */
  readonly anonymousProviders: ReadonlySet<string>;
  /** Whether the operator has a value for a platform setting. */
  readonly hasSetting: (name: string) => boolean;
  /** Labels of the operator's further accounts at a provider. */
  readonly platformAccounts: ReadonlyMap<string, readonly string[]>;
  readonly overflow: { readonly mode: OverflowMode; readonly routes: OverflowRoutes };
}

/** A rung that holds: where the call goes, with which upstream's bindings. */
export interface CatalogTarget {
  readonly entry: CatalogEntry;
  readonly tier: Tier;
  readonly upstream: Upstream;
  readonly accounts: readonly AccountRung[];
  readonly hasRoute: boolean;
  /** The provider's base URL; for an own upstream perhaps one that it had before. */
  readonly base: BaseUrl;
  /** Below `base`, filled. */
  readonly path: string;
  readonly query: RawQuery;
}

/** Finds the row and its rung. Refuses: catalog.*, request.method_not_allowed, config.unavailable. */
export function catalogTarget(
  call: IdentifiedCall,
  id: string,
  ports: LadderPorts,
  background: Background,
): MaybePromise<Result<CatalogTarget, Refusal>> {
  const context = { nowMs: call.startedAtMs, background };
  return whenOk(ports.catalog.endpoint(id, context), (entry) =>
    entry === null
      ? whenHere(ports.catalog.near(id, context), unknownId)
      : targetOf(call, entry, ports, context),
  );
}

function targetOf(
  call: IdentifiedCall,
  entry: CatalogEntry,
  ports: LadderPorts,
  context: LookupContext,
): MaybePromise<Result<CatalogTarget, Refusal>> {
  const { endpoint, provider } = entry;
  const near = () => ports.catalog.near(endpoint.id, context);
  if (endpoint.tombstone !== null) return whenHere(near(), (rows) => retired(endpoint, rows));
  if (call.path !== '') {
    const parameters = endpoint.parameters.filter((one) => one.in !== 'body');
    return err({ code: 'catalog.path_not_allowed', parameters: parameters.map((one) => one.name) });
  }
  if (call.method !== endpoint.method)
    return err({ code: 'request.method_not_allowed', allowed: [endpoint.method] });
  const base = approvedBase(provider, endpoint, ports.egressPolicy);
  if (!base.ok) return err({ code: 'catalog.base_unapproved' });
  const filled = fillPath(endpoint.path, call.query);
  if (!filled.ok) return err({ code: 'catalog.placeholder_invalid', ...filled.error });
  const query = mergeQuery(endpoint.query, filled.value.query);
  const place = { entry, base: base.value, path: filled.value.path, query };
  return whenOk(firstRung(call, place, ports), (rung) => {
    if (rung === null) return whenOk(near(), ({ alternatives }) => noCredential(alternatives));
    return whenHere(hasRoute(call, endpoint, rung, ports, context), (has) =>
      ok({ ...place, ...rung, hasRoute: has }),
    );
  });
}

const noCredential = (alternatives: NearRows['alternatives']): Result<never, Refusal> =>
  err({ code: 'catalog.no_credential', alternatives, ownUpstream: null });

/** Whether an aggregator could serve it, should our own account fail. */
function hasRoute(
  { tenant }: IdentifiedCall,
  { id, task, taskId }: CatalogEndpoint,
  { tier }: Rung,
  { overflow }: LadderPorts,
  context: LookupContext,
): MaybePromise<boolean> {
  // A task lives where it was submitted.
  const isTask = task !== null || taskId !== null;
  if (tier !== 4 || overflow.mode === 'off' || isTask || !tenant.allowsOverflow) return false;
  return whenHere(overflow.routes.routeFor(id, context), (route) => route !== null);
}

type Near = Awaited<ReturnType<Catalog['near']>>;

const unknownId = (near: Near): Result<never, Refusal> =>
  near.ok
    ? err({ code: 'catalog.not_found', didYouMean: near.value.didYouMean, ownUpstream: null })
    : near;

function retired({ tombstone }: CatalogEndpoint, near: Near): Result<never, Refusal> {
  if (!near.ok) return near;
  const { status, note, supersededBy } = tombstone ?? {
    status: 'retired',
    note: '',
    supersededBy: null,
  };
  const alternatives = supersededBy === null ? near.value.alternatives : [];
  return err({ code: 'catalog.retired', status, note, supersededBy, alternatives });
}

type Place = Pick<CatalogTarget, 'entry' | 'base' | 'path' | 'query'>;
type Rung = Pick<CatalogTarget, 'tier' | 'upstream' | 'accounts' | 'base'>;

const noAccounts: readonly AccountRung[] = [];

function firstRung(
  call: IdentifiedCall,
  place: Place,
  ports: LadderPorts,
): MaybePromise<Result<Rung | null, Refusal>> {
  // `/catalog/call/` never consults upstreams of the caller's own (decisions section 2).
  const own = call.surface === 'catalog' ? ok(null) : ownUpstream(call, place, basesOf(place));
  return whenOk(own, (rung) => {
    if (rung !== null) return ok(rung);
    const { base } = place;
    return whenOk(ownSecret(call, place), (upstream) =>
      ok(
        upstream === null
          ? ourRung(call, place, ports)
          : { tier: 2, upstream, accounts: noAccounts, base },
      ),
    );
  });
}

/** A rung without a credential of the caller's; `null`: there is none. */
function ourRung(call: IdentifiedCall, place: Place, ports: LadderPorts): Rung | null {
  const { base } = place;
  if (isAnonymous(call, place.entry, ports))
    return { tier: 3, upstream: standIn(place, 'anonymous', null), accounts: noAccounts, base };
  const accounts = accountsOf(place, ports);
  const [first] = accounts;
  return first === undefined ? null : { tier: 4, upstream: first.upstream, accounts, base };
}

/** One list per entry: settings and accounts are those of the isolate. */
const accountRungs = new WeakMap<CatalogEntry, readonly AccountRung[]>();

/** The operator's accounts at a provider: the primary, if it is set, and the further ones. */
function accountsOf(place: Place, ports: LadderPorts): readonly AccountRung[] {
  const { endpoint, provider } = place.entry;
  if (accessOf(endpoint) !== 'account') return noAccounts;
  const known = accountRungs.get(place.entry);
  if (known !== undefined) return known;
  const [primary] = provider.accounts;
  if (primary === undefined || !ports.hasSetting(primary.setting)) return noAccounts;
  const { setting } = primary;
  const rung = (label: string): AccountRung => {
    const named = accountSetting({ provider: provider.slug, label, setting });
    return {
      label,
      upstream: standIn(place, label, { kind: 'platform_setting', setting: named }),
    };
  };
  const further = ports.platformAccounts.get(provider.slug) ?? [];
  const rungs = [primaryAccount, ...further].map(rung);
  accountRungs.set(place.entry, rungs);
  return rungs;
}

function isAnonymous(call: IdentifiedCall, entry: CatalogEntry, ports: LadderPorts): boolean {
  const { endpoint, provider } = entry;
  if (accessOf(endpoint) !== 'anonymous' || !ports.anonymousProviders.has(provider.slug))
    return false;
  const { headers } = call.request;
  const { query } = call;
  return !bringsCredential(provider, { hasHeader: (name) => headers.has(name), query });
}

/** Where an upstream of the caller's may be: the provider's base URL, then those that it had before (digest A7). */
const basesOf = ({ base, entry: { provider } }: Place): readonly BaseUrl[] => [
  base,
  ...provider.legacyBaseUrls,
];

/** An upstream of the caller's, with a credential, at the first of these base URLs that has one: the longest base path that covers the call. */
function ownUpstream(
  call: IdentifiedCall,
  place: Place,
  [base, ...before]: readonly BaseUrl[],
): MaybePromise<Result<Rung | null, Refusal>> {
  if (base === undefined) return ok(null);
  const whole = base.basePath + place.path;
  return whenHere(call.tenant.at(base.host, base.port), (found) => {
    if (!found.ok) return found;
    const fitting = found.value
      .filter((u) => u.enabled && u.scheme === base.scheme && u.bindings.length > 0)
      .filter((u) => mayUse(call.key, u) && (u.basePath === '' || covers(u.basePath, whole)))
      .sort((a, b) => b.basePath.length - a.basePath.length);
    const [first] = fitting;
    if (first === undefined) return ownUpstream(call, place, before);
    const alike = fitting.filter(
      ({ basePath, tenantId }) => basePath === first.basePath && tenantId === first.tenantId,
    );
    return whenOk(ofProvider(call, place, alike), (own) =>
      ok({ tier: 1, upstream: own ?? first, accounts: noAccounts, base }),
    );
  });
}

/** Of several the one with the secret that is named like the provider: two vendors may share a host (digest A6). */
function ofProvider(
  call: IdentifiedCall,
  place: Place,
  alike: readonly Upstream[],
): MaybePromise<Result<Upstream | undefined, Refusal>> {
  if (alike.length === 1) return ok(alike[0]);
  return whenOk(ownSecret(call, place), (named) => {
    const secrets = secretIdsOf(named?.bindings ?? []);
    return ok(alike.find((u) => secretIdsOf(u.bindings).some((id) => secrets.includes(id))));
  });
}

const secretIdsOf = (bindings: readonly Binding[]): readonly string[] =>
  bindings.flatMap(({ source }) => (source.kind === 'secret' ? [source.secretId] : []));

/** The secret that is named like the provider, in an upstream that is kept nowhere but in the tenant's view. */
function ownSecret(
  call: IdentifiedCall,
  place: Place,
): MaybePromise<Result<Upstream | null, Refusal>> {
  const { provider } = place.entry;
  return call.tenant.ownSecret(keyOf(place.entry), provider.slug, (secretId) =>
    upstreamOf(place, `own:${secretId}`, { kind: 'secret', secretId, field: null }),
  );
}

const entryKeys = new WeakMap<CatalogEntry, string>();
let entriesSeen = 0;

/** Names an entry of one catalog version: what was built for an earlier one must not serve a later one. */
function keyOf(entry: CatalogEntry): string {
  const known = entryKeys.get(entry);
  if (known !== undefined) return known;
  entriesSeen += 1;
  const key = `${entry.endpoint.id} ${entriesSeen}`;
  entryKeys.set(entry, key);
  return key;
}

/** One upstream per entry and account: an entry lives as long as its catalog version. */
const standIns = new WeakMap<CatalogEntry, Map<string, Upstream>>();

function standIn(place: Place, label: string, source: BindingSource | null): Upstream {
  const { entry } = place;
  const kept = standIns.get(entry) ?? new Map<string, Upstream>();
  standIns.set(entry, kept);
  const made = kept.get(label) ?? upstreamOf(place, label, source);
  kept.set(label, made);
  return made;
}

function upstreamOf(
  { entry: { endpoint, provider }, base }: Place,
  label: string,
  source: BindingSource | null,
): Upstream {
  const { host, port, scheme, basePath } = base;
  return {
    id: `catalog:${endpoint.id}:${label}`,
    tenantId: '',
    projectId: null,
    name: endpoint.id,
    alias: endpoint.id,
    scheme,
    endpoints: [{ host, port }],
    basePath,
    // Without a credential nothing is injected, and no header of the caller's is replaced (digest A6).
    bindings: source === null ? [] : bindingsOf(provider, source),
    headerRules: null,
    firstByteTimeoutMs: firstByteTimeoutDefaultMs,
    idleTimeoutMs: idleTimeoutDefaultMs,
    visibility: 'private',
    enabled: true,
    trackBody: false,
    needsTargetHost: false,
    routes: [],
  };
}
