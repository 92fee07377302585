/**
 * Catalog endpoint: one priced operation of a vendor, as data.
 * Promises: plain JSON, validated when it was imported (`scripts/catalog.ts`); money is micro-USD. Pure.
 * Must never: hold a credential, or a host that is not checked against the provider's base URLs (`provider.ts`).
 * Read by the catalog adapter, stages 03 to 09 and the management API.
 */
import { catalogIdCharsMax } from '../../base/limits-money';
import type { DeclaredRate } from '../capacity/operations';
import type { Cost, Settlement } from '../pricing/price';
import type { TaskRule } from '../tasks/rule';

/** How a caller was allowed in at the vendor; separates two providers on one host (digest A6). */
export type GrantMethod = 'api_key' | 'oauth_user' | 'oauth_app' | 'service_account';

/** How a value has to look; `any` is declared and not judged. */
export type ValueRule =
  | { readonly type: 'any' | 'boolean' | 'object' }
  | {
      readonly type: 'string';
      /** null: any text. */
      readonly enum: readonly string[] | null;
      readonly charsMax: number | null;
    }
  | {
      readonly type: 'integer' | 'number';
      readonly enum: readonly number[] | null;
      readonly min: number | null;
      readonly max: number | null;
    }
  | {
      readonly type: 'array';
      readonly itemsMin: number;
      readonly itemsMax: number | null;
      /** The items are texts of this list. */
      readonly itemEnum: readonly string[] | null;
      /** The items are objects that have all of these members, or any one of them. */
      readonly itemFields: {
        readonly need: 'all' | 'any';
        readonly names: readonly string[];
      } | null;
    };

/** Where a parameter is. Path parameters are given in the query and filled into the template. */
export type ParameterPlace = 'path' | 'query' | 'body';

/** A declared input. Body parameters are top-level members. */
export interface Parameter {
  readonly in: ParameterPlace;
  readonly name: string;
  readonly required: boolean;
  readonly rule: ValueRule;
  readonly description: string | null;
}

/**
 * A bound on what a call may cost the operator's account (digest A6). `count`: a number, or the length of an array, given and within
 * bounds. `selector`: the field that picks the price row, or without which the answer does not say what it cost, has exactly this value.
 * `refused`: an option whose charge or result would arrive at a webhook, outside of what settlement reads. `at` is a query name, or
 * members of the body from the top down.
 */
export type PlatformRule =
  | (PlatformPlace & { readonly kind: 'count'; readonly min: number; readonly max: number })
  | (PlatformPlace & {
      readonly kind: 'selector';
      readonly equals: string | number | boolean;
      /** Whether the vendor's own default is that value. */
      readonly mayBeAbsent: boolean;
      /** Another field of the same place: the rule is not asked where that is absent or has exactly this value. Absent: it is always asked. */
      readonly unless?: {
        readonly at: readonly string[];
        readonly equals: string | number | boolean;
      };
    })
  | (PlatformPlace & { readonly kind: 'refused' });

/** Where a platform rule looks. */
export interface PlatformPlace {
  readonly in: 'query' | 'body';
  readonly at: readonly string[];
}

/** A query parameter that caps what the vendor charges; set to the amount that is held, tier 4 only. */
export interface CeilingParam {
  readonly name: string;
  readonly unit: 'usd' | 'usd_cents' | 'micro_usd';
}

/** A cheap request of the operator's own, by which a route through an aggregator is verified. */
export interface TestRequest {
  /** Encoded, placeholders included, without `?`; null: none. */
  readonly query: string | null;
  /** JSON; null: no body. */
  readonly bodyText: string | null;
}

/** Why a row can no longer be called, and what to call instead. */
export interface Tombstone {
  readonly status: 'retired' | 'broken';
  readonly note: string;
  readonly supersededBy: string | null;
}

/** One operation of a vendor. */
export interface CatalogEndpoint {
  /** `provider.name`. */
  readonly id: string;
  readonly provider: string;
  /** What it does, comparable between providers: `chat.completion`. */
  readonly capability: string;
  readonly summary: string;
  readonly method: string;
  /** One of the provider's hosts; null: the host of its first base URL. */
  readonly host: string | null;
  /** Below the base path, starts with `/`, with `{placeholders}`. */
  readonly path: string;
  /** The path's own query, without `?`; the caller's goes behind it. */
  readonly query: string | null;
  readonly grantMethod: GrantMethod | null;
  readonly parameters: readonly Parameter[];
  readonly strictQuery: boolean;
  readonly bodyAllowlist: boolean;
  /** null: no bounds on tier 4 beside the price. An empty list still refuses repeated JSON members. */
  readonly platformRequest: readonly PlatformRule[] | null;
  readonly ceilingParam: CeilingParam | null;
  /** `cancel` only where the vendor does not bill cancelled work (decisions section 4). */
  readonly onClientDisconnect: 'drain' | 'cancel';
  /** Which tier beyond the caller's own credential may serve it; null: none. */
  readonly platformAuth: 'account' | 'anonymous' | null;
  readonly cost: Cost;
  readonly settlement: Settlement;
  readonly stripReportedCharge: boolean;
  /** Set exactly where `settlement.basis` is `terminal`: what is submitted goes on after the answer. */
  readonly task: TaskRule | null;
  /** Path parameter that names a task: on the operator's account only the ids of the caller's own submissions are let through. */
  readonly taskId: string | null;
  /** The vendor's limit on this operation's sends of one account, instead of the provider's; null: none is declared. */
  readonly rate: DeclaredRate | null;
  /** null: a route of this row cannot be verified. */
  readonly testRequest: TestRequest | null;
  /** Where the price comes from and of which day it is. */
  readonly priceNote: string;
  readonly tombstone: Tombstone | null;
}

/** With whose credential a row can be called: ours, none, or the caller's only. */
export type EndpointAccess = 'account' | 'anonymous' | 'own';

/** What is known of every row without reading it; see `near-ids.ts`. */
export interface EndpointHeading {
  readonly id: string;
  readonly capability: string;
  readonly access: EndpointAccess;
  /** Micro-USD of a smallest usual call; null when it cannot be told. */
  readonly guideMicros: number | null;
  readonly retired: boolean;
}

/** With whose credential this row can be called. */
export const accessOf = (endpoint: Pick<CatalogEndpoint, 'platformAuth'>): EndpointAccess =>
  endpoint.platformAuth ?? 'own';

/** Dotted lower-case words, the first is the provider. */
export const catalogIdPattern = new RegExp(
  `^(?=.{1,${catalogIdCharsMax}}$)[a-z0-9][a-z0-9_-]*(?:\\.[a-z0-9][a-z0-9_-]*)+$`,
);

/** Whether a text has the shape of a catalog id; whether there is such a row is the catalog's question. */
export const isCatalogId = (text: string): boolean => catalogIdPattern.test(text);
