/**
 * Address verdicts: is an IP literal globally routable unicast, by IANA's special-purpose registries, in every embedding?
 * Promises: fails closed (what cannot be read strictly is private); 2000::/3 is the only public IPv6 space, so mapped, compatible,
 * translated, NAT64, unique-local, link-local, site-local, multicast and unassigned space needs no row of its own.
 * Must never: resolve a name. Pure. Called by `hostname.ts` (literals) and the resolver adapter (every address of an answer).
 */
import { assert } from '../../base/assert';
import { addressCharsMax } from '../../base/limits';

/** Whether an address may be connected to. */
export type AddressVerdict = 'public' | 'private';

/** An address as the number that it is: 32 or 128 bits. */
interface Address {
  readonly kind: 'ipv4' | 'ipv6';
  readonly value: bigint;
  /** Strict and canonical (IPv6 by RFC 5952, no brackets). */
  readonly text: string;
}

/** The addresses whose first bits, the last `freeBits` taken off, are `network`. */
interface Range {
  readonly network: bigint;
  readonly freeBits: bigint;
}

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
  if (address.kind === 'ipv4')
    return inside(PRIVATE_V4, address) && !inside(PUBLIC_V4, address) ? 'private' : 'public';
  if (!inside(GLOBAL_UNICAST_V6, address) || isIsatap(address)) return 'private';
  return inside(PRIVATE_V6, address) && !inside(PUBLIC_V6, address) ? 'private' : 'public';
}

/** The canonical text of a strictly spelled literal (IPv6 by RFC 5952, no brackets), or null when it is none. */
export function canonicalAddress(text: string): string | null {
  return readAddress(text)?.text ?? null;
}

/** Strict: four decimal parts without leading zeros, or IPv6 without a zone id. */
function readAddress(text: string): Address | null {
  if (text.length > addressCharsMax) return null;
  return text.includes(':') ? readIpv6(text) : readIpv4(text);
}

function readIpv4(text: string): Address | null {
  if (!/^(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}$/.test(text)) return null;
  const parts = text.split('.').map(Number);
  if (parts.some((part) => part > 255)) return null;
  return { kind: 'ipv4', value: joined(parts, 8n), text };
}

/** The platform reads it and spells it out in its canonical form: groups only, the longest run of zeros as `::`. */
function readIpv6(text: string): Address | null {
  if (!/^[0-9a-f:.]+$/i.test(text)) return null;
  const canonical = URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1);
  if (canonical === undefined) return null;
  const [before = [], after = []] = canonical.split('::').map(groupsOf);
  const zeros = new Array<number>(8 - before.length - after.length).fill(0);
  return { kind: 'ipv6', value: joined([...before, ...zeros, ...after], 16n), text: canonical };
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function joined(parts: readonly number[], bits: bigint): bigint {
  return parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);
}

/** ISATAP (RFC 5214 section 6.1): interface id `0:5efe` or `200:5efe`, then an IPv4 address, under any public prefix. */
function isIsatap({ value }: Address): boolean {
  return ((value >> 32n) & 0xfdff_ffffn) === 0x5efen;
}

function ranges(texts: readonly string[]): readonly Range[] {
  return texts.map((text) => {
    const [literal = '', bits = ''] = text.split('/');
    const address = readAddress(literal);
    assert(address !== null, 'a range is written as a strict address and its bits');
    const freeBits = BigInt((address.kind === 'ipv4' ? 32 : 128) - Number(bits));
    return { network: address.value >> freeBits, freeBits };
  });
}

function inside(table: readonly Range[], { value }: Address): boolean {
  return table.some(({ network, freeBits }) => value >> freeBits === network);
}
