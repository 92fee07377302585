/**
 * Provider: a vendor of the catalog, and where and how it may be called.
 * Promises: plain JSON, validated when it was imported; a catalog row can only ever reach one of the provider's approved base URLs,
 * so catalog data cannot send an injected credential elsewhere. Pure.
 * Called by the catalog adapter (reads it), stages 03 and 04 (target, bindings), `scripts/catalog.ts` (makes it).
 */
import { err, ok, type Result } from '../../base/result';
import type { DeclaredRate } from '../capacity/operations';
import { type EgressPolicy, isAllowed } from '../egress/allowance';
import { judgeEndpoint } from '../egress/target-url';
import { queryPairs, type RawQuery } from '../relay/query';
import type { BalanceCall } from './balance';
import type { CatalogEndpoint, GrantMethod } from './endpoint';
import type { Binding, BindingLocation, BindingSource, Injector } from './upstream';

/** An approved base URL. `host` is lower-case ASCII; `basePath` is empty, or starts with `/` and ends without one. */
export interface BaseUrl {
  readonly scheme: 'https' | 'http';
  readonly host: string;
  readonly port: number;
  readonly basePath: string;
}

/** Where a credential of the provider goes, whoever owns it. `field` picks one text of a credential that is a JSON object. */
export interface ProviderBinding {
  readonly location: BindingLocation;
  readonly name: string;
  readonly injector: Injector;
  /** Only for `custom`: text with `{secret}`. */
  readonly format: string | null;
  readonly field: string | null;
}

/** A credential set of the operator's: `setting` names it in PLATFORM_SETTINGS. */
export interface ProviderAccount {
  readonly label: string;
  readonly setting: string;
}

/** A vendor of the catalog. */
export interface Provider {
  readonly slug: string;
  readonly name: string;
  /** At least one; a row that names no host uses the first. */
  readonly baseUrls: readonly BaseUrl[];
  /** Where it used to be: deny rules are judged as if sent there. */
  readonly legacyBaseUrls: readonly BaseUrl[];
  readonly bindings: readonly ProviderBinding[];
  /** Constant headers that every call with a credential needs (an API version). Names are lower-case. */
  readonly requiredHeaders: readonly (readonly [name: string, value: string])[];
  /** The first one is the usual one. */
  readonly grantMethods: readonly GrantMethod[];
  /** Header that tells the vendor our tenant as an HMAC, tier 4 only; lower-case. */
  readonly clientHeader: string | null;
  readonly accounts: readonly ProviderAccount[];
  /** Whether rows may declare `platformAuth: anonymous`; the deployment has to allow the provider too. */
  readonly anonymous: boolean;
  /** How its accounts' balance is read; null: not known. */
  readonly balance: BalanceCall | null;
  /** The vendor's limit on all sends of one account; null: none is declared. */
  readonly rate: DeclaredRate | null;
}

/**
 * The base URL that a row is sent to. `base_unapproved`: its host is none of the provider's, or the URL is one that this deployment
 * does not let out; refused before any hold (digest A6).
 */
export function approvedBase(
  provider: Provider,
  endpoint: Pick<CatalogEndpoint, 'provider' | 'host'>,
  policy: EgressPolicy,
): Result<BaseUrl, 'base_unapproved'> {
  const base = provider.baseUrls.find(
    ({ host }) => endpoint.host === null || endpoint.host === host,
  );
  if (base === undefined || endpoint.provider !== provider.slug) return err('base_unapproved');
  const open = isAllowed(policy.allow, base.host, base.port);
  if (base.scheme !== 'https' && !open) return err('base_unapproved');
  return judgeEndpoint(base, policy).ok ? ok(base) : err('base_unapproved');
}

/** The provider's bindings with one credential in them, and its constant headers. */
export function bindingsOf(
  provider: Pick<Provider, 'bindings' | 'requiredHeaders'>,
  source: BindingSource,
): readonly Binding[] {
  const constants = provider.requiredHeaders.map(
    ([name, value]): Binding => ({
      location: 'header',
      name,
      injector: 'custom',
      format: value,
      source: { kind: 'constant' },
    }),
  );
  const credentials = provider.bindings.map(
    ({ location, name, injector, format, field }): Binding => ({
      location,
      name,
      injector,
      format,
      source: source.kind === 'constant' ? source : { ...source, field },
    }),
  );
  return [...credentials, ...constants];
}

/**
 * Whether the caller brings a credential of the provider's own: an anonymous row is then not ours to call free (digest A6).
 * `hasHeader` is asked for lower-case names.
 */
export function bringsCredential(
  provider: Provider,
  request: { readonly hasHeader: (name: string) => boolean; readonly query: RawQuery },
): boolean {
  const names = new Set(queryPairs(request.query).map((pair) => pair.name));
  return provider.bindings.some(({ location, name }) => {
    if (location === 'header') return request.hasHeader(name.toLowerCase());
    return location === 'query' && names.has(name);
  });
}
