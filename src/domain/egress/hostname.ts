/**
 * Host names: what a host text really names, before anything connects to it.
 * Promises: one normal form (lower-case ASCII, no root dot; addresses canonical, no brackets); every spelling that some parser would
 * read as an address is refused unless it is that address's only strict spelling; a label is never folded into another ASCII label.
 * Must never: resolve a name, or repair a spelling. Pure. Called by `target-url.ts` and the deny rules; the resolver judges what a name points at.
 */
import { hostnameCharsMax, hostnameLabelCharsMax } from '../../base/limits';
import { err, ok, type Result } from '../../base/result';
import type { UrlFault } from '../refusal';
import { addressVerdict, canonicalAddress } from './address';

/** A host that may be called: a name still has to pass the resolver, an address is public. */
export type JudgedHost =
  | { readonly kind: 'name'; readonly host: string }
  | { readonly kind: 'address'; readonly host: string; readonly address: string };

/**
 * Last labels that never lead to a public API: special-use names (RFC 6761, 6762 with appendix G, 7686, 8375, 9476, ICANN's `internal`
 * and its deferred corp/home/mail), Kubernetes' `svc`, all of `arpa` (reverse zones, `home.arpa`, `ipv4only.arpa`).
 * `test`, `example` and `invalid` are not here: the resolver answers for them.
 */
const RESERVED_LAST_LABELS: ReadonlySet<string> = new Set([
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'mail',
  'svc',
  'arpa',
  'onion',
  'alt',
]);

/**
 * Judges a host as it stands in a URL or a registration: a name, a dotted quad, or IPv6 with or without brackets.
 * Faults: `host`, `numeric_host`, `private_address`, `reserved_name`.
 */
export function judgeHost(host: string): Result<JudgedHost, UrlFault> {
  if (host === '' || host.length > hostnameCharsMax + 1) return err('host');
  if (host.includes(':') || host.startsWith('[')) return judgeIpv6(host);
  const address = canonicalAddress(host);
  if (address !== null) return judgeAddress(address);
  if (endsInNumber(fold(host))) return err('numeric_host');
  const name = normalName(host);
  if (name === null) return err('host');
  if (endsInNumber(name)) return err('numeric_host');
  return isReserved(name) ? err('reserved_name') : ok({ kind: 'name', host: name });
}

function judgeIpv6(host: string): Result<JudgedHost, UrlFault> {
  const bracketed = host.startsWith('[') && host.endsWith(']');
  const text = bracketed ? host.slice(1, -1) : host;
  const address = text.includes(':') ? canonicalAddress(text) : null;
  return address === null ? err('host') : judgeAddress(address);
}

function judgeAddress(address: string): Result<JudgedHost, UrlFault> {
  if (addressVerdict(address) === 'private') return err('private_address');
  return ok({ kind: 'address', host: address, address });
}

/** What the most lenient parser might see: escapes decoded, compatibility digits and dots made plain. For diagnosis, never for use. */
function fold(host: string): string {
  const decoded = host.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return decoded
    .normalize('NFKC')
    .replace(/[\u3002\uff61]/g, '.')
    .toLowerCase();
}

/** WHATWG "ends in a number": then every URL parser reads the host as IPv4. The root dot does not hide it. */
function endsInNumber(host: string): boolean {
  const labels = (host.endsWith('.') ? host.slice(0, -1) : host).split('.');
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '');
}

/** Lower-case ASCII without the root dot, or null unless it is a host name by RFC 1123 section 2.1. */
function normalName(host: string): string | null {
  const ascii = /^[\x21-\x7e]+$/.test(host) ? host.toLowerCase() : toALabels(host);
  if (ascii === null) return null;
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  const labels = name.split('.');
  return name.length > hostnameCharsMax || !labels.every(isLabel) ? null : name;
}

function isLabel(label: string): boolean {
  return label.length <= hostnameLabelCharsMax && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label);
}

/**
 * IDNA, without its folding: a label with non-ASCII characters must become an A-label and any other must stay as it is. So circled
 * letters, the Kelvin sign, soft hyphens and ideographic dots cannot spell an ASCII name, while real U-labels work.
 */
function toALabels(host: string): string | null {
  const parsed = parsedHost(host);
  if (parsed === null) return null;
  const before = host.split('.');
  const after = parsed.split('.');
  if (before.length !== after.length) return null;
  const kept = after.every((label, i) => {
    const given = before[i] ?? '';
    return /^[\x21-\x7e]*$/.test(given) ? label === given.toLowerCase() : label.startsWith('xn--');
  });
  return kept ? parsed : null;
}

/** The host as the platform's URL parser sees it, IDNA applied, or null. What is ASCII it takes as it is, an A-label that stands for nothing too. */
function parsedHost(host: string): string | null {
  if (/[/?#@:\\%[\]]/.test(host)) return null;
  return URL.parse(`http://${host}/`)?.hostname ?? null;
}

/** Single labels only mean something inside somebody's network (`metadata`, `router`). */
function isReserved(name: string): boolean {
  const lastDot = name.lastIndexOf('.');
  return lastDot < 0 || RESERVED_LAST_LABELS.has(name.slice(lastDot + 1));
}
