/**
 * Alias rules: which name an endpoint pool answers to under `/proxy/{alias}` (digest B4, seed 004 "Alias Enforcement Rules").
 * Promises: what can be derived is always derived, so nobody can name a pool after hosts that are not in it; a common suffix counts
 * only when it is registrable, with the PRIVATE section of the Public Suffix List (case C088: `pages.dev` would capture strangers).
 * Must never: judge whether a host may be called (`hostname.ts` does). Pure. Called by registration and update of upstreams.
 */
import { aliasCharsMax } from '../../base/limits';
import { err, ok, type Result } from '../../base/result';
import type { Endpoint } from '../catalog/upstream';
import type { FieldIssue } from '../refusal';
import { canonicalAddress } from './address';
import { isRegistrable } from './public-suffix';
import { defaultPortOf, type TargetScheme } from './target-url';

/** What a pool says about its alias. */
export type Derivation =
  | { readonly kind: 'derived'; readonly alias: string }
  | { readonly kind: 'explicit_required' };

/** The pool as stored before an update, and the alias it had. */
export interface AliasedPool {
  readonly alias: string;
  readonly endpoints: readonly Endpoint[];
  readonly scheme: TargetScheme;
}

/** A create (`before` absent) or an update; `explicit` is the caller's own alias, when there is one. */
export interface AliasChange {
  readonly before?: AliasedPool | undefined;
  readonly endpoints: readonly Endpoint[];
  readonly scheme: TargetScheme;
  readonly explicit?: string | undefined;
}

/**
 * Derives the alias of a pool: its one host name, or the registrable suffix that all names share, then `:port` unless standard.
 * Issues: an empty pool, two ports, IP addresses beside names.
 */
export function deriveAlias(
  endpoints: readonly Endpoint[],
  scheme: TargetScheme,
): Result<Derivation, FieldIssue> {
  const port = endpoints[0]?.port;
  if (port === undefined) return issue('endpoints', 'needs at least one endpoint');
  const otherPort = endpoints.findIndex((endpoint) => endpoint.port !== port);
  if (otherPort >= 0)
    return issue(`endpoints.${otherPort}.port`, 'all endpoints of a pool share one port');
  const hosts = [...new Set(endpoints.map((endpoint) => normalHost(endpoint.host)))];
  const addresses = hosts.filter(isAddress).length;
  if (addresses === hosts.length) return ok({ kind: 'explicit_required' });
  if (addresses > 0)
    return issue('endpoints', 'IP addresses and host names do not mix in one pool');
  const suffix = commonSuffix(hosts);
  if (suffix === null) return ok({ kind: 'explicit_required' });
  const text = port === defaultPortOf(scheme) ? suffix : `${suffix}:${port}`;
  const alias = checkAlias(text);
  return alias.ok
    ? ok({ kind: 'derived', alias: alias.value })
    : issue('endpoints', alias.error.message);
}

/** Normalises an alias (lower-case, no trailing dots) and checks it: ASCII letters, digits and `. : - _`, at most 253 characters. */
export function checkAlias(text: string): Result<string, FieldIssue> {
  const alias = withoutTrailingDots(text).toLowerCase();
  if (alias === '') return issue('alias', 'is empty');
  if (alias.length > aliasCharsMax)
    return issue('alias', `has more than ${aliasCharsMax} characters`);
  // Checked before lower-casing too: the Kelvin sign lower-cases to an ASCII k.
  if (!/^[A-Za-z0-9.:_-]+$/.test(text))
    return issue('alias', 'may hold ASCII letters, digits and . : - _ only');
  return ok(alias);
}

/**
 * The alias after a create or an update, the whole matrix of digest B4:
 * derivable → the derived one, whatever was there before; an explicit alias is tolerated only when it is the derived one, or the old
 * one sent back while the endpoints changed (a full replace echoes it). Not derivable → the explicit one, else the old one if that
 * was explicit too, else an issue.
 */
export function nextAlias(change: AliasChange): Result<string, FieldIssue> {
  const { before, endpoints, scheme } = change;
  const after = deriveAlias(endpoints, scheme);
  if (!after.ok) return after;
  const explicit = change.explicit === undefined ? ok(undefined) : checkAlias(change.explicit);
  if (!explicit.ok) return explicit;
  if (after.value.kind === 'explicit_required') return explicitAlias(explicit.value, before);
  const tolerated = [undefined, after.value.alias, before?.alias];
  return tolerated.includes(explicit.value)
    ? ok(after.value.alias)
    : issue(
        'alias',
        'is derived from the host names of this pool; leave it out or send the derived one',
      );
}

function explicitAlias(
  explicit: string | undefined,
  before: AliasedPool | undefined,
): Result<string, FieldIssue> {
  if (explicit !== undefined) return ok(explicit);
  const previous = before === undefined ? null : deriveAlias(before.endpoints, before.scheme);
  if (before !== undefined && previous?.ok && previous.value.kind === 'explicit_required')
    return ok(before.alias);
  return issue('alias', 'cannot be derived from these endpoints, give one');
}

/** One host is its own alias. Several need a shared suffix that somebody can register: two labels at least, no bare public suffix. */
function commonSuffix(hosts: readonly string[]): string | null {
  const [first, ...others] = hosts;
  if (first === undefined || others.length === 0) return first ?? null;
  const labels = first.split('.');
  const isShared = (suffix: string) =>
    others.every((host) => host === suffix || host.endsWith(`.${suffix}`));
  const start = labels.findIndex((_, i) => isShared(labels.slice(i).join('.')));
  const suffix = start < 0 ? '' : labels.slice(start).join('.');
  return suffix.includes('.') && isRegistrable(suffix) ? suffix : null;
}

function isAddress(host: string): boolean {
  return canonicalAddress(host.startsWith('[') ? host.slice(1, -1) : host) !== null;
}

function normalHost(host: string): string {
  return withoutTrailingDots(host).toLowerCase();
}

function withoutTrailingDots(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === '.') end -= 1;
  return text.slice(0, end);
}

function issue(path: string, message: string): Result<never, FieldIssue> {
  return err({ path, message });
}
