/**
 * Upstream, route, deny rule, binding: the configuration of one tenant as the road reads it.
 * Promises: plain data, already validated when it was written. Pure. Called by the config adapter (makes it) and the stages (read it).
 */

/** One address of an upstream's pool. `host` is lower-case ASCII or a canonical address (IPv6 without brackets). */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The methods that a route or a deny rule can name. */
export const callMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Where a value goes. A binding overwrites exactly its own header, query pair or top-level JSON field. */
export type BindingLocation = 'header' | 'query' | 'json';

/** How a secret becomes a value: as it is, `Bearer …`, `Basic …` of a `user:password` pair, or a `format` with `{secret}`. */
export type Injector = 'api_key' | 'bearer' | 'basic' | 'custom';

/**
 * Where the value of a binding comes from; `field` picks one text of a value that is a JSON object. A constant needs no secret (a required
 * API-version header).
 */
export type BindingSource =
  | { readonly kind: 'secret'; readonly secretId: string; readonly field: string | null }
  | {
      readonly kind: 'platform_setting';
      readonly setting: string;
      /** Absent: the whole value. */
      readonly field?: string | null;
    }
  | { readonly kind: 'constant' };

/** One credential or constant that is set on every call of an upstream. */
export interface Binding {
  readonly location: BindingLocation;
  readonly name: string;
  readonly injector: Injector;
  /** Only for `custom`: literal text in which every `{secret}` is replaced. */
  readonly format: string | null;
  readonly source: BindingSource;
}

/** Header edits, applied remove → set → add. Names are lower-case. */
export interface HeaderEdits {
  readonly remove: readonly string[];
  readonly set: readonly (readonly [name: string, value: string])[];
  readonly add: readonly (readonly [name: string, value: string])[];
}

/** Rules for both directions. `null` is "no rules", the usual case. */
export interface HeaderRules {
  readonly request: HeaderEdits;
  readonly response: HeaderEdits;
}

/** Whether tenants below the owner may use it (decisions section 5). */
export type Visibility = 'private' | 'descendants';

/** What may follow a route's path: nothing, or any further segments. */
export type SuffixMode = 'disabled' | 'append';

/** A guard on an upstream: method, path prefix at a segment boundary, allowed query names. */
export interface Route {
  readonly id: string;
  readonly methods: readonly string[];
  readonly path: string;
  /** `null` allows every query name, an empty list none. */
  readonly queryAllowlist: readonly string[] | null;
  readonly suffixMode: SuffixMode;
  /** Higher wins between equally long paths (decisions section 5). */
  readonly priority: number;
}

/** A registered target of one tenant. Times are milliseconds. */
export interface Upstream {
  readonly id: string;
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly name: string;
  readonly alias: string;
  readonly scheme: 'https' | 'http';
  readonly endpoints: readonly Endpoint[];
  /** Empty, or starts with `/` and ends without one. */
  readonly basePath: string;
  readonly bindings: readonly Binding[];
  readonly headerRules: HeaderRules | null;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly visibility: Visibility;
  readonly enabled: boolean;
  readonly trackBody: boolean;
  /** The pool's hosts share a registrable suffix and the alias is that suffix: a call must name its host. */
  readonly needsTargetHost: boolean;
  /** Sorted: longest path first, then higher priority. */
  readonly routes: readonly Route[];
}

/** A guardrail for every role: all given parts must match, `null` matches anything. */
export interface DenyRule {
  readonly id: string;
  readonly host: string | null;
  readonly path: string | null;
  readonly method: string | null;
  readonly principalId: string | null;
  readonly projectId: string | null;
}
