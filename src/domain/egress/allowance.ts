/**
 * Allowance: the exact host:port pairs that a developer opens (loopback origins), and the gateway's own hosts, which nobody may call.
 * Promises: an allowed pair opens that pair and nothing beside it; an entry in a spelling that a URL parser would change is an error at
 * start, so no entry can mean something else on the wire.
 * Must never: match by suffix, wildcard or host alone. Pure. Called by `env.ts` (parse), `target-url.ts` and the resolver adapter.
 */
import { egressAllowMax } from '../../base/limits';
import { err, ok, type Result } from '../../base/result';

/** Parsed `EGRESS_ALLOW`; made only by {@link parseEgressAllow}. */
export interface EgressAllowance {
  /** `host:port`, host lower-case, IPv6 without brackets. */
  readonly pairs: ReadonlySet<string>;
}

/** What a deployment lets out. `gatewayHosts` are `host` (any port) or `host:port`; `httpsOnly` spares allowed pairs only. */
export interface EgressPolicy {
  readonly allow: EgressAllowance;
  readonly gatewayHosts: readonly string[];
  readonly httpsOnly: boolean;
}

/** Parses a list of `host:port` separated by commas or white space; IPv6 in brackets. The error counts to the entry and does not repeat it. */
export function parseEgressAllow(text: string): Result<EgressAllowance, string> {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  if (entries.length > egressAllowMax) return err(`at most ${egressAllowMax} entries`);
  const pairs = new Set<string>();
  for (const [at, entry] of entries.entries()) {
    const { host, port } = splitEntry(entry);
    if (port === null || !isCanonical(host))
      return err(`entry ${at + 1} is not an exact host:port`);
    pairs.add(`${bareHost(host)}:${port}`);
  }
  return ok({ pairs });
}

/**
 * Parses `GATEWAY_HOSTS`: `host` or `host:port`, separated by commas or white space. An entry that no host equals (a URL, a wildcard, a
 * name with letters beyond ASCII) would guard nothing, so it is an error.
 */
export function parseGatewayHosts(text: string): Result<readonly string[], string> {
  const entries = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  const at = entries.findIndex((entry) => {
    const { host } = splitEntry(entry);
    return !isCanonical(host) && !isCanonical(`[${host}]`);
  });
  return at < 0 ? ok(entries) : err(`entry ${at + 1} is not a host or host:port`);
}

/** Whether exactly this pair is open. `host` in any letter case, IPv6 with or without brackets. */
export function isAllowed(allowance: EgressAllowance, host: string, port: number): boolean {
  return allowance.pairs.size > 0 && allowance.pairs.has(`${bareHost(host)}:${port}`);
}

/**
 * Whether `host` is the gateway itself. An entry without a port means every port. When `port` is not given, an entry with a port
 * matches by its host.
 */
export function isGatewayHost(hosts: readonly string[], host: string, port?: number): boolean {
  const wanted = withoutRootDot(bareHost(host));
  return hosts.some((text) => {
    const entry = splitEntry(text);
    if (withoutRootDot(bareHost(entry.host)) !== wanted) return false;
    return entry.port === null || port === undefined || entry.port === port;
  });
}

/** `port` is null when there is none or it is not 1-65535 (the whole text is then the host). */
function splitEntry(entry: string): { readonly host: string; readonly port: number | null } {
  const parts = /^(\[[^\]]*\]|[^:]+):([1-9][0-9]{0,4})$/.exec(entry);
  const port = Number(parts?.[2]);
  const host = parts?.[1];
  return host === undefined || port > 65_535 ? { host: entry, port: null } : { host, port };
}

function isCanonical(host: string): boolean {
  const parsed = URL.parse(`http://${host}/`);
  return /^[a-z0-9.:[\]-]+$/i.test(host) && parsed?.hostname === host.toLowerCase();
}

/** A host in lower case, without brackets. */
export function bareHost(host: string): string {
  const lower = host.toLowerCase();
  return lower.startsWith('[') && lower.endsWith(']') ? lower.slice(1, -1) : lower;
}

/** `gw.example.` is `gw.example` (RFC 1034 3.1). */
export function withoutRootDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
