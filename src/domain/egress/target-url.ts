/**
 * Target URL: the strict reading of a full URL that a caller or an operator gives.
 * Promises: hand-written, one meaning; where the platform's own parser (the one that `fetch` uses) sees another scheme, host or port,
 * the URL is refused; `rest` is the caller's bytes, untouched.
 * Must never: repair anything beside the collapsed slash of {@link repairScheme}, or echo the URL in a fault.
 * Pure. Called by stage 03 (URL pass-through) and by registration of upstreams.
 */
import { err, ok, type Result } from '../../base/result';
import type { UrlFault } from '../refusal';
import { bareHost, type EgressPolicy, isAllowed, isGatewayHost, withoutRootDot } from './allowance';
import { type JudgedHost, judgeHost } from './hostname';

/** The schemes that leave the gateway. */
export type TargetScheme = 'http' | 'https';

/** A judged host of one port; `allowed` is a pair of the development allowance, which skips every other rule. */
export type JudgedEndpoint = JudgedHost | { readonly kind: 'allowed'; readonly host: string };

/** A URL that may become a target. */
export interface TargetUrl {
  readonly scheme: TargetScheme;
  /** Lower-case ASCII name or canonical address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly defaultPort: boolean;
  /** `host[:port]` as sent: brackets for IPv6, no default port. */
  readonly authority: string;
  /** Path and query exactly as given: empty, or starts with `/` or `?`. */
  readonly rest: string;
  readonly judged: JudgedEndpoint;
}

interface SplitUrl {
  readonly scheme: TargetScheme;
  readonly host: string;
  readonly port: number;
  readonly rest: string;
}

/** The port that a scheme implies. */
export const defaultPortOf = (scheme: TargetScheme): number => (scheme === 'https' ? 443 : 80);

/** A host as it stands in a URL: an IPv6 address in brackets. */
export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** `host[:port]` as it stands in a URL: without the port that the scheme implies. */
export const authorityOf = (scheme: TargetScheme, host: string, port: number): string =>
  port === defaultPortOf(scheme) ? hostInUrl(host) : `${hostInUrl(host)}:${port}`;

/**
 * Undoes what path-cleaning proxies and frameworks do to a URL inside a path: exactly `https:/x` becomes `https://x` (and http).
 * Everything else is returned as it is.
 */
export function repairScheme(raw: string): string {
  return raw.replace(/^(https?):\/(?=[^/\\])/i, '$1://');
}

/** Parses and judges a full URL. Any {@link UrlFault} may come back; the URL was not touched then. */
export function parseTarget(raw: string, policy: EgressPolicy): Result<TargetUrl, UrlFault> {
  const split = splitUrl(raw);
  if (!split.ok) return split;
  const { scheme, port, rest } = split.value;
  const judged = judgeEndpoint({ scheme, host: split.value.host, port }, policy);
  if (!judged.ok) return judged;
  const host = judged.value.host;
  if (!platformAgrees(raw, { scheme, host, port })) return err('host');
  const defaultPort = port === defaultPortOf(scheme);
  const authority = authorityOf(scheme, host, port);
  return ok({ scheme, host, port, defaultPort, authority, rest, judged: judged.value });
}

/**
 * Judges one endpoint: the gateway itself never, an allowed pair always, `http` only where the policy says so, then the host rules.
 * Faults: `scheme`, `reserved_name` (also for the gateway's own hosts) and those of {@link judgeHost}.
 */
export function judgeEndpoint(
  endpoint: { readonly scheme: TargetScheme; readonly host: string; readonly port: number },
  policy: EgressPolicy,
): Result<JudgedEndpoint, UrlFault> {
  const { scheme, host, port } = endpoint;
  const allowed = isAllowed(policy.allow, host, port);
  if (!allowed && scheme === 'http' && policy.httpsOnly) return err('scheme');
  const judged = allowed ? ok({ kind: 'allowed', host: bareHost(host) } as const) : judgeHost(host);
  if (judged.ok && isGatewayHost(policy.gatewayHosts, judged.value.host, port))
    return err('reserved_name');
  return judged;
}

function splitUrl(raw: string): Result<SplitUrl, UrlFault> {
  if (/[\p{Cc}\p{White_Space}\ufeff]/u.test(raw)) return err('whitespace');
  const start = /^(https?):\/\//i.exec(raw);
  if (start === null) return err('scheme');
  const scheme = start[1]?.toLowerCase() === 'https' ? 'https' : 'http';
  const tail = raw.slice(start[0].length);
  const end = tail.search(/[/?#]/);
  const authority = end < 0 ? tail : tail.slice(0, end);
  const rest = end < 0 ? '' : tail.slice(end);
  // WHATWG reads `\` as `/`, RFC 3986 does not: `http://127.0.0.1\@api.t` has two hosts, one for each reader.
  if (authority.includes('\\')) return err('backslash');
  if (authority.includes('@')) return err('userinfo');
  if (rest.includes('#')) return err('host');
  return splitAuthority(authority, scheme, rest);
}

function splitAuthority(
  authority: string,
  scheme: TargetScheme,
  rest: string,
): Result<SplitUrl, UrlFault> {
  const parts = /^(\[[^\]]*\]|[^:[\]]+)(?::(.*))?$/.exec(authority);
  const host = parts?.[1];
  if (host === undefined) return err('host');
  const portText = parts?.[2];
  if (portText === undefined) return ok({ scheme, host, port: defaultPortOf(scheme), rest });
  if (!/^[1-9][0-9]{0,4}$/.test(portText) || Number(portText) > 65_535) return err('port');
  return ok({ scheme, host, port: Number(portText), rest });
}

/** Second opinion: what `fetch` will make of the text. */
function platformAgrees(raw: string, ours: Pick<SplitUrl, 'scheme' | 'host' | 'port'>): boolean {
  const theirs = URL.parse(raw);
  if (theirs === null) return false;
  const port = theirs.port === '' ? defaultPortOf(ours.scheme) : Number(theirs.port);
  const host = withoutRootDot(theirs.hostname);
  return (
    theirs.protocol === `${ours.scheme}:` &&
    host === hostInUrl(ours.host) &&
    port === ours.port &&
    theirs.username === ''
  );
}
