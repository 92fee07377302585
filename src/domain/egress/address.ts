/**
 * Address verdicts: is an IP literal globally routable unicast, by IANA's special-purpose registries, in every embedding?
 * Promises: fails closed (what cannot be read strictly is private); 2000::/3 is the only public IPv6 space, so mapped, compatible,
 * translated, NAT64, unique-local, link-local, site-local, multicast and unassigned space needs no row of its own.
 * Must never: resolve a name, or trust ipaddr.js about a range (it misses `::10.0.0.1`) or about spelling (it reads `127.1`).
 * Pure. Called by `hostname.ts` (literals) and the resolver adapter (every address of an answer).
 */
import ipaddr from 'ipaddr.js';
import { addressCharsMax } from '../../base/limits';

/** Whether an address may be connected to. */
export type AddressVerdict = 'public' | 'private';

type Range = readonly [network: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** IANA IPv4 special-purpose registry (RFC 6890 and updates), globally reachable = false, plus multicast. */
const PRIVATE_V4 = ranges([
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; Alibaba's metadata lives here
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local; the cloud metadata address
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments; Oracle's metadata lives here
  '192.0.2.0/24',
  '192.88.99.0/24', // 6to4 relay anycast, deprecated
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, limited broadcast
  '168.63.129.16/32', // not IANA's: Azure's WireServer, answers only inside a virtual network and gives out credentials
]);

/** Globally reachable assignments inside a private range: PCP and TURN anycast (RFC 7723, RFC 8155). */
const PUBLIC_V4 = ranges(['192.0.0.9/32', '192.0.0.10/32']);

const GLOBAL_UNICAST_V6 = ranges(['2000::/3']);

/** IANA IPv6 special-purpose registry inside 2000::/3, globally reachable = false or an embedding of IPv4. */
const PRIVATE_V6 = ranges([
  '2001::/23', // protocol assignments: Teredo 2001::/32, benchmarks 2001:2::/48, old ORCHID 2001:10::/28
  '2001:db8::/32',
  '2002::/16', // 6to4: carries any IPv4 address
  '3fff::/20',
]);

/** Globally reachable = true inside 2001::/23. */
const PUBLIC_V6 = ranges([
  '2001:1::1/128', // PCP anycast (RFC 7723)
  '2001:1::2/128', // TURN anycast (RFC 8155)
  '2001:1::3/128', // DNS-SD SRP anycast (RFC 9665)
  '2001:3::/32', // AMT
  '2001:4:112::/48', // AS112
  '2001:20::/28', // ORCHIDv2
  '2001:30::/28', // drone remote id
]);

/** Judges one IPv4 (dotted quad) or IPv6 (no brackets, no zone) literal. Text in any other spelling is `private`. */
export function addressVerdict(text: string): AddressVerdict {
  const address = readAddress(text);
  if (address === null) return 'private';
  if (address.kind() === 'ipv4')
    return inside(PRIVATE_V4, address) && !inside(PUBLIC_V4, address) ? 'private' : 'public';
  if (!inside(GLOBAL_UNICAST_V6, address) || isIsatap(address)) return 'private';
  return inside(PRIVATE_V6, address) && !inside(PUBLIC_V6, address) ? 'private' : 'public';
}

/** The canonical text of a strictly spelled literal (IPv6 by RFC 5952, no brackets), or null when it is none. */
export function canonicalAddress(text: string): string | null {
  return readAddress(text)?.toString() ?? null;
}

/**
 * Strict: four decimal parts without leading zeros, or IPv6 without a zone id. The platform spells IPv6 in groups first, because
 * ipaddr.js reads `::10.0.0.1` as `::ffff:10.0.0.1` and takes octal parts.
 */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (text.length > addressCharsMax) return null;
  // Asked first: ipaddr.js says no by throwing inside, which every host name on the road would pay for.
  if (/^[0-9]+(?:\.[0-9]+){3}$/.test(text)) {
    return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text) : null;
  }
  if (!text.includes(':') || !/^[0-9a-f:.]+$/i.test(text)) return null;
  const groups = URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1);
  return groups === undefined ? null : ipaddr.IPv6.parse(groups);
}

/** ISATAP (RFC 5214 section 6.1): interface id `0:5efe` or `200:5efe`, then an IPv4 address, under any public prefix. */
function isIsatap(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const bytes = address.toByteArray();
  return (
    (bytes[8] === 0x00 || bytes[8] === 0x02) &&
    bytes[9] === 0x00 &&
    bytes[10] === 0x5e &&
    bytes[11] === 0xfe
  );
}

function ranges(texts: readonly string[]): readonly Range[] {
  return texts.map((text) => ipaddr.parseCIDR(text));
}

function inside(table: readonly Range[], address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return table.some(([network, bits]) => address.match(network, bits));
}
